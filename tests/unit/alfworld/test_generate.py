import hashlib
import re
from collections import Counter

import pytest

from langgraph_reflexion.envs.alfworld.engine import Game, Kind
from langgraph_reflexion.envs.alfworld.generate import generated_game
from langgraph_reflexion.envs.alfworld.native import NativeEngine
from langgraph_reflexion.envs.alfworld.rooms import rooms

SPLIT = "generated-134"


@pytest.fixture(scope="module")
def games() -> tuple[Game, ...]:
    return tuple(generated_game(SPLIT, 0, index) for index in range(134))


def facts(game: Game, name: str) -> list[tuple[str, str]]:
    """Return the arguments of the initial facts of a binary predicate."""
    start = game.problem[game.problem.index("(:init") : game.problem.index("(:goal")]
    return [(found[1], found[2]) for found in re.finditer(rf"\({name} (\S+) ([^\s()]+)\)", start)]


def asked_for(game: Game) -> tuple[str, str]:
    """Return the classes that the goal names: the thing, and the receptacle if there is one."""
    goal = game.problem[game.problem.index("(:goal") :]
    thing = re.search(r"objectType \?o (\w+)Type", goal)
    place = re.search(r"receptacleType \?r (\w+)Type", goal)
    assert thing is not None
    return thing[1], place[1] if place else ""


def test_the_same_games_in_every_process_and_version(games: tuple[Game, ...]) -> None:
    # What a game is decides what results say: a change of it is a change of the benchmark.
    assert hashlib.sha256(repr(games[:24]).encode()).hexdigest()[:16] == "4f1ff66b20ecb952"


def test_a_game_depends_on_its_split_seed_and_index_alone(games: tuple[Game, ...]) -> None:
    assert generated_game(SPLIT, 0, 70) == games[70]
    others = [generated_game(SPLIT, 1, index) for index in range(134)]
    assert not {game.problem for game in games} & {game.problem for game in others}
    for index, game in enumerate(games):
        assert re.fullmatch(rf"generated-134/s0/{index:03d}-{game.kind}-[a-z]+", game.id)


def test_proportions(games: tuple[Game, ...]) -> None:
    wanted: dict[Kind, int] = {"pick": 24, "look": 18, "clean": 31, "heat": 23, "cool": 21, "two": 17}
    assert Counter(game.kind for game in games) == wanted
    for length in range(6, 135):
        kinds = Counter(game.kind for game in games[:length])
        assert len(kinds) == 6
        for kind, count in wanted.items():
            assert abs(kinds[kind] - length * count / 134) < 1


def test_rooms_are_consistent() -> None:
    data = rooms()
    for room in data["rooms"].values():
        assert set(room["receptacles"]) <= set(data["holds"])
        for thing, entry in room["things"].items():
            assert 0 <= entry["count"][0] <= entry["count"][1]
            for place in entry["usual"]:
                assert place in room["receptacles"], (thing, place)
                assert thing in data["holds"][place], (thing, place)
    things = {thing for room in data["rooms"].values() for thing in room["things"]}
    for table in ("holds", "properties"):
        for classes in data[table].values():
            assert set(classes) <= things
    for name in ("opens", "inside", "singles"):
        assert set(data[name]) <= set(data["holds"])


def test_no_task_is_done_at_the_start(games: tuple[Game, ...]) -> None:
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


def test_every_walkthrough_solves_its_game(games: tuple[Game, ...]) -> None:
    for game in games[:30]:
        engine = NativeEngine(game)
        assert engine.reset().endswith(f"Your task is to: {game.instruction}")
        for command in game.walkthrough:
            assert not engine.won, game.id
            assert command in engine.admissible()
            assert engine.step(command) != "Nothing happens."
        assert engine.won, game.id
