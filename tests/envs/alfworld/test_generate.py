import hashlib
import os
import re
import subprocess
import sys
from collections import Counter

import pytest

from langgraph_reflexion.envs.alfworld.engine import Game, Kind
from langgraph_reflexion.envs.alfworld.generate import SPLITS, generate, generated_games
from langgraph_reflexion.envs.alfworld.native import NativeEngine
from langgraph_reflexion.envs.alfworld.rooms import floor_plan, rooms
from langgraph_reflexion.envs.alfworld.textworld import TextWorldEngine, unavailable
from langgraph_reflexion.errors import ConfigurationError

SPLIT = "generated-134"
KINDS = tuple(SPLITS[SPLIT])
PLANS = [(room, number, seed) for room in rooms()["rooms"] for number in range(12) for seed in range(3)]


@pytest.fixture(scope="module")
def games() -> tuple[Game, ...]:
    return generated_games(SPLIT, seed=0)[:]


def facts(game: Game, name: str) -> list[tuple[str, str]]:
    """The initial facts of a predicate with two arguments."""
    start = game.problem[game.problem.index("(:init") : game.problem.index("(:goal")]
    return [(found[1], found[2]) for found in re.finditer(rf"\({name} (\S+) ([^\s()]+)\)", start)]


def asked_for(game: Game) -> tuple[str, str]:
    """The classes that the goal names: the thing, and the receptacle or (for look) nothing."""
    goal = game.problem[game.problem.index("(:goal") :]
    thing = re.search(r"objectType \?o (\w+)Type", goal)
    place = re.search(r"receptacleType \?r (\w+)Type", goal)
    assert thing is not None
    return thing[1], place[1] if place else ""


def played(engine: NativeEngine | TextWorldEngine, game: Game) -> list[bool]:
    """Whether the game was won after the reset and after each command of its walkthrough."""
    try:
        assert engine.reset().endswith(f"Your task is to: {game.instruction}")
        won = [engine.won]
        for command in game.walkthrough:
            assert command in engine.admissible()
            assert engine.step(command) != "Nothing happens."
            won.append(engine.won)
        return won
    finally:
        engine.close()


DIGEST = """
import hashlib
from langgraph_reflexion.envs.alfworld.generate import generated_games
print(hashlib.sha256(repr(generated_games("generated-134", 7)[:24]).encode()).hexdigest())
"""


@pytest.mark.parametrize("hash_seed", ["0", "1", "4711"])
def test_the_same_games_in_every_process(hash_seed: str) -> None:
    here = hashlib.sha256(repr(generated_games(SPLIT, 7)[:24]).encode()).hexdigest()
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    there = subprocess.run(
        [sys.executable, "-c", DIGEST], env=environment, capture_output=True, text=True, check=True
    )
    assert there.stdout.strip() == here


def test_a_game_does_not_depend_on_what_was_made_before(games: tuple[Game, ...]) -> None:
    assert generated_games(SPLIT, seed=0)[70] == games[70]
    assert generate(games[70].kind, seed=0, index=70, split=SPLIT) == games[70]
    assert generated_games(SPLIT, seed=0)[-1] == games[133]


def test_another_seed_gives_other_games(games: tuple[Game, ...]) -> None:
    others = generated_games(SPLIT, seed=1)[:]
    assert not {game.problem for game in games} & {game.problem for game in others}
    assert not {game.id for game in games} & {game.id for game in others}


def test_proportions(games: tuple[Game, ...]) -> None:
    wanted: dict[Kind, int] = {"pick": 24, "look": 18, "clean": 31, "heat": 23, "cool": 21, "two": 17}
    assert Counter(game.kind for game in games) == wanted
    for length in range(6, 135):
        kinds = Counter(game.kind for game in games[:length])
        assert len(kinds) == 6
        for kind, count in wanted.items():
            assert abs(kinds[kind] - length * count / 134) < 1


def test_ids(games: tuple[Game, ...]) -> None:
    assert len({game.id for game in games}) == 134
    for index, game in enumerate(games):
        assert re.fullmatch(rf"generated-134/s0/{index:03d}-{game.kind}-[a-z]+", game.id)


def test_no_such_split() -> None:
    with pytest.raises(ConfigurationError, match="generated-134"):
        generated_games("generated-135")


def test_past_the_end() -> None:
    with pytest.raises(IndexError):
        generated_games(SPLIT)[134]


@pytest.mark.parametrize("room", list(rooms()["rooms"]))
def test_rooms_are_consistent(room: str) -> None:
    data = rooms()
    furniture, things = data["rooms"][room]["receptacles"], data["rooms"][room]["things"]
    assert set(furniture) <= set(data["holds"])
    for thing, entry in things.items():
        assert 0 <= entry["count"][0] <= entry["count"][1]
        for place in entry["usual"]:
            assert place in furniture, (thing, place)
            assert thing in data["holds"][place], (thing, place)


def test_every_named_class_exists() -> None:
    data = rooms()
    things = {thing for room in data["rooms"].values() for thing in room["things"]}
    for table in ("holds", "properties"):
        for classes in data[table].values():
            assert set(classes) <= things
    for name in ("opens", "inside", "singles"):
        assert set(data[name]) <= set(data["holds"])


@pytest.mark.parametrize(("room", "number", "seed"), PLANS)
def test_floor_plans(room: str, number: int, seed: int) -> None:
    plan = floor_plan(room, number, seed)
    fewest, most = (14, 30) if room == "kitchen" else (7, 20)
    assert fewest <= len(plan.receptacles) <= most
    assert len({plan.start, *(r.location for r in plan.receptacles)}) == len(plan.receptacles) + 1
    assert len({r.id for r in plan.receptacles}) == len(plan.receptacles)


def test_plans_come_in_all_sizes() -> None:
    sizes = [len(floor_plan("kitchen", number, 0).receptacles) for number in range(12)]
    assert min(sizes) < 18
    assert max(sizes) > 26


def test_tasks_ask_for_what_takes_doing(games: tuple[Game, ...]) -> None:
    tools = {"clean": "SinkBasin", "heat": "Microwave", "cool": "Fridge"}
    for game in games:
        thing, place = asked_for(game)
        receptacles = dict(facts(game, "receptacleType"))
        types = dict(facts(game, "objectType"))
        there = [o for o, r in facts(game, "inReceptacle") if types[o] == f"{thing}Type"]
        if game.kind == "look":
            assert "DeskLampType" in types.values()
            assert place == ""
            continue
        assert f"{place}Type" in receptacles.values()
        assert len(there) >= (2 if game.kind == "two" else 1)
        assert (f"{place}Type", f"{thing}Type") in facts(game, "canContain")
        if tool := tools.get(game.kind):
            assert place != tool
            assert f"{tool}Type" in receptacles.values()
        else:
            assert all(receptacles[r] != f"{place}Type" for o, r in facts(game, "inReceptacle") if o in there)


def test_task_texts(games: tuple[Game, ...]) -> None:
    for game in games:
        thing, place = asked_for(game)
        assert re.fullmatch(r"[a-z ,]+\.", game.instruction)
        assert f" {thing.lower()}" in game.instruction
        assert game.instruction.endswith(f"{place.lower() or 'desklamp'}.")
    shapes = {re.sub(r" an? ", " ", game.instruction).split()[0] for game in games}
    assert len(shapes) >= 6


def test_things_are_mostly_where_one_would_look(games: tuple[Game, ...]) -> None:
    unusual = total = 0
    for game in games:
        usual = rooms()["rooms"][game.id.rpartition("-")[2]]["things"]
        receptacles, types = dict(facts(game, "receptacleType")), dict(facts(game, "objectType"))
        for thing, receptacle in facts(game, "inReceptacle"):
            expected = usual[types[thing].removesuffix("Type")]["usual"]
            unusual += receptacles[receptacle].removesuffix("Type") not in expected
            total += 1
    assert 0.08 < unusual / total < 0.25


def test_every_walkthrough_solves_its_game(games: tuple[Game, ...]) -> None:
    for game in games:
        won = played(NativeEngine(game), game)
        assert won == [False] * (len(won) - 1) + [True], game.id


@pytest.mark.skipif(unavailable() is not None, reason=str(unavailable()))
@pytest.mark.parametrize("kind", KINDS)
def test_walkthroughs_solve_games_on_the_reference_engine(kind: str, games: tuple[Game, ...]) -> None:
    small = min((game for game in games if game.kind == kind), key=lambda game: len(game.problem))
    won = played(TextWorldEngine(small), small)
    assert won == [False] * (len(won) - 1) + [True]
