"""Many runs at once, and what is left of them."""

import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from langgraph_reflexion.envs.sandbox import Limits, Sandbox, WarmPython, launcher

HERE = Path(__file__).parent
BOMB = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"
WORK = "import os, sys, json\nos.write(3, json.dumps([int(sys.argv[1]) ** 2]).encode())"


def helpers() -> dict[int, str]:
    """The helper processes of everybody, and what runs below them."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            command = (path / "cmdline").read_bytes()
        except OSError:
            continue
        if str(launcher.BOOT).encode() in command or b"bwrap" in command:
            found[int(path.name)] = command.replace(b"\0", b" ").decode(errors="replace")
    return found


def folders() -> set[str]:
    return {path.name for path in Path(tempfile.gettempdir()).glob("langgraph-reflexion-sandbox-*")}


def until(happened: Callable[[], object], seconds: float = 15) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if happened():
            return True
        time.sleep(0.05)
    return False


@pytest.mark.long
def test_sixteen_at_once_with_a_fork_bomb_among_them(sandbox: Sandbox) -> None:
    launcher.shared()
    before, kept, mounts = helpers().keys(), folders(), Path("/proc/mounts").read_text()

    def run(number: int) -> object:
        files = {"main.py": BOMB if number == 5 else WORK}
        limits = Limits(wall=3 if number == 5 else 60, cpu=30, processes=32)
        done = sandbox.run([sys.executable, "main.py", str(number)], files=files, limits=limits)
        return done.status if number == 5 else json.loads(done.result)

    with ThreadPoolExecutor(16) as pool:
        results = list(pool.map(run, range(16)))
    assert results == [[n * n] if n != 5 else "timeout" for n in range(16)]
    assert until(lambda: not helpers().keys() - before), helpers()
    assert until(lambda: folders() <= kept)  # those of other tests' runs may go meanwhile
    assert Path("/proc/mounts").read_text() == mounts


def test_a_killed_agent_leaves_nothing_behind(sandbox: Sandbox) -> None:
    token = uuid.uuid4().hex
    launcher.shared()
    before, kept, mounts = helpers().keys(), folders(), Path("/proc/mounts").read_text()

    def running() -> list[str]:
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes().split(b"\0")
            except OSError:
                continue
            if token.encode() in words or b"91.5" in words:
                found.append(str(path))
        return found

    command = [sys.executable, str(HERE / "left_behind.py"), sandbox.backend, token]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as agent:
        assert agent.stdout is not None
        assert agent.stdout.readline() == b"started\n"
        # The agent, two programs and what each has started in the background.
        assert until(lambda: len(running()) >= 5), running()
        assert helpers().keys() - before
        agent.kill()
    assert until(lambda: not running()), running()
    assert until(lambda: not helpers().keys() - before), helpers()
    assert folders() == kept
    assert Path("/proc/mounts").read_text() == mounts


def test_no_descriptor_is_left_open(sandbox: Sandbox) -> None:
    sandbox.run(["true"])
    before = sorted(os.listdir("/proc/self/fd"))
    for _ in range(3):
        sandbox.run(["cat"], stdin="x", files={"a": "b"}, collect=["a"])
        with WarmPython(sandbox) as warm:
            warm.run("print(1)")
    assert sorted(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("times", [3])
def test_the_background_of_a_run_ends_with_it(sandbox: Sandbox, times: int) -> None:
    for _ in range(times):
        done = sandbox.run(["sh", "-c", "sleep 93.5 & setsid sleep 93.5 & exit 0"])
        assert done.status == "ok"
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                assert b"93.5" not in path.read_bytes().split(b"\0")
            except OSError:
                continue
