"""Which game files the native engine knows how to play.

A game file brings its own rules (a PDDL domain) and its own wording (a text grammar). The native engine has
one set of rules built in, ALFWorld's, and two wordings: `move X to Y`, and the `put X in/on Y` of before
ALFWorld 0.4. A file is taken only if it says the same.

Digests of the whole texts would turn away files that differ in a comment, so both texts are taken apart and
compared piece by piece, each piece by the digest of what it says: an action of the domain, a rule or a
template of the grammar. Where files are known to vary, the piece is read instead: the task, the help text
and whether there is one, and the two wordings of setting down and of arriving. Pieces of the grammar that no
action of the domain can reach are never printed, and not looked at.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from langgraph_reflexion.envs.alfworld.engine import Game
from langgraph_reflexion.envs.alfworld.pddl import UnreadableError, read

HELP = """
Available commands:
  look:                             look around your current location
  inventory:                        check your current inventory
  go to (receptacle):               move to a receptacle
  open (receptacle):                open a receptacle
  close (receptacle):               close a receptacle
  take (object) from (receptacle):  take an object from a receptacle
  move (object) to (receptacle):  place an object in or on a receptacle
  examine (something):              examine a receptacle or an object
  use (object):                     use an object
  heat (object) with (receptacle):  heat an object using a receptacle
  clean (object) with (receptacle): clean an object using a receptacle
  cool (object) with (receptacle):  cool an object using a receptacle
  slice (object) with (object):     slice an object using a sharp object
"""
"""The answer to `help` where a game brings no grammar; its `move` line is out of step in the original."""

PUT_FORMS = {"move {o} to {r}": ("move ", " to "), "put {o} in/on {r}": ("put ", " in/on ")}
PUT_TEXTS = {
    "You move the {o.name} to the {r.name}.": "You move the {o} to the {r}.",
    "You put the {o.name} in/on the {r.name}.": "You put the {o} in/on the {r}.",
}
ARRIVALS = {
    "You arrive at {r.name}. #examineReceptacle.feedback#": False,
    "You arrive at {lend.name}. #examineReceptacle.feedback#": True,
}


DOMAIN = {
    ":functions": "d2292d8d8b36",
    ":predicates": "6d363754dec9",
    ":requirements": "193bef145ce5",
    ":types": "ab6bfd756e74",
    "cleanobject": "b5aa3c7e43c2",
    "closeobject": "23b628b39809",
    "coolobject": "9ac583f790dd",
    "examineobject": "9c1be0aa8327",
    "examinereceptacle": "c73ba804fb51",
    "gotolocation": "e777b2750c3a",
    "heatobject": "daa7cf4642e9",
    "help": "28cc3ac35e1b",
    "inventory": "ff816fb95122",
    "look": "b6ca43dfd34f",
    "openobject": "61d04984da17",
    "pickupobject": "48d0b896b3e9",
    "putobject": "0054a6e29759",
    "sliceobject": "6b594c857718",
    "toggleobject": "2ef90177af7a",
}
"""The digests of what the domain of ALFWorld 0.4.2 consists of."""

ACTIONS = {
    "cleanobject": "955c6bd01884",
    "closeobject": "5e7636cf9a92",
    "coolobject": "bcb0dfe1f542",
    "examineobject": "89b2b566f959",
    "examinereceptacle": "fe9de5187dcb",
    "gotolocation": "631c713bd5fb",
    "heatobject": "35b058f1721d",
    "help": "a27965d302ca",
    "inventory": "664c77783734",
    "look": "a3779652cfb2",
    "openobject": "9bce467542b6",
    "pickupobject": "0b4d18a74b92",
    "putobject": "a9c5b59e015e",
    "sliceobject": "b0706cd930c0",
    "toggleobject": "54443eaddb9e",
}
"""The digests of the template and feedback of each action in its grammar."""

RULES = {
    "CloseObject.feedback": "01cf143fb27b",
    "OpenObject.feedback": "1af5096c7414",
    "PickupObject.feedback": "4dec34b29b1d",
    "cleanObject.feedback": "bce25485bf56",
    "coolObject.feedback": "ac06d1cdd7c7",
    "examineObject.feedback": "384fc0bd21d3",
    "examineReceptacle.feedback": "5c4c29e437a7",
    "heatObject.feedback": "962b9db41402",
    "intro": "216083ba7c5c",
    "inventory.feedback": "10a90af74fc8",
    "list_appliances": "0db854d4c8d9",
    "list_empty": "d4ca4eae8944",
    "list_last_separator": "2585510d29cd",
    "list_objects_on_the_floor": "1debc78e9c97",
    "list_separator": "85e97985e64c",
    "look-variations": "51d6e0d6b4cf",
    "look.feedback": "be96fdf33fd3",
    "overview(o)": "4195965f71b2",
    "overview(r)": "44373d352162",
    "sliceObject.feedback": "ffa03a313409",
    "toggleObject.feedback": "0e3fc274298a",
}
"""The digests of the rules that the feedback is made with."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a game words what may be worded differently."""

    task: str
    """The line that says what to do, as it is printed."""
    help: str | None = HELP.lstrip()
    """The answer to `help`; None where there is no such command."""
    put: tuple[str, str] = ("move ", " to ")
    """What stands before the object, and between it and the receptacle, in the command that sets it down."""
    put_text: str = "You move the {o} to the {r}."
    """The answer to that command."""
    arrive_at_place: bool = False
    """Whether arriving names the place ("loc 21") instead of the receptacle."""


def dialect_of(game: Game) -> Dialect:
    """The wording of a game.

    Raises:
        UnreadableError: its domain or its grammar is not one that is known. The message says where it
            differs.
    """
    helps = True
    if game.domain is not None:
        helps = _check_domain(game.domain)
    if game.grammar is None:
        task = printed(f"Your task is to: {game.instruction.removesuffix('.')}.")
        return Dialect(task, help=HELP.lstrip() if helps else None)
    return _read_grammar(game.grammar, helps)


def printed(text: str) -> str:
    """A literal text of a grammar as the original prints it.

    Its reader takes blank lines and comment lines at the start for layout, drops quotation marks in pairs,
    and stops without a word at the first character that has a meaning in grammars.
    """
    found: list[str] = []
    position = 0
    while piece := _LITERAL.match(text, _LAYOUT.match(text, position).end()):  # type: ignore[union-attr]
        found.append(piece["quoted"] or piece["plain"] or "")
        position = piece.end()
    return "".join(found)


_LAYOUT = re.compile(r"(?m)(?:^(?://.*\n?|\s+)|\t+)*")
_LITERAL = re.compile(r'"\t*(?P<quoted>[^;|"<>\[\]#]*)"|(?P<plain>[^;|"<>\[\]#]+)')


@lru_cache(maxsize=16)
def _check_domain(text: str) -> bool:
    """Compare a domain with the known one; whether it has the `help` command, which old ones lack."""
    try:
        _, _, *sections = read(text)
        names = [section[1] if section[0] == ":action" else section[0] for section in sections]
    except (ValueError, IndexError) as error:
        raise UnreadableError(f"its domain cannot be read: {error}") from error
    pieces = {str(name): _digest(section) for name, section in zip(names, sections, strict=True)}
    helps = "help" in pieces
    _compare("the domain's", pieces, {name: d for name, d in DOMAIN.items() if helps or name != "help"})
    return helps


def _compare(whose: str, pieces: dict[str, str], known: dict[str, str]) -> None:
    if differing := sorted(name for name, digest in known.items() if pieces.get(name, digest) != digest):
        raise UnreadableError(f"{whose} {', '.join(differing)} differ from ALFWorld 0.4.2")
    if missing := sorted(known.keys() - pieces.keys()):
        raise UnreadableError(f"{whose} {', '.join(missing)} are missing")
    if extra := sorted(pieces.keys() - known.keys()):
        raise UnreadableError(f"{whose} {', '.join(extra)} are not known")


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:12]


_PART = re.compile(
    r'\s*(?:action\s+(?P<action>\w+)\s*\{|(?P<key>template|feedback)\s*::\s*"(?P<value>[^"]*)"\s*;'
    r'|grammar\s*::\s*"""(?P<rules>.*?)"""\s*;|(?P<end>\}))\s*',
    re.DOTALL,
)


def _take_apart(text: str) -> tuple[dict[str, dict[str, str]], dict[str, Any]]:
    """The templates and feedback of a grammar by action, and its rules by name."""
    actions: dict[str, dict[str, str]] = {}
    rules: dict[str, Any] = {}
    current: dict[str, str] = {}
    position = 0
    while position < len(text):
        part = _PART.match(text, position)
        if part is None:
            raise UnreadableError(f"its grammar cannot be read at {text[position : position + 40].strip()!r}")
        position = part.end()
        if part["action"]:
            current = actions[part["action"].lower()] = {}
        elif part["key"]:
            current[part["key"]] = part["value"]
        elif part["rules"]:
            try:
                found = json.loads(re.sub(r"(?m)^\s*#.*$", "", part["rules"]))
            except ValueError as error:
                raise UnreadableError(f"its grammar has rules that are not JSON: {error}") from error
            if not isinstance(found, dict) or not all(isinstance(rule, list) for rule in found.values()):
                raise UnreadableError("its grammar has rules that are no lists under names")
            rules.update(found)
    return actions, rules


def _read_grammar(text: str, helps: bool) -> Dialect:
    actions, rules = _take_apart(text)
    try:
        task = printed(_text(rules, "task"))
        help_text = printed(_text(rules, "help.feedback")) if helps else None
        put = _choice(PUT_FORMS, actions["putobject"]["template"], "command for setting down")
        put_text = _choice(PUT_TEXTS, _text(rules, "PutObject.feedback"), "text for setting down")
        arrive = _choice(ARRIVALS, _text(rules, "GotoLocation.feedback"), "text for arriving")
    except KeyError as error:
        raise UnreadableError(f"its grammar has no {error}") from error
    # Every action of the domain has to have its words; the others' can never be said.
    used = {name: actions.get(name, {}) for name in ACTIONS if helps or name != "help"}
    used["putobject"] = {**used["putobject"], "template": "read above"}
    free = {"task", "help.feedback", "PutObject.feedback", "GotoLocation.feedback"}
    reached = _reached(rules, [*(action.get("feedback", "") for action in used.values()), "#intro#"])
    _compare(
        "the grammar's",
        {
            **{f"action {name}": _digest(sorted(action.items())) for name, action in used.items()},
            **{name: _digest(rules.get(name)) for name in reached - free},
        },
        {
            **{f"action {name}": digest for name, digest in ACTIONS.items() if name in used},
            **RULES,
        },
    )
    return Dialect(task, help_text, put, put_text, arrive)


def _text(rules: dict[str, Any], name: str) -> str:
    match rules[name]:
        case [{"rhs": str(text), **others}] if not others:
            return text
    raise UnreadableError(f"its grammar has more than one text for {name}")


def _choice(known: dict[str, Any], found: str, what: str) -> Any:
    if found not in known:
        raise UnreadableError(f"its grammar's {what} is {found!r}, which is not known")
    return known[found]


def _reached(rules: dict[str, Any], starts: Iterable[str]) -> set[str]:
    """The rules that some text can be made with: what the starts refer to, and what that refers to."""
    found: set[str] = {"list_empty", "list_separator", "list_last_separator"}
    pending = list(starts)
    while pending:
        for name in re.findall(r"#([^#]+)#", pending.pop()):
            if name not in found:
                found.add(name)
                pending += [str(rule.get("rhs", "")) for rule in rules.get(name, ()) if isinstance(rule, dict)]
    return found
