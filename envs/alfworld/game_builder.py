"""Builder of games from a room and a task: the task in words and as a goal, and the commands that solve it."""

from dataclasses import dataclass, field
from typing import NamedTuple

from langgraph_reflexion.envs.alfworld.engine import Game, Kind
from langgraph_reflexion.envs.alfworld.rooms import Item, Plan, Receptacle, rooms
from langgraph_reflexion.envs.alfworld.world import names

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


def build_game(id_: str, kind: Kind, plan: Plan, items: list[Item], chosen: Target, wording: int) -> Game:
    """Return the game of a room and a task, with its solution; `wording` is 0 or 1."""
    return Game(
        id=id_,
        kind=kind,
        instruction=instruction(kind, *chosen, wording=wording),
        problem=_problem(plan, items, goal(kind, *chosen)),
        walkthrough=_walkthrough(kind, plan, items, chosen),
    )


def _problem(plan: Plan, items: list[Item], wanted: str) -> str:
    data = rooms()
    # The original engine needs all types of the domain and the goal declared, even those that a room lacks.
    rtypes = sorted(data["holds"])
    otypes = sorted({cls for room in data["rooms"].values() for cls in room["things"]})
    declared = [
        "agent1 - agent",
        *(f"{cls}Type - rtype" for cls in rtypes),
        *(f"{cls}Type - otype" for cls in otypes),
        *(f"{place} - location" for place in (plan.start, *(r.location for r in plan.receptacles))),
        *(f"{r.id} - receptacle" for r in plan.receptacles),
        *(f"{item.id} - object" for item in items),
    ]
    facts = [f"(atLocation agent1 {plan.start})"]
    for r in plan.receptacles:
        facts += [f"(receptacleType {r.id} {r.cls}Type)", f"(receptacleAtLocation {r.id} {r.location})"]
        facts += [f"(openable {r.id})"] * (r.cls in data["opens"])
    for item in items:
        facts += [f"(objectType {item.id} {item.cls}Type)", f"(inReceptacle {item.id} {item.receptacle.id})"]
        facts += [f"(objectAtLocation {item.id} {item.receptacle.location})"]
        facts += [f"(pickupable {item.id})"] * (item.cls != LAMP)
        facts += [f"({name} {item.id})" for name, classes in data["properties"].items() if item.cls in classes]
    here = {item.cls for item in items}
    for cls in sorted({r.cls for r in plan.receptacles}):
        facts += [f"(canContain {cls}Type {thing}Type)" for thing in data["holds"][cls] if thing in here]
    lines = ["(define (problem generated)", "(:domain alfred)", "(:objects", *declared, ")", "(:init", *facts]
    return "\n".join([*lines, "(= (total-cost) 0)", ")", wanted, ")", ""])


@dataclass
class _Walk:
    """A list of commands, with the agent's place and the open receptacles after them."""

    names: dict[str, str]
    commands: list[str] = field(default_factory=list)
    at: Receptacle | None = None
    opened: set[Receptacle] = field(default_factory=set)

    def reach(self, receptacle: Receptacle, *, inside: bool = True) -> str:
        """Go to a receptacle, open it if `inside` requires that, and return its name."""
        name = self.names[receptacle.id.lower()]
        if receptacle != self.at:
            self.commands.append(f"go to {name}")
            self.at = receptacle
        if inside and receptacle.cls in rooms()["opens"] and receptacle not in self.opened:
            self.commands.append(f"open {name}")
            self.opened.add(receptacle)
        return name


def _walkthrough(kind: Kind, plan: Plan, items: list[Item], chosen: Target) -> tuple[str, ...]:
    ids = [*(r.id for r in plan.receptacles), *(item.id for item in items)]
    called = names(id_.lower() for id_ in ids)
    walk = _Walk(called)
    first = {r.cls: r for r in reversed(plan.receptacles)}
    for item in [item for item in items if item.cls == chosen.thing][: 2 if kind == "two" else 1]:
        thing = called[item.id.lower()]
        walk.commands.append(f"take {thing} from {walk.reach(item.receptacle)}")
        if tool := rooms()["tools"].get(kind):
            walk.commands.append(f"{kind} {thing} with {walk.reach(first[tool], inside=False)}")
        if kind == "look":
            lamp = next(item for item in items if item.cls == LAMP)
            walk.reach(lamp.receptacle)
            walk.commands.append(f"use {called[lamp.id.lower()]}")
        else:
            walk.commands.append(f"move {thing} to {walk.reach(first[chosen.target])}")
    return tuple(walk.commands)
