"""Arguments of a wrong type or range are configuration errors that name the argument."""

from dataclasses import replace

import pytest
from langchain_core.runnables import RunnableLambda

from langgraph_reflexion import (
    PROFILES,
    Budget,
    Budgets,
    CommandEvaluator,
    ConfigurationError,
    Heuristic,
    ModelOptions,
    Price,
    ReflexionMiddleware,
    Retries,
    WrappedAgent,
)
from langgraph_reflexion.settings import RunSettings

agent = RunnableLambda(lambda messages: messages)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Budget(tokens="100"), "Budget.tokens"),  # type: ignore[arg-type]
        (lambda: Budget(actions=True), "Budget.actions"),
        (lambda: Budget(cost=0.0), "Budget.cost"),
        (lambda: Budgets(run=100), "Budgets.run"),  # type: ignore[arg-type]
        (lambda: Heuristic(max_cycles=0), "Heuristic.max_cycles"),
        (lambda: Heuristic(max_actions=2.5), "Heuristic.max_actions"),  # type: ignore[arg-type]
        (lambda: Retries(attempts="3"), "Retries.attempts"),  # type: ignore[arg-type]
        (lambda: Retries(first_wait=-1), "Retries.first_wait"),
        (lambda: replace(PROFILES["paper"], heuristic=30), "Profile.heuristic"),  # type: ignore[arg-type]
        (lambda: replace(PROFILES["paper"], feedback="loud"), "Profile.feedback"),  # type: ignore[arg-type]
        (lambda: CommandEvaluator(["pytest"]), "CommandEvaluator.command"),  # type: ignore[arg-type]
        (lambda: WrappedAgent("agent"), "WrappedAgent.agent"),  # type: ignore[arg-type]
        (lambda: WrappedAgent(agent, make_input=5), "WrappedAgent.make_input"),  # type: ignore[arg-type]
        (lambda: ReflexionMiddleware("demo", evaluator=5), "ReflexionMiddleware.evaluator"),  # type: ignore[arg-type]
        (lambda: ReflexionMiddleware(evaluator="llm", model=5), "ReflexionMiddleware.model"),  # type: ignore[arg-type]
        (lambda: RunSettings.read({"environment": "x", "max_cycles": 0}), "max_cycles"),
        (lambda: RunSettings.read({"environment": "x", "budgets": {"run": {"tokens": "5"}}}), "budgets.run.tokens"),
    ],
)
def test_a_wrong_argument_is_named(make, named):
    with pytest.raises(ConfigurationError, match=named):
        make()


def test_arguments_are_passed_on_as_they_are():
    prices = {"m": Price(1, 2)}
    assert ModelOptions(prices=prices).prices is prices
    assert Budget(cost=1).cost == 1
    with pytest.raises(TypeError, match="unexpected"):
        Budget(money=1)  # type: ignore[call-arg]
