"""The base class of actors, and the ReAct actor (Yao et al. 2023): thought and action as text."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.actors.reply import read_reply
from langgraph_reflexion.envs.base import Action, Environment, Task
from langgraph_reflexion.loop.profiles import Rules
from langgraph_reflexion.loop.prompting import Prompt, opening_of, with_lessons
from langgraph_reflexion.memory.episodic import MapMemory, status_line
from langgraph_reflexion.memory.failure import check_for_next_trial
from langgraph_reflexion.models.calls import CallId, Reply
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.prompts import Example, Prompts
from langgraph_reflexion.prompts.few_shot import add_text, left_over
from langgraph_reflexion.state import Decision, ReflexionState, Step, Update
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
        environment = self.environment.for_task(task)
        return self if environment is self.environment else replace(self, environment=environment)

    async def choose(self, state: ReflexionState, config: RunnableConfig, call: CallId) -> tuple[Decision, Reply]:
        """Ask the model for the next step.

        Raises:
            ModelFault: it gave none.
        """
        reply = await self._ask(state, config, call, **self._options())
        return self.decide(reply.message), reply

    async def _ask(
        self, state: ReflexionState, config: RunnableConfig, call: CallId, cue: str = "", **options: Any
    ) -> Reply:
        options = {"max_tokens": self.environment.reply_tokens, "temperatures": self.rules.temperatures, **options}
        return await self.prompt(state, cue).ask(self.client, state["prompt_budget"], config, call, **options)

    def prompt(self, state: ReflexionState, cue: str = "") -> Prompt:
        """Return the prompt for the next step, with the memory map; `cue` begins the reply."""
        earlier = len(state.get("last_attempt", []))

        def render(steps: list[Step], left_out: int) -> list[BaseMessage]:
            shown = {"last_attempt": steps[:earlier], "trajectory": steps[earlier:]}
            messages = self.messages(cast(ReflexionState, {**state, **shown}), cue, left_out)
            return self.memory_map.append_to(messages, state, cue) if self.memory_map else messages

        return Prompt(render, [*state.get("last_attempt", []), *state["trajectory"]])

    def messages(self, state: ReflexionState, cue: str = "", left_out: int = 0) -> list[BaseMessage]:
        """Return the prompt for the next step, `left_out` examples and reflections short; `cue` begins the reply."""
        task = state["task"]
        count = self.rules.examples
        if self.rules.first_examples is not None and not (state["reflections"] or state.get("last_attempt")):
            count = self.rules.first_examples
        known = self.prompts.examples(task.get("kind"), count)
        examples, reflections = left_over(known, state["reflections"], left_out)
        as_turns = self.rules.layout == "turns" and self.in_text
        instruction = self.prompts.render(
            self.instruction,
            in_text=self.in_text,
            actions=self.environment.shown_actions(task),
            examples=[] if as_turns else [self._shown(example) for example in examples],
            solved=len(examples) if as_turns else 0,
            numbered=self.numbered,
        )
        opening = self.prompts.render(
            self.opening,
            observation=opening_of(state, self.prompts),
            instruction=sanitize(task["instruction"]),
            reflections=reflections if self.rules.shows_reflections else [],
            last_attempt=state.get("last_attempt", []),
            status=status_line(state["evaluation"], self.rules.feedback),
            check=check_for_next_trial(state, self.rules),
        )
        messages: list[BaseMessage] = [SystemMessage(instruction)]
        openings = [example.observation for example in examples] if as_turns else []
        for index, text in enumerate([*openings, with_lessons(opening, state, self.prompts)]):
            messages = add_text(messages, self.prompts.render("next_task", observation=text) if index else text)
            if index < len(openings):
                messages += self._turns(examples[index])
        replies = state.get("replies", {})
        for step in state["trajectory"]:
            messages += self._step(step, replies.get(str(step["number"])))
        return messages

    def _turns(self, example: Example) -> Sequence[BaseMessage]:
        messages: list[BaseMessage] = []
        for number, step in enumerate(example.steps, 1):
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
        return example


class TextActor(Actor):
    """Actions as text, for any chat model."""

    def decide(self, reply: AIMessage) -> Decision:
        return read_reply(reply.text, self.environment.parse)

    def _options(self) -> dict[str, Any]:
        # The observation is the environment's.
        return {"stop": ["\nObservation:"]}

    def _step(self, step: Step, reply: dict[str, Any] | None) -> Sequence[BaseMessage]:
        action = step["action"]
        said = self.prompts.render("turn", thought=step["thought"], action=action and action["text"])
        return AIMessage(said), HumanMessage(f"Observation: {step['observation']}")
