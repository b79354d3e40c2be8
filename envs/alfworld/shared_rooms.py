"""Rooms that several tasks share: the same furniture, and everything in the same place.

In `shared-rooms-train` and `shared-rooms-test` the tasks are others and the rooms are the same, so that what was
learned of a room in the one can help in the other. No two tasks of a room ask for the same thing in the same way.
"""

from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from itertools import count
from random import Random
from typing import NamedTuple

from langgraph_reflexion.envs.alfworld.asking import LAMP, Chosen, suits
from langgraph_reflexion.envs.alfworld.engine import Game, Kind
from langgraph_reflexion.envs.alfworld.making import MadeGames, make_game
from langgraph_reflexion.envs.alfworld.rooms import Item, Plan, floor_plan, lay, rooms
from langgraph_reflexion.errors import ConfigurationError

SHARED_SPLITS = ("shared-rooms-train", "shared-rooms-test")
"""The two halves of the tasks in shared rooms."""

ROOMS = ("kitchen", "bedroom", "livingroom", "kitchen", "bathroom", "bedroom", "kitchen", "livingroom")
"""The rooms of a seed, by their type."""

TASKS = 6
"""How many tasks of each split there are in a room."""


class Shared(NamedTuple):
    """A room as every task in it begins, and the tasks: their kinds, what they ask for, and how they are worded."""

    plan: Plan
    items: list[Item]
    tasks: list[tuple[Kind, Chosen, int]]


class SharedGames(MadeGames):
    """The games of one of the splits, room by room in turn, each made when it is asked for."""

    def __init__(self, split: str, seed: int) -> None:
        if split not in SHARED_SPLITS:
            raise ConfigurationError(f"no split {split!r} of shared rooms: choose one of {', '.join(SHARED_SPLITS)}")
        self.split, self.seed = split, seed

    def __len__(self) -> int:
        return TASKS * len(ROOMS)

    def make(self, index: int) -> Game:
        """Make a game; see `MadeGames.make`."""
        number, room = divmod(index, len(ROOMS))
        plan, items, tasks = shared_room(room, self.seed)
        kind, chosen, wording = tasks[2 * number + SHARED_SPLITS.index(self.split)]
        name = f"{self.split}/s{self.seed}/{index:03d}-{kind}-{plan.room}"
        return make_game(name, kind, plan, items, chosen, wording)


@lru_cache(64)
def shared_room(number: int, seed: int) -> Shared:
    """One of a seed's shared rooms.

    Args:
        number: Which one, counted from 0.
        seed: Another seed gives other rooms.
    """
    type_ = ROOMS[number]
    # No two rooms of a type have the same furniture.
    plans = Random(f"alfworld shared plans {seed} {type_}").sample(range(rooms()["plans"]), len(ROOMS))
    plan = floor_plan(type_, plans[ROOMS[:number].count(type_)], seed)
    for attempt in count():
        random = Random(f"alfworld shared room {seed} {number} {attempt}")
        items = _furnish(plan, random)
        tasks = _tasks(plan, items, random)
        # A small bathroom may, once in hundreds, hold too little to ask for.
        if len(tasks) == 2 * TASKS:
            break
    return Shared(plan, items, tasks)


def _furnish(plan: Plan, random: Random) -> list[Item]:
    data, items, used = rooms(), list[Item](), set[str]()
    for cls, thing in data["rooms"][plan.room]["things"].items():
        holders = [r for r in plan.receptacles if cls in data["holds"][r.cls]]
        # Whatever there is may be asked for.
        surprise = 0.0 if cls == LAMP else data["wanted"]["surprise"]
        for _ in range(random.randint(*thing["count"]) if holders else 0):
            items.append(lay(cls, thing["usual"], holders, surprise, random, used))
    return items


def _tasks(plan: Plan, items: list[Item], random: Random) -> list[tuple[Kind, Chosen, int]]:
    """Twice as many tasks as a split has, the kinds in turn, none that asks for the same thing in the same way."""
    left: dict[Kind, list[tuple[str, list[str]]]] = {}
    for kind, there in rooms()["tasks"].items():
        if plan.room in there:
            left[kind] = sorted(_possible(kind, plan, items))
            random.shuffle(left[kind])
    tasks: list[tuple[Kind, Chosen, int]] = []
    while len(tasks) < 2 * TASKS and any(left.values()):
        for kind in [kind for kind in left if left[kind]]:
            thing, targets = left[kind].pop()
            tasks.append((kind, Chosen(thing, random.choice(targets)), random.randrange(2)))
    tasks = tasks[: 2 * TASKS]
    random.shuffle(tasks)
    return tasks


def _possible(kind: Kind, plan: Plan, items: list[Item]) -> Iterator[tuple[str, list[str]]]:
    """What a task of a kind can ask for: a thing that is there, and where it can be brought."""
    data, there = rooms(), {receptacle.cls for receptacle in plan.receptacles}
    lying: dict[str, list[str]] = defaultdict(list)
    for item in items:
        lying[item.cls].append(item.receptacle.cls)
    tool = data["tools"].get(kind)
    for thing, where in lying.items():
        if not suits(kind, thing) or len(where) < 1 + (kind == "two"):
            continue
        if kind == "look":
            yield thing, [""]
            continue
        barred = {tool} if tool else {*where, *(data["singles"] if kind == "two" else ())}
        targets = sorted(cls for cls in there - barred if thing in data["holds"][cls])
        if targets:
            yield thing, targets
