import socket
import sys
from pathlib import Path

import pytest

from langgraph_reflexion import ConfigurationError
from langgraph_reflexion.envs.sandbox import Bind, Limits, Policy
from langgraph_reflexion.errors import EnvironmentUnavailable

PYTHON = [sys.executable, "main.py"]


def run(sandbox, source, **options):
    return sandbox.run(PYTHON, files={"main.py": source}, **options)


@pytest.mark.slow
def test_streams_are_separate(sandbox):
    source = "import os, sys\nprint(input()); print('no', file=sys.stderr); os.write(3, b'[1]'); sys.exit(7)"
    done = run(sandbox, source, stdin="yes\n")
    assert (done.status, done.exit_code) == ("failed", 7)
    assert (done.text, done.errors, done.result) == ("yes\n", "no\n", b"[1]")
    assert 0 < done.seconds < 5
    assert run(sandbox, "import os; os.kill(os.getpid(), 11)").exit_code == 128 + 11


def test_files_and_environment(sandbox, monkeypatch):
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


def test_collected_files_can_be_passed_to_the_next_run(sandbox):
    source = "import os; os.mkdir('out'); open('out/a', 'w').write('hi'); os.link('out/a', 'b')"
    done = run(sandbox, source, collect=["out", "b", "missing"])
    unpack = ["sh", "-c", "tar -xf made.tar; ls; cat b out/a"]
    assert sandbox.run(unpack, files={"made.tar": done.collected}).text == "b\nmade.tar\nout\nhihi"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "status", "limits"),
    [
        ("while True: pass", "timeout", Limits(wall=0.5)),
        ("x = [bytearray(20 << 20) for _ in range(30)]", "memory", Limits(memory=200 << 20)),
        ("while True: print('x' * 1000)", "output", Limits(output=1024)),
    ],
)
def test_exceeded_limit_is_the_status(sandbox, source, status, limits):
    done = run(sandbox, source, limits=limits)
    assert done.status == status
    assert len(done.stdout) < 2000


def test_writable_folder_keeps_its_owner(sandbox, tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    policy = Policy(binds=(Bind(work, writable=True),))
    done = sandbox.run([sys.executable, "-c", "open('new', 'w'); print(1)"], cwd=work, policy=policy)
    assert (done.text, done.errors) == ("1\n", "")
    assert (work / "new").stat().st_uid == work.stat().st_uid


def test_policy_is_enforced(sandbox, tmp_path):
    secret, bound = tmp_path / "secret", tmp_path / "bound"
    secret.write_text("x")
    bound.write_text("data")
    escapes = [
        f"print(open({str(secret)!r}).read())",
        "import subprocess; print(subprocess.run(['true']).returncode)",
        "import socket; socket.create_connection(('127.0.0.1', 9), 1); print('connected')",
        f"open({str(bound)!r}, 'w'); print('written')",
    ]
    source = "".join(f"try:\n    {code}\nexcept OSError: pass\n" for code in escapes)
    source += f"print(open({str(bound)!r}).read())\n"
    source += "import threading; thread = threading.Thread(target=print, args=('thread',)); thread.start()\n"
    assert run(sandbox, source, policy=Policy(fork=False, binds=(Bind(bound),))).text == "data\nthread\n"


@pytest.mark.parametrize(
    ("argv", "options", "error"),
    [
        (["no-such-program"], {}, EnvironmentUnavailable),
        (["true"], {"files": {"../x": ""}}, ConfigurationError),
        (["true"], {"collect": ["x"], "policy": Policy(fork=False)}, ConfigurationError),
        (["true"], {"files": {"x": ""}, "cwd": Path("/usr")}, ConfigurationError),
        (["true"], {"files": {str(number): "" for number in range(201)}}, ConfigurationError),
    ],
)
def test_invalid_requests_are_refused(sandbox, argv, options, error):
    with pytest.raises(error):
        sandbox.run(argv, **options)


def test_program_talks_over_a_socket(sandbox):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(b"in")
        run(sandbox, "import os; os.write(0, os.read(0, 9) + b' out')", stdin=theirs.fileno())
        assert ours.recv(9) == b"in out"
