"""The base class of actors, and the ReAct actor (Yao et al. 2023): thought and action as text."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.actors.reply import read_reply
from langgraph_reflexion.envs.base import Action, Environment, Task
from langgraph_reflexion.envs.grammar import parse_action, shown_actions
from langgraph_reflexion.envs.protocols import for_task, reply_tokens
from langgraph_reflexion.loop.profiles import Rules
from langgraph_reflexion.loop.prompting import Prompt, opening_of, with_facts, with_lessons
from langgraph_reflexion.memory.episodic import MapMemory, status_line
from langgraph_reflexion.memory.failure import check_for_next_trial
from langgraph_reflexion.models.calls import CallId, Reply
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.prompts import Example, Prompts
from langgraph_reflexion.prompts.few_shot import add_text, left_over
from langgraph_reflexion.state import (
    ContinuedTrial,
    Decision,
    Reflection,
    ReflexionState,
    Step,
    Update,
    steps_so_far,
)
from langgraph_reflexion.support.text import sanitize


@dataclass
class Actor(ABC):
    """ReAct (Yao et al. 2023) with the memory of earlier trials: one model call per step.

    Within a trial the prompt only grows at its end: instruction, examples, memory, task, then the trajectory. So each
    call's messages begin with the previous call's, and a provider's prefix cache hits. Under the profile's layout
    `turns` the examples of actions in text are messages like the trial's own. Those of tool calls are not: models
    that think refuse a history of calls without their thoughts.

    Args:
        client: The model.
        environment: The tasks and actions.
        prompts: The domain's templates and examples.
        rules: The profile: which examples, reflections and evaluations the prompt shows.
        memory_map: The memory map at the end of the prompt; none unless given.
    """

    client: Client
    environment: Environment
    prompts: Prompts
    rules: Rules
    memory_map: MapMemory | None = None

    in_text: ClassVar[bool] = True
    """Whether actions are text; otherwise they are tool calls."""
    instruction: ClassVar[str] = "act"
    """The template of the system message."""
    opening: ClassVar[str] = "task"
    """The template of the first human message."""

    @property
    def numbered(self) -> bool:
        """Whether the prompt numbers the steps (`Thought 1:`)."""
        return self.in_text and self.rules.layout == "original-numbered"

    def for_task(self, task: Task) -> Self:
        """Return the actor with the actions of this task; itself if all tasks have the same ones."""
        environment = for_task(self.environment, task)
        if environment is self.environment:
            return self
        return replace(self, environment=environment)

    async def choose(
        self, state: ReflexionState, config: RunnableConfig, call: CallId, temperature: float | None = None
    ) -> tuple[Decision, Reply]:
        """Ask the model for the next step.

        Args:
            state: The state.
            config: The node's config.
            call: The call's id.
            temperature: The sampling temperature; the model's own unless given, or if that is higher.

        Raises:
            ModelFault: it gave none.
        """
        reply = await self._ask(state, config, call, temperature=temperature, **self._options())
        return self.decide(reply.message), reply

    async def _ask(
        self, state: ReflexionState, config: RunnableConfig, call: CallId, cue: str = "", **options: Any
    ) -> Reply:
        """Ask the model; `cue` begins the reply."""
        options.setdefault("max_tokens", reply_tokens(self.environment))
        options.setdefault("temperatures", self.rules.temperatures)
        prompt = self.prompt(state, cue)
        return await prompt.ask(self.client, state["prompt_budget"], config, call, **options)

    def prompt(self, state: ReflexionState, cue: str = "") -> Prompt:
        """Return the prompt for the next step, with the memory map; `cue` begins the reply."""
        last_attempt = state.get("last_attempt", [])

        def render(steps: list[Step], left_out: int) -> list[BaseMessage]:
            messages = self.messages(_with_steps(state, steps), cue, left_out)
            if self.memory_map:
                # Drawn from `state`, as the observations in `shown` may be truncated.
                return self.memory_map.append_to(messages, state, cue)
            return messages

        # All steps in one list, so that the longest observations of all trials are truncated first.
        return Prompt(render, [*last_attempt, *steps_so_far(state)])

    def messages(self, state: ReflexionState, cue: str = "", left_out: int = 0) -> list[BaseMessage]:
        """Return the prompt for the next step, `left_out` examples and reflections short; `cue` begins the reply."""
        kind = state["task"].get("kind")
        known = self.prompts.examples(kind, self._most_examples(state))
        examples, reflections = left_over(known, state["reflections"], left_out)
        opening = self._opening(state, reflections)
        # Models that think refuse a history of tool calls without their thoughts, which examples do not have.
        if self.rules.layout == "turns" and self.in_text:
            messages = self._with_turns(state, examples, opening)
        else:
            shown = [self._shown(example) for example in examples]
            instruction = self._instruction(state, shown, solved=0)
            messages = add_text([instruction], opening)
        # Last, so that the prompt grows only at its end, and a provider's cache of prefixes hits.
        for trial in state.get("continued", []):
            messages += self._steps(trial["steps"], trial.get("replies", {}))
            messages = add_text(messages, self._told(trial))
        messages += self._steps(state["trajectory"], state.get("replies", {}))
        return messages

    def _steps(self, steps: Sequence[Step], replies: Mapping[str, dict[str, Any]]) -> list[BaseMessage]:
        """Return the messages of a trial's steps, with the replies that the state kept."""
        messages: list[BaseMessage] = []
        for step in steps:
            # The keys are texts, as those of JSON are.
            reply = replies.get(str(step["number"]))
            messages += self._step(step, reply)
        return messages

    def _told(self, trial: ContinuedTrial) -> str:
        """Return what the conversation goes on with after a trial: that it was not accepted, and why."""
        told = self.prompts.render("go_on", status=status_line(trial["evaluation"], self.rules.feedback))
        return with_facts(told, trial["facts"], self.prompts)

    def _most_examples(self, state: ReflexionState) -> int:
        """Return the number of examples that the prompt shows."""
        has_memory = bool(state["reflections"] or state.get("last_attempt"))
        if self.rules.first_examples is not None and not has_memory:
            return self.rules.first_examples
        return self.rules.examples

    def _instruction(self, state: ReflexionState, examples: Sequence[Example], *, solved: int) -> BaseMessage:
        """Return the system message, with examples in it, or with the number of those that follow as turns."""
        text = self.prompts.render(
            self.instruction,
            in_text=self.in_text,
            actions=shown_actions(self.environment, state["task"]),
            examples=examples,
            solved=solved,
            numbered=self.numbered,
        )
        return SystemMessage(text)

    def _opening(self, state: ReflexionState, reflections: Sequence[Reflection]) -> str:
        """Return the text of the task, with the memory of earlier trials and of other tasks."""
        if not self.rules.shows_reflections:
            reflections = []
        opening = self.prompts.render(
            self.opening,
            observation=opening_of(state, self.prompts),
            instruction=sanitize(state["task"]["instruction"]),
            reflections=reflections,
            last_attempt=state.get("last_attempt", []),
            status=status_line(state["evaluation"], self.rules.feedback),
            check=check_for_next_trial(state, self.rules),
        )
        # A conversation that goes on has been told of each trial at its end.
        if not state.get("continued"):
            opening = with_facts(opening, state.get("trial_facts", []), self.prompts)
        return with_lessons(opening, state, self.prompts)

    def _with_turns(self, state: ReflexionState, examples: Sequence[Example], opening: str) -> list[BaseMessage]:
        """Return instruction and task, with the examples between them as messages like the trial's own."""
        instruction = self._instruction(state, [], solved=len(examples))
        messages = [instruction]
        texts = [example.observation for example in examples]
        texts.append(opening)
        for index, text in enumerate(texts):
            # The words that a new task begins are missing before the first one alone.
            if index > 0:
                text = self.prompts.render("next_task", observation=text)
            messages = add_text(messages, text)
            if index < len(examples):
                messages += self._turns(examples[index])
        return messages

    def _turns(self, example: Example) -> Sequence[BaseMessage]:
        """Return the steps of an example as messages."""
        messages: list[BaseMessage] = []
        for number, step in enumerate(example.steps, 1):
            # Only the text of an example's action is shown, so its name and arguments are not needed.
            action = Action(name="", args={}, text=step.action)
            taken = Step(number=number, thought=step.thought, action=action, observation=step.observation)
            messages += self._step(taken, None)
        return messages

    def keep(self, state: ReflexionState, reply: Reply) -> Update:
        """Return what the state keeps of a reply beside the decision: nothing, for actions in text."""
        return {}

    @abstractmethod
    def decide(self, reply: AIMessage) -> Decision:
        """Parse the reply. An action that cannot be parsed has no name."""

    @abstractmethod
    def _options(self) -> dict[str, Any]:
        """Return the options of the call."""

    @abstractmethod
    def _step(self, step: Step, reply: dict[str, Any] | None) -> Sequence[BaseMessage]:
        """Return the messages of a past step, from the reply that the state kept if there is one."""

    def _shown(self, example: Example) -> Example:
        """Return an example as the instruction shows it."""
        return example


def _with_steps(state: ReflexionState, steps: Sequence[Step]) -> ReflexionState:
    """Return the state with other steps in place of those that a prompt shows, which are as many."""
    shown = state.copy()
    begin = len(state.get("last_attempt", []))
    shown["last_attempt"] = list(steps[:begin])
    continued = []
    for trial in state.get("continued", []):
        end = begin + len(trial["steps"])
        changed = trial.copy()
        changed["steps"] = list(steps[begin:end])
        continued.append(changed)
        begin = end
    shown["continued"] = continued
    shown["trajectory"] = list(steps[begin:])
    return shown


class TextActor(Actor):
    """Actions as text, for any chat model."""

    def decide(self, reply: AIMessage) -> Decision:
        return read_reply(reply.text, partial(parse_action, self.environment))

    def _options(self) -> dict[str, Any]:
        # The observation is the environment's to give, and not the model's to invent.
        return {"stop": ["\nObservation:"]}

    def _step(self, step: Step, reply: dict[str, Any] | None) -> Sequence[BaseMessage]:
        text = None
        if step["action"]:
            text = step["action"]["text"]
        said = self.prompts.render("turn", thought=step["thought"], action=text)
        return AIMessage(said), HumanMessage(f"Observation: {step['observation']}")
