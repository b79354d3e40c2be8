"""The releases of game files that the native engine knows, and what differs between them.

A game file brings its own rules (a PDDL domain) and its own wording (a text grammar). The native engine has those of
three releases of ALFWorld built in:

* json_2.1.1, the games of 2020: `put X in/on Y`, "You arrive at loc 12", no `help`;
* json_2.1.2, which `alfworld-download` fetches since ALFWorld 0.4: `move X to Y`, "You arrive at cabinet 1";
* the domain and grammar in the wheel of ALFWorld 0.4.2, from which new games are made.

Both texts are split into pieces, and each piece is compared with the releases: short ones by their text, longer
ones, which are not ours to ship, by their digests. So a file may mix releases, and may differ in comments and in
pieces that are never printed. To support a new release, add its digests.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from langgraph_reflexion.envs.alfworld.engine import PUT_COMMANDS, Game
from langgraph_reflexion.envs.alfworld.grammar import Rules, parse_grammar, render_literal
from langgraph_reflexion.envs.alfworld.pddl import UnreadableError, read_domain
from langgraph_reflexion.errors import EnvironmentUnavailable

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
"""The text of `help` in games without a grammar; its `move` line is misaligned in the original."""

DOMAIN = {
    # The same in json_2.1.1, json_2.1.2 and the wheel 0.4.2:
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
    # Different; `SINKS` has the consequence:
    "cleanobject": {
        "fd3be0823243",  # json_2.1.1 and json_2.1.2
        "b5aa3c7e43c2",  # the wheel 0.4.2
    },
    # In json_2.1.2 and the wheel 0.4.2; json_2.1.1 has no such action:
    "help": {"28cc3ac35e1b"},
}
"""The known digests of each piece of the domain."""

SINKS = {
    "fd3be0823243": frozenset(["sinktype", "sinkbasintype"]),
    "b5aa3c7e43c2": frozenset(["sinkbasintype"]),
}
"""The types of receptacle that objects are cleaned in, by the digest of `cleanobject`."""

COMMANDS = {
    # The same in json_2.1.1, json_2.1.2 and the wheel 0.4.2; those of putobject and help differ and are parsed.
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
"""The command of each action in the grammar, and the rule that words its observation."""

RULES = {
    # The same in json_2.1.1, json_2.1.2 and the wheel 0.4.2:
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
"""The known digests of the rules that word observations."""

PUT_TEXTS = {
    # json_2.1.1
    "You put the {o.name} in/on the {r.name}.": "You put the {o} in/on the {r}.",
    # json_2.1.2 and the wheel 0.4.2
    "You move the {o.name} to the {r.name}.": "You move the {o} to the {r}.",
}
"""The observations of setting down, as in grammars and as format strings."""

ARRIVALS = {
    # json_2.1.1
    "You arrive at {lend.name}. #examineReceptacle.feedback#": True,
    # json_2.1.2 and the wheel 0.4.2
    "You arrive at {r.name}. #examineReceptacle.feedback#": False,
}
"""The observations of `go to`, and whether they name the place instead of the receptacle."""


_DIFFER = "differ from ALFWorld's json_2.1.1, json_2.1.2 and wheel 0.4.2"
_REFERENCES = set("#{")
"""The characters by which a text refers to other rules."""


class UnknownVariantError(Exception):
    """The native engine does not know the rules or the wording of a game. The message says where they differ."""


@dataclass(frozen=True, slots=True)
class Variant:
    """The rules and wording of a game, as far as they differ between releases.

    Attributes:
        task: The line that states the task.
        help: The text of `help`; None if there is no such command.
        put: The words before the object, and between it and the receptacle, in the command that sets it down.
        put_text: The observation of that command.
        arrive_at_place: Whether arriving names the place ("loc 21") instead of the receptacle.
        sinks: The types of receptacle that objects are cleaned in.
    """

    task: str
    help: str | None = HELP.lstrip()
    put: tuple[str, str] = ("move ", " to ")
    put_text: str = "You move the {o} to the {r}."
    arrive_at_place: bool = False
    sinks: frozenset[str] = frozenset(["sinkbasintype"])


@lru_cache(256)
def unsupported(game: Game) -> str | None:
    """Return where a game's rules or wording differ from those of the native engine, or None if it can play them.

    Raises:
        EnvironmentUnavailable: The game's domain or grammar is invalid.
    """
    try:
        variant_of(game)
    except UnknownVariantError as error:
        return str(error)
    except UnreadableError as error:
        raise EnvironmentUnavailable(f"{game.source or game.id} cannot be used: {error}") from error
    return None


def variant_of(game: Game) -> Variant:
    """Return the rules and wording of a game.

    Raises:
        UnknownVariantError: Its domain or its grammar is unknown.
        UnreadableError: Its domain or its grammar is invalid.
    """
    has_help, sinks = (True, SINKS["b5aa3c7e43c2"]) if game.domain is None else _check_domain(game.domain)
    if game.grammar is None:
        task = render_literal(f"Your task is to: {game.instruction.removesuffix('.')}.")
        return Variant(task, HELP.lstrip() if has_help else None, sinks=sinks)
    actions, rules = parse_grammar(game.grammar)
    command = PUT_COMMANDS[game.syntax]
    known = COMMANDS | {"putobject": (command, "PutObject.feedback")}
    differing = [
        name
        for name, (template, rule) in known.items()
        if actions.get(name) != {"template": template, "feedback": f"#{rule}#"}
    ]
    if differing:
        raise UnknownVariantError(f"the grammar's commands for {', '.join(sorted(differing))} {_DIFFER}")
    _compare("the grammar's", {name: _digest(rule) for name, rule in rules.items() if name in RULES}, RULES)
    before, _, between = command.removesuffix("{r}").partition("{o}")
    if _REFERENCES & set(task := _text(rules, "task")):
        raise UnknownVariantError(f"its grammar's task refers to other rules: {task!r}")
    return Variant(
        task=render_literal(task),
        help=_help(actions, rules) if has_help else None,
        put=(before, between),
        put_text=_lookup(PUT_TEXTS, rules, "PutObject.feedback"),
        arrive_at_place=_lookup(ARRIVALS, rules, "GotoLocation.feedback"),
        sinks=sinks,
    )


@lru_cache(maxsize=16)
def _check_domain(text: str) -> tuple[bool, frozenset[str]]:
    """Compare a domain with the releases; return whether it has `help`, and where objects are cleaned."""
    _, sections = read_domain(text)
    try:
        names = [str(section[1] if section[0] == ":action" else section[0]) for section in sections]
    except IndexError as error:
        raise UnreadableError(f"its domain cannot be read: {error}") from error
    pieces = {name: _digest(section) for name, section in zip(names, sections, strict=True)}
    has_help = "help" in pieces
    _compare("the domain's", pieces, {name: known for name, known in DOMAIN.items() if has_help or name != "help"})
    if extra := sorted({name for name in names if names.count(name) > 1 or name not in DOMAIN}):
        raise UnknownVariantError(f"the domain's {', '.join(extra)} are unknown, or there twice")
    return has_help, SINKS[pieces["cleanobject"]]


def _compare(whose: str, pieces: dict[str, str], known: dict[str, set[str]]) -> None:
    if missing := sorted(known.keys() - pieces.keys()):
        raise UnknownVariantError(f"{whose} {', '.join(missing)} are missing")
    if differing := sorted(name for name, digests in known.items() if pieces[name] not in digests):
        raise UnknownVariantError(f"{whose} {', '.join(differing)} {_DIFFER}")


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:12]


def _help(actions: dict[str, dict[str, str]], rules: Rules) -> str:
    match actions.get("help"):
        case {"template": "help", "feedback": "#help.feedback#"}:  # the wheel 0.4.2
            return render_literal(_text(rules, "help.feedback"))
        case {"template": "help", "feedback": str(text)} if not _REFERENCES & set(text):  # json_2.1.2
            return render_literal(text)
    raise UnknownVariantError(f"the grammar's commands for help {_DIFFER}")


def _text(rules: Rules, name: str) -> str:
    match rules.get(name):
        case [{"rhs": str(text), **others}] if not others:
            return text
        case None:
            raise UnknownVariantError(f"its grammar has no {name!r}")
    raise UnknownVariantError(f"its grammar has more than one text for {name}")


def _lookup(known: dict[str, Any], rules: Rules, name: str) -> Any:
    text = _text(rules, name)
    if text not in known:
        raise UnknownVariantError(f"its grammar's {name} is {text!r}, which is unknown")
    return known[text]
