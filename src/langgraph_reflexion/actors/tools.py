"""The actor with native tool calls."""

from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.actors.base import Actor, TextActor
from langgraph_reflexion.actors.reply import LONGEST, call_text, read_reply
from langgraph_reflexion.envs.base import Action
from langgraph_reflexion.errors import ToolsRefused
from langgraph_reflexion.models.calls import CallId, Reply, sanitize
from langgraph_reflexion.prompts import Example
from langgraph_reflexion.state import Decision, ReflexionState, Step


@dataclass
class ToolActor(Actor):
    """Actions as native tool calls, for models that support them. Only the first call of a reply is executed."""

    in_text = False

    def __post_init__(self) -> None:
        self.tools = self.environment.tools
        self.text_actor = TextActor(self.client, self.environment, self.prompts, self.rules, self.memory_map)
        self.client.check_tools(self.tools)

    async def choose(self, state: ReflexionState, config: RunnableConfig, call: CallId) -> tuple[Decision, Reply]:
        """Ask the model for the next step, in text if its server refuses tool calls."""
        try:
            return await super().choose(state, config, call)
        except ToolsRefused:
            return await self.text_actor.choose(state, config, call)

    def _options(self) -> dict[str, Any]:
        return {"tools": self.tools}

    def decide(self, reply: AIMessage) -> Decision:
        """Parse the first tool call, or the text if there is none."""
        thought = reply.text.strip()[:LONGEST]
        if reply.tool_calls:
            called, given = reply.tool_calls[0]["name"], reply.tool_calls[0]["args"]
            args = {name: sanitize(value) if isinstance(value, str) else value for name, value in given.items()}
            spec = self.environment.episode.actions().get(called)
            whole = spec and set(args) >= set(spec.schema.model_fields)
            text = spec.render(args) if spec and whole else call_text(called, args)
            # Providers may refuse a history that names an unknown tool.
            action = Action(name=called, args=args, text=text) if spec else Action(name="", args={}, text=text)
            return Decision(thought=thought, action=action)
        if reply.invalid_tool_calls:
            broken = reply.invalid_tool_calls[0]
            text = f"{broken['name'] or ''}({broken['args'] or ''})"[:LONGEST]
            return Decision(thought=thought, action=Action(name="", args={}, text=text))
        return read_reply(reply.text, self.environment.parse)

    def _step(self, index: int, step: Step) -> tuple[BaseMessage, ...]:
        action = step["action"]
        if action is None or not action["name"]:
            text = "\n".join(part for part in (step["thought"], action["text"] if action else "") if part)
            return AIMessage(text or "..."), HumanMessage(step["observation"])
        call_id = f"call_{index}"
        call = {"name": action["name"], "args": action["args"], "id": call_id, "type": "tool_call"}
        return (
            AIMessage(step["thought"], tool_calls=[call]),
            ToolMessage(step["observation"], tool_call_id=call_id),
        )

    def _shown(self, example: Example) -> Example:
        steps = []
        for step in example.steps:
            action = self.environment.parse(step.action)
            shown = call_text(action["name"], action["args"]) if action else step.action
            steps.append(replace(step, action=shown))
        return replace(example, steps=tuple(steps))
