"""The actor of the original HotPotQA code: one model call for the thought and one for the action.

As in the original: one message with memory, task and transcript, which ends with the label of the next line; the last
attempt before the reflections; its longest observations left out beyond a number of tokens. Unlike the original:
an unreadable reply does not end the run; lines are joined with a blank; a reply may begin with an empty line; there
is no halt at 3,896 tokens, which guarded a context of 4,097 (`context` handles any).
"""

import re
from collections.abc import Sequence

from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.actors.base import TextActor
from langgraph_reflexion.actors.reply import LONGEST, LONGEST_PROSE, not_allowed
from langgraph_reflexion.loop.prompting import drop_longest
from langgraph_reflexion.models.calls import CallId, Reply
from langgraph_reflexion.state import Decision, ReflexionState, Step

_OWN_MARK = re.compile(r"^\s*Thought(?: \d+)?:\s*", re.IGNORECASE)
# `*+` gives nothing back, so that a long reply of blanks is read in linear time.
_NEXT_MARK = re.compile(r"^[^\S\n]*+(?:Action|Observation)(?: \d+)?:.*", re.IGNORECASE | re.MULTILINE | re.DOTALL)


class TwoCallActor(TextActor):
    """ReAct with two model calls per step. The profile's layout says whether steps are numbered."""

    instruction = "act_in_two"
    opening = "task_attempt_first"

    async def choose(
        self, state: ReflexionState, config: RunnableConfig, call: CallId, temperature: float | None = None
    ) -> tuple[Decision, Reply]:
        """Ask for the thought, then for the action.

        Raises:
            ModelFault: the model gave none.
        """
        # Without this stop the model would write the action as well, which the second call asks for.
        cue = self._cue(state)
        thinking = await self._ask(state, config, call, cue, temperature=temperature, stop=["\nAction"])
        thought = thought_in(thinking.text)
        # The action's prompt is no longer than the thought's had to be.
        state = state.copy()
        state["prompt_budget"] = thinking.prompt_budget
        # A name of its own, from which its seed is made.
        second_call = call._replace(name=f"{call.name} action")
        cue = self._cue(state, thought)
        acting = await self._ask(state, config, second_call, cue, temperature=temperature, stop=["\nObservation"])
        action = self.decide(acting.message)["action"]
        if action is None or not (action["name"] or action["text"]):
            # Prose after the cue was meant as an action.
            first_line = acting.text.strip().partition("\n")[0]
            action = not_allowed(first_line[:LONGEST_PROSE])
        return Decision(thought=thought, action=action), acting

    def _cue(self, state: ReflexionState, thought: str | None = None) -> str:
        """Return the label of the thought; with a thought, that and the label of the action."""
        number = ""
        if self.numbered:
            number = f" {len(state['trajectory']) + 1}"
        cue = f"Thought{number}:"
        if thought is None:
            return cue
        return f"{cue} {thought}\nAction{number}:"

    def messages(self, state: ReflexionState, cue: str = "", left_out: int = 0) -> list[BaseMessage]:
        """Return the instruction, and one message that ends with the cue."""
        earlier = drop_longest(state.get("last_attempt", []), self.rules.truncation)
        before = state.copy()
        before["last_attempt"] = earlier
        # The steps follow as a transcript in the same message, and not as turns.
        before["trajectory"] = []
        before["continued"] = []
        # No more than these two: this layout has the examples in the instruction, and no steps are left.
        instruction, opening = super().messages(before, left_out=left_out)
        parts: list[str] = [opening.text]
        for trial in state.get("continued", []):
            parts.append(self._transcript(trial["steps"]))
            parts.append(self._told(trial))
        parts.append(self._transcript(state["trajectory"]))
        parts.append(cue)
        return [instruction, HumanMessage("\n".join(part for part in parts if part))]

    def _transcript(self, steps: Sequence[Step]) -> str:
        return self.prompts.render("scratchpad", steps=steps, numbered=self.numbered)


def thought_in(reply: str) -> str:
    """Return the thought in a reply, in one line: without its label, up to the label of the next part."""
    unlabelled = _OWN_MARK.sub("", reply[:LONGEST])
    thought = _NEXT_MARK.sub("", unlabelled)
    return " ".join(thought.split())
