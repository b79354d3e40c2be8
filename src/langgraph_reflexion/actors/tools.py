"""The actor with native tool calls."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.actors.base import Actor, TextActor
from langgraph_reflexion.actors.reply import (
    LONGEST,
    ends_within_reasoning,
    not_allowed,
    read_reply,
    without_reasoning,
)
from langgraph_reflexion.envs.base import Action
from langgraph_reflexion.envs.grammar import parse_action, tool_schemas
from langgraph_reflexion.errors import ToolsRefused
from langgraph_reflexion.models.calls import CallId, Reply
from langgraph_reflexion.models.replies import call_id_of, to_json
from langgraph_reflexion.models.written_calls import read_calls
from langgraph_reflexion.prompts import Example
from langgraph_reflexion.state import Decision, ReflexionState, Step, Update
from langgraph_reflexion.support.text import call_text

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
        # `for_task` copies the actor by `replace`, which calls this, too: so the text actor has the task's actions.
        self.text_actor = TextActor(self.client, self.environment, self.prompts, self.rules, self.memory_map)
        # Refused here, and not by the first call in the middle of a run.
        self.client.check_tools()

    @cached_property
    def tools(self) -> list[dict[str, Any]]:
        """The actions as tool schemas. Before a task has begun, they may not be known."""
        return tool_schemas(self.environment)

    async def choose(
        self, state: ReflexionState, config: RunnableConfig, call: CallId, temperature: float | None = None
    ) -> tuple[Decision, Reply]:
        """Ask the model for the next step, in text if its server refuses tool calls."""
        try:
            return await super().choose(state, config, call, temperature)
        except ToolsRefused:
            # The client remembers it, and sends no request with tools at the next step.
            return await self.text_actor.choose(state, config, call, temperature)

    def _options(self) -> dict[str, Any]:
        return {"tools": self.tools}

    def decide(self, reply: AIMessage) -> Decision:
        """Parse the first tool call, else one that is written as text, else the text as an action."""
        thought = reply.text.strip()[:LONGEST]
        if reply.tool_calls:
            call = reply.tool_calls[0]
            return self._called(thought, call["name"], call["args"])
        if reply.invalid_tool_calls:
            broken = reply.invalid_tool_calls[0]
            name = broken["name"] or ""
            args = broken["args"] or ""
            text = f"{name}({args})"[:LONGEST]
            return Decision(thought=thought, action=not_allowed(text))
        # Small models write the call as JSON, which their servers do not read.
        said, written = read_calls(_answer(reply.text), self.environment.actions())
        if written:
            first = written[0]
            return self._called(said, first.name, first.args)
        return read_reply(reply.text, partial(parse_action, self.environment))

    def _called(self, thought: str, called: str, args: dict[str, Any]) -> Decision:
        """Return the decision of a call."""
        spec = self.environment.actions().get(called)
        text = call_text(called, args)[:LONGEST]
        if spec is None:
            # Providers may refuse a history that names an unknown tool.
            return Decision(thought=thought, action=not_allowed(text))
        # With an argument missing, there is no text form.
        if set(args) >= spec.written:
            text = spec.render(args)
        action = Action(name=called, args=args, text=text)
        return Decision(thought=thought, action=action)

    def keep(self, state: ReflexionState, reply: Reply) -> Update:
        """Keep the message: with the next prompt, a provider may want its reasoning back as it came."""
        number = str(len(state["trajectory"]) + 1)
        kept = to_json(reply.message, number)
        # Blocks of content stay whole, as they may hold a signature that the provider checks.
        if isinstance(kept["content"], str):
            kept["content"] = kept["content"][:LONGEST]
        replies = dict(state.get("replies", {}))
        replies[number] = kept
        return {"replies": replies}

    def _step(self, step: Step, reply: dict[str, Any] | None) -> Sequence[BaseMessage]:
        if reply is None:
            return self._rebuilt(step)
        message = AIMessage(**reply)
        # What the model has called, which is not what was done if a person has edited it.
        chosen = self.decide(message)["action"]
        if not goes_back(message, chosen):
            return self._rebuilt(step)
        observation = step["observation"]
        done = step["action"]
        if chosen and done and done["text"] != chosen["text"]:
            instead = INSTEAD.format(action=done["text"])
            observation = f"{instead}\n{observation}"
        ids = [call["id"] for call in message.tool_calls]
        ids += [call["id"] for call in message.invalid_tool_calls]
        if not ids:
            # The action was text.
            return [message, HumanMessage(observation)]
        messages: list[BaseMessage] = [message]
        messages.append(ToolMessage(observation, tool_call_id=ids[0]))
        # Providers require a result for each call.
        for other in ids[1:]:
            messages.append(ToolMessage(NOT_DONE, tool_call_id=other))
        return messages

    def _rebuilt(self, step: Step) -> Sequence[BaseMessage]:
        """Return the messages of a step as a model that calls tools would have written them."""
        thought = step["thought"]
        observation = step["observation"]
        action = step["action"]
        if action is None:
            # Providers refuse a message that says nothing.
            return [AIMessage(thought or "..."), HumanMessage(observation)]
        if not action["name"]:
            parts = filter(None, [thought, action["text"]])
            said = "\n".join(parts)
            return [AIMessage(said or "..."), HumanMessage(f"{observation}\n{CALL_A_TOOL}")]
        call_id = call_id_of(step["number"])
        call = {
            "name": action["name"],
            "args": action["args"],
            "id": call_id,
            "type": "tool_call",
        }
        return [AIMessage(thought, tool_calls=[call]), ToolMessage(observation, tool_call_id=call_id)]

    def _shown(self, example: Example) -> Example:
        """Return an example whose actions are written as calls."""
        steps = []
        for step in example.steps:
            action = parse_action(self.environment, step.action)
            text = step.action
            if action:
                text = call_text(action["name"], action["args"])
            steps.append(replace(step, action=text))
        return replace(example, steps=tuple(steps))


def _answer(reply: str) -> str:
    """Return what follows the reasoning of a reply, or the call that ends reasoning without its closing tag."""
    if not ends_within_reasoning(reply) or not reply.rstrip().endswith("</tool_call>"):
        return without_reasoning(reply)
    _, tag, call = reply.rpartition("<tool_call>")
    return tag + call


def goes_back(message: AIMessage, chosen: Action | None) -> bool:
    """Return whether a reply goes back to the model as it came. Others are rebuilt from their step."""
    has_sound_calls = bool(message.tool_calls) and not message.invalid_tool_calls
    if has_sound_calls and chosen and chosen["name"]:
        return True
    # Servers may refuse a history with an unknown tool or broken JSON. Nothing is lost if it is built anew, unless
    # the reply has blocks of content, or reasoning beside it, which a provider may want back.
    has_blocks = not isinstance(message.content, str)
    has_reasoning = any(message.additional_kwargs.values())
    return has_blocks or has_reasoning
