"""Games made from a seed: rooms that we wrote, with things in them, and a task that can be solved.

A game follows from its kind, seed and index alone. ALFWorld's engine plays these games, as does any that
agrees with it, but they are not the games of the benchmark, and results on them are not results on it.

The floor plans of a seed are shared by its games; what lies in a room, and where, is drawn anew for each
game: mostly where one would look first, sometimes elsewhere (`rooms.toml`).
"""

import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any, NamedTuple, overload

from langgraph_reflexion.envs.alfworld.engine import Game, Kind
from langgraph_reflexion.errors import ConfigurationError

SPLITS: dict[str, dict[Kind, int]] = {
    "generated-134": {"clean": 31, "pick": 24, "heat": 23, "cool": 21, "look": 18, "two": 17},
}
"""The generated splits: how many tasks of each kind; the numbers are those of ALFWorld's unseen games."""

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

_STATES: dict[Kind, str] = {
    "clean": "(cleanable ?o) (isClean ?o)",
    "heat": "(heatable ?o) (isHot ?o)",
    "cool": "(coolable ?o) (isCool ?o)",
}


class Receptacle(NamedTuple):
    """A piece of furniture at a place of its own: its class, its id in PDDL, and the id of its place."""

    cls: str
    id: str
    location: str


class Item(NamedTuple):
    """A thing: its class, its id in PDDL, and what it lies in or on."""

    cls: str
    id: str
    receptacle: Receptacle


class Plan(NamedTuple):
    """A floor plan: the room's receptacles, and the empty place that an agent starts from."""

    room: str
    receptacles: tuple[Receptacle, ...]
    start: str


class Chosen(NamedTuple):
    """A task: a thing of which class belongs in which class of receptacle (empty for `look`)."""

    thing: str
    target: str


@cache
def rooms() -> dict[str, Any]:
    """The contents of `rooms.toml`, with groups written out wherever one is named."""
    data = tomllib.loads(files(__package__).joinpath("rooms.toml").read_text(encoding="utf-8"))
    for table in ("holds", "properties"):
        for name, entries in data[table].items():
            data[table][name] = sorted({c for entry in entries for c in data["groups"].get(entry, [entry])})
    return data


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
        put = f"{put} (exists (?p - object) {other})"
    elif kind in _STATES:
        put = f"{put} {_STATES[kind]}"
    return f"(:goal (exists (?r - receptacle) (exists (?o - object) (and {put}))))"


def names(ids: Iterable[str]) -> dict[str, str]:
    """What an engine calls the things with these ids ("mug 1"): within a class, numbers fall as ids rise."""
    classes: dict[str, list[str]] = defaultdict(list)
    for id_ in sorted(ids, key=str.lower):
        low = id_.lower()
        classes[low.partition("_bar_")[0] + ("basin" if "basin" in low else "")].append(id_)
    return {id_: f"{cls} {len(all_) - i}" for cls, all_ in classes.items() for i, id_ in enumerate(all_)}


def floor_plan(room: str, number: int, seed: int) -> Plan:
    """One of a seed's floor plans; they grow with their number."""
    random = Random(f"alfworld plan {seed} {room} {number}")
    size = (number + random.random()) / rooms()["plans"]
    classes: list[str] = []
    for cls, (low, high) in rooms()["rooms"][room]["receptacles"].items():
        share = min(max(size + random.uniform(-0.2, 0.2), 0.0), 0.999)
        classes += [cls] * (low + int(share * (high - low + 1)))
    cells = random.sample([(x, z) for x in range(-9, 10) for z in range(-9, 10)], len(classes) + 1)
    places = [_mangle(f"loc|{x}|{z}|{random.randrange(4)}|{random.choice((0, 30, 45, 60))}") for x, z in cells]
    receptacles = []
    for cls, (x, z), place in zip(classes, cells[1:], places[1:], strict=True):
        where = _point(x / 4, random.uniform(0.0, 2.2), z / 4)
        # The engines name basins by these ids, and would call a SinkBasin|... a "sinkbasinbasin".
        whole = cls.removesuffix("Basin")
        id_ = f"{whole}|{where}|{cls}" if whole != cls else f"{cls}|{where}"
        receptacles.append(Receptacle(cls, _mangle(id_), place))
    return Plan(room, tuple(receptacles), places[0])


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


def make_game(id_: str, kind: Kind, plan: Plan, items: list[Item], chosen: Chosen, wording: int) -> Game:
    """Put a game together.

    Args:
        id_: The game's id.
        kind: The kind of its task.
        plan: The floor plan.
        items: The things in the room.
        chosen: The task.
        wording: 0 or 1.
    """
    return Game(
        id=id_,
        kind=kind,
        instruction=instruction(kind, *chosen, wording=wording),
        problem=_problem(plan, items, goal(kind, *chosen)),
        walkthrough=_walkthrough(kind, plan, items, chosen),
    )


class GeneratedGames(Sequence[Game]):
    """The games of a generated split, each made when it is asked for."""

    def __init__(self, split: str, seed: int) -> None:
        self.split, self.seed, self.kinds = split, seed, _order(split)

    def __len__(self) -> int:
        return len(self.kinds)

    @overload
    def __getitem__(self, index: int) -> Game: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Game, ...]: ...
    def __getitem__(self, index: int | slice) -> Game | tuple[Game, ...]:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        i = range(len(self))[index]
        return generate(self.kinds[i], seed=self.seed, index=i, split=self.split)


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
    needed = {"clean": "cleanable", "heat": "heatable", "cool": "coolable"}.get(kind)
    barred = set(data["singles"]) if kind == "two" else {data["tools"].get(kind)}
    options: list[tuple[str, list[str]]] = []
    for thing in sorted(data["rooms"][plan.room]["things"]):
        if thing == LAMP or not held[thing] or (needed and thing not in data["properties"][needed]):
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


def lay(
    cls: str, usual: dict[str, int], holders: list[Receptacle], surprise: float, random: Random, used: set[str]
) -> Item:
    """Lay one more thing somewhere.

    Args:
        cls: Its class.
        usual: Where one would look first: classes of receptacles, with weights.
        holders: Where it can lie.
        surprise: How often it lies where nobody would look first.
        random: Decides.
        used: The ids that are taken; the thing's joins them.
    """
    receptacle = _place(holders, usual, surprise, random)
    while True:
        where = _point(random.uniform(-2.5, 2.5), random.uniform(0.0, 2.2), random.uniform(-2.5, 2.5))
        if (id_ := _mangle(f"{cls}|{where}")) not in used:
            break
    used.add(id_)
    return Item(cls, id_, receptacle)


def _place(holders: list[Receptacle], usual: dict[str, int], surprise: float, random: Random) -> Receptacle:
    likely = [cls for cls in usual if any(r.cls == cls for r in holders)]
    unlikely = [r for r in holders if r.cls not in usual]
    if not likely or (unlikely and random.random() < surprise):
        return random.choice(unlikely)
    cls = random.choices(likely, [usual[c] for c in likely])[0]
    return random.choice([r for r in holders if r.cls == cls])


def _problem(plan: Plan, items: list[Item], wanted: str) -> str:
    data = rooms()
    # The domain and the goal name types that a room may lack; the original engine wants all of them declared.
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
    """Commands as they are written down, with where they lead and what stands open after them."""

    names: dict[str, str]
    commands: list[str] = field(default_factory=list)
    at: Receptacle | None = None
    opened: set[Receptacle] = field(default_factory=set)

    def reach(self, receptacle: Receptacle, *, inside: bool = True) -> str:
        """Go there, and open it if something is to go in or out; its name."""
        name = self.names[receptacle.id]
        if receptacle != self.at:
            self.commands.append(f"go to {name}")
            self.at = receptacle
        if inside and receptacle.cls in rooms()["opens"] and receptacle not in self.opened:
            self.commands.append(f"open {name}")
            self.opened.add(receptacle)
        return name


def _walkthrough(kind: Kind, plan: Plan, items: list[Item], chosen: Chosen) -> tuple[str, ...]:
    called = names([*(r.id for r in plan.receptacles), *(item.id for item in items)])
    walk = _Walk(called)
    first = {r.cls: r for r in reversed(plan.receptacles)}
    for item in [item for item in items if item.cls == chosen.thing][: 2 if kind == "two" else 1]:
        thing = called[item.id]
        walk.commands.append(f"take {thing} from {walk.reach(item.receptacle)}")
        if tool := rooms()["tools"].get(kind):
            walk.commands.append(f"{kind} {thing} with {walk.reach(first[tool], inside=False)}")
        if kind == "look":
            lamp = next(item for item in items if item.cls == LAMP)
            walk.reach(lamp.receptacle)
            walk.commands.append(f"use {called[lamp.id]}")
        else:
            walk.commands.append(f"move {thing} to {walk.reach(first[chosen.target])}")
    return tuple(walk.commands)


def _point(x: float, y: float, z: float) -> str:
    return f"{x:+06.2f}|{y:+06.2f}|{z:+06.2f}"


def _mangle(id_: str) -> str:
    for sign, word in {"-": "_minus_", "|": "_bar_", "+": "_plus_", ".": "_dot_"}.items():
        id_ = id_.replace(sign, word)
    return id_
