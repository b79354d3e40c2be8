"""Rooms for generated games: their furniture and things, from `rooms.toml`."""

import tomllib
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any, NamedTuple

# What replaces in ids the characters that PDDL does not allow.
_WORDS = {
    "-": "_minus_",
    "|": "_bar_",
    "+": "_plus_",
    ".": "_dot_",
}


class Receptacle(NamedTuple):
    """A piece of furniture: its class, its id in PDDL, and the id of its place."""

    cls: str
    id: str
    location: str


class Item(NamedTuple):
    """A thing: its class, its id in PDDL, and the receptacle that holds it."""

    cls: str
    id: str
    receptacle: Receptacle


class Plan(NamedTuple):
    """A floor plan: the room's receptacles, and the empty place that an agent starts from."""

    room: str
    receptacles: tuple[Receptacle, ...]
    start: str


@cache
def rooms() -> dict[str, Any]:
    """Return the contents of `rooms.toml`, with groups expanded."""
    data = tomllib.loads(files(__package__).joinpath("rooms.toml").read_text(encoding="utf-8"))
    groups = data["groups"]
    for table in (data["holds"], data["properties"]):
        for name, entries in table.items():
            classes: set[str] = set()
            for entry in entries:
                classes.update(groups.get(entry, [entry]))
            table[name] = sorted(classes)
    return data


def floor_plan(room: str, number: int, seed: int) -> Plan:
    """Return one of a seed's floor plans; their size grows with their number."""
    random = Random(f"alfworld plan {seed} {room} {number}")
    # As a share of the largest plan.
    size = (number + random.random()) / rooms()["plans"]
    classes: list[str] = []
    furniture = rooms()["rooms"][room]["receptacles"]
    for cls, (low, high) in furniture.items():
        share = size + random.uniform(-0.2, 0.2)
        # A share of 1 would give `high + 1`.
        share = min(max(share, 0.0), 0.999)
        count = low + int(share * (high - low + 1))
        classes += [cls] * count
    grid = [(x, z) for x in range(-9, 10) for z in range(-9, 10)]
    # The agent starts on the first cell, and each other one gets a receptacle.
    cells = random.sample(grid, len(classes) + 1)
    start, *locations = [_location_id(x, z, random) for x, z in cells]
    receptacles = []
    for cls, (x, z), location in zip(classes, cells[1:], locations, strict=True):
        height = random.uniform(0.0, 2.2)
        # A cell is a quarter of a metre wide; points are in metres.
        where = _point(x / 4, height, z / 4)
        id_ = _receptacle_id(cls, where)
        receptacles.append(Receptacle(cls, id_, location))
    return Plan(room, tuple(receptacles), start)


def _location_id(x: int, z: int, random: Random) -> str:
    turn = random.randrange(4)
    tilt = random.choice((0, 30, 45, 60))
    return _mangle(f"loc|{x}|{z}|{turn}|{tilt}")


def _receptacle_id(cls: str, where: str) -> str:
    # The engines derive names from these ids, and would call a SinkBasin|... a "sinkbasinbasin".
    fixture = cls.removesuffix("Basin")
    if fixture == cls:
        return _mangle(f"{cls}|{where}")
    return _mangle(f"{fixture}|{where}|{cls}")


def place_item(
    cls: str, usual: dict[str, int], holders: list[Receptacle], surprise: float, random: Random, used: set[str]
) -> Item:
    """Place one more thing where one would look first, or, with the probability `surprise`, somewhere else.

    Args:
        cls: The class of the thing.
        usual: The weights of the classes of receptacle where one would look first.
        holders: The receptacles that can hold it.
        surprise: The probability.
        random: The source of randomness.
        used: The ids that are taken; that of the thing is added.
    """
    receptacle = _choose_holder(holders, usual, surprise, random)
    id_ = _item_id(cls, random)
    while id_ in used:
        id_ = _item_id(cls, random)
    used.add(id_)
    return Item(cls, id_, receptacle)


def _choose_holder(holders: list[Receptacle], usual: dict[str, int], surprise: float, random: Random) -> Receptacle:
    there = {receptacle.cls for receptacle in holders}
    likely = [cls for cls in usual if cls in there]
    unlikely = [receptacle for receptacle in holders if receptacle.cls not in usual]
    if not likely:
        return random.choice(unlikely)
    if unlikely and random.random() < surprise:
        return random.choice(unlikely)
    weights = [usual[cls] for cls in likely]
    drawn = random.choices(likely, weights)[0]
    fitting = [receptacle for receptacle in holders if receptacle.cls == drawn]
    return random.choice(fitting)


def _item_id(cls: str, random: Random) -> str:
    x = random.uniform(-2.5, 2.5)
    y = random.uniform(0.0, 2.2)
    z = random.uniform(-2.5, 2.5)
    return _mangle(f"{cls}|{_point(x, y, z)}")


def _point(x: float, y: float, z: float) -> str:
    return f"{x:+06.2f}|{y:+06.2f}|{z:+06.2f}"


def _mangle(id_: str) -> str:
    """Return an id as ALFWorld writes it in PDDL."""
    for sign, word in _WORDS.items():
        id_ = id_.replace(sign, word)
    return id_
