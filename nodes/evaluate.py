"""evaluate: the finished trial gets its verdict, and becomes a record."""

import math
from collections.abc import Sequence
from typing import cast

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp

from langgraph_reflexion.budgets import Budgets
from langgraph_reflexion.context import charged, noted
from langgraph_reflexion.envs.pool import EpisodePool
from langgraph_reflexion.errors import Fault, ModelFault, ReflexionError
from langgraph_reflexion.evaluators.base import STOPPED, Evaluator, Scored
from langgraph_reflexion.models.calls import storable
from langgraph_reflexion.models.faults import in_a_line
from langgraph_reflexion.nodes.node import Update
from langgraph_reflexion.nodes.observe import actions_of
from langgraph_reflexion.state import Evaluation, ReflexionState, Status, Step, TrialRecord


class Evaluate:
    """Score the trial (M_e, section 3 of the paper), and decide how the task stands.

    Args:
        evaluator: Gives the score.
        pool: Where the trial's episode is closed.
        budgets: What may be spent.
        threshold: From which score on a trial, and the truth, is a success.
        max_trials: After how many trials the task has failed.
    """

    def __init__(
        self, evaluator: Evaluator, pool: EpisodePool, budgets: Budgets, threshold: float, max_trials: int
    ) -> None:
        self.evaluator = evaluator
        self.pool = pool
        self.budgets = budgets
        self.threshold = threshold
        self.max_trials = max_trials

    async def __call__(self, state: ReflexionState, config: RunnableConfig) -> Update:
        """Write the verdict, the trial's record and the task's status. A trial that was cut short gets no verdict."""
        fault, cut_short = state["fault"], state["stop_reason"] in ("budget", "fault")
        usage, notes = state["usage"], state["notes"]
        evaluation: Evaluation | None = None
        settled: Update = {}
        if not cut_short:
            try:
                settled = await self._settle(state)
                steps = [*state["trajectory"], *settled.get("trajectory", [])]
                state = cast(ReflexionState, {**state, **settled, "trajectory": steps})
                scored = await self._score(state, config)
            except Fault as error:
                if isinstance(error, ModelFault) and error.permanent:
                    raise
                fault = str(error)
            else:
                if scored.prepared is not None:
                    task = state["task"]
                    settled |= {"task": {**task, "prepared": task["prepared"] | scored.prepared}}
                usage = charged(state, "evaluate", scored.usage)
                notes = noted(state, scored.notes)
                score = float(scored.score)
                feedback = storable(scored.feedback)
                evaluation = Evaluation(success=score >= self.threshold, score=score, feedback=feedback)
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
            seconds=round(state["seconds"] - state["episode"]["began"], 3),
            notes=notes,
            # What an environment has to say may be long, and a record is kept small.
            fault=fault[:300],
        )
        used_up = self.budgets.used_up(cast(ReflexionState, {**state, "usage": usage}), config, trial=cut_short)
        status = self._status(state, fault, evaluation, used_up)
        if status == "budget" and not cut_short:
            record["notes"] = notes = [*notes, str(used_up)]
        update: Update = {
            "trials": [record],
            "best": _best([*state["trials"], record]),
            "usage": usage,
            "notes": notes,
            "status": status,
            "fault": fault,
        }
        # A trial that was cut short leaves the verdict on the one before, which the actor may be told.
        return update | settled | ({"evaluation": evaluation} if evaluation else {})

    async def _settle(self, state: ReflexionState) -> Update:
        """What the environment has to say of a trial that was stopped; nothing of one that ended."""
        episode, trajectory = state["episode"], state["trajectory"]
        if episode["terminated"] or episode["truncated"]:
            return {}
        result = await self.pool.settle(state["task"], actions_of(state), episode["snapshot"])
        if result is None:
            return {}
        why = STOPPED.get(state["stop_reason"] or "", "The trial was stopped.")
        step = Step(number=len(trajectory) + 1, thought=why, action=None, observation=storable(result.observation))
        reward = episode["reward"] if result.reward is None else float(result.reward)
        return {"trajectory": [step], "episode": {**episode, "reward": reward}}

    async def _score(self, state: ReflexionState, config: RunnableConfig) -> Scored:
        try:
            scored = await self.evaluator.evaluate(state, config)
            if not math.isfinite(scored.score):
                raise ValueError(f"a score is a finite number, and this one is {scored.score!r}")
        except (GraphBubbleUp, ReflexionError):
            raise
        except Exception as error:
            raise Fault(f"the evaluator failed: {in_a_line(error)}", transient=False) from error
        return scored

    def _status(
        self, state: ReflexionState, fault: str, evaluation: Evaluation | None, used_up: str | None
    ) -> Status:
        if fault:
            return "fault"
        if evaluation is None:
            return "budget"
        if evaluation["success"]:
            return "solved"
        if state["trial"] >= self.max_trials:
            return "failed"
        return "budget" if used_up else "running"


def _best(records: Sequence[TrialRecord]) -> int | None:
    scored = [
        # Among equals, one that came to its end is more of an answer than one that was stopped.
        (bool(record["verdict"]), record["score"], record["stop_reason"] == "terminated", record["trial"])
        for record in records
        if record["verdict"] is not None
    ]
    return max(scored)[-1] if scored else None
