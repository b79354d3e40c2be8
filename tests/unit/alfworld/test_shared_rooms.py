import re

from langgraph_reflexion.envs.alfworld.native import NativeEngine
from langgraph_reflexion.envs.alfworld.shared_rooms import ROOMS, SHARED_SPLITS, TASKS, shared_game, shared_room

GAMES = range(len(ROOMS) * TASKS)


def room_of(game):
    """Everything of a game but its task."""
    return game.problem[: game.problem.index("(:goal")]


def test_both_splits_have_the_same_rooms_and_different_tasks():
    train, test = ([shared_game(split, 5, index) for index in GAMES] for split in SHARED_SPLITS)
    rooms = [room_of(game) for game in train]
    assert len(set(rooms)) == len(ROOMS)
    assert rooms == rooms[: len(ROOMS)] * TASKS, "room by room in turn"
    assert [room_of(game) for game in test] == rooms
    asked = [(room_of(g), g.kind, re.search(r"objectType \?o (\w+)", g.problem)[1]) for g in (*train, *test)]
    assert len(set(asked)) == len(asked), "no two ask for the same thing in the same way"


def test_every_walkthrough_solves_its_game():
    for split in SHARED_SPLITS:
        for game in (shared_game(split, 1, index) for index in GAMES[::5]):
            engine = NativeEngine(game)
            assert not engine.won
            assert "Nothing happens." not in [engine.step(command) for command in game.walkthrough]
            assert engine.won


def test_every_room_has_enough_tasks():
    # The first draw of the fifth room of seed 5 holds too few things.
    assert all(len(shared_room(number, seed)[2]) == 2 * TASKS for seed in range(6) for number in range(8))
