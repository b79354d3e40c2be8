"""The parser of ReAct replies: thought and action from the text of any chat model."""

import re
from collections.abc import Callable

from langgraph_reflexion.envs.base import Action
from langgraph_reflexion.state import Decision
from langgraph_reflexion.support.text import call_text as call_text

LONGEST = 20_000
"""Maximum number of characters of a reply that are parsed."""

MOST_LINES = 1_000
"""Lines of a reply without `Action:` that may be the action."""

_MARKS = r"[ \t>*_#`-]*"
_COLON = r"(?![a-z])[ \t\d*_`]*:"
_OBSERVATION = re.compile(rf"^{_MARKS}observation{_COLON}", re.IGNORECASE | re.MULTILINE)
_ACTION = re.compile(rf"^{_MARKS}action{_COLON}[ \t*_]*(?P<text>.*)$", re.IGNORECASE | re.MULTILINE)
_THOUGHT = re.compile(rf"^{_MARKS}(?:thought|think){_COLON}[ \t*_]*", re.IGNORECASE)
_MARKED = re.compile(rf"^{_MARKS}(?:action|thought|think){_COLON}", re.IGNORECASE | re.MULTILINE)
_ITEM = re.compile(r"^[ \t]*+(?:[-+*\u2022]|\d{1,3}[.)])[ \t]++")
_NAME = re.compile(r"[ \t`*_\"'>]*+\w++[ \t]*+\[")
_BRACKET = re.compile(r"[\[\]]")
_NEXT = re.compile(r"\s*+(?:(?:,|and\b|action\b[ \d]*+:)\s*+)*+\w*+\[", re.IGNORECASE)
_NONE = re.compile(r"\W*none\W*", re.IGNORECASE)
_BLOCK = re.compile(r"```\w*[ \t]*\n(?P<inner>.*?)\n?```", re.DOTALL)
_FENCE = re.compile(r"\s*```\w*\s*")
# A thought that a token limit cut off has no bracket at its end.
_THINK = re.compile(r"^think\s*(?::\s*(?P<said>.*)|\[(?P<quoted>.*?)\]?)$", re.IGNORECASE | re.DOTALL)


def read_reply(reply: str, parse: Callable[[str], Action | None]) -> Decision:
    """Return the thought and the action in a reply.

    The reply is cut where the model invents an observation; one that begins with it is read from the next mark on.
    The action follows the first `Action:`: all of it if that is one action of several lines, else the first line.
    Without `Action:`, it is the first line that is an allowed action, or the whole reply. A reply marked as a thought
    and without an action is a thought alone. Other prose becomes the thought, as a model repeats what it finds in its
    prompt as an action.

    Args:
        reply: The model's text.
        parse: Parses one action; returns None if it is not allowed.

    Returns:
        The decision. An action that is not allowed has no name, only the text after `Action:`.
    """
    reply = reply.rpartition("</think>")[2]  # some servers leave the reasoning in the reply
    whole = len(reply) <= LONGEST
    reply = _readable(reply)
    if invented := _OBSERVATION.match(reply.lstrip()):
        after = _MARKED.search(reply.lstrip(), invented.end())
        reply = reply.lstrip()[after.start() :] if after else ""
    for cut in _OBSERVATION.finditer(reply):
        # A block of code may contain the word.
        if reply[: cut.start()].count("```") % 2 == 0:
            reply = reply[: cut.start()]
            break
    # A program may contain the marks.
    if whole and (action := _of_several_lines(reply, parse)):
        prose, fence, _ = reply.partition("```")
        return Decision(thought=_plain(prose) if fence and prose.strip() not in action["text"] else "", action=action)
    if marked := _ACTION.search(reply):
        thought = _plain(reply[: marked.start()])
        rest = reply[marked.start("text") :]
        written = _first_line(rest)
        # The first line of a longer action would be a different action.
        if whole and (action := _of_several_lines(rest, parse)):
            return Decision(thought=thought, action=action)
        if thinking := _THINK.match(_bare(written)):
            return Decision(thought=_joined(thought, _said(thinking)), action=None)
        return Decision(thought=thought, action=_action(written, parse))
    before: list[str] = []
    lines = reply.splitlines()[:MOST_LINES]
    if len(lines) == 1:  # of several, a list mark is a plan's
        lines = [_ITEM.sub("", lines[0])]
    for line in lines:
        if not _THOUGHT.match(line) and (action := _allowed(line, parse)):
            return Decision(thought=_plain("\n".join(before)), action=action)
        before.append(line)
    if thinking := _THINK.match(_bare(reply)):
        return Decision(thought=_joined(_said(thinking)), action=None)
    if any(map(_THOUGHT.match, lines)):
        return Decision(thought=_plain(reply), action=None)
    prose = "" if _FENCE.fullmatch(reply) else _plain(reply)[:500]
    return Decision(thought=prose, action=Action(name="", args={}, text=""))


def _readable(reply: str) -> str:
    """Return the reply with plain line ends, valid Unicode, and at most `LONGEST` characters."""
    if len(reply) > LONGEST:
        # Half an action would be a different action.
        reply = reply[:LONGEST].rpartition("\n")[0]
    # The patterns know only \n, and checkpoints hold no lone surrogates.
    return "\n".join(reply.splitlines()).encode("utf-8", "replace").decode()


def _action(written: str, parse: Callable[[str], Action | None]) -> Action:
    """Return the action in the line after `Action:`, where anything may follow a bracket."""
    written = _ITEM.sub("", written)
    call, _ = _call_in(written)
    allowed = _allowed(written, parse) or _allowed(call, parse)
    return allowed or Action(name="", args={}, text="" if _NONE.fullmatch(written) else written[:500])


def _allowed(written: str, parse: Callable[[str], Action | None]) -> Action | None:
    call, rest = _call_in(written)
    ended = call if not rest.strip(" .,;:!") else ""
    # `search[A], search[B]` would search for "A], search[B".
    for candidate in (call if _NEXT.match(rest) else "", _bare(written), written.strip(), ended):
        if candidate and (action := parse(candidate)):
            return action
    return None


def _call_in(text: str) -> tuple[str, str]:
    """Return the `name[...]` at the beginning, with its brackets in pairs, and the rest; "" and the text if none."""
    if (named := _NAME.match(text)) is None:
        return "", text
    depth = 0
    for bracket in _BRACKET.finditer(text, named.end() - 1):
        depth += 1 if bracket[0] == "[" else -1
        if not depth:
            return text[: bracket.end()].lstrip(" \t`*_\"'>"), text[bracket.end() :]
    return "", text


def _of_several_lines(text: str, parse: Callable[[str], Action | None]) -> Action | None:
    """Return the action that a text of several lines is, in a block of code or not.

    If the first line is an action by itself, the rest is prose, and the result is None.
    """
    # A program may begin with its indentation.
    text = text[text.rfind("\n", 0, len(text) - len(text.lstrip())) + 1 :].rstrip()
    block = _BLOCK.fullmatch(text)
    for each in (text, block["inner"].strip() if block else ""):
        first, _, more = each.partition("\n")
        if more and not _allowed(first, parse) and (action := parse(each)):
            return action
    return None


def _bare(text: str) -> str:
    """Return the text without the Markdown that chat models put around an action."""
    text = text.strip().removeprefix(">").strip()
    while len(text) > 1 and text[0] == text[-1] and text[0] in "`*_\"'":
        text = text[1:-1].strip()
    # The opening mark was before "Action:".
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
