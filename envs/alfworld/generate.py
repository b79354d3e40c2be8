"""Generated games: a room of `rooms.toml` and a solvable task, determined by split, seed and index.

Both engines play these games, but they are not the games of the benchmark, and results on them are not comparable.

* `generated-134`: the games of a seed share its floor plans; the things in a room are drawn for each game, mostly
  where one would look first, sometimes elsewhere.
* `shared-rooms-train` and `shared-rooms-test`: the same rooms, with everything in the same place, but different
  tasks, so that lessons about a room can transfer. No two tasks of a room ask for the same thing in the same way.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import count
from random import Random
from typing import TypeAlias

from langgraph_reflexion.envs.alfworld.engine import Game, Kind
from langgraph_reflexion.envs.alfworld.game_builder import LAMP, Target, build_game, copies, suits
from langgraph_reflexion.envs.alfworld.rooms import Item, Plan, floor_plan, place_item, rooms

COUNTS: dict[Kind, int] = {"clean": 31, "pick": 24, "heat": 23, "cool": 21, "look": 18, "two": 17}
"""Number of tasks of each type in `generated-134`; the numbers are those of ALFWorld's `valid_unseen`."""

SHARED_SPLITS = ("shared-rooms-train", "shared-rooms-test")
"""The splits of shared rooms; each has half of the tasks of each room."""

ROOMS = ("kitchen", "bedroom", "livingroom", "kitchen", "bathroom", "bedroom", "kitchen", "livingroom")
"""The types of a seed's rooms."""

TASKS = 6
"""Number of tasks of each split in a room."""

GENERATED = {
    "generated-134": sum(COUNTS.values()),
    "shared-rooms-train": TASKS * len(ROOMS),
    "shared-rooms-test": TASKS * len(ROOMS),
}
"""Number of games by split."""


Wish: TypeAlias = tuple[str, list[str]]
"""What a task can ask for: a class of thing, and the classes of receptacle where it may have to go."""

Tasks: TypeAlias = list[tuple[Kind, Target, int]]
"""Tasks of a room: type, target and wording."""


@lru_cache(256)
def generated_game(split: str, seed: int, index: int) -> Game:
    """Return a game of a split. The types are interleaved in about its proportions; shared rooms take turns."""
    if split in SHARED_SPLITS:
        return shared_game(split, seed, index)
    return generate(_order()[index], seed=seed, index=index, split=split)


def generate(kind: Kind, *, seed: int, index: int, split: str = "generated") -> Game:
    """Generate a solvable game, with an id such as `generated-134/s0/007-heat-kitchen`."""
    data = rooms()
    random = Random(f"alfworld game {seed} {index} {kind}")
    weights = data["tasks"][kind]
    room = random.choices(list(weights), list(weights.values()))[0]
    number = random.randrange(data["plans"])
    plan = floor_plan(room, number, seed)
    chosen = _choose(kind, plan, random)
    items = _furnish(plan, random, data["surprise"], kind, chosen)
    wording = random.randrange(2)
    id_ = f"{split}/s{seed}/{index:03d}-{kind}-{room}"
    return build_game(id_, kind, plan, items, chosen, wording)


@cache
def _order() -> tuple[Kind, ...]:
    """Return the types of the games of `generated-134`, apportioned one by one by Sainte-Laguë's rule."""
    got: Counter[Kind] = Counter()
    order: list[Kind] = []

    def claim(kind: Kind) -> float:
        return COUNTS[kind] / (2 * got[kind] + 1)

    while len(order) < sum(COUNTS.values()):
        kind = max(COUNTS, key=claim)
        order.append(kind)
        got[kind] += 1
    return tuple(order)


def _choose(kind: Kind, plan: Plan, random: Random) -> Target:
    """Draw what a task of this type asks for, of all that the room may hold."""
    data = rooms()
    holders: dict[str, set[str]] = defaultdict(set)
    for receptacle in plan.receptacles:
        for cls in data["holds"][receptacle.cls]:
            holders[cls].add(receptacle.cls)
    options: list[Wish] = []
    things = data["rooms"][plan.room]["things"]
    for thing in sorted(things):
        where = holders[thing]
        if not where or not suits(kind, thing):
            continue
        if kind == "look":
            options.append((thing, [""]))
            continue
        targets = sorted(where - _excluded(kind))
        # In pick and two the thing starts in another receptacle, so there has to be one.
        if targets and len(where) > 1:
            options.append((thing, targets))
    thing, targets = random.choice(options)
    target = random.choice(targets)
    return Target(thing, target)


def _excluded(kind: Kind) -> set[str]:
    """Return the classes of receptacle to which no task of this type takes a thing."""
    data = rooms()
    if kind == "two":
        return set(data["singles"])
    if kind in data["tools"]:
        return {data["tools"][kind]}
    return set()


def _furnish(plan: Plan, random: Random, surprise: float, kind: str = "", chosen: Target | None = None) -> list[Item]:
    """Place the things of a room, this share of them where one would not look first, and those that a task needs."""
    data = rooms()
    wanted = data["wanted"]
    items: list[Item] = []
    used: set[str] = set()
    things = data["rooms"][plan.room]["things"]
    for cls, thing in things.items():
        low, high = thing["count"]
        count = random.randint(low, high)
        share = surprise
        barred = ""
        if cls == LAMP:
            share = 0.0
        if chosen and cls == chosen.thing:
            count = copies(kind)
            if random.random() < wanted["spare"]:
                count += 1
            share = wanted["surprise"]
            # It must not lie where it has to go.
            if kind in ("pick", "two"):
                barred = chosen.target
        holders = [r for r in plan.receptacles if cls in data["holds"][r.cls] and r.cls != barred]
        if not holders:
            continue
        for _ in range(count):
            items.append(place_item(cls, thing["usual"], holders, share, random, used))
    return items


def shared_game(split: str, seed: int, index: int) -> Game:
    """Return a game of one of `SHARED_SPLITS`, which take turns between the rooms."""
    number, room = divmod(index, len(ROOMS))
    plan, items, tasks = shared_room(room, seed)
    kind, chosen, wording = tasks[2 * number + SHARED_SPLITS.index(split)]
    id_ = f"{split}/s{seed}/{index:03d}-{kind}-{plan.room}"
    return build_game(id_, kind, plan, items, chosen, wording)


@lru_cache(64)
def shared_room(number: int, seed: int) -> tuple[Plan, list[Item], Tasks]:
    """Return one of a seed's shared rooms, counted from 0, as it is at the start of each of its tasks."""
    room = ROOMS[number]
    # No two rooms of a type have the same furniture.
    random = Random(f"alfworld shared plans {seed} {room}")
    numbers = range(rooms()["plans"])
    plans = random.sample(numbers, len(ROOMS))
    earlier = ROOMS[:number].count(room)
    plan = floor_plan(room, plans[earlier], seed)
    needed = len(SHARED_SPLITS) * TASKS
    for attempt in count():
        random = Random(f"alfworld shared room {seed} {number} {attempt}")
        # Any thing may be the target of a task.
        items = _furnish(plan, random, rooms()["wanted"]["surprise"])
        tasks = _tasks(plan, items, needed, random)
        # About one in hundreds of small bathrooms holds too few things.
        if len(tasks) == needed:
            break
    return plan, items, tasks


def _tasks(plan: Plan, items: list[Item], number: int, random: Random) -> Tasks:
    """Return this number of tasks of both splits, or fewer, types in turn, without duplicates."""
    left: dict[Kind, list[Wish]] = {}
    for kind, weights in rooms()["tasks"].items():
        if plan.room in weights:
            left[kind] = sorted(_possible(kind, plan, items))
            random.shuffle(left[kind])
    tasks: Tasks = []
    while len(tasks) < number and any(left.values()):
        for kind, wishes in left.items():
            if not wishes:
                continue
            thing, targets = wishes.pop()
            target = random.choice(targets)
            wording = random.randrange(2)
            tasks.append((kind, Target(thing, target), wording))
    # The last turn may have made too many.
    tasks = tasks[:number]
    random.shuffle(tasks)
    return tasks


def _possible(kind: Kind, plan: Plan, items: list[Item]) -> Iterator[Wish]:
    """Yield the things that a task of this type can ask for, with their possible targets."""
    data = rooms()
    furniture = {receptacle.cls for receptacle in plan.receptacles}
    lying: dict[str, list[str]] = defaultdict(list)
    for item in items:
        lying[item.cls].append(item.receptacle.cls)
    for thing, where in lying.items():
        if not suits(kind, thing) or len(where) < copies(kind):
            continue
        if kind == "look":
            yield thing, [""]
            continue
        excluded = _excluded(kind)
        # Other tasks change the thing, which may then go back to where it was.
        if kind in ("pick", "two"):
            excluded.update(where)
        targets = [cls for cls in sorted(furniture - excluded) if thing in data["holds"][cls]]
        if targets:
            yield thing, targets
