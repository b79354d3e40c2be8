"""Actors: how the state becomes a prompt, and a reply becomes the next step."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolCall, ToolMessage
from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.actors.react import LONGEST, call_text, read_reply
from langgraph_reflexion.context import Asked, ask_about, opening_of, with_lessons
from langgraph_reflexion.envs.base import Action, Environment, Task
from langgraph_reflexion.errors import ToolsRefused
from langgraph_reflexion.memory.memory_map import Mapper
from langgraph_reflexion.models.calls import Call, storable
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.prompts import Example, Prompts
from langgraph_reflexion.state import Decision, ReflexionState, Step
from langgraph_reflexion.strategies import Feedback, status_line

STOP = ["\nObservation:"]
"""Where a reply in text is to end: what the environment answers is not the model's to say."""


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
        feedback: How much of the last attempt's verdict is told, where the strategy shows that attempt.
        examples: How many few-shot trajectories are shown.
        shows_memory: Whether the reflections are shown.
        mapper: Draws the memory map that stands at the end of the prompt; none unless given.
    """

    in_text = True
    """Whether actions are written as text; otherwise they are tool calls."""
    instruction, opening = "act", "task"
    """The templates of the prompt's two parts."""
    numbered = False
    """Whether steps are told with their numbers."""

    def __init__(
        self,
        client: Client,
        environment: Environment,
        prompts: Prompts,
        *,
        feedback: Feedback,
        examples: int,
        shows_memory: bool = True,
        mapper: Mapper | None = None,
    ) -> None:
        self.client = client
        self.environment = environment
        self.prompts = prompts
        self.feedback = feedback
        self.examples = examples
        self.shows_memory = shows_memory
        self.mapper = mapper

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
        opening = self.prompts.render(
            self.opening,
            observation=opening_of(state, self.prompts),
            reflections=state["reflections"] if self.shows_memory else [],
            last_attempt=state.get("last_attempt", []),
            status=status_line(state["evaluation"], self.feedback),
        )
        messages: list[BaseMessage] = [
            self._instruction(state["task"]),
            HumanMessage(with_lessons(opening, state, self.prompts)),
        ]
        for index, step in enumerate(state["trajectory"]):
            messages += self._step(index, step)
        return messages

    def _instruction(self, task: Task) -> SystemMessage:
        examples = [self._shown(example) for example in self.prompts.examples(task.get("kind"), self.examples)]
        return SystemMessage(
            self.prompts.render(
                self.instruction,
                in_text=self.in_text,
                actions=self.environment.shown_actions(task),
                examples=examples,
                numbered=self.numbered,
            )
        )

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


class TextActor(Actor):
    """Actions as text, for any chat model."""

    def decide(self, reply: AIMessage) -> Decision:
        """Read thought and action from the text."""
        return read_reply(reply.text, self.environment.parse)

    def _options(self) -> dict[str, Any]:
        return {"stop": STOP}

    def _step(self, index: int, step: Step) -> tuple[BaseMessage, ...]:
        action = step["action"]
        lines = [f"Thought: {step['thought']}"] if step["thought"] or action is None else []
        if action is not None:
            lines.append(f"Action: {action['text']}")
        return AIMessage("\n".join(lines)), HumanMessage(f"Observation: {step['observation']}")


class ToolActor(Actor):
    """Actions as native tool calls, for models that have them. Only the first call of a reply is done."""

    in_text = False

    def __init__(self, client: Client, environment: Environment, prompts: Prompts, **settings: Any) -> None:
        super().__init__(client, environment, prompts, **settings)
        self.tools = environment.tools
        self.in_words = TextActor(client, environment, prompts, **settings)
        client.check_tools(self.tools)

    async def choose(self, state: ReflexionState, config: RunnableConfig, call: Call) -> Choice:
        """Ask the model for the next step; in text where its server knows no tool calls."""
        try:
            return await super().choose(state, config, call)
        except ToolsRefused:
            return await self.in_words.choose(state, config, call)

    def _options(self) -> dict[str, Any]:
        return {"tools": self.tools}

    def decide(self, reply: AIMessage) -> Decision:
        """Read the first tool call; text without one is read as text."""
        thought = reply.text.strip()[:LONGEST]
        if reply.tool_calls:
            call = _plain_call(reply.tool_calls[0])
            # A tool that there is not is no name to give back to a provider, which may refuse the whole history.
            name = call["name"] if call["name"] in self.environment.episode.actions() else ""
            text = self._text(call["name"], call["args"])
            return Decision(thought=thought, action=Action(name=name, args=call["args"] if name else {}, text=text))
        if reply.invalid_tool_calls:
            broken = reply.invalid_tool_calls[0]
            text = f"{broken['name'] or ''}({broken['args'] or ''})"[:LONGEST]
            return Decision(thought=thought, action=Action(name="", args={}, text=text))
        return read_reply(reply.text, self.environment.parse)

    def _step(self, index: int, step: Step) -> tuple[BaseMessage, ...]:
        action = step["action"]
        if action is None or not action["name"]:
            said = "\n".join(part for part in (step["thought"], action["text"] if action else "") if part)
            return AIMessage(said or "..."), HumanMessage(step["observation"])
        call_id = f"call_{index}"
        call = {"name": action["name"], "args": action["args"], "id": call_id, "type": "tool_call"}
        return (
            AIMessage(step["thought"], tool_calls=[call]),
            ToolMessage(step["observation"], tool_call_id=call_id),
        )

    def _text(self, name: str, args: dict[str, Any]) -> str:
        spec = self.environment.episode.actions().get(name)
        return spec.render(args) if spec and set(args) >= set(spec.schema.model_fields) else call_text(name, args)

    def _shown(self, example: Example) -> Example:
        steps = []
        for step in example.steps:
            action = self.environment.parse(step.action)
            steps.append(step.with_action(call_text(action["name"], action["args"]) if action else step.action))
        return Example(example.kind, example.observation, tuple(steps))


def _plain_call(call: ToolCall) -> ToolCall:
    args = {name: storable(value) if isinstance(value, str) else value for name, value in call["args"].items()}
    return {**call, "args": args}


def _split(steps: list[Step], earlier: int) -> dict[str, list[Step]]:
    return {"last_attempt": steps[:earlier], "trajectory": steps[earlier:]}


ACTORS: dict[str, type[Actor]] = {"react": TextActor, "tools": ToolActor}
"""The actors by the name that `create_reflexion(actor=...)` and `--agent` know them by."""
