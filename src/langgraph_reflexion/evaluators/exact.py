"""The evaluator that compares a wrapped agent's result with the reference answer."""

import json
from typing import Any

from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.envs.base import Task
from langgraph_reflexion.evaluators.base import Evaluator, Score, expect_reference, reference_of, result_in
from langgraph_reflexion.state import ReflexionState


class ExactEvaluator(Evaluator):
    """Accepts a result that equals `task["data"]["reference"]`, the reference answer, except for whitespace."""

    oracle = True

    async def prepare(self, task: Task, config: RunnableConfig) -> dict[str, Any]:
        """Expect a reference answer.

        Raises:
            ConfigurationError: the task has none.
        """
        return expect_reference(task, "'exact'")

    async def evaluate(self, state: ReflexionState, config: RunnableConfig) -> Score:
        reference, result = reference_of(state["task"]), result_in(state)
        if result in (None, ""):
            return Score(0.0, "Nothing was returned.")
        # The feedback must not give the answer away.
        same = _normalized(result) == _normalized(reference)
        return Score(float(same), "" if same else "The answer differs from the reference answer.")


def _normalized(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return " ".join(text.split())
