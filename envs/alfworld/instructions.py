"""Tasks of generated games: in words, and as goals in PDDL."""

from typing import NamedTuple

from langgraph_reflexion.envs.alfworld.engine import Kind
from langgraph_reflexion.envs.alfworld.rooms import rooms

LAMP = "DeskLamp"
"""The only lamp: it is on furniture, as the engine lets nobody use a lamp that is in no receptacle."""

_TEMPLATES: dict[Kind, tuple[str, str]] = {
    "pick": ("put {a} {thing} {at} the {place}.", "find {a} {thing} and bring it to the {place}."),
    "look": ("look at {a} {thing} under the {lamp}.", "hold {a} {thing} in the light of the {lamp}."),
    "clean": ("put a clean {thing} {at} the {place}.", "wash {a} {thing} and leave it {at} the {place}."),
    "heat": ("put a hot {thing} {at} the {place}.", "warm up {a} {thing}, then put it {at} the {place}."),
    "cool": ("put a cool {thing} {at} the {place}.", "chill {a} {thing}, then put it {at} the {place}."),
    "two": ("put two {thing} {at} the same {place}.", "find two {thing} and put both {at} one {place}."),
}

# The property that the thing needs, and the state it has to be in at the end.
_STATES: dict[Kind, tuple[str, str]] = {
    "clean": ("cleanable", "isClean"),
    "heat": ("heatable", "isHot"),
    "cool": ("coolable", "isCool"),
}


class Target(NamedTuple):
    """A task: the class of thing, and the class of receptacle where it has to go (empty for `look`)."""

    thing: str
    target: str


def instruction(kind: Kind, thing: str, target: str = "", lamp: str = LAMP, wording: int = 0) -> str:
    """Return a task in words; things and receptacles are classes, and `wording` is 0 or 1."""
    return _TEMPLATES[kind][wording].format(
        a="an" if thing[0] in "AEIOU" else "a",
        at="in" if target in rooms()["inside"] else "on",
        thing=thing.lower(),
        place=target.lower(),
        lamp=lamp.lower(),
    )


def suits(kind: Kind, thing: str) -> bool:
    """Return whether a task of this type can be about things of a class."""
    return thing != LAMP and (kind not in _STATES or thing in rooms()["properties"][_STATES[kind][0]])


def goal(kind: Kind, thing: str, target: str = "", lamp: str = LAMP) -> str:
    """Return a task as a goal in PDDL; the arguments are those of `instruction`."""
    if kind == "look":
        here = "(inReceptacle ?x ?r) (receptacleAtLocation ?r ?l) (atLocation ?a ?l)"
        return (
            "(:goal (and (exists (?x - object ?r - receptacle ?l - location ?a - agent)"
            f" (and (objectType ?x {lamp}Type) (toggleable ?x) (isToggled ?x) {here}))"
            f" (exists (?o - object ?a - agent) (and (objectType ?o {thing}Type) (holds ?a ?o)))))"
        )
    put = f"(objectType ?o {thing}Type) (receptacleType ?r {target}Type) (inReceptacle ?o ?r)"
    if kind == "two":
        other = f"(and (not (= ?o ?p)) (objectType ?p {thing}Type) (inReceptacle ?p ?r))"
        put += f" (exists (?p - object) {other})"
    elif kind in _STATES:
        put += "".join(f" ({predicate} ?o)" for predicate in _STATES[kind])
    return f"(:goal (exists (?r - receptacle) (exists (?o - object) (and {put}))))"
