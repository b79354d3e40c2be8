"""Runs in rare situations: attached, killed helpers, hostile leftovers, restricted hosts."""

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from langgraph_reflexion.envs.sandbox import Bind, Limits, Policy, Sandbox
from langgraph_reflexion.errors import EnvironmentFault, EnvironmentUnavailable
from langgraph_reflexion.support.sync import to_thread

PYTHON = [sys.executable, "main.py"]


def run(sandbox, source, **options):
    return sandbox.run(PYTHON, files={"main.py": source}, **options)


def test_working_directory_of_the_agent_does_not_matter(sandbox, tmp_path):
    (tmp_path / "gone").mkdir(mode=0o700)
    code = "import os, warnings; warnings.simplefilter('ignore'); os.rmdir(os.getcwd())\n"
    code += "from langgraph_reflexion.envs.sandbox import Sandbox\n"
    code += f"print(Sandbox({sandbox.backend!r}).run(['pwd']).status)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path / "gone", capture_output=True, text=True)
    assert done.stdout == "ok\n", done.stderr


def test_a_run_is_ended_if_its_caller_is_cancelled(sandbox):
    ended = []

    def sleep():
        try:
            sandbox.run(["sleep", "60"], limits=Limits(wall=120))
        except EnvironmentFault as fault:
            ended.append(str(fault))

    async def cancelled():
        running = asyncio.create_task(to_thread(sleep))
        await asyncio.sleep(1)
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running

    began = time.monotonic()
    # It waits for its threads.
    asyncio.run(cancelled())
    assert ended == ["the command was called off"]
    assert time.monotonic() - began < 30


def test_network(sandbox):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        source = f"import socket; socket.create_connection(('127.0.0.1', {port}), 2); print('there')"
        assert run(sandbox, source, policy=Policy(network=True)).text == "there\n"
        assert run(sandbox, source).text == ""
    if sandbox.backend == "bubblewrap":
        own = "import socket\nserver = socket.create_server(('127.0.0.1', 0))\n"
        assert run(sandbox, f"{own}socket.create_connection(server.getsockname()); print('own')").text == "own\n"


def test_sandbox_that_fails_to_start_is_a_fault(sandbox, tmp_path):
    folder = tmp_path / "gone"
    policy = Policy(binds=(Bind(tmp_path),))
    with pytest.raises(EnvironmentFault, match="did not start"):
        sandbox.run(["true"], cwd=folder, policy=policy)


def test_many_files_without_processes_beside_a_bind_at_another_path(bubblewrap, tmp_path):
    (tmp_path / "data").write_text("data")
    files = {f"f{number}": "x" for number in range(200)}
    policy = Policy(fork=False, binds=(Bind(tmp_path, Path("/data")),))
    assert len(bubblewrap.run(["ls", ".", "/data"], files=files, policy=policy).text.split()) == 203


def test_programs_that_are_not_exposed(sandbox, tmp_path):
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho there\n")
    program.chmod(0o755)
    for argv in ([str(program)], ["./program"], ["/usr/bin"], ["/no/such"]):
        assert sandbox.run(argv).status == "failed"
    with pytest.raises(EnvironmentUnavailable):
        sandbox.run(["no-such-program"])
    policy = Policy(binds=(Bind(tmp_path),))
    assert sandbox.run([str(program)], policy=policy).text == "there\n"
    assert sandbox.run(["./program"], policy=policy, cwd=tmp_path).text == "there\n"
    assert sandbox.run(["./program"], files={"program": program.read_bytes()}).text == "there\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes owners")
def test_inherited_streams_keep_their_owner(bubblewrap):
    code = "import os, sys, warnings\nfrom langgraph_reflexion.envs.sandbox import Sandbox\n"
    code += "Sandbox('bubblewrap').run(['echo', 'x'], inherit=True); print(os.fstat(1).st_uid)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "x\n0\n"


def test_folder_of_a_killed_helper_is_removed_by_the_next():
    left = Path(tempfile.gettempdir(), "langgraph-reflexion-sandbox-4194303-x")
    left.mkdir(exist_ok=True)
    (left / "file").touch()
    Sandbox("unsafe-bare-host").run(["true"])
    assert not left.exists()


def test_slow_sampling_stays_frequent(sandbox):
    # 25 processes with many maps each are slow to sample; a burst afterwards must still be seen.
    source = (
        "import mmap, os, time\nheld = [mmap.mmap(-1, 4096, prot=1 + 2 * (n % 2)) for n in range(8000)]\n"
        "for _ in range(25): os.fork() == 0 and (time.sleep(5), os._exit(0))\ntime.sleep(1)\n"
        "x = bytearray(b'y') * (300 << 20)\ntime.sleep(2)\nos.write(3, b'unseen')"
    )
    limits = Limits(memory=256 << 20, processes=40, wall=20, cpu=20)
    done = sandbox.run([sys.executable, "-c", source], limits=limits)
    assert (done.status, done.result) == ("memory", b"")
