import re

import pytest

from langgraph_reflexion import ConfigurationError, load_environment
from langgraph_reflexion.envs.alfworld.native import NativeEngine
from langgraph_reflexion.envs.alfworld.shared_rooms import ROOMS, SHARED_SPLITS, TASKS, SharedGames, shared_room

TRAIN, TEST = SHARED_SPLITS


def room_of(game):
    """Everything of a game but its task."""
    return game.problem[: game.problem.index("(:goal")]


def test_both_splits_have_the_same_rooms_and_different_tasks():
    seed = 5
    train, test = SharedGames(TRAIN, seed), SharedGames(TEST, seed)
    assert len(train) == len(test) == len(ROOMS) * TASKS
    rooms = [room_of(game) for game in train]
    assert len(set(rooms)) == len(ROOMS)
    assert rooms == rooms[: len(ROOMS)] * TASKS, "room by room in turn"
    assert [room_of(game) for game in test] == rooms
    asked = [(room_of(g), g.kind, re.search(r"objectType \?o (\w+)", g.problem)[1]) for g in (*train, *test)]
    assert len(set(asked)) == len(asked), "no two ask for the same thing in the same way"


@pytest.mark.parametrize("split", SHARED_SPLITS)
def test_every_walkthrough_solves_its_game(split):
    kinds = set()
    for game in SharedGames(split, 1):
        engine = NativeEngine(game)
        assert not engine.won
        for command in game.walkthrough:
            assert command in engine.admissible()
            engine.step(command)
        assert engine.won
        kinds.add(game.kind)
    assert kinds == {"pick", "look", "clean", "heat", "cool", "two"}


def test_every_room_has_enough_tasks():
    assert all(len(shared_room(number, seed).tasks) == 2 * TASKS for seed in range(5) for number in range(8))
    # A room whose first draw holds too few things.
    assert len(shared_room(4, 5).tasks) == 2 * TASKS


def test_another_seed_gives_other_rooms_and_the_same_one_the_same():
    rooms = {room_of(game) for seed in range(4) for game in SharedGames(TRAIN, seed)[: len(ROOMS)]}
    assert len(rooms) == 4 * len(ROOMS)
    shared_room.cache_clear()
    assert {room_of(game) for game in SharedGames(TEST, 2)[:]} <= rooms


def test_the_environment_plays_them():
    environment = load_environment("alfworld", seed=3)
    task = environment.tasks(TEST)[9]
    assert task["id"].startswith("shared-rooms-test/s3/009-")
    assert environment.game(task) == SharedGames(TEST, 3)[9]
    assert environment.start(task).observation.endswith(task["instruction"])
    with pytest.raises(ConfigurationError, match="shared-rooms"):
        SharedGames("shared-rooms", 0)
    with pytest.raises(ConfigurationError, match="48"):
        environment.start({**task, "data": {**task["data"], "index": 48}})
