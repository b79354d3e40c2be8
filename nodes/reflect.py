"""reflect: a failed trial becomes a reflection."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.envs.base import Environment
from langgraph_reflexion.errors import ModelFault
from langgraph_reflexion.loop.conversation import task_in_talk, with_pictures
from langgraph_reflexion.loop.profiles import Rules
from langgraph_reflexion.loop.prompting import (
    Prompt,
    bounded_trial,
    charging,
    drop_longest,
    for_record,
    with_lessons,
)
from langgraph_reflexion.memory import AgentMemory
from langgraph_reflexion.memory.episodic import read_reflection, status_line
from langgraph_reflexion.memory.facts import facts_of
from langgraph_reflexion.memory.failure import answer_of, calls_of, check_words, failure, has_reason
from langgraph_reflexion.memory.reflector import Reflector
from langgraph_reflexion.memory.useful import REJECTED, STANDS_ALONE, whole_sentences, why_useless
from langgraph_reflexion.models.calls import CallId, as_data, note
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.models.limits import is_cut
from langgraph_reflexion.models.worlds import KnowsSomeWorlds
from langgraph_reflexion.prompts import Prompts
from langgraph_reflexion.prompts.few_shot import few_shot_reflections, left_over
from langgraph_reflexion.state import Reflection, ReflexionState, Step, Update
from langgraph_reflexion.support.copies import digest_of
from langgraph_reflexion.support.text import sanitize

LONGEST_GOAL = 300
"""Characters up to which a task is repeated after its trial, as small models lose sight of it."""


@dataclass
class Reflect:
    """Turn task, trajectory, evaluation and memory into a reflection (M_sr, section 3 of the paper).

    The profile says how much of the evaluation, the trajectory and the memory the model sees.
    """

    client: Client
    environment: Environment
    prompts: Prompts
    memory: AgentMemory
    rules: Rules
    seed: int
    reflector: Reflector | None = None
    """Code that reflects in place of the model."""

    def prompt(self, state: ReflexionState, again: str = "") -> Prompt:
        """Return the prompt on the trial that failed.

        Args:
            state: The state after the evaluation.
            again: Why a first reflection was of no use. The second is then written without the earlier ones.
        """
        known = failure(state, self.environment)
        if self.memory.facts:
            # Computed anew: a trial that was accepted at first, and is learned from later, has none in the state.
            known["facts"] = facts_of(state, self.environment)
        fitting = self.prompts.reflections_on(state["task"].get("kind"))
        # A model that has copied an earlier reflection would copy it again.
        earlier = state["reflections"]
        if again:
            earlier = []
        evaluation = state["evaluation"]
        unjudged = evaluation is not None and evaluation.get("unverified", False)

        def render(steps: list[Step], left_out: int) -> list[BaseMessage]:
            examples, notes = left_over(fitting, earlier, left_out)
            failed = self._failed_trial(state, known, steps, notes, again)
            last = with_pictures(failed, state, self.client.model)
            instruction = few_shot_reflections(self.prompts, examples, self.rules.layout, unjudged=unjudged)
            return [*instruction, last]

        return Prompt(render, state["trajectory"])

    def _failed_trial(
        self,
        state: ReflexionState,
        known: Mapping[str, Any],
        steps: Sequence[Step],
        reflections: Sequence[Reflection],
        again: str,
    ) -> str:
        """Return the last message of a prompt: the trial, what is known of its failure, and the memory."""
        feedback = self.rules.feedback
        evaluation = state["evaluation"]
        shown = bounded_trial(drop_longest(steps, self.rules.truncation))
        # Repeated after the trial, unless it is too long for that.
        goal = sanitize(state["task"]["instruction"])
        if len(goal) > LONGEST_GOAL:
            goal = ""
        if not self.rules.reflects_on_memory:
            reflections = []
        memory_map = ""
        if self.memory.map:
            memory_map = self.memory.map.text(state)
        failed = self.prompts.render(
            "failed_trial",
            observation=task_in_talk(state, self.prompts),
            steps=shown,
            calls=calls_of(shown),
            check=check_words(evaluation, feedback),
            has_reason=has_reason(evaluation, feedback),
            again=again,
            goal=goal,
            **known,
            status=status_line(evaluation, feedback),
            reflections=reflections,
            memory_map=memory_map,
        )
        return with_lessons(failed, state, self.prompts)

    async def __call__(self, state: ReflexionState, config: RunnableConfig) -> Update:
        if not self.is_due(state):
            return {}
        try:
            with charging(state, "reflect") as paid:
                update = await self._learned(state, config)
        except ModelFault as fault:
            words = as_data(fault)
            if state["status"] == "failed":
                # Nothing waits for the reflection on the last trial: a note after those of its calls is enough.
                update = {}
                paid["notes"] = [*paid.get("notes", state["notes"]), words]
            else:
                update = {"status": "fault", "fault": words}
        else:
            # Where a person approves reflections, `reset` records the approved ones.
            await self.memory.lessons.record_reflection(state, update["reflections"], config, approved=False)
        # `evaluate` has written the record before this node has spent anything.
        record = dict(state["trials"][-1])
        record.update(for_record(paid))
        update["trials"] = [record]
        update.update(paid)
        return update

    async def _learned(self, state: ReflexionState, config: RunnableConfig) -> Update:
        """Return what is remembered of the trial.

        Raises:
            ModelFault: the model gave no reply.
        """
        text = await self.reflection_on(state, config)
        update: Update = {"reflections": state["reflections"]}
        if text is not None:
            reflection = Reflection(trial=state["trial"], text=text)
            update["reflections"] = await self.memory.reflections.add(state, reflection, config)
        if state.get("attempt"):
            # An empty answer counts as well, so that places are the numbers of attempts.
            digest = digest_of(answer_of(state))
            update["answers"] = [*state.get("answers", []), digest]
        return update

    async def reflection_on(self, state: ReflexionState, config: RunnableConfig) -> str | None:
        """Return the reflection on a trial that failed; None if it is useless, also when asked for once more.

        Raises:
            ModelFault: the model gave no reply.
        """
        call = CallId(self.seed, state["task"]["id"], state["trial"], "reflect")
        return await self._written(state, config, call)

    def is_due(self, state: ReflexionState) -> bool:
        """Return whether the failed trial is reflected on: the last one of a task only for a reason."""
        if state["status"] != "failed" or self.rules.reflects_at_end:
            return True
        return self.memory.lessons.learns_from_last(state)

    async def _written(self, state: ReflexionState, config: RunnableConfig, call: CallId) -> str | None:
        """Return the reflection that a model writes; None if it is useless, also when asked for once more.

        Raises:
            ModelFault: the model gave no reply.
        """
        if self.reflector:
            return await self.reflector.write(state, self.rules)
        reply = await self.prompt(state).ask(self.client, state["prompt_budget"], config, call)
        if not self.rules.rejects_reflections or isinstance(self.client.model, KnowsSomeWorlds):
            # A model of rules says the same of the same mistake, however often it is asked.
            return reply.text
        text = read_whole(reply.message)
        why = self._why_useless(text, state)
        if why is None:
            return text
        # The note stays, so that the record of the trial tells of the call that was paid for nothing.
        note(f"{REJECTED}: {why}")
        return await self._written_again(state, config, call, why)

    async def _written_again(
        self, state: ReflexionState, config: RunnableConfig, call: CallId, why: str
    ) -> str | None:
        """Return a second reflection, after a first one that is useless; None if this one is useless as well.

        Raises:
            ModelFault: the model gave no reply.
        """
        point = why
        if has_reason(state["evaluation"], self.rules.feedback):
            check = check_words(state["evaluation"], self.rules.feedback)
            said = " ".join(check.split())
            point = f'{why}, and the check said "{said}"'
        again = call._replace(name=f"{call.name} again")
        reply = await self.prompt(state, point).ask(self.client, state["prompt_budget"], config, again)
        text = read_whole(reply.message)
        why_again = self._why_useless(text, state)
        if why_again is None:
            return text
        note(f"{REJECTED}: {why_again}: {STANDS_ALONE}")
        return None

    def _why_useless(self, text: str, state: ReflexionState) -> str | None:
        """Return why a reflection on the trial is of no use, or None."""
        # What the model has seen, which a reflection may quote but not repeat.
        seen = [task_in_talk(state, self.prompts)]
        for step in state["trajectory"]:
            if step["action"]:
                seen.append(step["action"]["text"])
            seen.append(f"{step['thought']} {step['observation']}")
        seen.append(answer_of(state))
        seen.append(check_words(state["evaluation"], self.rules.feedback))
        request = self.prompts.render("reflect", examples=(), unjudged=False)
        earlier = [each["text"] for each in state["reflections"]]
        return why_useless(text, earlier, "\n".join(seen), request)


def read_whole(message: AIMessage) -> str:
    """Return the reflection in a reply; of one that its limit has cut, the whole sentences."""
    text = read_reflection(message.text)
    if is_cut(message):
        return whole_sentences(text)
    return text
