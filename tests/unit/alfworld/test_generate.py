import hashlib
import re
from collections import Counter

import pytest

from langgraph_reflexion.envs.alfworld.generate import ROOMS, SHARED_SPLITS, TASKS, generated_game, shared_game
from langgraph_reflexion.envs.alfworld.native import NativeEngine
from langgraph_reflexion.envs.alfworld.world import World

SPLIT = "generated-134"
SHARED = range(len(ROOMS) * TASKS)


@pytest.fixture(scope="module")
def games():
    return tuple(generated_game(SPLIT, 0, index) for index in range(134))


@pytest.mark.slow
def test_a_seed_has_the_same_games_in_every_process_and_version_and_no_other_has_one_of_them(games):
    # What a game is decides what results say: a change of it is a change of the benchmark.
    assert hashlib.sha256(repr(games[:24]).encode()).hexdigest()[:16] == "4f1ff66b20ecb952"
    assert not {game.problem for game in games} & {generated_game(SPLIT, 1, index).problem for index in range(134)}


def test_proportions(games):
    whole = {"pick": 24, "look": 18, "clean": 31, "heat": 23, "cool": 21, "two": 17}
    assert Counter(game.kind for game in games) == whole
    for length in range(6, 135):
        kinds = Counter(game.kind for game in games[:length])
        assert all(kinds[kind] > 0 and abs(kinds[kind] - length * count / 134) < 1 for kind, count in whole.items())


@pytest.mark.slow
def test_every_walkthrough_solves_its_game(games):
    for game in (*games[:24], *(shared_game(SHARED_SPLITS[0], 1, index) for index in SHARED[::5])):
        engine = NativeEngine(World.of(game))
        assert engine.reset().endswith(f"Your task is to: {game.instruction}")
        for command in game.walkthrough:
            assert not engine.won, game.id
            assert command in engine.admissible()
            assert engine.step(command) != "Nothing happens."
        assert engine.won, game.id


def room_of(game):
    """Everything of a game but its task."""
    return game.problem[: game.problem.index("(:goal")]


def test_both_splits_have_the_same_rooms_and_different_tasks():
    train, test = ([shared_game(split, 5, index) for index in SHARED] for split in SHARED_SPLITS)
    rooms = [room_of(game) for game in train]
    assert len(set(rooms)) == len(ROOMS)
    assert rooms == rooms[: len(ROOMS)] * TASKS, "room by room in turn"
    assert [room_of(game) for game in test] == rooms
    asked = [(room_of(g), g.kind, re.search(r"objectType \?o (\w+)", g.problem)[1]) for g in (*train, *test)]
    assert len(set(asked)) == len(asked), "no two ask for the same thing in the same way"
