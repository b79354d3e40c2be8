from dataclasses import replace

import pytest

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


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Budget(tokens="100"), "Budget.tokens"),
        (lambda: Budgets(run=100), "Budgets.run"),
        (lambda: Heuristic(max_cycles=0), "Heuristic.max_cycles"),
        (lambda: Retries(first_wait=-1), "Retries.first_wait"),
        (lambda: replace(PROFILES["paper"], heuristic=30), "Profile.heuristic"),
        (lambda: CommandEvaluator(["pytest"]), "CommandEvaluator.command"),
        (lambda: WrappedAgent("agent"), "WrappedAgent.agent"),
        (lambda: ReflexionMiddleware(evaluator="llm", model=5), "ReflexionMiddleware.model"),
        (lambda: RunSettings.read({"environment": "x", "budgets": {"run": {"tokens": "5"}}}), "budgets.run.tokens"),
    ],
)
def test_a_wrong_argument_is_named(make, named):
    with pytest.raises(ConfigurationError, match=named):
        make()
