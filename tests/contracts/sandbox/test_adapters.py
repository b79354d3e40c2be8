"""The sandbox in LangChain's shell and behind deepagents' backend protocol."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from langgraph_reflexion.envs.sandbox import Sandbox

pytestmark = pytest.mark.needs("bubblewrap")


@pytest.fixture
def session(tmp_path):
    from langchain.agents.middleware.shell_tool import ShellSession

    from langgraph_reflexion.adapters.langchain import SandboxExecutionPolicy

    session = ShellSession(tmp_path, SandboxExecutionPolicy(Sandbox("bubblewrap")), ("/bin/sh",), {"MORE": "1"})
    session.start()
    process = session._process
    yield session
    session.stop(5)
    # LangChain leaves these open.
    for stream in (process.stdout, process.stderr):
        stream.close()


def test_langchain_shell_keeps_its_state_and_workspace(session, tmp_path):
    first = session.execute("x=42; echo $MORE > file; pwd", timeout=20)
    assert (first.output.strip(), first.exit_code) == (str(tmp_path), 0)
    assert session.execute("echo $x; exit_code=3; (exit $exit_code)", timeout=20).output.startswith("42")
    assert (tmp_path / "file").read_text() == "1\n"


def test_langchain_shell_sees_only_its_workspace(session, tmp_path):
    (tmp_path.parent / "secret").write_text("secret")
    assert session.execute(f"cat {tmp_path.parent}/secret", timeout=20).exit_code == 1
    assert "No such file" in session.execute("ls /home/* /var 2>&1", timeout=20).output


def test_langchain_shell_ends_when_stopped(session):
    process = session._process
    session.execute("sleep 95.25 &", timeout=20)
    session.stop(5)
    assert process.poll() is not None
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            assert path.read_bytes() != b"sleep\x0095.25\0"


@pytest.mark.parametrize("limit", ["cpu_time_seconds", "memory_bytes"])
def test_langchain_limits_are_refused_rather_than_ignored(limit):
    from langgraph_reflexion import ConfigurationError
    from langgraph_reflexion.adapters.langchain import SandboxExecutionPolicy

    with pytest.raises(ConfigurationError, match="set limits=Limits"):
        SandboxExecutionPolicy(Sandbox("bubblewrap"), **{limit: 5})


@pytest.fixture
def backend(tmp_path):
    pytest.importorskip(
        "deepagents", reason="deepagents is not installed: pip install 'langgraph-reflexion[deepagents]'"
    )
    from langgraph_reflexion.adapters.deepagents import DeepagentsSandbox

    return DeepagentsSandbox(tmp_path / "work", Sandbox("bubblewrap"))


def test_deepagents_files_and_commands(backend, tmp_path):
    place = f"{tmp_path}/work"
    answers = backend.upload_files([(f"{place}/a/b.txt", b"one\ntwo\n"), ("/usr/no", b"x")])
    assert [answer.error for answer in answers] == [None, "permission_denied"]
    done = backend.execute("cat a/b.txt; echo err >&2; exit 3")
    assert (done.output, done.exit_code, done.truncated) == ("one\ntwo\nerr\n", 3, False)
    assert (tmp_path / "work" / "a" / "b.txt").read_bytes() == b"one\ntwo\n"
    got = backend.download_files([f"{place}/a/b.txt", f"{place}/a", f"{place}/no"])
    assert [(each.content, each.error) for each in got] == [
        (b"one\ntwo\n", None),
        (None, "is_directory"),
        (None, "file_not_found"),
    ]
    assert backend.id


def test_deepagents_operations_work(backend, tmp_path):
    place = f"{tmp_path}/work"
    assert backend.write(f"{place}/x.py", "value = 1\n").error is None
    assert backend.edit(f"{place}/x.py", "1", "2").error is None
    assert "value = 2" in str(backend.read(f"{place}/x.py"))
    assert "x.py" in str(backend.ls(place))
    assert "x.py" in str(backend.grep("value", place))


def test_links_created_by_an_agent_are_not_followed(backend, tmp_path):
    (tmp_path / "outside").write_text("secret")
    place = f"{tmp_path}/work"
    backend.execute(f"ln -s {tmp_path}/outside link; ln -s {tmp_path} up")
    assert backend.download_files([f"{place}/link"])[0].content is None
    assert backend.upload_files([(f"{place}/up/planted", b"x")])[
        0
    ].error == "permission_denied" or not os.path.exists(tmp_path / "planted")
    assert (tmp_path / "outside").read_text() == "secret"


def test_invalid_deepagents_requests_return_errors(backend):
    assert "a NUL" in backend.execute("echo a\0b").output
    assert backend.execute("echo x", timeout=0).output == "x\n"
    assert backend.upload_files([("a\0b", b"x")])[0].error == "invalid_path"
    assert backend.download_files(["a\0b"])[0].error == "invalid_path"


def test_error_without_deepagents_names_the_extra():
    code = (
        "import sys, json; sys.modules['deepagents'] = None\n"
        "from langgraph_reflexion import EnvironmentUnavailable\n"
        "try: import langgraph_reflexion.adapters.deepagents\n"
        "except EnvironmentUnavailable as error: print(json.dumps(str(error)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout).startswith("deepagents is missing; it comes with the extra deepagents: pip ")
