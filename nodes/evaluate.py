"""evaluate: the finished trial gets its verdict, and becomes a record."""

import math

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp

from langgraph_reflexion.envs.pool import EpisodePool
from langgraph_reflexion.errors import Fault, ModelFault, ReflexionError
from langgraph_reflexion.graph.state import Evaluation, ReflexionState, Status, TrialRecord
from langgraph_reflexion.nodes.evaluators import Evaluator, Scored
from langgraph_reflexion.nodes.model import add_usage
from langgraph_reflexion.nodes.node import Update
from langgraph_reflexion.nodes.observe import actions_of


class Evaluate:
    """Score the trial (M_e, section 3 of the paper), and decide how the task stands.

    Args:
        evaluator: Gives the score.
        pool: Where the trial's episode is closed.
        threshold: From which score on a trial, and the truth, is a success.
        max_trials: After how many trials the task has failed.
    """

    def __init__(self, evaluator: Evaluator, pool: EpisodePool, *, threshold: float, max_trials: int) -> None:
        self.evaluator = evaluator
        self.pool = pool
        self.threshold = threshold
        self.max_trials = max_trials

    async def __call__(self, state: ReflexionState, config: RunnableConfig) -> Update:
        """Write the verdict, the trial's record and the task's status. A fault gets no verdict."""
        usage, fault = state["usage"], state["fault"]
        evaluation: Evaluation | None = None
        if not fault:
            try:
                scored = await self._score(state, config)
            except Fault as error:
                if isinstance(error, ModelFault) and error.permanent:
                    raise
                fault = str(error)
            else:
                usage = add_usage(usage, scored.usage)
                score = float(scored.score)
                evaluation = Evaluation(success=score >= self.threshold, score=score, feedback=scored.feedback)
        actions = actions_of(state)
        await self.pool.release(state["task"], actions)
        reward = state["episode"]["reward"]
        record = TrialRecord(
            trial=state["trial"],
            success=None if fault or reward is None else reward >= self.threshold,
            verdict=evaluation["success"] if evaluation else None,
            score=evaluation["score"] if evaluation else None,
            stop_reason="fault" if fault else state["stop_reason"] or "terminated",
            actions=len(actions),
            usage=usage,
            # What an environment has to say may be long, and a record is kept small.
            fault=fault[:300],
        )
        return {
            "evaluation": evaluation,
            "trials": [record],
            "usage": usage,
            "status": self._status(evaluation, state["trial"]),
            "fault": fault,
        }

    async def _score(self, state: ReflexionState, config: RunnableConfig) -> Scored:
        try:
            scored = await self.evaluator.evaluate(state, config)
            if not math.isfinite(scored.score):
                raise ValueError(f"a score is a finite number, and this one is {scored.score!r}")
        except (GraphBubbleUp, ReflexionError):
            raise
        except Exception as error:
            raise Fault(f"the evaluator failed: {type(error).__name__}: {error}") from error
        return scored

    def _status(self, evaluation: Evaluation | None, trial: int) -> Status:
        if evaluation is None:
            return "fault"
        if evaluation["success"]:
            return "solved"
        return "failed" if trial >= self.max_trials else "running"
