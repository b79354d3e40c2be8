"""What is asked for in a game: in words, and as a goal in PDDL."""

from typing import NamedTuple

from langgraph_reflexion.envs.alfworld.engine import Kind
from langgraph_reflexion.envs.alfworld.rooms import rooms

LAMP = "DeskLamp"
"""The only lamp: it stands on furniture, and an engine lets nobody switch on what stands on nothing."""

_TEMPLATES: dict[Kind, tuple[str, str]] = {
    "pick": ("put {a} {thing} {at} the {place}.", "find {a} {thing} and bring it to the {place}."),
    "look": ("look at {a} {thing} under the {lamp}.", "hold {a} {thing} in the light of the {lamp}."),
    "clean": ("put a clean {thing} {at} the {place}.", "wash {a} {thing} and leave it {at} the {place}."),
    "heat": ("put a hot {thing} {at} the {place}.", "warm up {a} {thing}, then put it {at} the {place}."),
    "cool": ("put a cool {thing} {at} the {place}.", "chill {a} {thing}, then put it {at} the {place}."),
    "two": ("put two {thing} {at} the same {place}.", "find two {thing} and put both {at} one {place}."),
}

# What a thing has to be for it, and is to be after it.
_STATES: dict[Kind, tuple[str, str]] = {
    "clean": ("cleanable", "isClean"),
    "heat": ("heatable", "isHot"),
    "cool": ("coolable", "isCool"),
}


class Chosen(NamedTuple):
    """A task: a thing of which class belongs in which class of receptacle (empty for `look`)."""

    thing: str
    target: str


def instruction(kind: Kind, thing: str, target: str = "", lamp: str = LAMP, wording: int = 0) -> str:
    """A task in words.

    Args:
        kind: The kind of task.
        thing: The class of the thing ("Mug").
        target: The class of receptacle that it belongs in; unused for `look`.
        lamp: The class of lamp, for `look`.
        wording: 0 or 1.
    """
    return _TEMPLATES[kind][wording].format(
        a="an" if thing[0] in "AEIOU" else "a",
        at="in" if target in rooms()["inside"] else "on",
        thing=thing.lower(),
        place=target.lower(),
        lamp=lamp.lower(),
    )


def suits(kind: Kind, thing: str) -> bool:
    """Whether a task of a kind can be about things of a class."""
    return thing != LAMP and (kind not in _STATES or thing in rooms()["properties"][_STATES[kind][0]])


def goal(kind: Kind, thing: str, target: str = "", lamp: str = LAMP) -> str:
    """A task as a goal in PDDL; the arguments are those of `instruction`."""
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
