"""Evaluators that ask a model about the trial, without access to the truth."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from string import Formatter
from typing import Protocol, runtime_checkable

from langchain_core.exceptions import OutputParserException
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.actors.base import Actor
from langgraph_reflexion.actors.by_trial import ByTrial
from langgraph_reflexion.actors.reply import LONGEST
from langgraph_reflexion.envs.base import Action, Task
from langgraph_reflexion.envs.grammar import equivalent
from langgraph_reflexion.errors import ConfigurationError, ModelFault
from langgraph_reflexion.evaluators.base import (
    STOPPED,
    Evaluator,
    Score,
    expect_reference,
    how_it_ended,
    reference_of,
    result_in,
)
from langgraph_reflexion.evaluators.function import to_score
from langgraph_reflexion.loop.conversation import earlier_talk, task_in_talk, with_pictures
from langgraph_reflexion.loop.prompting import Prompt, bounded_trial
from langgraph_reflexion.loop.tracing import ambient
from langgraph_reflexion.models.calls import CallId, note
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.prompts import Prompts
from langgraph_reflexion.state import ReflexionState, Step, steps_so_far
from langgraph_reflexion.support.text import sanitize

ASKED_AGAIN = "What is your verdict? Answer in one word, yes or no."
"""The question after a reply without a verdict."""

NO_VERDICT = "judge: no verdict, which counts as a no"
"""The note of a trial whose judge gave none."""


@dataclass
class LLMEvaluator(Evaluator):
    """A model that reads the trajectory and says whether the task was solved (GPT in the paper)."""

    client: Client
    prompts: Prompts
    seed: int
    label = "The judge"
    by_model = True

    def prompt(self, state: ReflexionState, said: Sequence[BaseMessage] = ()) -> Prompt:
        """Return the prompt on the finished trial, and what was said about it."""

        def render(steps: list[Step], _: int) -> list[BaseMessage]:
            task = task_in_talk(state, self.prompts)
            trial = self.prompts.render("trial", observation=task, steps=bounded_trial(steps))
            shown = with_pictures(trial, state, self.client.model)
            judge = SystemMessage(self.prompts.render("judge"))
            return [judge, shown, *said]

        return Prompt(render, steps_so_far(state))

    async def evaluate(self, state: ReflexionState, config: RunnableConfig) -> Score:
        """Ask the model, and once more for the verdict alone if its reply has none; only a clear yes is a yes."""
        text = ""
        said: list[BaseMessage] = []
        for name in ("evaluate", "evaluate again"):
            call = CallId(self.seed, state["task"]["id"], state["trial"], name)
            reply = await self.prompt(state, said).ask(self.client, state["prompt_budget"], config, call)
            answer = reply.text
            if said:
                # Asked for one word, models leave out the label, by which a verdict is found.
                answer = f"Verdict: {answer}"
            # The verdict comes last.
            text = f"{text}\n{answer}".strip()[-LONGEST:]
            verdict = verdict_in(answer[-LONGEST:])
            if verdict is not None:
                return Score(float(verdict), text)
            # Its own reply is shown, so that it only has to conclude.
            said = [AIMessage(text), HumanMessage(ASKED_AGAIN)]
        note(NO_VERDICT)
        return Score(0.0, text)


@runtime_checkable
class AnsweredEnvironment(Protocol):
    """An environment whose tasks have one right answer, which a trial hands in as a text."""

    def handed_in(self, actions: Sequence[Action]) -> str | None:
        """Return the answer that a trial has handed in, or None."""

    def answer(self, task: Task) -> str:
        """Return the right answer of a task."""


@dataclass
class MeaningEvaluator(LLMEvaluator):
    """A model that compares the answer with the right one by meaning, as the preprint tried (section 3.2).

    An answer that the environment accepts needs no model. The right answer is in no other prompt, and neither are the
    model's reasons, which would give it away.
    """

    environment: AnsweredEnvironment

    def prompt(self, state: ReflexionState, said: Sequence[BaseMessage] = ()) -> Prompt:
        """Return the prompt on the two answers, and what was said about them."""
        task = state["task"]
        actions = [step["action"] for step in state["trajectory"] if step["action"]]
        both = self.prompts.render(
            "both_answers",
            question=task["instruction"],
            given=sanitize(self.environment.handed_in(actions) or ""),
            right=self.environment.answer(task),
        )

        def render(steps: list[Step], _: int) -> list[BaseMessage]:
            judge = SystemMessage(self.prompts.render("same_meaning"))
            return [judge, HumanMessage(both), *said]

        return Prompt(render)

    async def evaluate(self, state: ReflexionState, config: RunnableConfig) -> Score:
        """Ask the model whether the answers mean the same, unless the environment accepts the given one."""
        actions = [step["action"] for step in state["trajectory"] if step["action"]]
        # What the environment accepts is right.
        if state["episode"]["reward"] == 1.0:
            return Score(1.0)
        if self.environment.handed_in(actions) is None:
            return Score(0.0, how_it_ended(state))
        judged = await super().evaluate(state, config)
        if judged.score:
            return Score(judged.score)
        # The model's reasons stay here: they compare with the right answer.
        return Score(judged.score, STOPPED["terminated"])


def verdict_in(text: str) -> bool | None:
    """Return the last verdict in a reply; None without one. A line that quotes the trial does not count."""
    # Prompts quote the trial in lines that begin with a bar, and a judge may copy them, with a verdict in them. `*+`
    # and `++` give nothing back, so that a long reply is read in linear time.
    between = r"(?:(?!\n[^\w\n]*\|)\W)"
    line = rf"^[^\w\n|]*+(?:verdict{between}++)++(yes|no)\b"
    verdicts = re.findall(line, text, re.IGNORECASE | re.MULTILINE)
    if not verdicts:
        return None
    last: str = verdicts[-1]
    return last.lower() == "yes"


@dataclass
class SelfConsistencyEvaluator(Evaluator):
    """Samples the actor's last action again, and accepts it if most samples are equivalent (Wang et al. 2022).

    It needs no truth. The samples have the same prompt and different seeds, so the model needs a temperature above 0,
    or all samples agree. A systematic mistake passes.
    """

    actor: Actor | ByTrial
    seed: int
    samples: int
    by_model = True

    def __post_init__(self) -> None:
        # Half of the samples may agree if their number is even: a majority for neither side.
        if self.samples % 2 == 0:
            raise ConfigurationError(f"self-consistency:{self.samples}: an odd number is needed for a majority")

    async def evaluate(self, state: ReflexionState, config: RunnableConfig) -> Score:
        """Return 1 if most samples agree, else their share; 0 if the last action did not end the task."""
        answer = _last_action(state["trajectory"])
        if state["stop_reason"] != "terminated" or answer is None:
            return Score(0.0, how_it_ended(state))
        agreed = 0
        for action in await self._sampled(state, config):
            if action is not None and equivalent(self.actor.environment, action, answer):
                agreed += 1
        words = f"Of {self.samples} more samples, {agreed} gave the same answer."
        if agreed * 2 > self.samples:
            return Score(1.0, words)
        return Score(agreed / self.samples, words)

    async def _sampled(self, state: ReflexionState, config: RunnableConfig) -> list[Action | None]:
        """Return other choices of the actor in the place of its last one."""
        # Without the last step, the prompt is the one to which the last action was the reply.
        before = state | ReflexionState(trajectory=state["trajectory"][:-1])
        actor = self.actor.for_task(state["task"])
        sampling = []
        for number in range(1, self.samples + 1):
            # Each call has a name of its own, from which its seed is made: otherwise all samples could be equal.
            call = CallId(self.seed, state["task"]["id"], state["trial"], f"evaluate {number}")
            sampling.append(actor.choose(before, config, call))
        # Wait for all samples, so that every call is accounted for.
        settled = await asyncio.gather(*sampling, return_exceptions=True)
        actions: list[Action | None] = []
        for each in settled:
            if isinstance(each, BaseException):
                raise each
            decision, _ = each
            actions.append(decision["action"])
        return actions


def _last_action(steps: Sequence[Step]) -> Action | None:
    """Return the action of the last step; None if it was a thought, or cannot be read."""
    if not steps:
        return None
    action = steps[-1]["action"]
    if action is None or not action["name"]:
        return None
    return action


JUDGES = {
    "openevals:correctness": "CORRECTNESS_PROMPT",
    "openevals:conciseness": "CONCISENESS_PROMPT",
    "openevals:answer_relevance": "ANSWER_RELEVANCE_PROMPT",
    "openevals:code_correctness": "CODE_CORRECTNESS_PROMPT",
    "openevals:helpfulness": "RAG_HELPFULNESS_PROMPT",
}
"""The judges by name, with their prompts in `openevals.prompts`: those that say yes to a good result, and need only
the task, the result and the reference answer."""


def _asked(state: ReflexionState) -> str:
    """Return the task for a judge's own prompt, after what was said before it."""
    asked = state["task"]["instruction"]
    talk = earlier_talk(state)
    if not talk:
        return asked
    return f"{talk}\n{asked}"


class OpenevalsJudge(Evaluator):
    """A judge of openevals: it accepts or refuses a wrapped agent's result, and its reasons are the feedback.

    Args:
        name: One of `JUDGES`.
        client: The model that judges.

    Raises:
        ConfigurationError: openevals is missing, or has no such judge.
    """

    by_model = True

    def __init__(self, name: str, client: Client) -> None:
        try:
            from openevals import prompts
        except ImportError as error:
            raise ConfigurationError(f"evaluator={name!r} needs openevals: pip install openevals") from error
        prompt = getattr(prompts, JUDGES[name], None)
        if not isinstance(prompt, str):
            raise ConfigurationError(f"evaluator={name!r}: this version of openevals has no {JUDGES[name]}")
        self.name = name
        self.client = client
        self.prompt = prompt
        # Whether a prompt compares with the reference answer is said nowhere but in the prompt itself.
        fields = {field for _, field, _, _ in Formatter().parse(prompt)}
        self.compares = "reference_outputs" in fields

    def expect(self, task: Task) -> None:
        """Expect a reference answer if the judge compares with it."""
        if self.compares:
            expect_reference(task, repr(self.name))

    async def evaluate(self, state: ReflexionState, config: RunnableConfig) -> Score:
        from openevals import create_async_llm_as_judge

        subjects = {
            "inputs": _asked(state),
            "outputs": result_in(state),
            "reference_outputs": reference_of(state["task"]),
        }
        # No judge has to be asked.
        if subjects["outputs"] in (None, ""):
            return Score(0.0, "Nothing was returned.")

        async def judge(model: BaseChatModel, counting: RunnableConfig) -> Score:
            ask = create_async_llm_as_judge(prompt=self.prompt, feedback_key=self.name, judge=model)
            try:
                # It takes no config, and calls the model in the one around it.
                with ambient(counting):
                    return to_score(await ask(**subjects))
            # What openevals makes of a reply without a score.
            except (ConfigurationError, KeyError, OutputParserException, TypeError) as error:
                raise ModelFault(f"the judge gave no score: {type(error).__name__}: {error}") from error

        # openevals calls the model without a seed of ours.
        call = CallId(0, state["task"]["id"], state["trial"], "evaluate")
        return await self.client.lend(judge, config, call)
