"""The ReAct actor (Yao et al. 2023): thought and action as text."""

from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from langgraph_reflexion.actors.base import Actor
from langgraph_reflexion.actors.reply import read_reply
from langgraph_reflexion.state import Decision, Step

STOP = ["\nObservation:"]
"""The stop sequence: the observation is the environment's."""


class TextActor(Actor):
    """Actions as text, for any chat model."""

    def decide(self, reply: AIMessage) -> Decision:
        return read_reply(reply.text, self.environment.parse)

    def _options(self) -> dict[str, Any]:
        return {"stop": STOP}

    def _step(self, index: int, step: Step) -> tuple[BaseMessage, ...]:
        action = step["action"]
        lines = [f"Thought: {step['thought']}"] if step["thought"] or action is None else []
        if action is not None:
            lines.append(f"Action: {action['text']}")
        return AIMessage("\n".join(lines)), HumanMessage(f"Observation: {step['observation']}")
