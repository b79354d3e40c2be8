"""Actors: how the state becomes a prompt, and a reply becomes the next step."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.context import Asked, ask_about, opening_of, with_lessons
from langgraph_reflexion.envs.base import Environment
from langgraph_reflexion.memory.episodic import status_line
from langgraph_reflexion.memory.memory_map import Mapper
from langgraph_reflexion.models.calls import Call
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.profiles import Profile
from langgraph_reflexion.prompts import Example, Prompts
from langgraph_reflexion.state import Decision, ReflexionState, Step


class Choice(NamedTuple):
    """The next step, and what the state is to remember of the call that chose it."""

    decision: Decision
    asked: Asked


class Actor(ABC):
    """ReAct (Yao et al. 2023) with the memory of earlier trials: one model call per step.

    Inside a trial the prompt only grows at its end: instruction, examples, memory, task, then the trajectory. Each
    call's messages begin with the previous call's, so that a provider's prefix cache hits.

    Args:
        client: The model that chooses.
        environment: What can be done.
        prompts: The domain's templates and examples.
        rules: The profile: how many examples, whether reflections, and how much of the last verdict the prompt shows.
        mapper: Draws the memory map that stands at the end of the prompt; none unless given.
    """

    in_text = True
    """Whether actions are written as text; otherwise they are tool calls."""
    instruction, opening = "act", "task"
    """The templates of the prompt's two parts."""

    def __init__(
        self,
        client: Client,
        environment: Environment,
        prompts: Prompts,
        rules: Profile,
        mapper: Mapper | None = None,
    ) -> None:
        self.client = client
        self.environment = environment
        self.prompts = prompts
        self.rules = rules
        self.mapper = mapper

    @property
    def numbered(self) -> bool:
        """Whether the prompt numbers the steps."""
        return False

    async def choose(self, state: ReflexionState, config: RunnableConfig, call: Call) -> Choice:
        """Ask the model for the next step.

        Raises:
            ModelFault: it gave none.
        """
        asked = await self._ask(state, config, call, **self._options())
        return Choice(self.decide(asked.reply), asked)

    async def _ask(
        self, state: ReflexionState, config: RunnableConfig, call: Call, cue: str = "", **options: Any
    ) -> Asked:
        earlier = len(state.get("last_attempt", []))

        def render(steps: list[Step]) -> list[BaseMessage]:
            messages = self.messages(cast(ReflexionState, {**state, **_split(steps, earlier)}), cue)
            return self.mapper.below(messages, state, cue) if self.mapper else messages

        steps = [*state.get("last_attempt", []), *state["trajectory"]]
        return await ask_about(self.client, render, steps, state["room"], config, call, **options)

    def messages(self, state: ReflexionState, cue: str = "") -> list[BaseMessage]:
        """The prompt for the next step.

        Args:
            state: What is told.
            cue: What the model is to go on from, for actors that begin its reply.
        """
        task = state["task"]
        examples = [self._shown(example) for example in self.prompts.examples(task.get("kind"), self.rules.examples)]
        instruction = self.prompts.render(
            self.instruction,
            in_text=self.in_text,
            actions=self.environment.shown_actions(task),
            examples=examples,
            numbered=self.numbered,
        )
        opening = self.prompts.render(
            self.opening,
            observation=opening_of(state, self.prompts),
            reflections=state["reflections"] if self.rules.shows_reflections else [],
            last_attempt=state.get("last_attempt", []),
            status=status_line(state["evaluation"], self.rules.feedback),
        )
        messages: list[BaseMessage] = [
            SystemMessage(instruction),
            HumanMessage(with_lessons(opening, state, self.prompts)),
        ]
        for index, step in enumerate(state["trajectory"]):
            messages += self._step(index, step)
        return messages

    @abstractmethod
    def decide(self, reply: AIMessage) -> Decision:
        """Read the model's reply. What cannot be read is an action without a name."""

    @abstractmethod
    def _options(self) -> dict[str, Any]:
        """What else is asked with."""

    @abstractmethod
    def _step(self, index: int, step: Step) -> tuple[BaseMessage, ...]:
        """How a step that was taken is told to the model."""

    def _shown(self, example: Example) -> Example:
        return example


def _split(steps: list[Step], earlier: int) -> dict[str, list[Step]]:
    return {"last_attempt": steps[:earlier], "trajectory": steps[earlier:]}
