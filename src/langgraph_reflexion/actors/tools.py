"""The actor with native tool calls."""

from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.actors.base import Actor
from langgraph_reflexion.actors.react import TextActor
from langgraph_reflexion.actors.reply import LONGEST, call_text, read_reply
from langgraph_reflexion.envs.base import Action, Environment
from langgraph_reflexion.errors import ToolsRefused
from langgraph_reflexion.memory.memory_map import MapMemory
from langgraph_reflexion.models.calls import CallId, Reply, sanitize
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.profiles import Profile
from langgraph_reflexion.prompts import Example, Prompts
from langgraph_reflexion.state import Decision, ReflexionState, Step


class ToolActor(Actor):
    """Actions as native tool calls, for models that support them. Only the first call of a reply is executed."""

    in_text = False

    def __init__(
        self,
        client: Client,
        environment: Environment,
        prompts: Prompts,
        rules: Profile,
        memory_map: MapMemory | None = None,
    ) -> None:
        super().__init__(client, environment, prompts, rules, memory_map)
        self.tools = environment.tools
        self.text_actor = TextActor(client, environment, prompts, rules, memory_map)
        client.check_tools(self.tools)

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
            call = _plain_call(reply.tool_calls[0])
            # Providers may refuse a history that names an unknown tool.
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
            text = "\n".join(part for part in (step["thought"], action["text"] if action else "") if part)
            return AIMessage(text or "..."), HumanMessage(step["observation"])
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
    args = {name: sanitize(value) if isinstance(value, str) else value for name, value in call["args"].items()}
    return {**call, "args": args}
