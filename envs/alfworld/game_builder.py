"""Builder of games from a room and a task: the problem in PDDL, and the commands that solve it."""

from dataclasses import dataclass, field

from langgraph_reflexion.envs.alfworld.engine import Game, Kind
from langgraph_reflexion.envs.alfworld.instructions import LAMP, Target, goal, instruction
from langgraph_reflexion.envs.alfworld.rooms import Item, Plan, Receptacle, rooms
from langgraph_reflexion.envs.alfworld.world import names


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
