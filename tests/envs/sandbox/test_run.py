"""What a run is given, and what comes back."""

import asyncio
import contextlib
import io
import json
import os
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

import pytest

from langgraph_reflexion import ConfigurationError, EnvironmentFault, EnvironmentUnavailable
from langgraph_reflexion.envs.sandbox import Bind, Limits, Policy, Sandbox, checks, launcher
from langgraph_reflexion.envs.sandbox.archive import unpack
from langgraph_reflexion.envs.sandbox.exchange import Capture

PYTHON = [sys.executable, "main.py"]


def run(sandbox, source, **options):
    return sandbox.run(PYTHON, files={"main.py": source}, **options)


def test_streams_are_kept_apart(sandbox):
    source = "import os, sys\nprint(input()); print('no', file=sys.stderr); os.write(3, b'[1]'); sys.exit(7)"
    done = run(sandbox, source, stdin="yes\n")
    assert (done.status, done.exit_code, done.backend) == ("failed", 7, sandbox.backend)
    assert (done.text, done.errors, done.result) == ("yes\n", "no\n", b"[1]")
    assert not done.truncated
    assert 0 < done.seconds < 5


def test_the_program_finds_its_files_and_nothing_of_the_agents_environment(sandbox, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    source = (
        "import os\nprint(sorted(os.listdir('.')), open('data/a b.txt', 'rb').read())\n"
        "print(sorted(set(os.environ) - {'LC_CTYPE', 'PWD', 'SHLVL', '_', 'GIT_CONFIG_NOSYSTEM'}))"
    )
    files = {"main.py": source, "data/a b.txt": b"\xff\0"}
    done = sandbox.run(PYTHON, files=files, policy=Policy(env={"MORE": "1"}))
    assert done.text.splitlines() == [
        r"['data', 'main.py'] b'\xff\x00'",
        "['HOME', 'LANG', 'MORE', 'PATH', 'TMPDIR', 'USER']",
    ]


def test_what_is_compiled_once_runs_many_times(sandbox):
    source = '#include <stdio.h>\nint main(int n, char **a) { printf("%s", a[1]); return 0; }\n'
    built = sandbox.run(
        ["cc", "main.c", "-o", "out/main"], files={"main.c": source, "out/x": ""}, collect=["out", "no"]
    )
    assert built.status == "ok", built.errors
    assert set(built.files) == {"out/main", "out/x"}
    for word in ("one", "two"):
        assert sandbox.run(["./out/main", word], files=built.files).text == word


CHEATS = {
    "leaves early": "import os; os._exit(0)",
    "leaves with success": "raise SystemExit(0)",
    "prints a verdict": "print('[1, 4, 9]'); print('PASSED'); import os; os._exit(0)",
    "writes to every descriptor": "import os\nfor n in range(64):\n    try: os.write(n, b'{\"passed\": true}')\n"
    "    except OSError: pass",
    "is equal to everything": "class A(list):\n    def __eq__(self, other): return True\nimport json, os\n"
    "os.write(3, json.dumps(A()).encode())",
    "looks for the answer": "import gc, os, sys\nfound = [o for o in gc.get_objects() if o == [1, 4, 9]]\n"
    "os.write(3, repr(found).encode())",
    "reads what is there": "import os\nwanted = '[1, 4' + ', 9]'\n"
    "for path in os.listdir():\n    if wanted in open(path).read(): os.write(3, wanted.encode())",
}


def right(done):
    """What who decides does: the program gets inputs, and what comes back is compared here."""
    try:
        answer = json.loads(done.result)
    except ValueError:
        return False
    return done.status == "ok" and type(answer) is list and answer == [1, 4, 9]


def test_a_right_answer_is_right(sandbox):
    source = "import json, os; os.write(3, json.dumps([n * n for n in json.loads(input())]).encode())"
    assert right(run(sandbox, source, stdin="[1, 2, 3]"))
    assert not right(run(sandbox, source, stdin="[1, 2, 4]"))


@pytest.mark.parametrize("cheat", CHEATS)
def test_a_verdict_cannot_be_forged(sandbox, cheat):
    assert not right(run(sandbox, CHEATS[cheat], stdin="[1, 2, 3]"))


def test_a_signal_is_seen_in_the_status(sandbox):
    assert run(sandbox, "import os; os.kill(os.getpid(), 11)").exit_code == 128 + 11


@pytest.mark.parametrize(
    ("source", "status", "limits"),
    [
        ("while True: pass", "timeout", Limits(wall=0.5)),
        ("while True: pass", "cpu", Limits(cpu=0.3)),
        ("x = [bytearray(20 << 20) for _ in range(30)]", "memory", Limits(memory=200 << 20)),
        ("while True: print('x' * 1000)", "output", Limits(output=1024)),
        ("import os\nwhile True: os.write(3, b'x' * 1000)", "output", Limits(result=4096)),
    ],
)
def test_a_limit_is_named(sandbox, source, status, limits):
    done = run(sandbox, source, limits=limits)
    assert done.status == status
    assert done.result == b""
    assert len(done.stdout) < 2000


def test_much_output_keeps_its_beginning_and_its_end(sandbox):
    done = run(sandbox, "for n in range(5000): print(n)", limits=Limits(output=1000))
    assert done.status == "ok"
    assert done.truncated
    assert done.text.startswith("0\n1\n")
    assert done.text.endswith("4998\n4999\n")
    assert "bytes left out" in done.text


def test_a_run_that_may_not_fork_may_still_have_threads(sandbox):
    source = (
        "import os, threading\nthread = threading.Thread(target=print, args=('thread',))\n"
        "thread.start(); thread.join()\n"
        "try: os.fork()\nexcept OSError as error: print(error.strerror)"
    )
    done = run(sandbox, source, policy=Policy(fork=False))
    assert done.text == "thread\nOperation not permitted\n"


def test_a_workspace_is_worked_in_at_its_own_path(sandbox, tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "old.txt").write_text("old")
    before = (tmp_path / "src" / "old.txt").stat()
    source = (
        "import os; print(os.getcwd()); open('src/new.txt', 'w').write('new'); open('src/old.txt', 'a').write('er')"
    )
    policy = Policy(binds=(Bind(tmp_path, writable=True),))
    done = sandbox.run([sys.executable, "-c", source], cwd=tmp_path, policy=policy)
    assert (done.text, done.errors) == (f"{tmp_path}\n", "")
    assert (tmp_path / "src" / "old.txt").read_text() == "older"
    assert (tmp_path / "src" / "new.txt").read_text() == "new"
    # What belonged to the agent's user does so still, and so does what is new.
    assert (
        (tmp_path / "src" / "new.txt").stat().st_uid == before.st_uid == (tmp_path / "src" / "old.txt").stat().st_uid
    )


def test_a_link_in_a_workspace_does_not_lead_the_files_of_a_run_astray(sandbox, tmp_path):
    (tmp_path / "outside").write_text("mine")
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "main.py").symlink_to(tmp_path / "outside")
    policy = Policy(binds=(Bind(tmp_path / "work", writable=True),))
    with contextlib.suppress(EnvironmentFault):
        sandbox.run(PYTHON, files={"main.py": "theirs"}, cwd=tmp_path / "work", policy=policy)
    assert (tmp_path / "outside").read_text() == "mine"


def test_it_does_not_matter_where_the_agent_stands(sandbox, tmp_path):
    (tmp_path / "gone").mkdir(mode=0o700)
    code = "import os, warnings; warnings.simplefilter('ignore'); os.rmdir(os.getcwd())\n"
    code += "from langgraph_reflexion.envs.sandbox import Sandbox\n"
    code += f"print(Sandbox({sandbox.backend!r}).run(['pwd']).status)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path / "gone", capture_output=True, text=True)
    assert done.stdout == "ok\n", done.stderr


def test_what_a_killed_helper_has_left_is_cleared_away_by_the_next():
    left = Path(tempfile.gettempdir(), "langgraph-reflexion-sandbox-4194303-x")
    left.mkdir(exist_ok=True)
    (left / "file").touch()
    Sandbox("unsafe-bare-host").run(["true"])
    assert not left.exists()


def test_a_bind_that_is_not_writable_is_not_written_to(sandbox, tmp_path):
    (tmp_path / "data").write_text("data")
    source = f"print(open({str(tmp_path / 'data')!r}).read()); open({str(tmp_path / 'data')!r}, 'w')"
    done = run(sandbox, source, policy=Policy(binds=(Bind(tmp_path),)))
    assert done.text == "data\n"
    assert "Error" in done.errors
    assert (tmp_path / "data").read_text() == "data"


def test_a_bind_may_be_elsewhere_inside(bubblewrap, tmp_path):
    (tmp_path / "data").write_text("data")
    policy = Policy(binds=(Bind(tmp_path, Path("/data")),))
    assert bubblewrap.run(["cat", "/data/data"], policy=policy).text == "data"


def test_the_network_is_there_when_it_is_allowed(sandbox):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        source = f"import socket; socket.create_connection(('127.0.0.1', {port}), 2); print('there')"
        assert run(sandbox, source, policy=Policy(network=True)).text == "there\n"
        assert run(sandbox, source).text == ""


def test_a_program_has_a_loopback_of_its_own(bubblewrap):
    source = (
        "import socket\nserver = socket.create_server(('127.0.0.1', 0))\n"
        "socket.create_connection(server.getsockname()); print('there')"
    )
    assert run(bubblewrap, source).text == "there\n"


@pytest.mark.parametrize(
    ("argv", "options", "error", "words"),
    [
        ([], {}, ConfigurationError, "a command"),
        (["no-such-program"], {}, EnvironmentUnavailable, "no-such-program: no such program"),
        (["true"], {"files": {"../x": ""}}, ConfigurationError, "within the working directory"),
        (["true"], {"files": {"/x": ""}}, ConfigurationError, "within the working directory"),
        (["true"], {"collect": ["../x"]}, ConfigurationError, "within the working directory"),
        (["true"], {"collect": ["x"], "policy": Policy(fork=False)}, ConfigurationError, "may start processes"),
        (["true"], {"policy": Policy(binds=(Bind(Path("/no/such")),))}, ConfigurationError, "does not exist"),
        (
            ["true"],
            {"policy": Policy(binds=(Bind(Path("/tmp"), Path("/usr/x")),))},
            ConfigurationError,
            "for its own",
        ),
    ],
)
def test_what_is_wrong_is_said_before_anything_runs(sandbox, argv, options, error, words):
    with pytest.raises(error, match=words):
        sandbox.run(argv, **options)


@pytest.fixture
def no_folder(monkeypatch):
    """Where a run begins is gone by the time that it does."""
    monkeypatch.setattr(checks.Inside, "folder", lambda self, cwd: str(cwd))
    return Path("/no/such/folder")


def test_a_sandbox_that_does_not_start_is_a_fault(sandbox, no_folder):
    with pytest.raises(EnvironmentFault, match="did not start"):
        sandbox.run(["true"], cwd=no_folder)


def test_a_helper_that_was_killed_is_a_fault_once(sandbox):
    assert sandbox.run(["true"]).status == "ok"
    helper = launcher.shared()
    helper._process.kill()
    helper._process.wait()
    with pytest.raises(EnvironmentFault):
        sandbox.run(["true"])
    assert sandbox.run(["true"]).status == "ok"


def test_a_forked_agent_has_a_helper_of_its_own(sandbox):
    assert sandbox.run(["true"]).status == "ok"
    child = os.fork()
    if child == 0:
        os._exit(0 if sandbox.run(["echo", "x"]).text == "x\n" else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert sandbox.run(["true"]).status == "ok"


async def test_a_cancelled_task_ends_its_run(sandbox):
    assert (await sandbox.arun(["echo", "x"])).text == "x\n"
    task = asyncio.create_task(sandbox.arun(["sleep", "77.25"], limits=Limits(wall=60)))
    await asyncio.sleep(0.4)
    task.cancel()
    begin = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - begin < 5
    for _ in range(50):
        if not running("77.25"):
            break
        await asyncio.sleep(0.05)
    assert not running("77.25")


def running(word):
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if word.encode() in path.read_bytes().split(b"\0"):
                found.append(path)
        except OSError:
            continue
    return found


def test_an_attached_command_talks_to_the_caller(sandbox):
    with sandbox.attach(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.communicate("hello", timeout=20)[0] == "hello"
    assert process.returncode == 0


def test_an_attached_command_ends_when_it_is_killed(sandbox):
    process = sandbox.attach(["sh", "-c", "echo x; sleep 78.25"], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"x\n"
    process.kill()
    process.wait()
    process.stdout.close()
    for _ in range(60):
        if not running("78.25"):
            break
        time.sleep(0.05)
    assert not running("78.25")


def test_an_attached_command_that_cannot_start_says_so(sandbox, no_folder):
    process = sandbox.attach(["true"], cwd=no_folder, stderr=subprocess.PIPE)
    assert b"sandbox: " in process.communicate(timeout=30)[1]
    assert process.returncode == 125


def test_a_capture_keeps_both_ends():
    capture = Capture(10, 100)
    for number in range(30):
        capture.take(b"%d" % (number % 10))
    assert capture.kept == b"01234\n[... 20 bytes left out ...]\n56789"
    assert capture.truncated
    assert not capture.flooded


@pytest.mark.parametrize("name", ["../up", "/etc/up", "link", "other", "folder/../../up"])
def test_an_archive_gives_nothing_that_was_not_asked_for(name):
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as writer:
        info = tarfile.TarInfo(name)
        if name == "link":
            info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        else:
            info.size = 3
        writer.addfile(info, io.BytesIO(b"abc"))
    assert unpack(archive.getvalue(), ["link", "folder"]) == {}
    assert unpack(b"no archive" * 100, ["a"]) == {}
