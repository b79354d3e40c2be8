"""Reading a ReAct reply: thought and action out of whatever text a chat model wrote."""

import json
import re
from collections.abc import Callable
from typing import Any

from langgraph_reflexion.envs.base import Action
from langgraph_reflexion.state import Decision

LONGEST = 20_000
"""How many characters of a reply are read: more is no thought and no action."""

_MARKS = r"[ \t>*_#`-]*"
_COLON = r"(?![a-z])[ \t\d*_`]*:"
_OBSERVATION = re.compile(rf"^{_MARKS}observation{_COLON}", re.IGNORECASE | re.MULTILINE)
_ACTION = re.compile(rf"^{_MARKS}action{_COLON}[ \t*_]*(?P<text>.*)$", re.IGNORECASE | re.MULTILINE)
_THOUGHT = re.compile(rf"^{_MARKS}(?:thought|think){_COLON}[ \t*_]*", re.IGNORECASE)
_BLOCK = re.compile(r"```\w*[ \t]*\n(?P<inner>.*?)\n?```", re.DOTALL)
_FENCE = re.compile(r"\s*```\w*\s*")
_THINK = re.compile(r"^think\s*(?::\s*(?P<said>.*)|\[(?P<quoted>.*)\])$", re.IGNORECASE | re.DOTALL)


def read_reply(reply: str, parse: Callable[[str], Action | None]) -> Decision:
    """Read thought and action from a reply.

    The reply is cut where it runs on into an observation of its own. The action is what follows the first
    `Action:`, all of it where an action of several lines stands there, and otherwise its first line, whatever prose
    stands around it; without that mark, the first line that is an action as it stands, or the whole reply. A reply
    that is marked as a thought and holds no action is a thought alone.

    Args:
        reply: What the model wrote.
        parse: Reads one action, or says None where it is not an allowed one.

    Returns:
        The decision. Where no allowed action was found its action has no name, and its text is what stood there.
    """
    reply = reply.rpartition("</think>")[2]  # some servers leave the model's reasoning in
    whole = len(reply) <= LONGEST
    reply = _readable(reply)
    for cut in _OBSERVATION.finditer(reply):
        # What stands in a block of code is the model's own.
        if reply[: cut.start()].count("```") % 2 == 0:
            reply = reply[: cut.start()]
            break
    # Nothing that stands in a program is a mark.
    if whole and (action := _of_several_lines(reply, parse)):
        return Decision(thought=_plain(reply.partition("```")[0]) if "```" in reply else "", action=action)
    if marked := _ACTION.search(reply):
        thought = _plain(reply[: marked.start()])
        rest = reply[marked.start("text") :]
        written = _first_line(rest)
        # Half an action of several lines would be another one.
        if whole and (action := _of_several_lines(rest, parse)):
            return Decision(thought=thought, action=action)
        if thinking := _THINK.match(_bare(written)):
            return Decision(thought=_joined(thought, _said(thinking)), action=None)
        return Decision(thought=thought, action=_action(written, parse))
    before: list[str] = []
    for line in reply.splitlines():
        if not _THOUGHT.match(line) and (action := _allowed(line, parse)):
            return Decision(thought=_plain("\n".join(before)), action=action)
        before.append(line)
    if thinking := _THINK.match(_bare(reply)):
        return Decision(thought=_joined(_said(thinking)), action=None)
    if _THOUGHT.match(reply.lstrip()):
        return Decision(thought=_plain(reply), action=None)
    return Decision(thought="", action=_action(_first_line(reply), lambda _: None))


def _readable(reply: str) -> str:
    """The reply in plain lines, and not too long."""
    if len(reply) > LONGEST:
        # Half an action would be another one.
        reply = reply[:LONGEST].rpartition("\n")[0]
    # Whatever ends a line for a reader ends it for the patterns; half a surrogate pair survives no checkpoint.
    return "\n".join(reply.splitlines()).encode("utf-8", "replace").decode()


def call_text(name: str, args: dict[str, Any]) -> str:
    """A tool call as text, for environments and arguments that have no text form of their own."""
    return f"{name}({', '.join(f'{key}={json.dumps(value)}' for key, value in args.items())})"


def _action(written: str, parse: Callable[[str], Action | None]) -> Action:
    return _allowed(written, parse) or Action(name="", args={}, text=written[:500])


def _allowed(written: str, parse: Callable[[str], Action | None]) -> Action | None:
    for candidate in (_bare(written), written.strip()):
        if candidate and (action := parse(candidate)):
            return action
    return None


def _of_several_lines(text: str, parse: Callable[[str], Action | None]) -> Action | None:
    """The action that a text of several lines is as a whole, in a block of code or not.

    Where its first line is an action by itself, that is the action, whatever prose comes after it.
    """
    text = text.strip()
    block = _BLOCK.fullmatch(text)
    for each in (text, block["inner"].strip() if block else ""):
        first, _, more = each.partition("\n")
        if more and not _allowed(first, parse) and (action := parse(each)):
            return action
    return None


def _bare(text: str) -> str:
    """The text without the marks that chat models put around an action; marks within it stay."""
    text = text.strip().removeprefix(">").strip()
    while len(text) > 1 and text[0] == text[-1] and text[0] in "`*_\"'":
        text = text[1:-1].strip()
    # The mark that opened stood before "Action:".
    plain = text.rstrip("`*")
    return text if set(text[len(plain) :]) & set(plain) else plain.rstrip()


def _plain(text: str) -> str:
    return " ".join(_THOUGHT.sub("", text.strip()).split())


def _said(thinking: re.Match[str]) -> str:
    return thinking["said"] or thinking["quoted"] or ""


def _joined(*parts: str) -> str:
    return " ".join(" ".join(parts).split())


def _first_line(text: str) -> str:
    lines = (line.strip() for line in text.splitlines() if line.strip() and not _FENCE.fullmatch(line))
    return next(lines, "")
