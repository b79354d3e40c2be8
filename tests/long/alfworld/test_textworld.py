import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import reduce
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
from tests.support.processes import until

pytestmark = pytest.mark.skipif(unavailable() is not None, reason=str(unavailable()))
GAME = generate("pick", seed=0, index=0)
OTHER = generate("clean", seed=0, index=1)
OPENING = "-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room."


@pytest.fixture
def workers():
    workers = Workers()
    yield workers
    workers.close()


def gone(pid):
    """Return whether a process ends in time."""
    path = Path(f"/proc/{pid}")
    return until(lambda: not path.exists() or ") Z" in (path / "stat").read_text())


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


def test_broken_game_is_a_fault_and_the_child_continues(workers):
    with pytest.raises(EnvironmentFault, match="failed to load"):
        TextWorldEngine(replace(GAME, problem="(define nonsense"), workers)
    assert TextWorldEngine(GAME, workers).reset().startswith(OPENING)
    assert len(workers.pids) == 1


@pytest.mark.parametrize(
    ("number", "timeout", "says"), [(signal.SIGKILL, 300, r"died .*-9"), (signal.SIGSTOP, 10, "no answer")]
)
def test_dead_or_hanging_child_is_a_fault_and_is_removed(number, timeout, says):
    workers = Workers(timeout)
    engine = TextWorldEngine(GAME, workers)
    (pid,) = workers.pids
    os.kill(pid, number)
    with pytest.raises(EnvironmentFault, match=says):
        engine.reset()
    assert gone(pid)
    assert workers.pids == []
    engine.close()


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


async def test_reference_engine_plays_games_unknown_to_the_native_engine(tmp_path, monkeypatch):
    domain, grammar = installed_texts()
    put = {"move {o} to {r}": "put {o} in/on {r}", "You move the {o.name} to": "You put the {o.name} in/on"}
    old = reduce(lambda text, each: text.replace(*each), put.items(), grammar)  # json_2.1.1's phrase
    for name, text in {"game": grammar.replace("You open", "You pull open"), "old": old, "plain": grammar}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "game.tw-pddl").write_text(json.dumps(to_tw_pddl(GAME, domain, text)))
    environment = ALFWorld(path=tmp_path)
    task, old, plain = environment.tasks()
    assert [environment.blocks(each) for each in (task, old, plain)] == [True, True, False]
    assert environment.played_by([plain]) == "the native ALFWorld engine"
    assert f"2 of 3 games, the first in {tmp_path}/game/game.tw-pddl" in environment.played_by([task, old, plain])
    assert "put {object} in/on {receptacle}" in environment.action_forms(old)
    pool = EpisodePool(environment)
    for each, begins in ((old, "You put the"), (plain, "You move the")):
        taken = []
        for command in GAME.walkthrough:
            action = environment.parse(command)
            last = (await pool.step(each, taken, action)).result
            taken.append(action)
        assert last.terminated
        assert last.observation.startswith(begins)
    environment.close()
    monkeypatch.setitem(sys.modules, "textworld", None)
    with pytest.raises(EnvironmentUnavailable, match=r"game\.tw-pddl: .*\[alfworld\]"):
        environment.start(task)
    with pytest.raises(EnvironmentUnavailable, match=r"\[alfworld\]"):
        ALFWorld(engine="textworld")
