from dataclasses import replace

import pytest

import langgraph_reflexion as lr
from langgraph_reflexion.lab.settings import RunSettings


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: lr.Budget(tokens="100"), "Budget.tokens"),
        (lambda: lr.Budget(seconds=float("nan")), "seconds"),
        (lambda: lr.Budgets(run=100), "Budgets.run"),
        (lambda: lr.Price(-1, 0), "at least 0"),
        (lambda: lr.Memory(size=3, keep="full"), "Memory.size"),
        (lambda: lr.Memory(lessons="lessons.db"), "Memory.lessons"),
        (lambda: lr.ModelOptions(seed="1"), "ModelOptions.seed"),
        (lambda: lr.Heuristic(max_cycles=0), "Heuristic.max_cycles"),
        (lambda: lr.Retries(first_wait=-1), "Retries.first_wait"),
        (lambda: replace(lr.PROFILES["paper"], heuristic=30), "Profile.heuristic"),
        (lambda: lr.CommandEvaluator(["pytest"]), "CommandEvaluator.command"),
        (lambda: lr.WrappedAgent("agent"), "WrappedAgent.agent"),
        (lambda: lr.ReflexionMiddleware(evaluator="llm", model=5), "ReflexionMiddleware.model"),
        (lambda: RunSettings.read({"environment": "x", "budgets": {"run": {"tokens": "5"}}}), "budgets.run.tokens"),
    ],
)
def test_a_wrong_argument_is_named(make, named):
    with pytest.raises(lr.ConfigurationError, match=named):
        make()
