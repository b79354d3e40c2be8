"""The actor with native tool calls."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.actors.base import Actor, TextActor
from langgraph_reflexion.actors.reply import LONGEST, call_text, read_reply
from langgraph_reflexion.envs.base import Action
from langgraph_reflexion.errors import ToolsRefused
from langgraph_reflexion.models.calls import CallId, Reply
from langgraph_reflexion.models.replies import call_id_of, to_json
from langgraph_reflexion.models.written_calls import read_calls
from langgraph_reflexion.prompts import Example
from langgraph_reflexion.state import Decision, ReflexionState, Step, Update

NOT_DONE = "Not done: of several calls in one reply only the first is done."
"""The result of every further call of a reply."""

INSTEAD = "Another action was done instead: {action}"
"""The first line of an observation where the action is not the one that was called for, such as after an edit."""

CALL_A_TOOL = "Reply with a call of one of the tools."
"""The last line of the observation after a reply without a possible action, which lists the forms as text."""


@dataclass
class ToolActor(Actor):
    """Actions as native tool calls, for models that support them. Only the first call of a reply is executed.

    Within a trial the model's messages go back to it as they came, with the reasoning and the signatures that
    providers require beside tool calls, and with a result for each call.
    """

    in_text = False

    def __post_init__(self) -> None:
        self.text_actor = TextActor(self.client, self.environment, self.prompts, self.rules, self.memory_map)
        self.client.check_tools()

    @cached_property
    def tools(self) -> list[dict[str, Any]]:
        """The actions as tool schemas. Before a task has begun, they may not be known."""
        return self.environment.tools

    async def choose(self, state: ReflexionState, config: RunnableConfig, call: CallId) -> tuple[Decision, Reply]:
        """Ask the model for the next step, in text if its server refuses tool calls."""
        try:
            return await super().choose(state, config, call)
        except ToolsRefused:
            return await self.text_actor.choose(state, config, call)

    def _options(self) -> dict[str, Any]:
        return {"tools": self.tools}

    def decide(self, reply: AIMessage) -> Decision:
        """Parse the first tool call, else one that is written as text, else the text as an action."""
        thought = reply.text.strip()[:LONGEST]
        if reply.tool_calls:
            return self._called(thought, reply.tool_calls[0]["name"], reply.tool_calls[0]["args"])
        if reply.invalid_tool_calls:
            broken = reply.invalid_tool_calls[0]
            text = f"{broken['name'] or ''}({broken['args'] or ''})"[:LONGEST]
            return Decision(thought=thought, action=Action(name="", args={}, text=text))
        # Small models write the call as JSON, which their servers do not read.
        said, written = read_calls(reply.text, self.environment.actions())
        if written:
            return self._called(said, written[0].name, written[0].args)
        return read_reply(reply.text, self.environment.parse)

    def _called(self, thought: str, called: str, args: dict[str, Any]) -> Decision:
        """Return the decision of a call."""
        spec = self.environment.actions().get(called)
        text = call_text(called, args)[:LONGEST]
        if spec is None:
            # Providers may refuse a history that names an unknown tool.
            return Decision(thought=thought, action=Action(name="", args={}, text=text))
        if set(args) >= spec.written:
            text = spec.render(args)
        return Decision(thought=thought, action=Action(name=called, args=args, text=text))

    def keep(self, state: ReflexionState, reply: Reply) -> Update:
        """Keep the message: with the next prompt, a provider may want its reasoning back as it came."""
        number = str(len(state["trajectory"]) + 1)
        kept = to_json(reply.message, number)
        if isinstance(kept["content"], str):
            kept["content"] = kept["content"][:LONGEST]
        return {"replies": {**state.get("replies", {}), number: kept}}

    def _step(self, step: Step, reply: dict[str, Any] | None) -> Sequence[BaseMessage]:
        if reply is None:
            return self._rebuilt(step)
        message = AIMessage(**reply)
        calls, chosen = [*message.tool_calls, *message.invalid_tool_calls], self.decide(message)["action"]
        sound = bool(chosen and chosen["name"] and message.tool_calls) and not message.invalid_tool_calls
        if not sound and isinstance(message.content, str) and not any(message.additional_kwargs.values()):
            # Servers may refuse a history with an unknown tool or broken JSON. Without reasoning nothing is lost.
            return self._rebuilt(step)
        observation = step["observation"]
        if chosen and (done := step["action"]) and done["text"] != chosen["text"]:
            observation = f"{INSTEAD.format(action=done['text'])}\n{observation}"
        if not calls:
            return message, HumanMessage(observation)
        observations = [observation] + [NOT_DONE] * (len(calls) - 1)
        return message, *(
            ToolMessage(said, tool_call_id=call["id"]) for said, call in zip(observations, calls, strict=True)
        )

    def _rebuilt(self, step: Step) -> Sequence[BaseMessage]:
        action = step["action"]
        if action is None or not action["name"]:
            text = "\n".join(part for part in (step["thought"], action["text"] if action else "") if part)
            observation = step["observation"]
            if action is not None:
                observation = f"{observation}\n{CALL_A_TOOL}"
            return AIMessage(text or "..."), HumanMessage(observation)
        call_id = call_id_of(step["number"])
        call = {"name": action["name"], "args": action["args"], "id": call_id, "type": "tool_call"}
        return (AIMessage(step["thought"], tool_calls=[call]), ToolMessage(step["observation"], tool_call_id=call_id))

    def _shown(self, example: Example) -> Example:
        steps = []
        for step in example.steps:
            action = self.environment.parse(step.action)
            shown = call_text(action["name"], action["args"]) if action else step.action
            steps.append(replace(step, action=shown))
        return replace(example, steps=tuple(steps))
