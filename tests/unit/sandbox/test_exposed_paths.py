"""The choice of exposed paths: programs, but neither homes nor shared folders."""

from pathlib import Path

import pytest

from langgraph_reflexion.envs.sandbox.exposed_paths import SYSTEM, exposed_paths


@pytest.mark.parametrize(
    ("inside", "beside"), [*((".local/bin", "lib"), ("bin", "pyvenv.cfg"), ("shims", "versions/3.11"))]
)
def test_only_programs_of_a_home_are_exposed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: str, beside: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "lib").mkdir()
    (tmp_path / inside).parent.mkdir(exist_ok=True)
    (tmp_path / inside).parent.joinpath("lib").mkdir(exist_ok=True)
    (tmp_path / inside).mkdir(exist_ok=True)
    (tmp_path / inside / "mine").write_text("#!/bin/sh\necho mine\n")
    (tmp_path / inside / "mine").chmod(0o755)
    (tmp_path / beside).parent.mkdir(exist_ok=True)
    (tmp_path / beside).touch()
    shown = exposed_paths(str(tmp_path / inside)).paths
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


def test_only_libraries_beside_a_folder_of_programs_are_exposed(tmp_path: Path) -> None:
    for name in ("project/bin", "project/lib", "project/notes", "go/bin", "go/src"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("project/.env", "go/go.env"):
        (tmp_path / name).touch()
    shown = exposed_paths(f"{tmp_path}/project/bin:{tmp_path}/go/bin").paths
    below = {path.removeprefix(f"{tmp_path}/") for path in shown if path.startswith(str(tmp_path))}
    assert below == {"project/bin", "project/lib", "go"}
