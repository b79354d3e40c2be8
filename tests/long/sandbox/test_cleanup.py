import json
import os
import subprocess
import sys
import tempfile
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from langgraph_reflexion.envs.sandbox import Limits, client
from langgraph_reflexion.envs.sandbox.helper import staging
from langgraph_reflexion.errors import EnvironmentFault
from tests.support.processes import until
from tests.support.sandbox.columns import make

BOMB = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"
WORK = "import os, sys, json\nos.write(3, json.dumps([int(sys.argv[1]) ** 2]).encode())"
DEEP = "import os\nfor n in range(3000): os.mkdir('d'); os.chdir('d')\nos.chmod('.', 0)"
SHUT = """
import os
os.makedirs('d/e'); open('d/f', 'w').close(); os.symlink('/usr', 'd/l'); os.chmod('d/e', 0); os.chmod('d', 0)
"""
FORKS = "open('f', 'w').write('x')\nif os.fork() == 0: os.setsid(); os.execvp('sleep', ['sleep', '91.5'])\n"
AGENT = f"""
import sys, threading, warnings
from langgraph_reflexion.envs.sandbox import Limits, Sandbox
warnings.simplefilter("ignore")
sandbox, files = Sandbox(sys.argv[1]), {{"main.py": {f"import os, time{chr(10)}{FORKS}time.sleep(100)"!r}}}
for _ in range(2):
    run = lambda: sandbox.run([sys.executable, "main.py", sys.argv[2]], files=files, limits=Limits(wall=100))
    threading.Thread(target=run, daemon=True).start()
print("started", flush=True)
threading.Event().wait()
"""
"""An agent that runs two programs, each with a background process, until it is killed."""


def commands():
    """Return the command line of every process."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            found[int(path.name)] = (path / "cmdline").read_bytes()
        except OSError:
            continue
    return found


def helpers():
    return {pid for pid, line in commands().items() if str(client.BOOT).encode() in line or b"bwrap" in line}


def folders():
    return {path.name for path in Path(tempfile.gettempdir()).glob(f"{staging.PREFIX}*")}


@contextmanager
def nothing_left():
    before, kept, mounts = helpers(), folders(), Path("/proc/mounts").read_text()
    yield
    assert until(lambda: not helpers() - before)
    assert until(lambda: folders() <= kept)  # other tests' folders may be removed meanwhile
    assert Path("/proc/mounts").read_text() == mounts


def test_sixteen_concurrent_runs_with_a_fork_bomb(sandbox):
    def run(number):
        files = {"main.py": BOMB if number == 5 else WORK}
        limits = Limits(wall=3 if number == 5 else 60, cpu=30, processes=32)
        done = sandbox.run([sys.executable, "main.py", str(number)], files=files, limits=limits)
        return done.status if number == 5 else json.loads(done.result)

    with nothing_left(), ThreadPoolExecutor(16) as pool:
        results = list(pool.map(run, range(16)))
    assert results == [[n * n] if n != 5 else "timeout" for n in range(16)]


def test_killed_agent_leaves_nothing_behind(sandbox):
    token = uuid.uuid4().hex

    def running():
        words = {pid: line.split(b"\0") for pid, line in commands().items()}
        return [pid for pid, line in words.items() if token.encode() in line or b"91.5" in line]

    command = [sys.executable, "-c", AGENT, sandbox.backend, token]
    with nothing_left():
        with subprocess.Popen(command, stdout=subprocess.PIPE) as agent:
            assert agent.stdout.readline() == b"started\n"
            # The agent, and two programs with their background processes.
            assert until(lambda: len(running()) >= 5), running()
            agent.kill()
        assert until(lambda: not running()), running()


def test_no_descriptor_stays_open(sandbox):
    sandbox.run(["true"])
    before = sorted(os.listdir("/proc/self/fd"))
    for _ in range(3):
        sandbox.run(["cat"], stdin="x", files={"a": "b"}, collect=["a"])
    assert sorted(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("source", [DEEP, SHUT], ids=["deep", "shut"])
def test_folder_is_removed_whatever_it_contains(source):
    source = "import os; print(os.environ['HOME'], flush=True)\n" + source
    done = make("landlock").run([sys.executable, "-c", source], limits=Limits(wall=20))
    assert done.status == "ok"
    folder = Path(done.text.strip()).parent
    assert folder.name.startswith(staging.PREFIX)
    assert until(lambda: not folder.exists())  # perhaps in the background


def test_program_that_cannot_be_started():
    with pytest.raises(EnvironmentFault, match="too long"):
        make("landlock").run(["true", *["x" * 100_000] * 80])
