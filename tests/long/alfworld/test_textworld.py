"""The reference engine in real child processes."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from langgraph_reflexion.envs.alfworld.child_process import ChildProcess
from langgraph_reflexion.envs.alfworld.generate import generate
from langgraph_reflexion.envs.alfworld.textworld import TextWorldEngine, Workers, unavailable
from langgraph_reflexion.errors import EnvironmentFault

needs_engine = pytest.mark.skipif(unavailable() is not None, reason=str(unavailable()))
GAME = generate("pick", seed=0, index=0)
OTHER = generate("clean", seed=0, index=1)
OPENING = "-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room."


@pytest.fixture(scope="module")
def workers():
    workers = Workers(1)
    yield workers
    workers.close()


@pytest.fixture
def own_workers():
    made = []

    def make(**options):
        made.append(Workers(**options))
        return made[-1]

    yield make
    for workers in made:
        workers.close()


def gone(pid, within=5.0):
    """Return whether a process ends in time."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if Path(f"/proc/{pid}/stat").exists() and ") Z" in Path(f"/proc/{pid}/stat").read_text():
            return True
        time.sleep(0.02)
    return False


@needs_engine
class TestEngine:
    @pytest.mark.parametrize("kind", ["pick", "look", "clean", "heat", "cool", "two"])
    def test_the_walkthrough_wins(self, workers, kind):
        game = generate(kind, seed=1, index=2)
        engine = TextWorldEngine(game, workers)
        opening = engine.reset()
        assert opening.startswith(OPENING)
        assert opening.endswith(f"Your task is to: {game.instruction}")
        for command in game.walkthrough:
            assert not engine.won
            assert command in engine.admissible()
            assert engine.step(command) != "Nothing happens."
        assert engine.won
        engine.close()

    def test_commands_are_matched_exactly(self, workers):
        engine = TextWorldEngine(GAME, workers)
        engine.reset()
        assert engine.step("look") == engine.step(" look\n")
        for command in ["Look", "look.", "", "dance", "go to nowhere 1", "x\ny"]:
            assert engine.step(command) == "Nothing happens."
        assert engine.admissible() == sorted(engine.admissible())
        assert "help" in engine.admissible()
        engine.close()

    def test_engines_in_one_child_do_not_mix(self, workers):
        games = [GAME, OTHER, GAME]
        engines = [TextWorldEngine(game, workers) for game in games]

        def play(engine, game):
            return [engine.reset(), *(engine.step(command) for command in game.walkthrough), engine.won]

        alone = [play(engine, game) for engine, game in zip(engines, games, strict=True)]
        with ThreadPoolExecutor(3) as threads:
            together = list(threads.map(play, engines, games))
        assert together == alone
        assert alone[0] == alone[2]
        assert len(workers.pids) == 1
        for engine in engines:
            engine.close()

    def test_the_speed_ups_change_nothing(self, workers, own_workers):
        def play(where):
            engine, seen = TextWorldEngine(OTHER, where), []
            for _ in range(2):
                seen.append((engine.reset(), engine.admissible()))
                seen += [(engine.step(c), engine.won, engine.admissible()) for c in OTHER.walkthrough]
            engine.close()
            return seen

        assert play(workers) == play(own_workers(workers=1, patches=False))

    def test_a_broken_game_is_a_fault_and_the_child_goes_on(self, workers):
        with pytest.raises(EnvironmentFault, match="failed to load"):
            TextWorldEngine(replace(GAME, problem="(define nonsense"), workers)
        engine = TextWorldEngine(GAME, workers)
        assert engine.reset().startswith(OPENING)
        engine.close()

    def test_nothing_of_it_comes_into_this_process(self, workers):
        TextWorldEngine(GAME, workers).close()
        assert not {"alfworld", "textworld", "fast_downward"} & set(sys.modules)


@needs_engine
class TestChildren:
    def test_engines_spread_over_children_and_new_ones_start_only_when_needed(self, own_workers):
        workers = own_workers(workers=2)
        TextWorldEngine(GAME, workers).close()
        TextWorldEngine(GAME, workers)
        assert len(workers.pids) == 1
        TextWorldEngine(OTHER, workers)
        TextWorldEngine(GAME, workers)
        assert len(workers.pids) == 2

    def test_a_killed_child_is_a_fault_and_the_next_engine_gets_another(self, own_workers):
        workers = own_workers(workers=1)
        engine = TextWorldEngine(GAME, workers)
        engine.reset()
        (pid,) = workers.pids
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(EnvironmentFault, match="killed by signal 9"):
            engine.step("look")
        with pytest.raises(EnvironmentFault):
            engine.reset()
        engine.close()
        again = TextWorldEngine(GAME, workers)
        assert again.reset().startswith(OPENING)
        assert workers.pids != [pid]

    def test_a_child_is_replaced_after_enough_games(self, own_workers):
        workers = own_workers(workers=1, recycle=2)
        first, second = TextWorldEngine(GAME, workers), TextWorldEngine(OTHER, workers)
        (old,) = workers.pids
        third = TextWorldEngine(generate("cool", seed=0, index=2), workers)
        assert len(workers.pids) == 2
        first.close()
        assert second.reset().startswith(OPENING)
        second.close()
        assert gone(old)
        assert third.reset().startswith(OPENING)

    def test_closing_ends_the_children(self, own_workers):
        workers = own_workers(workers=1)
        engine = TextWorldEngine(GAME, workers)
        (pid,) = workers.pids
        workers.close()
        workers.close()
        assert gone(pid)
        with pytest.raises(EnvironmentFault, match="closed"):
            engine.reset()
        engine.close()
        assert TextWorldEngine(GAME, workers).reset().startswith(OPENING)

    def test_nothing_is_written_to_the_home_folder(self, own_workers, tmp_path, monkeypatch):
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.delenv("ALFWORLD_DATA", raising=False)
        TextWorldEngine(GAME, own_workers(workers=1)).reset()
        assert list(tmp_path.iterdir()) == []
        assert "ALFWORLD_DATA" not in os.environ

    @pytest.mark.parametrize("how", ["kill", "exit", "fork"])
    def test_children_do_not_outlive_their_parent(self, how):
        script = """
import os, signal, sys, time
from langgraph_reflexion.envs.alfworld.generate import generate
from langgraph_reflexion.envs.alfworld.textworld import TextWorldEngine, Workers
workers = Workers(1)
engine = TextWorldEngine(generate("pick", seed=0, index=0), workers)
engine.reset()
if sys.argv[1] == "fork" and os.fork() == 0:
    assert workers.pids == []
    os.close(1)
    time.sleep(60)
print(workers.pids[0], flush=True)
if sys.argv[1] != "exit":
    os.kill(os.getpid(), signal.SIGKILL)
"""
        command = [sys.executable, "-c", script, how]
        parent = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
        with parent:
            pid = int(parent.stdout.readline())
            parent.wait(10)
            assert gone(pid)
        if how == "fork":
            os.killpg(parent.pid, signal.SIGKILL)


ECHO = """
import sys
from multiprocessing.connection import Connection
connection = Connection(int(sys.argv[1]))
while True:
    try:
        function, arguments = connection.recv()
    except EOFError:
        break
    exec(function)
    connection.send((arguments, ""))
"""


class TestChildProcess:
    @pytest.fixture
    def child(self, tmp_path):
        (tmp_path / "echo.py").write_text(ECHO)
        child = ChildProcess(tmp_path / "echo.py", name="the echo", timeout=3)
        yield child
        child.close()

    def test_it_answers_from_any_thread(self, child):
        with ThreadPoolExecutor(4) as threads:
            assert list(threads.map(lambda n: child.call("pass", n), range(200))) == [(n,) for n in range(200)]

    def test_its_last_output_explains_its_death(self, child):
        with pytest.raises(EnvironmentFault, match=r"\(exit status 3\): a word"):
            child.call("print('a word', flush=True); sys.exit(3)")
        assert not child.alive

    def test_a_child_that_hangs_is_killed(self, child):
        with pytest.raises(EnvironmentFault, match="no answer for 3 s"):
            child.call("import time; time.sleep(60)")
        assert gone(child.pid)
        with pytest.raises(EnvironmentFault):
            child.call("pass")

    def test_closing_ends_a_call(self, child):
        with ThreadPoolExecutor(1) as threads:
            call = threads.submit(child.call, "import time; time.sleep(60)")
            time.sleep(0.5)
            child.close()
            with pytest.raises(EnvironmentFault, match="closed"):
                call.result(5)
        assert gone(child.pid)


def test_without_the_extra_it_says_how_to_get_it():
    script = """
import sys
from importlib.machinery import PathFinder

class WithoutTheExtra(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        hidden = name in ("alfworld", "textworld", "fast_downward")
        return None if hidden else super().find_spec(name, path, target)

sys.meta_path = [WithoutTheExtra if finder is PathFinder else finder for finder in sys.meta_path]
from langgraph_reflexion.envs import load_environment
from langgraph_reflexion.errors import EnvironmentUnavailable
load_environment("alfworld").close()
try:
    load_environment("alfworld", engine="textworld")
except EnvironmentUnavailable as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "pip install 'langgraph-reflexion[alfworld]'" in run.stdout or "Python 3.13" in run.stdout
