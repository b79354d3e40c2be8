"""The game files whose rules and wording the native engine knows.

A game file brings its own rules (a PDDL domain) and its own wording (a text grammar). The native engine has them
built in, as they are in three releases of ALFWorld:

* json_2.1.1, the games of 2020: `put X in/on Y`, "You arrive at loc 12", no `help`;
* json_2.1.2, what `alfworld-download` fetches since ALFWorld 0.4: `move X to Y`, "You arrive at cabinet 1";
* the domain and grammar in the wheel of ALFWorld 0.4.2, from which new games are made.

Both texts are taken apart, and each piece is compared with what these releases say there: commands by their text,
and longer pieces, which are not ours to ship, by their digests. So a file may mix releases, and may differ in
comments and in pieces that are never printed. A piece that a new release words otherwise is one more digest in a set.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from langgraph_reflexion.envs.alfworld.engine import PUT_TEMPLATES, Game
from langgraph_reflexion.envs.alfworld.pddl import Tree, UnreadableError, read

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

DOMAIN = {
    # In json_2.1.1, json_2.1.2 and the wheel 0.4.2 alike:
    ":functions": {"d2292d8d8b36"},
    ":predicates": {"6d363754dec9"},
    ":requirements": {"193bef145ce5"},
    ":types": {"ab6bfd756e74"},
    "closeobject": {"23b628b39809"},
    "coolobject": {"9ac583f790dd"},
    "examineobject": {"9c1be0aa8327"},
    "examinereceptacle": {"c73ba804fb51"},
    "gotolocation": {"e777b2750c3a"},
    "heatobject": {"daa7cf4642e9"},
    "inventory": {"ff816fb95122"},
    "look": {"b6ca43dfd34f"},
    "openobject": {"61d04984da17"},
    "pickupobject": {"48d0b896b3e9"},
    "putobject": {"0054a6e29759"},
    "sliceobject": {"6b594c857718"},
    "toggleobject": {"2ef90177af7a"},
    # Different between them; what follows from it is in `SINKS`:
    "cleanobject": {
        "fd3be0823243",  # json_2.1.1 and json_2.1.2
        "b5aa3c7e43c2",  # the wheel 0.4.2
    },
    # In json_2.1.2 and the wheel 0.4.2; json_2.1.1 has no such action:
    "help": {"28cc3ac35e1b"},
}
"""The digests of the pieces of the domain."""

SINKS = {
    "fd3be0823243": frozenset(["sinktype", "sinkbasintype"]),
    "b5aa3c7e43c2": frozenset(["sinkbasintype"]),
}
"""The types of receptacle that things are cleaned in, by the digest of `cleanobject`."""

COMMANDS = {
    # In json_2.1.1, json_2.1.2 and the wheel 0.4.2 alike; the commands of putobject and help are read.
    "cleanobject": ("clean {o} with {r}", "cleanObject.feedback"),
    "closeobject": ("close {r}", "CloseObject.feedback"),
    "coolobject": ("cool {o} with {r}", "coolObject.feedback"),
    "examineobject": ("examine {o}", "examineObject.feedback"),
    "examinereceptacle": ("examine {r}", "examineReceptacle.feedback"),
    "gotolocation": (
        "go to [{r.name | receptacleatlocation(r:receptacle, lend:location)}]",
        "GotoLocation.feedback",
    ),
    "heatobject": ("heat {o} with {r}", "heatObject.feedback"),
    "inventory": ("inventory", "inventory.feedback"),
    "look": ("look", "look.feedback"),
    "openobject": ("open {r}", "OpenObject.feedback"),
    "pickupobject": ("take {o} from {r}", "PickupObject.feedback"),
    "sliceobject": ("slice {co} with {ko}", "sliceObject.feedback"),
    "toggleobject": ("use {o}", "toggleObject.feedback"),
}
"""The command of each action in the grammar, and the rule that words its answer."""

RULES = {
    # In json_2.1.1, json_2.1.2 and the wheel 0.4.2 alike:
    "CloseObject.feedback": {"01cf143fb27b"},
    "OpenObject.feedback": {"1af5096c7414"},
    "PickupObject.feedback": {"4dec34b29b1d"},
    "cleanObject.feedback": {"bce25485bf56"},
    "coolObject.feedback": {"ac06d1cdd7c7"},
    "examineObject.feedback": {"384fc0bd21d3"},
    "examineReceptacle.feedback": {"5c4c29e437a7"},
    "heatObject.feedback": {"962b9db41402"},
    "intro": {"216083ba7c5c"},
    "inventory.feedback": {"10a90af74fc8"},
    "list_appliances": {"0db854d4c8d9"},
    "list_empty": {"d4ca4eae8944"},
    "list_last_separator": {"2585510d29cd"},
    "list_objects_on_the_floor": {"1debc78e9c97"},
    "list_separator": {"85e97985e64c"},
    "look-variations": {"51d6e0d6b4cf"},
    "look.feedback": {"be96fdf33fd3"},
    "overview(o)": {"4195965f71b2"},
    "overview(r)": {"44373d352162"},
    "sliceObject.feedback": {"ffa03a313409"},
    "toggleObject.feedback": {"0e3fc274298a"},
}
"""The digests of the rules that answers are worded with. They name no others but the few that are read below."""

PUT_TEXTS = {
    # json_2.1.1
    "You put the {o.name} in/on the {r.name}.": "You put the {o} in/on the {r}.",
    # json_2.1.2 and the wheel 0.4.2
    "You move the {o.name} to the {r.name}.": "You move the {o} to the {r}.",
}
"""The answers to setting down."""

ARRIVALS = {
    # json_2.1.1
    "You arrive at {lend.name}. #examineReceptacle.feedback#": True,
    # json_2.1.2 and the wheel 0.4.2
    "You arrive at {r.name}. #examineReceptacle.feedback#": False,
}
"""The answers to `go to`, and whether they name the place instead of the receptacle."""


class UnknownDialectError(Exception):
    """The rules or the wording of a game are not among those that the native engine knows. The message says where."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """What differs between releases in the rules and the wording of a game."""

    task: str
    """The line that says what to do, as it is printed."""
    help: str | None = HELP.lstrip()
    """The answer to `help`; None where there is no such command."""
    put: tuple[str, str] = ("move ", " to ")
    """What comes before the object, and between it and the receptacle, in the command that sets it down."""
    put_text: str = "You move the {o} to the {r}."
    """The answer to that command."""
    arrive_at_place: bool = False
    """Whether arriving names the place ("loc 21") instead of the receptacle."""
    sinks: frozenset[str] = frozenset(["sinkbasintype"])
    """The types of receptacle that things are cleaned in."""


def dialect_of(game: Game) -> Dialect:
    """Return the rules and the wording of a game, as far as they differ between releases.

    Raises:
        UnknownDialectError: its domain or its grammar is not one that is known.
        UnreadableError: its domain or its grammar cannot be read at all.
    """
    helps, sinks = (True, SINKS["b5aa3c7e43c2"]) if game.domain is None else _read_domain(game.domain)
    if game.grammar is None:
        task = printed(f"Your task is to: {game.instruction.removesuffix('.')}.")
        return Dialect(task, HELP.lstrip() if helps else None, sinks=sinks)
    actions, rules = take_apart(game.grammar)
    command = PUT_TEMPLATES[game.syntax]
    known = COMMANDS | {"putobject": (command, "PutObject.feedback")}
    differing = [
        name
        for name, (template, rule) in known.items()
        if actions.get(name) != {"template": template, "feedback": f"#{rule}#"}
    ]
    if differing:
        raise UnknownDialectError(f"the grammar's commands for {', '.join(sorted(differing))} {_DIFFER}")
    _compare("the grammar's", {name: _digest(rule) for name, rule in rules.items() if name in RULES}, RULES)
    before, _, between = command.removesuffix("{r}").partition("{o}")
    if _MADE & set(task := _text(rules, "task")):
        raise UnknownDialectError(f"its grammar's task is made of other rules: {task!r}")
    return Dialect(
        task=printed(task),
        help=_help(actions, rules) if helps else None,
        put=(before, between),
        put_text=_choice(PUT_TEXTS, _text(rules, "PutObject.feedback"), "text for setting down"),
        arrive_at_place=_choice(ARRIVALS, _text(rules, "GotoLocation.feedback"), "text for arriving"),
        sinks=sinks,
    )


def printed(text: str) -> str:
    """Return a literal text of a grammar as the original prints it.

    Its reader takes blank lines and comment lines at the start for layout, drops quotation marks in pairs,
    and stops without a word at the first character that has a meaning in grammars.
    """
    found: list[str] = []
    position = 0
    while piece := _LITERAL.match(text, _LAYOUT.match(text, position).end()):  # type: ignore[union-attr]
        found.append(piece["quoted"] or piece["plain"] or "")
        position = piece.end()
    return "".join(found)


def domain_name(text: str) -> str:
    """Return the name of a domain.

    Raises:
        UnreadableError: it is no PDDL domain.
    """
    return _sections(text)[0]


_DIFFER = "differ from ALFWorld's json_2.1.1, json_2.1.2 and wheel 0.4.2"
_LAYOUT = re.compile(r"(?m)(?:^(?://.*\n?|\s+)|\t+)*")
_LITERAL = re.compile(r'"\t*(?P<quoted>[^;|"<>\[\]#]*)"|(?P<plain>[^;|"<>\[\]#]+)')


_MADE = set("#{")
"""The characters that other texts are put in with."""


@lru_cache(maxsize=16)
def _sections(text: str) -> tuple[str, list[Tree]]:
    """The name of a domain, and its sections."""
    try:
        match read(text):
            case ["define", ["domain", str(name)], *sections]:
                return name, sections
    except UnreadableError as error:
        raise UnreadableError(f"its domain cannot be read: {error}") from error
    raise UnreadableError("its domain cannot be read: it does not begin with (define (domain NAME)")


@lru_cache(maxsize=16)
def _read_domain(text: str) -> tuple[bool, frozenset[str]]:
    """Compare a domain with the known ones: whether it has the `help` command, and where things are cleaned."""
    _, sections = _sections(text)
    try:
        names = [section[1] if section[0] == ":action" else section[0] for section in sections]
    except IndexError as error:
        raise UnreadableError(f"its domain cannot be read: {error}") from error
    pieces = {str(name): _digest(section) for name, section in zip(names, sections, strict=True)}
    helps = "help" in pieces
    _compare("the domain's", pieces, {name: known for name, known in DOMAIN.items() if helps or name != "help"})
    if extra := sorted({str(name) for name in names if names.count(name) > 1 or name not in DOMAIN}):
        raise UnknownDialectError(f"the domain's {', '.join(extra)} are not known, or there twice")
    return helps, SINKS[pieces["cleanobject"]]


def _compare(whose: str, pieces: dict[str, str], known: dict[str, set[str]]) -> None:
    if missing := sorted(known.keys() - pieces.keys()):
        raise UnknownDialectError(f"{whose} {', '.join(missing)} are missing")
    if differing := sorted(name for name, digests in known.items() if pieces[name] not in digests):
        raise UnknownDialectError(f"{whose} {', '.join(differing)} {_DIFFER}")


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:12]


_GAP = r"(?:\s+|#[^\n]*+)*+"
_PART = re.compile(
    rf'(?:action\b{_GAP}(?P<action>[\w/-]+){_GAP}\{{|(?P<key>template|feedback){_GAP}::{_GAP}"(?P<value>[^"]*)"{_GAP};'
    rf'|(?P<block>grammar|pddl){_GAP}::{_GAP}"""(?P<text>.*?)"""{_GAP};|(?P<end>\}})){_GAP}',
    re.DOTALL,
)


def take_apart(text: str) -> tuple[dict[str, dict[str, str]], dict[str, Any]]:
    """Return the templates and feedback of a grammar by action, and its rules by name.

    What comes later replaces what has the same name, as in the original.

    Raises:
        UnreadableError: the original cannot read it either.
    """
    actions: dict[str, dict[str, str]] = {}
    rules: dict[str, Any] = {}
    action, inside = "", False
    position = _START.match(text).end()  # type: ignore[union-attr]
    while position < len(text):
        part = _PART.match(text, position)
        # Actions are not nested, and all but them and the rules is in one.
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
            rules.update(_rules(re.sub(r"(?m)^\s*#.*$", "", part["text"]) if inside else part["text"]))
    if inside:
        raise UnreadableError(f"its grammar ends in the middle of the action {action}")
    for found in actions.values():
        found.pop("grammar", None)
    return actions, rules


_START = re.compile(_GAP)


def _rules(text: str) -> dict[str, list[dict[str, Any]]]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"its grammar has rules that are not JSON: {error}") from error
    if not isinstance(found, dict) or not all(isinstance(rule, list) for rule in found.values()):
        raise UnreadableError("its grammar has rules that are no lists under names")
    for name, rule in found.items():
        if not all(isinstance(text, dict) and isinstance(text.get("rhs"), str) for text in rule):
            raise UnreadableError(f"its grammar's rule {name!r} has a text without 'rhs'")
    return found


def _help(actions: dict[str, dict[str, str]], rules: dict[str, Any]) -> str:
    match actions.get("help"):
        case {"template": "help", "feedback": "#help.feedback#"}:  # the wheel 0.4.2
            return printed(_text(rules, "help.feedback"))
        case {"template": "help", "feedback": str(text)} if not _MADE & set(text):  # json_2.1.2
            return printed(text)
    raise UnknownDialectError(f"the grammar's commands for help {_DIFFER}")


def _text(rules: dict[str, Any], name: str) -> str:
    match rules.get(name):
        case [{"rhs": str(text), **others}] if not others:
            return text
        case None:
            raise UnknownDialectError(f"its grammar has no {name!r}")
    raise UnknownDialectError(f"its grammar has more than one text for {name}")


def _choice(known: dict[str, Any], found: str, what: str) -> Any:
    if found not in known:
        raise UnknownDialectError(f"its grammar's {what} is {found!r}, which is not known")
    return known[found]
