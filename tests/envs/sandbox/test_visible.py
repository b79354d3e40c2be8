"""Programs found on PATH are there inside, with what they belong to, and nothing else of where they lie."""

import os
import shutil
import subprocess
import sys
import tempfile
import venv
import warnings
from collections.abc import Iterator
from pathlib import Path

import columns
import pytest

from langgraph_reflexion.envs.sandbox import Sandbox, WarmPython
from langgraph_reflexion.envs.sandbox.visible import SYSTEM, _private, visible


@pytest.fixture(params=["temporary", "home"])
def folder(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A folder that only its owner may enter, below a temporary directory and below the home directory."""
    where = None if request.param == "temporary" else Path.home()
    made = Path(tempfile.mkdtemp(prefix="sandbox-visible-", dir=where))
    yield made
    shutil.rmtree(made)


def executable(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def test_a_virtual_environment_works_wherever_it_lies(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "private.txt").write_text("secret")
    venv.create(folder / "venv", symlinks=True)
    packages = folder / "venv" / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    (packages / "wonderful.py").write_text("VALUE = 42\n")
    executable(
        folder / "venv" / "bin" / "tool", f"#!{folder}/venv/bin/python\nimport wonderful\nprint(wonderful.VALUE)\n"
    )
    path = f"{folder / 'venv' / 'bin'}{os.pathsep}/usr/bin"
    for backend in ("bubblewrap", "landlock"):
        sandbox = _made(backend, path)
        assert sandbox.run(["python", "-c", "import wonderful; print(wonderful.VALUE)"]).text == "42\n"
        assert sandbox.run(["tool"]).text == "42\n"
        seen = sandbox.run(["python", "-c", f"open({str(folder / 'private.txt')!r})"])
        assert seen.errors.strip().endswith(f"{str(folder / 'private.txt')!r}")
        assert "Error" in seen.errors
        changed = sandbox.run(["python", "-c", f"open({str(packages / 'wonderful.py')!r}, 'w')"])
        assert changed.status == "failed"


def _made(backend: str, path: str) -> Sandbox:
    columns.needs(backend)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Sandbox(backend, path=path)


def test_a_program_behind_a_link_is_shown_with_its_installation(folder: Path) -> None:
    executable(
        folder / "apps" / "thing" / "bin" / "thing", '#!/bin/sh\ncat "$(dirname "$(readlink -f "$0")")/../lib/data"\n'
    )
    (folder / "apps" / "thing" / "lib").mkdir()
    (folder / "apps" / "thing" / "lib" / "data").write_text("found")
    (folder / "links").mkdir()
    (folder / "links" / "thing").symlink_to(folder / "apps" / "thing" / "bin" / "thing")
    (folder / "apps" / "other").mkdir()
    assert _made("bubblewrap", str(folder / "links")).run(["thing"]).text == "found"
    shown = visible(str(folder / "links")).paths
    assert str(folder / "apps" / "thing") in shown
    assert str(folder / "apps") not in shown


@pytest.mark.parametrize(
    ("inside", "beside"),
    [
        *((".local/bin", "lib"), (".cargo/bin", "lib"), ("bin", "lib")),
        *(("bin", "pyvenv.cfg"), (".local/bin", ".local/pyvenv.cfg"), ("shims", "versions/3.11")),
    ],
)
def test_of_a_home_only_the_programs_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: str, beside: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    visible.__globals__["_homes"].cache_clear()
    visible.__globals__["_visible"].cache_clear()
    (tmp_path / "lib").mkdir()
    (tmp_path / inside).parent.mkdir(exist_ok=True)
    (tmp_path / inside).parent.joinpath("lib").mkdir(exist_ok=True)
    executable(tmp_path / inside / "mine", "#!/bin/sh\necho mine\n")
    (tmp_path / beside).parent.mkdir(exist_ok=True)
    (tmp_path / beside).touch()
    shown = visible(str(tmp_path / inside)).paths
    visible.__globals__["_homes"].cache_clear()
    assert str(tmp_path / inside) in shown
    assert not {str(tmp_path), str((tmp_path / inside).parent)} & set(shown)


def test_an_environment_made_in_a_home_works_and_shows_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    visible.__globals__["_homes"].cache_clear()
    venv.create(tmp_path, symlinks=True)
    (tmp_path / "private.txt").write_text("secret")
    packages = tmp_path / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    (packages / "wonderful.py").write_text("VALUE = 42\n")
    sandbox = _made("bubblewrap", f"{tmp_path / 'bin'}{os.pathsep}/usr/bin")
    code = f"import wonderful, os; print(wonderful.VALUE, os.path.exists({str(tmp_path / 'private.txt')!r}))"
    done = sandbox.run(["python", "-c", code])
    visible.__globals__["_homes"].cache_clear()
    assert (done.text, done.errors) == ("42 False\n", "")


@pytest.mark.parametrize("path", ["/tmp", "/", "relative", "/no/such/folder", "", ":::"])
def test_a_path_that_is_no_place_for_programs_shows_nothing(path: str) -> None:
    theirs = visible(path)
    assert theirs.paths == visible("/usr/bin").paths
    assert "/tmp" not in theirs.paths
    assert "/" not in theirs.paths


def test_a_link_on_path_shows_the_file_behind_it_and_not_what_lies_beside(tmp_path: Path) -> None:
    executable(tmp_path / "notes" / "tool.sh", "#!/bin/sh\necho tool\n")
    (tmp_path / "notes" / "secret").write_text("secret")
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "tool").symlink_to(tmp_path / "notes" / "tool.sh")
    shown = visible(str(tmp_path / "path")).paths
    assert str(tmp_path / "notes" / "tool.sh") in shown
    assert not {str(tmp_path), str(tmp_path / "notes"), str(tmp_path / "notes" / "secret")} & set(shown)
    done = _made("bubblewrap", f"{tmp_path / 'path'}:/usr/bin").run(["tool"])
    assert (done.text, done.errors) == ("tool\n", "")


@pytest.mark.parametrize(("folder", "private"), [("/home/nobody-here", True), ("/home/nobody-here/bin", False)])
def test_every_folder_in_home_is_somebodys_home(folder: str, private: bool) -> None:
    assert _private(folder) is private


def test_of_the_system_there_are_only_programs() -> None:
    shown = visible("/usr/bin").paths
    system = [path for path in shown if path in SYSTEM or path.startswith("/etc/")]
    assert "/usr" in system
    assert not {"/etc", "/etc/passwd", "/etc/ssl", "/var", "/home", "/root", "/opt", "/run"} & set(shown)


def test_what_runs_this_is_inside_too(sandbox: Sandbox) -> None:
    done = sandbox.run([sys.executable, "-c", "import pytest, sys; print(sys.prefix)"])
    assert done.text == f"{sys.prefix}\n"
    with WarmPython(sandbox) as warm:
        assert warm.run("import pytest, sys; print(sys.prefix)").text == f"{sys.prefix}\n"
    assert subprocess.run(["true"], check=True).returncode == 0
