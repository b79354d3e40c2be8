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
        (lambda: Budgets(run=100), "Budgets.run"),  # type: ignore[arg-type]
        (lambda: Heuristic(max_cycles=0), "Heuristic.max_cycles"),
        (lambda: Retries(first_wait=-1), "Retries.first_wait"),
        (lambda: replace(PROFILES["paper"], heuristic=30), "Profile.heuristic"),  # type: ignore[arg-type]
        (lambda: replace(PROFILES["paper"], feedback="loud"), "Profile.feedback"),  # type: ignore[arg-type]
        (lambda: CommandEvaluator(["pytest"]), "CommandEvaluator.command"),  # type: ignore[arg-type]
        (lambda: WrappedAgent("agent"), "WrappedAgent.agent"),  # type: ignore[arg-type]
        (lambda: WrappedAgent(agent, make_input=5), "WrappedAgent.make_input"),  # type: ignore[arg-type]
        (lambda: ReflexionMiddleware(evaluator="llm", model=5), "ReflexionMiddleware.model"),  # type: ignore[arg-type]
        (lambda: RunSettings.read({"environment": "x", "budgets": {"run": {"tokens": "5"}}}), "budgets.run.tokens"),
    ],
)
def test_a_wrong_argument_is_named(make, named):
    with pytest.raises(ConfigurationError, match=named):
        make()
