"""Rooms for generated games: their furniture and things, from `rooms.toml`."""

import tomllib
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any, NamedTuple


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
    for table in ("holds", "properties"):
        for name, entries in data[table].items():
            data[table][name] = sorted({c for entry in entries for c in data["groups"].get(entry, [entry])})
    return data


def floor_plan(room: str, number: int, seed: int) -> Plan:
    """Return one of a seed's floor plans; their size grows with their number."""
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
        # The engines derive names from these ids, and would call a SinkBasin|... a "sinkbasinbasin".
        whole = cls.removesuffix("Basin")
        id_ = f"{whole}|{where}|{cls}" if whole != cls else f"{cls}|{where}"
        receptacles.append(Receptacle(cls, _mangle(id_), place))
    return Plan(room, tuple(receptacles), places[0])


def place_item(
    cls: str, usual: dict[str, int], holders: list[Receptacle], surprise: float, random: Random, used: set[str]
) -> Item:
    """Place one more thing, with the probability `surprise` elsewhere than where one would look first."""
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


def _point(x: float, y: float, z: float) -> str:
    return f"{x:+06.2f}|{y:+06.2f}|{z:+06.2f}"


def _mangle(id_: str) -> str:
    for sign, word in {"-": "_minus_", "|": "_bar_", "+": "_plus_", ".": "_dot_"}.items():
        id_ = id_.replace(sign, word)
    return id_
