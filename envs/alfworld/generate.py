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
from langgraph_reflexion.envs.alfworld.game_builder import LAMP, Target, build_game, suits
from langgraph_reflexion.envs.alfworld.rooms import Item, Plan, floor_plan, place_item, rooms

COUNTS: dict[Kind, int] = {"clean": 31, "pick": 24, "heat": 23, "cool": 21, "look": 18, "two": 17}
"""Number of tasks of each type in `generated-134`; the numbers are those of ALFWorld's `valid_unseen`."""

SHARED_SPLITS = ("shared-rooms-train", "shared-rooms-test")
"""The splits of shared rooms; each has half of the tasks of each room."""

ROOMS = ("kitchen", "bedroom", "livingroom", "kitchen", "bathroom", "bedroom", "kitchen", "livingroom")
"""The types of a seed's rooms."""

TASKS = 6
"""Number of tasks of each split in a room."""

GENERATED = {"generated-134": sum(COUNTS.values())} | dict.fromkeys(SHARED_SPLITS, TASKS * len(ROOMS))
"""Number of games by split."""


@lru_cache(256)
def generated_game(split: str, seed: int, index: int) -> Game:
    """Return a game of a split. The types are interleaved in about its proportions; shared rooms take turns."""
    if split in SHARED_SPLITS:
        return shared_game(split, seed, index)
    return generate(_order()[index], seed=seed, index=index, split=split)


def generate(kind: Kind, *, seed: int, index: int, split: str = "generated") -> Game:
    """Generate a solvable game, with an id such as `generated-134/s0/007-heat-kitchen`."""
    random = Random(f"alfworld game {seed} {index} {kind}")
    weights = rooms()["tasks"][kind]
    room = random.choices(list(weights), list(weights.values()))[0]
    plan = floor_plan(room, random.randrange(rooms()["plans"]), seed)
    chosen = _choose(kind, plan, random)
    items = _furnish(plan, random, rooms()["surprise"], kind, chosen)
    return build_game(f"{split}/s{seed}/{index:03d}-{kind}-{room}", kind, plan, items, chosen, random.randrange(2))


@cache
def _order() -> tuple[Kind, ...]:
    """Return the types of the games of `generated-134`, apportioned one by one by Sainte-Laguë's rule."""
    got, order = Counter[Kind](), list[Kind]()
    while len(order) < sum(COUNTS.values()):
        order.append(max(COUNTS, key=lambda kind: COUNTS[kind] / (2 * got[kind] + 1)))
        got[order[-1]] += 1
    return tuple(order)


def _choose(kind: Kind, plan: Plan, random: Random) -> Target:
    data = rooms()
    held: dict[str, set[str]] = defaultdict(set)
    for receptacle in plan.receptacles:
        for cls in data["holds"][receptacle.cls]:
            held[cls].add(receptacle.cls)
    barred = set(data["singles"]) if kind == "two" else {data["tools"].get(kind)}
    options: list[tuple[str, list[str]]] = []
    for thing in sorted(data["rooms"][plan.room]["things"]):
        if not held[thing] or not suits(kind, thing):
            continue
        targets = sorted(held[thing] - barred)
        # In pick and two the thing starts in another receptacle, so there has to be one.
        if kind == "look":
            options.append((thing, [""]))
        elif targets and len(held[thing]) > 1:
            options.append((thing, targets))
    thing, targets = random.choice(options)
    return Target(thing, random.choice(targets))


def _furnish(plan: Plan, random: Random, surprise: float, kind: str = "", chosen: Target | None = None) -> list[Item]:
    """Place the things of a room, this share of them where one would not look first, and those that a task needs."""
    data, items, used = rooms(), list[Item](), set[str]()
    for cls, thing in data["rooms"][plan.room]["things"].items():
        count, share, barred = random.randint(*thing["count"]), 0.0 if cls == LAMP else surprise, ""
        if chosen and cls == chosen.thing:
            count = (2 if kind == "two" else 1) + (random.random() < data["wanted"]["spare"])
            share = data["wanted"]["surprise"]
            barred = chosen.target if kind in ("pick", "two") else ""
        holders = [r for r in plan.receptacles if cls in data["holds"][r.cls] and r.cls != barred]
        for _ in range(count if holders else 0):
            items.append(place_item(cls, thing["usual"], holders, share, random, used))
    return items


Tasks: TypeAlias = list[tuple[Kind, Target, int]]
"""Tasks of a room: type, target and wording."""


def shared_game(split: str, seed: int, index: int) -> Game:
    """Return a game of one of `SHARED_SPLITS`, which take turns between the rooms."""
    number, room = divmod(index, len(ROOMS))
    plan, items, tasks = shared_room(room, seed)
    kind, chosen, wording = tasks[2 * number + SHARED_SPLITS.index(split)]
    return build_game(f"{split}/s{seed}/{index:03d}-{kind}-{plan.room}", kind, plan, items, chosen, wording)


@lru_cache(64)
def shared_room(number: int, seed: int) -> tuple[Plan, list[Item], Tasks]:
    """Return one of a seed's shared rooms, counted from 0, as it is at the start of each of its tasks."""
    type_ = ROOMS[number]
    # No two rooms of a type have the same furniture.
    plans = Random(f"alfworld shared plans {seed} {type_}").sample(range(rooms()["plans"]), len(ROOMS))
    plan = floor_plan(type_, plans[ROOMS[:number].count(type_)], seed)
    for attempt in count():
        random = Random(f"alfworld shared room {seed} {number} {attempt}")
        # Any thing may be the target of a task.
        items = _furnish(plan, random, rooms()["wanted"]["surprise"])
        tasks = _tasks(plan, items, random)
        # About one in hundreds of small bathrooms holds too few things.
        if len(tasks) == 2 * TASKS:
            break
    return plan, items, tasks


def _tasks(plan: Plan, items: list[Item], random: Random) -> Tasks:
    """Return the tasks of both splits, types in turn, without duplicates."""
    left: dict[Kind, list[tuple[str, list[str]]]] = {}
    for kind, there in rooms()["tasks"].items():
        if plan.room in there:
            left[kind] = sorted(_possible(kind, plan, items))
            random.shuffle(left[kind])
    tasks: Tasks = []
    while len(tasks) < 2 * TASKS and any(left.values()):
        for kind in [kind for kind in left if left[kind]]:
            thing, targets = left[kind].pop()
            tasks.append((kind, Target(thing, random.choice(targets)), random.randrange(2)))
    tasks = tasks[: 2 * TASKS]
    random.shuffle(tasks)
    return tasks


def _possible(kind: Kind, plan: Plan, items: list[Item]) -> Iterator[tuple[str, list[str]]]:
    """Yield the things that a task of this type can ask for, with their possible targets."""
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
