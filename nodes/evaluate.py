"""evaluate: the finished trial is scored and recorded."""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphInterrupt

from langgraph_reflexion.envs.base import Action
from langgraph_reflexion.envs.pool import EpisodePool
from langgraph_reflexion.errors import ConfigurationError, EpisodeLost, Fault
from langgraph_reflexion.evaluators.base import STOPPED, TRUTH, Evaluator, Score, expect_on_scale, tried
from langgraph_reflexion.loop.answers import RejectedAnswers
from langgraph_reflexion.loop.budgets import Budgets
from langgraph_reflexion.loop.context import allowed_trials
from langgraph_reflexion.loop.conversation import with_answer
from langgraph_reflexion.loop.episodes import key_of
from langgraph_reflexion.loop.profiles import Rules
from langgraph_reflexion.loop.prompting import charging
from langgraph_reflexion.memory import AgentMemory
from langgraph_reflexion.memory.facts import facts_of
from langgraph_reflexion.memory.failure import answer_of
from langgraph_reflexion.models.calls import LONGEST_NOTE, as_data, open_account
from langgraph_reflexion.models.recorded import NO_GAIN, NO_TRUTH, TRIALS_WITHOUT_GAIN
from langgraph_reflexion.nodes.approval import Approval
from langgraph_reflexion.nodes.observe import actions_of
from langgraph_reflexion.nodes.verdict import OVERRULED, decided
from langgraph_reflexion.state import (
    ContinuedTrial,
    Evaluation,
    ReflexionState,
    Status,
    Step,
    Strategy,
    TrialRecord,
    Update,
)
from langgraph_reflexion.support.copies import digest_of
from langgraph_reflexion.support.retries import Retries
from langgraph_reflexion.support.text import sanitize

NO_THREAD = (
    "the evaluator paused the run with interrupt(), which only a checkpointer and a thread can resume: pass them as "
    "create_reflexion(...).compile(checkpointer=...), or create_agent(..., checkpointer=...), and "
    "config={'configurable': {'thread_id': ...}}"
)

OUT_OF_TIME = "{} had not ended when a budget of seconds was used up"

TRUTH_ASKS = "truth= cannot ask a person with interrupt(): what nobody acts on must not pause a run"


@dataclass
class Evaluate:
    """Score the trial (M_e, section 3 of the paper) and decide the task's status by the profile's rules."""

    evaluator: Evaluator
    pool: EpisodePool
    budgets: Budgets
    rules: Rules
    memory: AgentMemory
    approval: Approval = field(default_factory=Approval)
    truth: Evaluator | None = None
    """Says whether a trial has truly solved its task: recorded, never acted on, and seen by no model."""

    async def __call__(self, state: ReflexionState, config: RunnableConfig) -> Update:
        proposed = state.get("proposed_evaluation")
        if not proposed:
            return await self._evaluated(state, None, config)
        # The second visit after one trial. A person is asked before anything else is done: when the run is resumed,
        # the node runs again from its beginning, and finds the verdict in the state instead of asking the evaluator.
        decision: Update = {"evaluation": proposed}
        if self.approval.verdicts:
            decision = decided(state, proposed, self.rules.threshold)
        update = await self._evaluated(state, decision, config)
        update["proposed_evaluation"] = None
        update["proposed_truth"] = None
        return update

    async def _evaluated(self, state: ReflexionState, decision: Update | None, config: RunnableConfig) -> Update:
        """Return the update of a trial's end, or first the verdict that waits for a person.

        Args:
            state: The state at the end of the trial.
            decision: The evaluation after a person's decision, with the trial's notes.
            config: The node's config.
        """
        if state["stop_reason"] in ("budget", "fault"):
            return await self._ended(state, {}, None, config, cut_short=True)
        if decision:
            ruled = cast(ReflexionState, {**state, **decision})
            return await self._ended(ruled, decision.copy(), state.get("proposed_truth"), config)
        seen, update = await self._judged(state, config)
        # As the update leaves it, but for the steps, of which the update has only the new ones.
        judged = cast(ReflexionState, {**seen, **update, "trajectory": seen["trajectory"]})
        if "evaluation" not in update:
            # Trouble outside, which the update names.
            return await self._ended(judged, update, None, config)
        # While the trial's world is still there, and before a person may be asked.
        success, notes = await self._truth(judged, config)
        update["notes"] = notes
        judged["notes"] = notes
        if self.approval.verdicts:
            # In the state before a person is asked, so that nothing is judged twice.
            update["proposed_evaluation"] = update.pop("evaluation")
            update["proposed_truth"] = success
            return update
        return await self._ended(judged, update, success, config)

    async def _ended(
        self,
        state: ReflexionState,
        update: Update,
        success: bool | None,
        config: RunnableConfig,
        *,
        cut_short: bool = False,
    ) -> Update:
        """Return the update of a trial's end: what the loop does next, and the trial's record.

        Args:
            state: The state with the evaluation, if there is one.
            update: The update so far; without an evaluation, the trial was cut short, or could not be judged.
            success: Whether the trial has truly solved its task; None if only its reward says so.
            config: The node's config.
            cut_short: Whether the trial has ended before it could be judged.
        """
        fault = update.pop("fault", state["fault"])
        # A trial that was cut short leaves the evaluation of the one before, which the actor may see.
        evaluation: Evaluation | None = update.get("evaluation")
        await self._release(state, actions_of(state), evaluated=cut_short or not fault)
        used_up = self.budgets.used_up(state, config, trial=cut_short)
        without_gain = self._without_gain(state, evaluation)
        status = self._status(state["trial"], fault, evaluation, without_gain, used_up)
        notes = state["notes"]
        if without_gain:
            notes = [*notes, without_gain]
        # A trial that a budget has cut short has its note already.
        if status == "budget" and not cut_short:
            notes = [*notes, str(used_up)]

        record = self._record(state, evaluation, fault, notes)
        if success is not None:
            record["success"] = success
        update["trials"] = [record]
        update["best"] = _best([*state["trials"], record])
        update["notes"] = notes
        update["status"] = status
        update["fault"] = fault
        if evaluation and not evaluation["success"]:
            update |= self._for_next_trial(state, record, evaluation)
        # Where the profile reflects on the last trial anyway, that reflection is its lesson.
        unreflected = status == "failed" and not self.rules.reflects_at_end
        learned = await self.memory.lessons.record_trial(
            state, record, config, affordable=not used_up, last=unreflected
        )
        update |= learned
        return with_answer(state, update, config)

    def _for_next_trial(self, state: ReflexionState, record: TrialRecord, evaluation: Evaluation) -> Update:
        """Return what the state keeps of a trial that was not accepted, for the next one."""
        update: Update = {}
        strategy = Strategy(self.rules.strategy)
        facts: list[str] = []
        if self.memory.facts:
            recorded = state.copy()
            recorded["trials"] = [*state["trials"], record]
            facts = facts_of(recorded, self.pool.environment)
            update["trial_facts"] = facts
            # Otherwise the reflection keeps it.
            if state.get("attempt") and not strategy.reflects:
                update["answers"] = [*state.get("answers", []), digest_of(answer_of(state))]
        if strategy.continues:
            update["continued"] = _with_trial(state, evaluation, facts)
        return update

    async def _judged(self, state: ReflexionState, config: RunnableConfig) -> tuple[ReflexionState, Update]:
        """Return the trial as the evaluator has seen it, and the update with its evaluation.

        Trouble outside, of which there is no evaluation, is the update's `fault`.

        Raises:
            ConfigurationError: the evaluator paused a run that cannot be resumed.
        """
        seen = state
        try:
            with charging(state, "evaluate") as paid:
                settled = await self._finalize(state)
                seen = _settled(state, settled)
                shown = _without_truth(await self._shown(seen))
                score = await self._score(self.evaluator, shown, config, "the evaluator", self.pool.retries)
        except Fault as error:
            # Without what the environment has added: the trial is judged once more when it is resumed.
            failed: Update = {"fault": as_data(error)}
            if isinstance(error, EpisodeLost):
                # Resumed, the trial starts over.
                failed["stop_reason"] = "fault"
            failed.update(paid)
            return seen, failed
        except GraphInterrupt as pause:
            # The evaluator asks a person: LangGraph stops here, if it can go on later.
            if "thread_id" in config.get("configurable", {}):
                raise
            raise ConfigurationError(NO_THREAD) from pause

        expect_on_scale(self.evaluator, score, self.rules.threshold)
        update = settled.copy()
        if score.prepared is not None:
            # Into the state's task, not the one that was shown: that one lacks what the truth has prepared.
            task = state["task"].copy()
            task["prepared"] = {**task["prepared"], **score.prepared}
            update["task"] = task
        update["evaluation"] = self._evaluation(score)
        if self.rules.rejects_answers and self._is_rejected_by_code(score):
            update["rejected"] = RejectedAnswers(self.pool.environment).with_answer(seen, actions_of(seen))
        update.update(paid)
        return seen, update

    def _is_rejected_by_code(self, score: Score) -> bool:
        """Return whether a check of code has rejected the trial: it would do so again, and a model might not."""
        if score.accepts(self.rules.threshold) or score.unverified:
            return False
        return not (self.evaluator.by_model or score.by_model)

    async def _truth(self, state: ReflexionState, config: RunnableConfig) -> tuple[bool | None, list[str]]:
        """Return whether the trial has truly solved its task, None if that is not known, and the trial's notes.

        Trouble outside is a note: whoever records the truth does not end a task. What it spends is on no account.

        Raises:
            ConfigurationError: it pauses the run, or its score is on another scale.
        """
        notes = state["notes"]
        if self.truth is None:
            return None, notes
        prepared = state["task"].get("prepared", {}).get(TRUTH, {})
        # It could not be prepared, which a note of the first trial says.
        if prepared is None:
            return None, notes
        try:
            # An account of its own, which nobody reads.
            with open_account():
                shown = _without_truth(await self._shown(state))
                # As if it were the evaluator.
                shown["task"]["prepared"] |= prepared
                score = await self._score(self.truth, shown, config, "the truth", self._patience(state))
        except Fault as fault:
            return None, [*notes, f"{NO_TRUTH}, {fault}"[:LONGEST_NOTE]]
        except GraphInterrupt as pause:
            raise ConfigurationError(TRUTH_ASKS) from pause
        expect_on_scale(self.truth, score, self.rules.threshold)
        if score.unverified:
            return None, notes
        return score.accepts(self.rules.threshold), notes

    def _patience(self, state: ReflexionState) -> Retries:
        """Return how often the truth is asked: once, if it was down in an earlier trial, which has waited for it."""
        for record in state["trials"]:
            if any(note.startswith(NO_TRUTH) for note in record["notes"]):
                return Retries(attempts=1)
        return self.pool.retries

    async def _score(
        self, evaluator: Evaluator, shown: ReflexionState, config: RunnableConfig, who: str, retries: Retries
    ) -> Score:
        """Ask an evaluator, within the budgets of seconds.

        Raises:
            Fault: it has failed, or its time is over. A function that blocks goes on in its thread.
        """
        try:
            async with asyncio.timeout(self.budgets.seconds_to_evaluate()) as limit:
                return await tried(retries, partial(evaluator.evaluate, shown, config), who)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise Fault(OUT_OF_TIME.format(who), transient=False) from error

    def _evaluation(self, score: Score) -> Evaluation:
        """Return a score with the verdict that follows from it."""
        success = score.accepts(self.rules.threshold)
        evaluation = Evaluation(success=success, score=float(score.score), feedback=sanitize(score.feedback))
        if score.unverified:
            evaluation["unverified"] = True
        return evaluation

    def _record(
        self, state: ReflexionState, evaluation: Evaluation | None, fault: str, notes: list[str]
    ) -> TrialRecord:
        """Return the record of the trial; one without an evaluation was cut short."""
        episode = state["episode"]
        stop_reason = state["stop_reason"] or "terminated"
        if fault:
            stop_reason = "fault"
        record = TrialRecord(
            trial=state["trial"],
            success=None,
            verdict=None,
            score=None,
            stop_reason=stop_reason,
            actions=len(actions_of(state)),
            usage=state["usage"],
            seconds=round(state["seconds"] - episode["began"], 3),
            notes=notes,
            fault=fault[:300],  # a record is small
        )
        if episode["reward"] is not None and not fault:
            record["success"] = episode["reward"] >= self.rules.threshold
        if evaluation:
            record["verdict"] = evaluation["success"]
            record["score"] = evaluation["score"]
            if evaluation.get("unverified"):
                record["unverified"] = True
        return record

    async def _shown(self, state: ReflexionState) -> ReflexionState:
        """Return what the evaluator sees of a trial.

        Raises:
            EpisodeLost: what it is to see is not there any more.
        """
        return state

    async def _release(self, state: ReflexionState, actions: list[Action], *, evaluated: bool) -> None:
        """Let the trial's episode go."""
        await self.pool.release(state["task"], actions, key=key_of(state))

    async def _finalize(self, state: ReflexionState) -> Update:
        """Return what the environment adds to a trial that was stopped, and nothing for one that ended by itself."""
        episode = state["episode"]
        if episode["terminated"] or episode["truncated"]:
            return {}
        actions = actions_of(state)
        result = await self.pool.finalize(state["task"], actions, episode["snapshot"], key=key_of(state))
        if result is None:
            return {}
        step = Step(
            number=len(state["trajectory"]) + 1,
            thought=STOPPED.get(state["stop_reason"] or "", "The trial was stopped."),
            action=None,
            observation=sanitize(result.observation),
        )
        settled = episode.copy()
        # None leaves the reward as it was.
        if result.reward is not None:
            settled["reward"] = float(result.reward)
        return {"trajectory": [step], "episode": settled}

    def _without_gain(self, state: ReflexionState, evaluation: Evaluation | None) -> str | None:
        """Return the note on a task that stops at no gain; None if it goes on, or ends for another reason."""
        if not self.rules.stop_at_no_gain or evaluation is None or evaluation["success"]:
            return None
        if state["trial"] >= allowed_trials(self.rules.max_trials):
            return None
        if evaluation.get("unverified") or _is_ruled(state["notes"]):
            # Its score says nothing, or is a person's yes or no.
            return None
        scores: list[float] = []
        for record in state["trials"]:
            if record["score"] is not None and not record.get("unverified") and not _is_ruled(record["notes"]):
                scores.append(record["score"])
        scores.append(evaluation["score"])
        last = scores[-TRIALS_WITHOUT_GAIN:]
        if len(last) < TRIALS_WITHOUT_GAIN:
            return None
        # A mean of the same marks may differ in its last digit.
        if not math.isclose(min(last), max(last), abs_tol=1e-9):
            return None
        return f"{NO_GAIN}, {evaluation['score']:g}"

    def _status(
        self,
        trial: int,
        fault: str,
        evaluation: Evaluation | None,
        without_gain: str | None,
        used_up: str | None,
    ) -> Status:
        if fault:
            return "fault"
        if evaluation is None:
            # Without a fault, only a budget leaves a trial unjudged.
            return "budget"
        if evaluation["success"]:
            return "solved"
        if without_gain or trial >= allowed_trials(self.rules.max_trials):
            return "failed"
        if used_up:
            return "budget"
        return "running"


def _without_truth(state: ReflexionState) -> ReflexionState:
    """Return the state without what the truth has prepared, which an evaluator must not see."""
    task = state["task"].copy()
    task["prepared"] = {name: made for name, made in task.get("prepared", {}).items() if name != TRUTH}
    seen = state.copy()
    seen["task"] = task
    return seen


def _settled(state: ReflexionState, settled: Update) -> ReflexionState:
    """Return the state with what the environment has added to a trial that was stopped."""
    if not settled:
        return state
    seen = state.copy()
    seen["trajectory"] = [*state["trajectory"], *settled["trajectory"]]
    seen["episode"] = settled["episode"]
    return seen


def _with_trial(state: ReflexionState, evaluation: Evaluation, facts: list[str]) -> list[ContinuedTrial]:
    """Return the trials that the next one continues: those before, and the one that was not accepted."""
    # A trial that is judged once more, as after a resume, replaces itself.
    earlier = [each for each in state.get("continued", []) if each["trial"] < state["trial"]]
    ended = ContinuedTrial(
        trial=state["trial"],
        steps=state["trajectory"],
        evaluation=evaluation,
        facts=facts,
        episode=state["episode"],
    )
    if state.get("replies"):
        ended["replies"] = state["replies"]
    return [*earlier, ended]


def _is_ruled(notes: Sequence[str]) -> bool:
    """Return whether a person has given the verdict on a trial with these notes."""
    return any(note.endswith(OVERRULED) for note in notes)


def _best(records: Sequence[TrialRecord]) -> int | None:
    """Return the number of the best trial; None if no trial has a verdict."""

    def rank(record: TrialRecord) -> tuple[Any, ...]:
        # Among equals, a trial that came to its own end is more of an answer than one that was stopped.
        came_to_its_end = record["stop_reason"] == "terminated"
        return record["verdict"], record["score"], came_to_its_end, record["trial"]

    judged = [record for record in records if record["verdict"] is not None]
    if not judged:
        return None
    return max(judged, key=rank)["trial"]
