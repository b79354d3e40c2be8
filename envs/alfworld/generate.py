"""Generated games: a room of `rooms.toml` and a solvable task, determined by type, seed and index.

Both engines play these games, but they are not the games of the benchmark, and results on them are not comparable.
The games of a seed share its floor plans; the things in a room are drawn for each game, mostly where one would look
first, sometimes elsewhere.
"""

from collections import Counter, defaultdict
from functools import cache
from random import Random

from langgraph_reflexion.envs.alfworld.engine import Game, Kind
from langgraph_reflexion.envs.alfworld.game_builder import build_game
from langgraph_reflexion.envs.alfworld.instructions import LAMP, Target, suits
from langgraph_reflexion.envs.alfworld.rooms import Item, Plan, floor_plan, place_item, rooms

SPLITS: dict[str, dict[Kind, int]] = {
    "generated-134": {"clean": 31, "pick": 24, "heat": 23, "cool": 21, "look": 18, "two": 17},
}
"""Number of tasks of each type by split; the numbers are those of ALFWorld's `valid_unseen`."""


def generated_game(split: str, seed: int, index: int) -> Game:
    """Return a game of a split. The types are interleaved in about the split's proportions."""
    return generate(_order(split)[index], seed=seed, index=index, split=split)


def generate(kind: Kind, *, seed: int, index: int, split: str = "generated") -> Game:
    """Generate a solvable game, with an id such as `generated-134/s0/007-heat-kitchen`."""
    random = Random(f"alfworld game {seed} {index} {kind}")
    weights = rooms()["tasks"][kind]
    room = random.choices(list(weights), list(weights.values()))[0]
    plan = floor_plan(room, random.randrange(rooms()["plans"]), seed)
    chosen = _choose(kind, plan, random)
    items = _furnish(kind, plan, chosen, random)
    return build_game(f"{split}/s{seed}/{index:03d}-{kind}-{room}", kind, plan, items, chosen, random.randrange(2))


@cache
def _order(split: str) -> tuple[Kind, ...]:
    """Return the types of a split's games, apportioned one by one by Sainte-Laguë's rule."""
    wanted, got, order = SPLITS[split], Counter[Kind](), list[Kind]()
    while len(order) < sum(wanted.values()):
        order.append(max(wanted, key=lambda kind: wanted[kind] / (2 * got[kind] + 1)))
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


def _furnish(kind: Kind, plan: Plan, chosen: Target, random: Random) -> list[Item]:
    data, items, used = rooms(), list[Item](), set[str]()
    for cls, thing in data["rooms"][plan.room]["things"].items():
        count, surprise, barred = random.randint(*thing["count"]), data["surprise"], ""
        if cls == chosen.thing:
            count = (2 if kind == "two" else 1) + (random.random() < data["wanted"]["spare"])
            surprise = data["wanted"]["surprise"]
            barred = chosen.target if kind in ("pick", "two") else ""
        elif cls == LAMP:
            surprise = 0.0
        holders = [r for r in plan.receptacles if cls in data["holds"][r.cls] and r.cls != barred]
        items += [
            place_item(cls, thing["usual"], holders, surprise, random, used) for _ in range(count if holders else 0)
        ]
    return items
