"""Which backend is chosen, and what is said where none can be."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import columns
import pytest

from langgraph_reflexion import ConfigurationError, EnvironmentUnavailable
from langgraph_reflexion.envs.sandbox import BACKENDS, Sandbox, launcher, probe

OFF = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
NO_NAMESPACES = ["unshare", "--user", "--map-root-user", "sh", "-c", OFF, "sh"]


def crippled(what: str) -> dict:
    """What an agent without user namespaces comes to."""
    tried = subprocess.run([*NO_NAMESPACES, "true"], capture_output=True, text=True)
    if tried.returncode != 0:
        pytest.skip(f"user namespaces cannot be switched off here: {tried.stderr}")
    command = [*NO_NAMESPACES, sys.executable, str(columns.HERE / "crippled.py"), what]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def command_line(*words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "langgraph_reflexion", "sandbox", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_bubblewrap_is_the_default() -> None:
    columns.needs("bubblewrap")
    assert Sandbox().backend == "bubblewrap"


def test_landlock_stands_in_where_user_namespaces_are_off() -> None:
    columns.needs("landlock")
    report = crippled("nothing")
    assert report["backend"] == "landlock"
    assert report["text"] == "42\n"
    assert len(report["warnings"]) == 1
    assert "weaker than bubblewrap" in report["warnings"][0]
    if shutil.which("bwrap"):
        assert "bwrap: " in report["bubblewrap"]
    assert "too weak" in report["refused"]
    assert "allow_degraded=True" in report["refused"]
    assert report["told"] == ["ok", ["file"]]


def test_where_none_works_each_says_why_and_what_to_do() -> None:
    error = crippled("landlock")["error"]
    assert error.startswith("no sandbox works here. bubblewrap: ")
    assert "apt install bubblewrap" in error
    assert "landlock_create_ruleset: Function not implemented" in error
    assert "use a kernel with Landlock" in error
    assert "unsafe" not in error


def test_what_is_asked_for_by_name_is_used_or_fails() -> None:
    with pytest.raises(ConfigurationError, match="choose one of bubblewrap, landlock"):
        Sandbox("chroot")
    for name in ("docker", "podman"):
        if not probe(name).works:
            with pytest.raises(EnvironmentUnavailable, match=f"{name}: "):
                Sandbox(name)


def test_the_bare_host_has_an_ugly_name_and_is_never_chosen() -> None:
    assert [name for name, backend in BACKENDS.items() if backend.automatic] == ["bubblewrap", "landlock"]
    assert Sandbox("unsafe-bare-host").run(["echo", "x"]).text == "x\n"


def test_the_helper_imports_the_standard_library_only() -> None:
    listing = (
        "import sys; sys.argv = ['boot']; sys.path.insert(0, sys.argv[0])\n"
        "import importlib.util\n"
        f"spec = importlib.util.spec_from_file_location('boot', {str(launcher.BOOT)!r})\n"
        "boot = importlib.util.module_from_spec(spec); spec.loader.exec_module(boot); boot.load('serve')\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules} - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", listing], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {"boot", "langgraph_reflexion", "__main__", "__mp_main__"}
    assert {path.name for path in launcher.PACKAGE.glob("*.py")} >= {"boot.py", "keep.py", "serve.py"}


def test_the_command_prints_what_each_probe_said() -> None:
    done = command_line("--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert set(rows) == set(BACKENDS)
    for name, row in rows.items():
        assert row["works"] == probe(name).works
        assert row["probe"]
        assert row["contains"] == BACKENDS[name].contains
    words = command_line().stdout
    assert all(f"{name}: " in words for name in BACKENDS)


@pytest.mark.long
def test_the_command_runs_a_command(tmp_path: Path) -> None:
    columns.needs("bubblewrap")
    assert command_line("exec", "--", "echo", "x").stdout == "x\n"
    assert command_line("exec", "--", "sh", "-c", "exit 7").returncode == 7
    late = command_line("exec", "--wall", "0.3", "--", "sleep", "9")
    assert (late.returncode, late.stderr) == (124, "langgraph-reflexion: ended by the sandbox: timeout\n")
    wrong = command_line("exec", "--backend", "chroot", "--", "true")
    assert (wrong.returncode, len(wrong.stderr.splitlines())) == (2, 1)
    (tmp_path / "old").write_text("old")
    assert command_line("exec", "--workspace", str(tmp_path), "--", "sh", "-c", "cat old > new").returncode == 0
    assert (tmp_path / "new").read_text() == "old"
