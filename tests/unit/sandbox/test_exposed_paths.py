"""The choice of exposed paths: programs, but neither homes nor shared folders."""

from pathlib import Path

import pytest

from langgraph_reflexion.envs.sandbox.exposed_paths import SYSTEM, exposed_paths


@pytest.mark.parametrize(
    ("inside", "beside"),
    [
        *((".local/bin", "lib"), ("bin", "pyvenv.cfg"), ("shims", "versions/3.11")),
    ],
)
def test_only_programs_of_a_home_are_exposed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: str, beside: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    exposed_paths.__globals__["_homes"].cache_clear()
    exposed_paths.__globals__["_exposed_paths"].cache_clear()
    (tmp_path / "lib").mkdir()
    (tmp_path / inside).parent.mkdir(exist_ok=True)
    (tmp_path / inside).parent.joinpath("lib").mkdir(exist_ok=True)
    (tmp_path / inside).mkdir(exist_ok=True)
    (tmp_path / inside / "mine").write_text("#!/bin/sh\necho mine\n")
    (tmp_path / inside / "mine").chmod(0o755)
    (tmp_path / beside).parent.mkdir(exist_ok=True)
    (tmp_path / beside).touch()
    shown = exposed_paths(str(tmp_path / inside)).paths
    exposed_paths.__globals__["_homes"].cache_clear()
    assert str(tmp_path / inside) in shown
    assert not {str(tmp_path), str((tmp_path / inside).parent)} & set(shown)


@pytest.mark.parametrize("path", ["/tmp", "/", "relative", ":::"])
def test_path_without_programs_exposes_nothing(path: str) -> None:
    theirs = exposed_paths(path)
    assert theirs.paths == exposed_paths("/usr/bin").paths
    assert "/tmp" not in theirs.paths
    assert "/" not in theirs.paths


def test_only_programs_of_the_system_are_exposed() -> None:
    shown = exposed_paths("/usr/bin").paths
    system = [path for path in shown if path in SYSTEM or path.startswith("/etc/")]
    assert "/usr" in system
    assert not {"/etc", "/etc/passwd", "/etc/ssl", "/var", "/home", "/root", "/opt", "/run"} & set(shown)
