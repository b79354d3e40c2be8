"""The reference engine in real child processes, and the environment that plays on it."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from langgraph_reflexion.envs.alfworld.environment import ALFWorld
from langgraph_reflexion.envs.alfworld.generate import generate
from langgraph_reflexion.envs.alfworld.textworld import (
    TextWorldEngine,
    Workers,
    installed_texts,
    to_tw_pddl,
    unavailable,
)
from langgraph_reflexion.envs.pool import EpisodePool
from langgraph_reflexion.errors import EnvironmentFault, EnvironmentUnavailable

needs_engine = pytest.mark.skipif(unavailable() is not None, reason=str(unavailable()))
GAME = generate("pick", seed=0, index=0)
OTHER = generate("clean", seed=0, index=1)
OPENING = "-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room."


@pytest.fixture
def workers():
    workers = Workers()
    yield workers
    workers.close()


def gone(pid, within=5.0):
    """Return whether a process ends in time."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        if not Path(f"/proc/{pid}").exists() or ") Z" in Path(f"/proc/{pid}/stat").read_text():
            return True
        time.sleep(0.02)
    return False


@needs_engine
def test_concurrent_games_are_independent(workers):
    games = [GAME, OTHER]
    engines = [TextWorldEngine(game, workers) for game in games]

    def play(engine, game):
        return [engine.reset(), *(engine.step(command) for command in game.walkthrough), engine.won]

    with ThreadPoolExecutor(2) as threads:
        together = list(threads.map(play, engines, games))
    assert together[0][1] != together[1][1]
    assert [seen[-1] for seen in together] == [True] * 2
    assert len(workers.pids) == 2
    for engine in engines:
        engine.close()
    # A child whose game is over plays the next one.
    assert TextWorldEngine(OTHER, workers).reset() == together[1][0]
    assert len(workers.pids) == 2
    assert not {"alfworld", "textworld", "fast_downward"} & set(sys.modules)


@needs_engine
def test_broken_game_is_a_fault_and_the_child_continues(workers):
    with pytest.raises(EnvironmentFault, match="failed to load"):
        TextWorldEngine(replace(GAME, problem="(define nonsense"), workers)
    assert TextWorldEngine(GAME, workers).reset().startswith(OPENING)
    assert len(workers.pids) == 1


@needs_engine
def test_killed_child_is_a_fault_and_is_replaced(workers):
    engine = TextWorldEngine(GAME, workers)
    (pid,) = workers.pids
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(EnvironmentFault, match=r"died .*-9"):
        engine.reset()
    engine.close()
    assert TextWorldEngine(GAME, workers).reset().startswith(OPENING)
    assert workers.pids != [pid]


@needs_engine
def test_hanging_child_is_killed():
    workers = Workers(timeout=5)
    engine = TextWorldEngine(GAME, workers)
    (pid,) = workers.pids
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(EnvironmentFault, match="no answer"):
        engine.reset()
    assert gone(pid)
    workers.close()


@needs_engine
def test_closing_ends_the_children_and_writes_nothing_to_the_home_folder(workers, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("ALFWORLD_DATA", raising=False)
    engine = TextWorldEngine(GAME, workers)
    (pid,) = workers.pids
    workers.close()
    assert gone(pid)
    with pytest.raises(EnvironmentFault):
        engine.reset()
    assert list(tmp_path.iterdir()) == []
    assert "ALFWORLD_DATA" not in os.environ


@needs_engine
def test_children_do_not_outlive_their_parent():
    script = """
import os, signal
from langgraph_reflexion.envs.alfworld.generate import generate
from langgraph_reflexion.envs.alfworld.textworld import TextWorldEngine, Workers
workers = Workers()
engine = TextWorldEngine(generate("pick", seed=0, index=0), workers)
print(workers.pids[0], flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        pid = int(parent.stdout.readline())
    assert gone(pid)


def write_game(folder, change=lambda grammar: grammar):
    domain, grammar = installed_texts()
    folder.mkdir(parents=True)
    (folder / "game.tw-pddl").write_text(json.dumps(to_tw_pddl(GAME, domain, change(grammar))))


@needs_engine
async def test_reference_engine_plays_games_unknown_to_the_native_engine(tmp_path, monkeypatch):
    # The words of json_2.1.1 for setting down, and others for opening.
    put = {"move {o} to {r}": "put {o} in/on {r}", "You move the {o.name} to": "You put the {o.name} in/on"}
    write_game(tmp_path / "game", lambda grammar: grammar.replace("You open", "You pull open"))
    write_game(tmp_path / "old", lambda grammar: [grammar := grammar.replace(*each) for each in put.items()][-1])
    write_game(tmp_path / "plain")
    environment = ALFWorld(path=tmp_path)
    task, old, plain = environment.tasks()
    assert [environment.blocks(each) for each in (task, old, plain)] == [True, True, False]
    assert environment.played_by([plain]) == "the native ALFWorld engine"
    assert f"2 of 3 games, the first in {tmp_path}/game/game.tw-pddl" in environment.played_by([task, old, plain])
    assert "put {object} in/on {receptacle}" in environment.action_forms(old)
    pool = EpisodePool(environment)
    for each in (old, plain):
        taken = []
        for command in GAME.walkthrough:
            action = environment.parse(command)
            last = (await pool.step(each, taken, action)).result
            taken.append(action)
        assert last.terminated
        assert last.observation.startswith("You put the" if each is old else "You move the")
    environment.close()
    monkeypatch.setitem(sys.modules, "textworld", None)
    with pytest.raises(EnvironmentUnavailable, match=r"game\.tw-pddl: .*\[alfworld\]"):
        environment.start(task)


def test_error_without_the_extra_says_how_to_install_it(monkeypatch):
    for name in ("alfworld", "textworld", "fast_downward"):
        monkeypatch.setitem(sys.modules, name, None)
    ALFWorld().close()
    with pytest.raises(EnvironmentUnavailable, match=r"\[alfworld\]|Python 3\.13"):
        ALFWorld(engine="textworld")
