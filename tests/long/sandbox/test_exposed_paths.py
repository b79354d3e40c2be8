"""Programs on PATH work inside with their installations, and nothing next to them is exposed."""

import os
import shutil
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from langgraph_reflexion.envs.sandbox import Sandbox
from langgraph_reflexion.envs.sandbox.exposed_paths import exposed_paths
from tests.support.sandbox.columns import make


@pytest.fixture(params=["temporary", "home"])
def folder(request: pytest.FixtureRequest) -> Iterator[Path]:
    """Create a private folder below a temporary directory and below the home directory."""
    where = None if request.param == "temporary" else Path.home()
    made = Path(tempfile.mkdtemp(prefix="sandbox-visible-", dir=where))
    yield made
    shutil.rmtree(made)


def executable(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def test_virtual_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "private.txt").write_text("secret")
    venv.create(folder / "venv", symlinks=True)
    (folder / "venv" / "pip.conf").write_text("secret")
    packages = folder / "venv" / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    (packages / "wonderful.py").write_text("VALUE = 42\n")
    executable(
        folder / "venv" / "bin" / "tool", f"#!{folder}/venv/bin/python\nimport wonderful\nprint(wonderful.VALUE)\n"
    )
    monkeypatch.setenv("PATH", f"{folder / 'venv' / 'bin'}{os.pathsep}/usr/bin")
    for backend in ("bubblewrap", "landlock"):
        sandbox = make(backend)
        assert sandbox.run(["python", "-c", "import wonderful; print(wonderful.VALUE)"]).text == "42\n"
        assert sandbox.run(["tool"]).text == "42\n"
        for private in (folder / "private.txt", folder / "venv" / "pip.conf"):
            assert "Error" in sandbox.run(["python", "-c", f"open({str(private)!r})"]).errors
        changed = sandbox.run(["python", "-c", f"open({str(packages / 'wonderful.py')!r}, 'w')"])
        assert changed.status == "failed"


def test_link_to_a_program_exposes_its_installation(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executable(
        folder / "apps" / "thing" / "bin" / "thing", '#!/bin/sh\ncat "$(dirname "$(readlink -f "$0")")/../lib/data"\n'
    )
    (folder / "apps" / "thing" / "lib").mkdir()
    (folder / "apps" / "thing" / "lib" / "data").write_text("found")
    (folder / "links").mkdir()
    (folder / "links" / "thing").symlink_to(folder / "apps" / "thing" / "bin" / "thing")
    monkeypatch.setenv("PATH", f"{folder / 'links'}:/usr/bin")
    assert make("bubblewrap").run(["thing"]).text == "found"
    shown = exposed_paths(str(folder / "links")).paths
    assert {str(folder / "apps" / "thing" / name) for name in ("bin", "lib")} <= set(shown)
    assert not {str(folder / "apps"), str(folder / "apps" / "thing")} & set(shown)


def test_link_on_path_exposes_only_its_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executable(tmp_path / "notes" / "tool.sh", "#!/bin/sh\necho tool\n")
    (tmp_path / "notes" / "secret").write_text("secret")
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "tool").symlink_to(tmp_path / "notes" / "tool.sh")
    shown = exposed_paths(str(tmp_path / "path")).paths
    assert str(tmp_path / "notes" / "tool.sh") in shown
    assert not {str(tmp_path), str(tmp_path / "notes"), str(tmp_path / "notes" / "secret")} & set(shown)
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/usr/bin")
    done = make("bubblewrap").run(["tool"])
    assert (done.text, done.errors) == ("tool\n", "")


def test_own_interpreter(sandbox: Sandbox) -> None:
    done = sandbox.run([sys.executable, "-c", "import pytest, sys; print(sys.prefix)"])
    assert done.text == f"{sys.prefix}\n"
