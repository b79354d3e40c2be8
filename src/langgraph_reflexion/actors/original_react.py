"""The actor of the original HotPotQA code: thought and action are asked for one after the other.

Kept as coded: two model calls per step; one message that holds memory, task and transcript, and ends with the mark
that the model is to go on from; the last attempt before the reflections; its longest observations left out beyond so
many tokens. Not kept, as defects: that a reply which cannot be read ends the whole run; that lines are glued together
without a blank; that a reply ends with its first line, which chat models like to leave empty (readers cut for
themselves). Not kept either: the halt at 3,896 tokens, which guarded a window of 4,097 (`context` guards any).
"""

import re
from typing import cast

from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.actors.base import Choice
from langgraph_reflexion.actors.react import TextActor
from langgraph_reflexion.context import Asked, without_longest
from langgraph_reflexion.envs.base import Action
from langgraph_reflexion.models.calls import Call
from langgraph_reflexion.models.usage import add_usage
from langgraph_reflexion.state import Decision, ReflexionState

_OWN_MARK = re.compile(r"^\s*Thought(?: \d+)?:\s*", re.IGNORECASE)
_NEXT_MARK = re.compile(r"^\s*(?:Action|Observation)(?: \d+)?:.*", re.IGNORECASE | re.MULTILINE | re.DOTALL)


class TwoCallActor(TextActor):
    """ReAct with two model calls per step. The profile's layout says whether steps are numbered (`Thought 1:`)."""

    instruction = "act_in_two"
    opening = "task_attempt_first"

    @property
    def numbered(self) -> bool:
        """Whether steps are numbered."""
        return self.rules.layout == "original-numbered"

    async def choose(self, state: ReflexionState, config: RunnableConfig, call: Call) -> Choice:
        """Ask for the thought, then for the action.

        Raises:
            ModelFault: the model gave none.
        """
        number = f" {len(state['trajectory']) + 1}" if self.numbered else ""
        cue = f"Thought{number}:"
        thinking = await self._ask(state, config, call, cue, stop=["\nAction"])
        thought = " ".join(_NEXT_MARK.sub("", _OWN_MARK.sub("", thinking.reply.text)).split())
        cue = f"{cue} {thought}\nAction{number}:"
        state = cast(ReflexionState, {**state, "room": thinking.room})
        call = call._replace(name=f"{call.name} action")
        acting = await self._ask(state, config, call, cue, stop=["\nObservation"])
        action = self.decide(acting.reply)["action"] or Action(name="", args={}, text=acting.reply.text.strip()[:500])
        usage, notes = add_usage(thinking.usage, acting.usage), [*thinking.notes, *acting.notes]
        return Choice(Decision(thought=thought, action=action), Asked(acting.reply, usage, notes, acting.room))

    def messages(self, state: ReflexionState, cue: str = "") -> list[BaseMessage]:
        """The prompt for the next step: the instruction, and one message that ends with the cue."""
        earlier = without_longest(state.get("last_attempt", []), self.rules.truncation)
        before = cast(ReflexionState, {**state, "last_attempt": earlier, "trajectory": []})
        instruction, opening = super().messages(before)
        steps = self.prompts.render("scratchpad", steps=state["trajectory"], numbered=self.numbered)
        return [instruction, HumanMessage("\n".join(part for part in (opening.text, steps, cue) if part))]
