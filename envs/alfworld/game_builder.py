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
    article = "a"
    if thing[0] in "AEIOU":
        article = "an"
    preposition = "on"
    if target in rooms()["inside"]:
        preposition = "in"
    return _TEMPLATES[kind][wording].format(
        a=article,
        at=preposition,
        thing=thing.lower(),
        place=target.lower(),
        lamp=lamp.lower(),
    )


def suits(kind: Kind, thing: str) -> bool:
    """Return whether a task of this type can be about things of a class."""
    if thing == LAMP:
        return False
    if kind not in _STATES:
        return True
    needed, _ = _STATES[kind]
    return thing in rooms()["properties"][needed]


def copies(kind: str) -> int:
    """Return the number of things that a task of this type is about."""
    if kind == "two":
        return 2
    return 1


def goal(kind: Kind, thing: str, target: str = "", lamp: str = LAMP) -> str:
    """Return a task as a goal in PDDL; the arguments are those of `instruction`."""
    if kind == "look":
        at_agent = "(inReceptacle ?x ?r) (receptacleAtLocation ?r ?l) (atLocation ?a ?l)"
        lit_lamp = f"(objectType ?x {lamp}Type) (toggleable ?x) (isToggled ?x) {at_agent}"
        held_thing = f"(objectType ?o {thing}Type) (holds ?a ?o)"
        lit = f"(exists (?x - object ?r - receptacle ?l - location ?a - agent) (and {lit_lamp}))"
        held = f"(exists (?o - object ?a - agent) (and {held_thing}))"
        return f"(:goal (and {lit} {held}))"
    put = f"(objectType ?o {thing}Type) (receptacleType ?r {target}Type) (inReceptacle ?o ?r)"
    if kind == "two":
        other = f"(and (not (= ?o ?p)) (objectType ?p {thing}Type) (inReceptacle ?p ?r))"
        put += f" (exists (?p - object) {other})"
    elif kind in _STATES:
        needed, state = _STATES[kind]
        put += f" ({needed} ?o) ({state} ?o)"
    return f"(:goal (exists (?r - receptacle) (exists (?o - object) (and {put}))))"


def build_game(id_: str, kind: Kind, plan: Plan, items: list[Item], chosen: Target, wording: int) -> Game:
    """Return the game of a room and a task, with its solution; `wording` is 0 or 1."""
    thing, target = chosen
    return Game(
        id=id_,
        kind=kind,
        instruction=instruction(kind, thing, target, wording=wording),
        problem=_problem(plan, items, goal(kind, thing, target)),
        walkthrough=_walkthrough(kind, plan, items, chosen),
    )


def _problem(plan: Plan, items: list[Item], wanted: str) -> str:
    """Return a room and a goal as a problem in PDDL."""
    lines = ["(define (problem generated)", "(:domain alfred)"]
    lines.append("(:objects")
    lines += _declarations(plan, items)
    lines.append(")")
    lines.append("(:init")
    lines += _facts(plan, items)
    lines += ["(= (total-cost) 0)", ")"]
    lines += [wanted, ")", ""]
    return "\n".join(lines)


def _declarations(plan: Plan, items: list[Item]) -> list[str]:
    data = rooms()
    lines = ["agent1 - agent"]
    # The original engine needs all types of the domain and the goal declared, even those that a room lacks.
    for cls in sorted(data["holds"]):
        lines.append(f"{cls}Type - rtype")
    things: set[str] = set()
    for room in data["rooms"].values():
        things.update(room["things"])
    for cls in sorted(things):
        lines.append(f"{cls}Type - otype")
    lines.append(f"{plan.start} - location")
    for receptacle in plan.receptacles:
        lines.append(f"{receptacle.location} - location")
    for receptacle in plan.receptacles:
        lines.append(f"{receptacle.id} - receptacle")
    for item in items:
        lines.append(f"{item.id} - object")
    return lines


def _facts(plan: Plan, items: list[Item]) -> list[str]:
    """Return what holds at the start."""
    data = rooms()
    facts = [f"(atLocation agent1 {plan.start})"]
    for receptacle in plan.receptacles:
        id_ = receptacle.id
        facts.append(f"(receptacleType {id_} {receptacle.cls}Type)")
        facts.append(f"(receptacleAtLocation {id_} {receptacle.location})")
        if receptacle.cls in data["opens"]:
            facts.append(f"(openable {id_})")
    for item in items:
        facts.append(f"(objectType {item.id} {item.cls}Type)")
        facts.append(f"(inReceptacle {item.id} {item.receptacle.id})")
        facts.append(f"(objectAtLocation {item.id} {item.receptacle.location})")
        if item.cls != LAMP:
            facts.append(f"(pickupable {item.id})")
        for name, classes in data["properties"].items():
            if item.cls in classes:
                facts.append(f"({name} {item.id})")
    # Things that the room lacks are never put anywhere.
    present = {item.cls for item in items}
    for cls in sorted({receptacle.cls for receptacle in plan.receptacles}):
        for thing in data["holds"][cls]:
            if thing in present:
                facts.append(f"(canContain {cls}Type {thing}Type)")
    return facts


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
    """Return the commands that solve a task."""
    ids = [receptacle.id.lower() for receptacle in plan.receptacles]
    ids += [item.id.lower() for item in items]
    called = names(ids)
    walk = _Walk(called)
    # A task is solved at any receptacle of a class, so the walk goes to the first one.
    first_of: dict[str, Receptacle] = {}
    for receptacle in plan.receptacles:
        first_of.setdefault(receptacle.cls, receptacle)
    tool_class = rooms()["tools"].get(kind)
    wanted = [item for item in items if item.cls == chosen.thing]
    for item in wanted[: copies(kind)]:
        thing = called[item.id.lower()]
        source = walk.reach(item.receptacle)
        walk.commands.append(f"take {thing} from {source}")
        if tool_class:
            # Nothing is put into the tool, so it may stay closed.
            tool = walk.reach(first_of[tool_class], inside=False)
            walk.commands.append(f"{kind} {thing} with {tool}")
        if kind == "look":
            lamp = next(item for item in items if item.cls == LAMP)
            walk.reach(lamp.receptacle)
            walk.commands.append(f"use {called[lamp.id.lower()]}")
        else:
            target = walk.reach(first_of[chosen.target])
            walk.commands.append(f"move {thing} to {target}")
    return tuple(walk.commands)
