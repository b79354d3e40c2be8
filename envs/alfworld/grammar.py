"""Parser of text grammars, the part of a game file that words its commands and observations."""

import json
import re
from typing import Any

from langgraph_reflexion.envs.alfworld.pddl import UnreadableError

Rules = dict[str, list[dict[str, Any]]]

_GAP = r"(?:\s+|#[^\n]*+)*+"
_START = re.compile(_GAP)
_PART = re.compile(
    rf'(?:action\b{_GAP}(?P<action>[\w/-]+){_GAP}\{{|(?P<key>template|feedback){_GAP}::{_GAP}"(?P<value>[^"]*)"{_GAP};'
    rf'|(?P<block>grammar|pddl){_GAP}::{_GAP}"""(?P<text>.*?)"""{_GAP};|(?P<end>\}})){_GAP}',
    re.DOTALL,
)
_LAYOUT = re.compile(r"(?m)(?:^(?://.*\n?|\s+)|\t+)*")
_LITERAL = re.compile(r'"\t*(?P<quoted>[^;|"<>\[\]#]*)"|(?P<plain>[^;|"<>\[\]#]+)')


def parse_grammar(text: str) -> tuple[dict[str, dict[str, str]], Rules]:
    """Return the templates and feedback of a grammar by action, and its rules by name.

    A later definition replaces an earlier one of the same name, as in the original.

    Raises:
        UnreadableError: The original cannot parse it either.
    """
    actions: dict[str, dict[str, str]] = {}
    rules: Rules = {}
    action, inside = "", False
    position = _START.match(text).end()  # type: ignore[union-attr]
    while position < len(text):
        part = _PART.match(text, position)
        # Actions are not nested, and everything except actions and rules is inside one.
        if part is None or (
            bool(part["action"]) if inside else part["action"] is None and part["block"] != "grammar"
        ):
            raise UnreadableError(f"its grammar cannot be read at {text[position : position + 40].strip()!r}")
        position = part.end()
        if part["action"]:
            action, inside = part["action"].lower(), True
            actions[action] = {}
        elif part["end"]:
            inside = False
            if missing := {"template", "feedback"} - actions[action].keys():
                raise UnreadableError(f"its grammar's action {action} has no {' and no '.join(sorted(missing))}")
        if inside and (key := part["key"] or part["block"]):
            if key in actions[action]:
                raise UnreadableError(f"its grammar's action {action} has more than one {key}")
            actions[action][key] = part["value"] or ""
        if part["block"] == "grammar":
            rules.update(_parse_rules(re.sub(r"(?m)^\s*#.*$", "", part["text"]) if inside else part["text"]))
    if inside:
        raise UnreadableError(f"its grammar ends in the middle of the action {action}")
    for found in actions.values():
        found.pop("grammar", None)
    return actions, rules


def render_literal(text: str) -> str:
    """Return a literal text of a grammar as the original prints it.

    Its parser skips blank lines and comment lines at the start, drops quotation marks in pairs, and silently stops at
    the first character that has a meaning in grammars.
    """
    found: list[str] = []
    position = 0
    while piece := _LITERAL.match(text, _LAYOUT.match(text, position).end()):  # type: ignore[union-attr]
        found.append(piece["quoted"] or piece["plain"] or "")
        position = piece.end()
    return "".join(found)


def _parse_rules(text: str) -> Rules:
    try:
        rules = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"its grammar has rules that are not JSON: {error}") from error
    if not isinstance(rules, dict) or not all(isinstance(rule, list) for rule in rules.values()):
        raise UnreadableError("its grammar has rules that are not an object of lists")
    for name, rule in rules.items():
        if not all(isinstance(text, dict) and isinstance(text.get("rhs"), str) for text in rule):
            raise UnreadableError(f"its grammar's rule {name!r} has a text without 'rhs'")
    return rules
