"""evaluate: the finished trial is scored and recorded."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphInterrupt

from langgraph_reflexion.envs.base import Action
from langgraph_reflexion.envs.pool import EpisodePool
from langgraph_reflexion.errors import ConfigurationError, EpisodeLost, Fault
from langgraph_reflexion.evaluators.base import STOPPED, Evaluator, tried
from langgraph_reflexion.loop.budgets import Budgets
from langgraph_reflexion.loop.context import allowed_trials
from langgraph_reflexion.loop.conversation import with_answer
from langgraph_reflexion.loop.profiles import Rules
from langgraph_reflexion.loop.prompting import charging
from langgraph_reflexion.memory import AgentMemory
from langgraph_reflexion.models.calls import as_data
from langgraph_reflexion.nodes.observe import actions_of
from langgraph_reflexion.state import Evaluation, ReflexionState, Status, Step, TrialRecord, Update
from langgraph_reflexion.support.text import sanitize

NO_THREAD = (
    "the evaluator paused the run with interrupt(), which only a checkpointer and a thread can resume: pass them as "
    "create_reflexion(...).compile(checkpointer=...), or create_agent(..., checkpointer=...), and "
    "config={'configurable': {'thread_id': ...}}"
)


@dataclass
class Evaluate:
    """Score the trial (M_e, section 3 of the paper) and decide the task's status by the profile's rules."""

    evaluator: Evaluator
    pool: EpisodePool
    budgets: Budgets
    rules: Rules
    memory: AgentMemory

    async def __call__(self, state: ReflexionState, config: RunnableConfig) -> Update:
        fault, cut_short = state["fault"], state["stop_reason"] in ("budget", "fault")
        seen, update = state, Update()
        if not cut_short:
            try:
                with charging(state, "evaluate") as paid:
                    settled = await self._finalize(state)
                    steps = [*state["trajectory"], *settled.get("trajectory", [])]
                    seen = cast(ReflexionState, {**state, **settled, "trajectory": steps})
                    shown = await self._shown(seen)
                    score = await tried(self.pool.retries, partial(self.evaluator.evaluate, shown, config))
            except Fault as error:
                fault = as_data(error)
                if isinstance(error, EpisodeLost):  # resumed, the trial starts over
                    update["stop_reason"] = "fault"
            except GraphInterrupt as pause:
                if "thread_id" in config.get("configurable", {}):
                    raise
                raise ConfigurationError(NO_THREAD) from pause
            else:
                self._check(score.score)
                update = settled
                if score.prepared is not None:
                    update["task"] = {**state["task"], "prepared": state["task"]["prepared"] | score.prepared}
                value, words = float(score.score), sanitize(score.feedback)
                judged = Evaluation(success=value >= self.rules.threshold, score=value, feedback=words)
                if score.unverified:
                    judged["unverified"] = True
                update["evaluation"] = judged
            update |= paid
            state = cast(ReflexionState, {**seen, **update, "trajectory": seen["trajectory"]})
        # A trial that was cut short leaves the evaluation of the one before, which the actor may see.
        evaluation: Evaluation | None = update.get("evaluation")
        actions, reward = actions_of(state), state["episode"]["reward"]
        await self._release(state, actions, evaluated=cut_short or not fault)
        used_up = self.budgets.used_up(state, config, trial=cut_short)
        status = self._status(state["trial"], fault, evaluation, used_up)
        notes = [*state["notes"], str(used_up)] if status == "budget" and not cut_short else state["notes"]
        record = TrialRecord(
            trial=state["trial"],
            success=None if fault or reward is None else reward >= self.rules.threshold,
            verdict=evaluation["success"] if evaluation else None,
            score=evaluation["score"] if evaluation else None,
            stop_reason="fault" if fault else state["stop_reason"] or "terminated",
            actions=len(actions),
            usage=state["usage"],
            seconds=round(state["seconds"] - state["episode"]["began"], 3),
            notes=notes,
            fault=fault[:300],  # a record is small
        )
        if evaluation and evaluation.get("unverified"):
            record["unverified"] = True
        best = _best([*state["trials"], record])
        update |= {"trials": [record], "best": best, "notes": notes, "status": status, "fault": fault}
        update |= await self.memory.lessons.record_trial(state, record, config, affordable=not used_up)
        return with_answer(state, update, config)

    def _check(self, score: float) -> None:
        """Refuse a score that cannot be compared with the threshold.

        Raises:
            ValueError: it is not finite.
            ConfigurationError: it is on another scale than the threshold.
        """
        if not math.isfinite(score):
            raise ValueError(f"an evaluator returns a finite score, not {score!r}")
        # A reward is on the environment's own scale.
        if score > 1.0 >= self.rules.threshold and not self.evaluator.oracle:
            raise ConfigurationError(
                f"the evaluator returned the score {score:g}, and scores are at most 1, which is a success: divide "
                "it by the highest score, or give a profile with a threshold on its scale, such as "
                "replace(PROFILES['paper'], threshold=8)"
            )

    async def _shown(self, state: ReflexionState) -> ReflexionState:
        """Return what the evaluator sees of a trial.

        Raises:
            EpisodeLost: what it is to see is not there any more.
        """
        return state

    async def _release(self, state: ReflexionState, actions: list[Action], *, evaluated: bool) -> None:
        """Let the trial's episode go."""
        await self.pool.release(state["task"], actions)

    async def _finalize(self, state: ReflexionState) -> Update:
        """Return what the environment adds to a trial that was stopped, and nothing for one that ended by itself."""
        episode, trajectory = state["episode"], state["trajectory"]
        if episode["terminated"] or episode["truncated"]:
            return {}
        result = await self.pool.finalize(state["task"], actions_of(state), episode["snapshot"])
        if result is None:
            return {}
        why = STOPPED.get(state["stop_reason"] or "", "The trial was stopped.")
        step = Step(number=len(trajectory) + 1, thought=why, action=None, observation=sanitize(result.observation))
        reward = episode["reward"] if result.reward is None else float(result.reward)
        return {"trajectory": [step], "episode": {**episode, "reward": reward}}

    def _status(self, trial: int, fault: str, evaluation: Evaluation | None, used_up: str | None) -> Status:
        if fault:
            return "fault"
        if evaluation is None:
            return "budget"
        if evaluation["success"]:
            return "solved"
        if trial >= allowed_trials(self.rules.max_trials):
            return "failed"
        return "budget" if used_up else "running"


def _best(records: Sequence[TrialRecord]) -> int | None:
    def rank(record: TrialRecord) -> tuple[Any, ...]:
        # Among equals, a trial that came to its own end is more of an answer than one that was stopped.
        return record["verdict"], record["score"], record["stop_reason"] == "terminated", record["trial"]

    scored = [record for record in records if record["verdict"] is not None]
    return max(scored, key=rank)["trial"] if scored else None
