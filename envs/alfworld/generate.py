"""Games made from a seed: rooms that we wrote, with things in them, and a task that can be solved.

A game follows from its kind, seed and index alone. ALFWorld's engine plays these games, as does any that
agrees with it, but they are not the games of the benchmark, and results on them are not results on it.

The floor plans of a seed are shared by its games; what lies in a room, and where, is drawn anew for each
game: mostly where one would look first, sometimes elsewhere (`rooms.toml`).
"""

from collections import Counter, defaultdict
from functools import cache
from random import Random

from langgraph_reflexion.envs.alfworld.asking import LAMP, Chosen, suits
from langgraph_reflexion.envs.alfworld.engine import Game, Kind
from langgraph_reflexion.envs.alfworld.making import MadeGames, make_game
from langgraph_reflexion.envs.alfworld.rooms import Item, Plan, floor_plan, lay, rooms
from langgraph_reflexion.errors import ConfigurationError

SPLITS: dict[str, dict[Kind, int]] = {
    "generated-134": {"clean": 31, "pick": 24, "heat": 23, "cool": 21, "look": 18, "two": 17},
}
"""The generated splits: how many tasks of each kind; the numbers are those of ALFWorld's unseen games."""


def generate(kind: Kind, *, seed: int, index: int, split: str = "generated") -> Game:
    """Make a game.

    Args:
        kind: The kind of its task.
        seed: Which world; games of a seed share its floor plans.
        index: Which game of the seed.
        split: Only for the game's id, such as `generated-134/s0/007-heat-kitchen`.

    Returns:
        A game that can be solved, is not solved yet, and knows commands that solve it.
    """
    random = Random(f"alfworld game {seed} {index} {kind}")
    weights = rooms()["tasks"][kind]
    room = random.choices(list(weights), list(weights.values()))[0]
    plan = floor_plan(room, random.randrange(rooms()["plans"]), seed)
    chosen = _choose(kind, plan, random)
    items = _furnish(kind, plan, chosen, random)
    return make_game(f"{split}/s{seed}/{index:03d}-{kind}-{room}", kind, plan, items, chosen, random.randrange(2))


class GeneratedGames(MadeGames):
    """The games of a generated split, each made when it is asked for."""

    def __init__(self, split: str, seed: int) -> None:
        self.split, self.seed, self.kinds = split, seed, _order(split)

    def __len__(self) -> int:
        return len(self.kinds)

    def make(self, index: int) -> Game:
        """Make a game; see `MadeGames.make`."""
        return generate(self.kinds[index], seed=self.seed, index=index, split=self.split)


def generated_games(split: str, seed: int = 0) -> GeneratedGames:
    """The games of a generated split.

    The kinds are interleaved: from six games on every prefix holds all six, in about the split's proportions.

    Args:
        split: One of `SPLITS`.
        seed: Another seed gives other games.

    Raises:
        ConfigurationError: there is no such split.
    """
    if split not in SPLITS:
        raise ConfigurationError(f"no generated split {split!r}: choose one of {', '.join(SPLITS)}")
    return GeneratedGames(split, seed)


@cache
def _order(split: str) -> tuple[Kind, ...]:
    """Hand out the places of a split one by one, as seats are by Sainte-Laguë's rule."""
    wanted, got, order = SPLITS[split], Counter[Kind](), list[Kind]()
    while len(order) < sum(wanted.values()):
        order.append(max(wanted, key=lambda kind: wanted[kind] / (2 * got[kind] + 1)))
        got[order[-1]] += 1
    return tuple(order)


def _choose(kind: Kind, plan: Plan, random: Random) -> Chosen:
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
        # For pick and two the thing starts elsewhere, so that there must be an elsewhere.
        if kind == "look":
            options.append((thing, [""]))
        elif targets and len(held[thing]) > 1:
            options.append((thing, targets))
    thing, targets = random.choice(options)
    return Chosen(thing, random.choice(targets))


def _furnish(kind: Kind, plan: Plan, chosen: Chosen, random: Random) -> list[Item]:
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
        items += [lay(cls, thing["usual"], holders, surprise, random, used) for _ in range(count if holders else 0)]
    return items
