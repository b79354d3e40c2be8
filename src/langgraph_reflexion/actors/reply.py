"""The parser of ReAct replies: thought and action from the text of any chat model."""

import re
from bisect import bisect_left
from collections.abc import Callable

from langgraph_reflexion.envs.base import Action
from langgraph_reflexion.state import Decision

LONGEST = 20_000
"""Maximum number of characters of a reply that are parsed."""

MOST_LINES = 1_000
"""Lines of a reply without `Action:` that may be the action."""

MOST_STEPS = 100
"""Marks of steps within an action of several lines that may end it."""

LONGEST_PROSE = 500
"""Characters that are kept of a text that is not an allowed action."""

Parse = Callable[[str], Action | None]
"""Parses one action; returns None if it is not allowed."""

_MARKS = r"[ \t>*_#`-]*"
# A number and Markdown may follow the label, as in `**Action 2**:`, but no letter: `Actions:` begins a plan.
_COLON = r"(?![a-z])[ \t\d*_`]*:"
_OBSERVATION = re.compile(rf"^{_MARKS}observation{_COLON}", re.IGNORECASE | re.MULTILINE)
_ACTION = re.compile(rf"^{_MARKS}action{_COLON}[ \t*_]*(?P<text>.*)$", re.IGNORECASE | re.MULTILINE)
_THOUGHT = re.compile(rf"^{_MARKS}(?:thought|think){_COLON}[ \t*_]*", re.IGNORECASE)
# Stricter than the others, as programs have comments and annotations such as `# Action:` and `    action: str`.
_STEP = r"[>*_]*(?P<label>Action|Thought)(?: \d+)?[*_]*:"
# Not the annotation of a variable, as in `Action: TypeAlias = str`.
_NEXT_STEP = re.compile(rf"^{_STEP}(?![ \t]*+[\w.]++(?:\[[^\n=]*+)?[ \t]*+=)[ \t*_]*+", re.MULTILINE)
# After the end of a sentence, as a thought may also speak of an action: `I did Action: go up and it failed.`
_WITHIN_THOUGHT = re.compile(r"[.!?][\"')*_]*+[ \t]++(?P<mark>[*_]*+Action(?: \d+)?[*_]*:[ \t*_]*+)")
_MARKED = re.compile(rf"^{_MARKS}(?:action|thought|think){_COLON}", re.IGNORECASE | re.MULTILINE)
# `*+` and `++` give nothing back, so that long replies of blanks or brackets are read in linear time.
_ITEM = re.compile(r"^[ \t]*+(?:[-+*\u2022]|\d{1,3}[.)])[ \t]++")
_NAME = re.compile(r"[ \t`*_\"'>]*+\w++[ \t]*+\[")
_BRACKET = re.compile(r"[\[\]]")
_NEXT = re.compile(r"\s*+(?:(?:,|and\b|action\b[ \d]*+:)\s*+)*+\w*+\[", re.IGNORECASE)
_LINE_ENDS = re.compile(r"[ \t]*+\.?[ \t]*+(?:\n|\Z)")
_NONE = re.compile(r"\W*none\W*", re.IGNORECASE)
_BLOCK = re.compile(r"```\w*[ \t]*\n(?P<inner>.*?)\n?```", re.DOTALL)
_FENCE = re.compile(r"\s*```\w*\s*")
# A fence at the beginning or, as in `Action: ```python`, at the end of a line, but no backticks within code.
_FENCE_LINE = re.compile(r"^(?:[ \t]*+`{3,}+[^`\n]*+|[^`\n]*+`{3,}+\w*+[ \t]*+)$", re.MULTILINE)
_QUOTES = re.compile(r"\'{3}|\"{3}")
_REASONING = re.compile(r"(?:\s*+<think>.*?(?:</think>|\Z))++", re.DOTALL)
# Where the prompt has opened the reasoning. In the middle of a line, the tag may be a part of an action, unless
# a mark follows it.
_REASONING_ENDS = re.compile(rf"^[ \t]*+</think>|</think>(?=[ \t\r]*+$|[ \t]*+{_STEP})", re.MULTILINE)
_TAG = re.compile(r"^[ \t]*+<think>|</think>", re.MULTILINE)
# A thought that a token limit cut off has no bracket at its end.
_THINK = re.compile(r"^think\s*(?::\s*(?P<said>.*)|\[(?P<quoted>.*?)\]?)$", re.IGNORECASE | re.DOTALL)


def read_reply(reply: str, parse: Parse) -> Decision:
    """Return the thought and the action in a reply.

    The reply is cut where the model invents an observation; one that begins with it is read from the next mark on.
    The action follows the first `Action:`: all of it if that is one action of several lines, else the first line.
    What a further step or prose adds to an action of several lines is no part of it. Without `Action:`, it is the
    first line that is an allowed action, or the whole reply. A reply marked as a thought and without an action is a
    thought alone, unless `Action:` and an action follow a sentence in the line of the thought. Other prose becomes
    the thought, as a model repeats what it finds in its prompt as an action. Of reasoning that is cut off, only a
    last line that is marked as an action is read.

    Args:
        reply: The model's text.
        parse: Parses one action; returns None if it is not allowed.

    Returns:
        The decision. An action that is not allowed has no name, only the text after `Action:`.
    """
    answer = without_reasoning(reply)
    if ends_within_reasoning(reply):
        # A stop sequence may end the reply after an action that follows reasoning without its closing tag.
        answer = _last_step(reply)
    decision = _read_answer(answer, parse)
    if _is_possible(decision):
        return decision
    # A `</think>` within a line ends the reasoning only if nothing else in the reply is an action.
    _, tag, after_tag = answer.rpartition("</think>")
    if tag:
        following = _read_answer(after_tag, parse)
        if _is_possible(following):
            return following
    return decision


def _is_possible(decision: Decision) -> bool:
    """Return whether a decision has an action that is allowed."""
    action = decision["action"]
    return action is not None and action["name"] != ""


def _read_answer(answer: str, parse: Parse) -> Decision:
    """Return the thought and the action in a reply without its reasoning."""
    text = _without_observations(_readable(answer))
    # The end of a longer reply is missing, and a part of an action would be a different action.
    may_be_long = len(answer) <= LONGEST
    if may_be_long:
        # First of all, as a program may contain the marks.
        action = _of_several_lines(text, parse)
        if action:
            return Decision(thought=_before_block(text, action), action=action)

    marked = _ACTION.search(text)
    if marked is None:
        return _read_unmarked(text, parse)
    thought = _plain(text[: marked.start()])
    after_mark = text[marked.start("text") :]
    if may_be_long:
        # Before the first line alone, which would be a different action.
        action = _of_several_lines(after_mark, parse)
        if action:
            return Decision(thought=thought, action=action)
    return _read_line(thought, _first_line(after_mark), parse)


def without_reasoning(reply: str) -> str:
    """Return what follows the reasoning that some servers leave in a reply; empty if the reply ends within it."""
    reasoning = _REASONING.match(reply) or _REASONING_ENDS.search(reply)
    if reasoning is None:
        return reply
    return _without_later_reasoning(reply[reasoning.end() :])


def ends_within_reasoning(reply: str) -> bool:
    """Return whether a reply has nothing but reasoning, the last of which is not closed."""
    reasoning = _REASONING.match(reply)
    if reasoning is None or reasoning.end() < len(reply):
        return False
    return reply.rfind("<think>") > reply.rfind("</think>")


def _last_step(reply: str) -> str:
    """Return the last line of a reply if it is marked as an action; empty if not."""
    _, _, last_line = reply.rstrip().rpartition("\n")
    if _ACTION.match(last_line):
        return last_line
    return ""


def _without_later_reasoning(answer: str) -> str:
    """Return an answer without further pairs of `<think>` at a line's beginning and `</think>`, unless in blocks."""
    fences = _fences(answer)
    kept = []
    end = 0
    opened: int | None = None
    for tag in _TAG.finditer(answer):
        opens = tag[0] != "</think>"
        if opens and opened is None and not _is_within(fences, tag.start()):
            opened = tag.start()
        if opens or opened is None:
            continue
        kept.append(answer[end:opened])
        end = tag.end()
        opened = None
    kept.append(answer[end:])
    return "".join(kept)


def _readable(reply: str) -> str:
    """Return the reply with plain line ends, valid Unicode, and at most `LONGEST` characters."""
    if len(reply) > LONGEST:
        # Half an action would be a different action.
        reply = reply[:LONGEST].rpartition("\n")[0]
    # The patterns know no other line end than \n.
    lines = "\n".join(reply.splitlines())
    # Checkpoints hold no lone surrogates.
    return lines.encode("utf-8", "replace").decode()


def _without_observations(reply: str) -> str:
    """Return the reply up to the first observation that the model has invented; after one at the very beginning."""
    stripped = reply.lstrip()
    at_beginning = _OBSERVATION.match(stripped)
    if at_beginning:
        next_mark = _MARKED.search(stripped, at_beginning.end())
        if next_mark is None:
            return ""
        reply = stripped[next_mark.start() :]
    fences = _fences(reply)
    for observation in _OBSERVATION.finditer(reply):
        if not _is_within(fences, observation.start()):
            return reply[: observation.start()]
    return reply


def _before_next_step(written: str, parse: Parse) -> str:
    """Return an action of several lines without a further thought or allowed action below it.

    What only looks like a step, in a block of code or in a string of several lines, is a part of the action.
    """
    fences = _fences(written)
    strings = _string_ends(written)
    steps = []
    # A step at the beginning is not a further one.
    for step in _NEXT_STEP.finditer(written, 1):
        place = step.start()
        if not _is_within(fences, place) and not _is_within(strings, place):
            steps.append(step)

    ends = [step.start() for step in steps[1:]]
    ends.append(len(written))
    # Reading each as an action takes its time.
    for step, end in zip(steps[:MOST_STEPS], ends, strict=False):
        following = written[step.end() : end]
        if step["label"] == "Thought" or _begins_action(following, parse):
            return written[: step.start()]
    return written


def _begins_action(text: str, parse: Parse) -> bool:
    """Return whether a text begins with an allowed action, of one line or of several."""
    if _allowed(_first_line(text), parse):
        return True
    lines = text.strip()
    if "\n" not in lines:
        # The first line of an action of several, such as `submit`, whose program is missing.
        lines = f"{lines}\n1"
    if parse(lines):
        return True
    block = _block_in(lines).strip()
    return block != "" and parse(block) is not None


def _fences(text: str) -> list[int]:
    """Return where the lines are that open or close a block of code, in turn."""
    return [fence.start() for fence in _FENCE_LINE.finditer(text)]


def _string_ends(text: str) -> list[int]:
    """Return where strings in triple quotes begin and end, in turn."""
    ends = []
    opened = ""
    for quotes in _QUOTES.finditer(text):
        if opened and quotes[0] != opened:
            continue
        ends.append(quotes.start())
        if opened:
            opened = ""
        else:
            opened = quotes[0]
    return ends


def _is_within(ends: list[int], place: int) -> bool:
    """Return whether a place is between a beginning and its end, of the places where such parts begin and end."""
    return bisect_left(ends, place) % 2 == 1


def _before_block(reply: str, action: Action) -> str:
    """Return the thought before the block of code that is the action; empty if the action is not in one."""
    prose, fence, _ = reply.partition("```")
    # If what precedes the fence is a part of the action, as in a note with code in it, there is no block.
    if not fence or prose.strip() in action["text"]:
        return ""
    return _plain(prose)


def _read_line(thought: str, line: str, parse: Parse) -> Decision:
    """Return the decision of a reply whose action is one line, after a thought."""
    thinking = _THINK.match(_bare(line))
    if thinking:
        return Decision(thought=_joined(thought, _said(thinking)), action=None)
    return Decision(thought=thought, action=_action(line, parse))


def _read_unmarked(reply: str, parse: Parse) -> Decision:
    """Return the decision of a reply without `Action:`."""
    lines = reply.splitlines()[:MOST_LINES]
    if len(lines) == 1:
        # In several lines, such a mark is that of a plan.
        lines = [_ITEM.sub("", lines[0])]
    has_thought = False
    for number, line in enumerate(lines):
        # Not an action, whatever it says: `Thought: go up` only considers it.
        if _THOUGHT.match(line):
            has_thought = True
            continue
        action = _allowed(line, parse)
        if action:
            before = "\n".join(lines[:number])
            return Decision(thought=_plain(before), action=action)

    thinking = _THINK.match(_bare(reply))
    if thinking:
        return Decision(thought=_joined(_said(thinking)), action=None)
    if has_thought:
        decision = _read_thoughts(lines, parse)
        if decision:
            return decision
        return Decision(thought=_plain(reply), action=None)
    # An empty block of code says nothing, so it is not a thought.
    if _FENCE.fullmatch(reply):
        return Decision(thought="", action=not_allowed(""))
    prose = _plain(reply)[:LONGEST_PROSE]
    return Decision(thought=prose, action=not_allowed(""))


def _read_thoughts(lines: list[str], parse: Parse) -> Decision | None:
    """Return the decision of the first thought whose line ends with `Action:` and an allowed action; None without."""
    for number, line in enumerate(lines):
        marks = list(_WITHIN_THOUGHT.finditer(line))
        if not marks or not _THOUGHT.match(line):
            continue
        last = marks[-1]
        action = _action(line[last.end() :], parse)
        if action["name"]:
            before = "\n".join([*lines[:number], line[: last.start("mark")]])
            return Decision(thought=_plain(before), action=action)
    return None


def _action(written: str, parse: Parse) -> Action:
    """Return the action in the line after `Action:`, where anything may follow a bracket."""
    written = _ITEM.sub("", written)
    action = _allowed(written, parse)
    if action:
        return action
    # Only after `Action:`, as `search[] would show it` is prose elsewhere.
    call, _ = _call_in(written)
    action = _allowed(call, parse)
    if action:
        return action
    # A model copies what it finds in its prompt as an action.
    if _NONE.fullmatch(written):
        return not_allowed("")
    return not_allowed(written[:LONGEST_PROSE])


def not_allowed(text: str) -> Action:
    """Return an action that cannot be done, which has a text but no name."""
    return Action(name="", args={}, text=text)


def _allowed(written: str, parse: Parse) -> Action | None:
    """Return the action that a line is, with or without what chat models put around it; None if not allowed."""
    call, rest = _call_in(written)
    # Without the marks first: where any text is allowed, they would become a part of the action.
    candidates = [_bare(written), written.strip()]
    # `search[A], search[B]` would search for "A], search[B".
    if _NEXT.match(rest):
        candidates.insert(0, call)
    only_punctuation_follows = not rest.strip(" .,;:!")
    if only_punctuation_follows:
        candidates.append(call)
    for candidate in candidates:
        if not candidate:
            continue
        action = parse(candidate)
        if action:
            return action
    return None


def _call_in(text: str) -> tuple[str, str]:
    """Return the `name[...]` at the beginning, with its brackets in pairs, and the rest; "" and the text if none."""
    named = _NAME.match(text)
    if named is None:
        return "", text
    first_bracket = named.end() - 1
    depth = 0
    for bracket in _BRACKET.finditer(text, first_bracket):
        if bracket[0] == "[":
            depth += 1
        else:
            depth -= 1
        if depth == 0:
            call = text[: bracket.end()]
            rest = text[bracket.end() :]
            return call.lstrip(" \t`*_\"'>"), rest
    return "", text


def _of_several_lines(text: str, parse: Parse) -> Action | None:
    """Return the action that a text of several lines is, in a block of code or not.

    If the first line is an action by itself, the rest is prose, and the result is None.
    """
    # Empty lines before it go, but a program may begin with its indentation.
    first_character = len(text) - len(text.lstrip())
    line_start = text.rfind("\n", 0, first_character) + 1
    text = text[line_start:].rstrip()
    action = _one_action(text, parse)
    if action:
        return action
    return _one_action(_block_in(text).strip(), parse)


def _block_in(text: str) -> str:
    """Return what is in the block of code that a text is, or begins with before prose; empty if there is none."""
    whole = _BLOCK.fullmatch(text)
    if whole:
        return whole["inner"]
    first = _BLOCK.match(text)
    if first is None:
        return ""
    after = text[first.end() :]
    # With more fences, it may be a part of the action that ends at the first one.
    if not after.startswith("\n") or "```" in after:
        return ""
    return first["inner"]


def _one_action(lines: str, parse: Parse) -> Action | None:
    """Return the action that several lines are together; None if the first is one by itself.

    A further thought or action, and what follows brackets of several lines, are no part of it.
    """
    first, _, more = lines.partition("\n")
    if not more or _allowed(first, parse):
        return None
    call = _call_of_several_lines(lines)
    if call:
        action = parse(call)
        if action:
            return action
    action = parse(lines)
    written = lines
    if action:
        written = action["text"]
    alone = _before_next_step(written, parse).rstrip()
    if alone == written:
        return action
    return parse(alone) or action


def _call_of_several_lines(text: str) -> str:
    """Return the `name[...]` of several lines that a text begins with, before lines of prose; empty if none."""
    call, rest = _call_in(text)
    if "\n" not in call or not _LINE_ENDS.match(rest):
        return ""
    # One bracket too many shows that the last one ends the call, as in `write[a\n# until ]\nb]`.
    if rest.count("[") != rest.count("]"):
        return ""
    return call


def _bare(text: str) -> str:
    """Return the text without the Markdown that chat models put around an action."""
    text = text.strip().removeprefix(">").strip()
    while _is_in_marks(text):
        text = text[1:-1].strip()
    unmarked = text.rstrip("`*")
    marks = set(text[len(unmarked) :])
    # A mark that is within the text, too, belongs to it. Else the opening mark was before the label, as in
    # `**Action: go up**`.
    if marks & set(unmarked):
        return text
    return unmarked.rstrip()


def _is_in_marks(text: str) -> bool:
    """Return whether a text begins and ends with the same mark of Markdown, or the same quotation mark."""
    if len(text) < 2 or text[0] != text[-1]:
        return False
    return text[0] in "`*_\"'"


def _plain(text: str) -> str:
    """Return a thought in one line, without its label."""
    unlabelled = _THOUGHT.sub("", text.strip())
    return " ".join(unlabelled.split())


def _said(thinking: re.Match[str]) -> str:
    """Return what `think: ...` or `think[...]` says."""
    return thinking["said"] or thinking["quoted"] or ""


def _joined(*parts: str) -> str:
    text = " ".join(parts)
    return " ".join(text.split())


def _first_line(text: str) -> str:
    """Return the first line that is neither empty nor the fence of a block of code; empty if there is none."""
    for line in text.splitlines():
        stripped = line.strip()
        if stripped and not _FENCE.fullmatch(line):
            return stripped
    return ""
