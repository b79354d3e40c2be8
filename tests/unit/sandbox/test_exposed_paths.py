import pytest

from langgraph_reflexion.envs.sandbox.exposed_paths import SYSTEM, exposed_paths


@pytest.mark.parametrize(
    ("inside", "beside"), [(".local/bin", "lib"), ("bin", "pyvenv.cfg"), ("shims", "versions/3.11")]
)
def test_only_programs_of_a_home_are_exposed(tmp_path, monkeypatch, inside, beside):
    monkeypatch.setenv("HOME", str(tmp_path))
    programs = tmp_path / inside
    for folder in (tmp_path / "lib", programs, programs.parent / "lib", (tmp_path / beside).parent):
        folder.mkdir(parents=True, exist_ok=True)
    (programs / "mine").write_text("#!/bin/sh\necho mine\n")
    (programs / "mine").chmod(0o755)
    (tmp_path / beside).touch()
    shown = exposed_paths(str(programs)).paths
    assert str(programs) in shown
    assert not {str(tmp_path), str(programs.parent)} & set(shown)


@pytest.mark.parametrize("path", ["/tmp", "/", "relative", ":::"])
def test_path_without_programs_exposes_nothing(path):
    theirs = exposed_paths(path)
    assert theirs.paths == exposed_paths("/usr/bin").paths
    assert "/tmp" not in theirs.paths
    assert "/" not in theirs.paths


def test_only_programs_of_the_system_are_exposed():
    shown = exposed_paths("/usr/bin").paths
    system = [path for path in shown if path in SYSTEM or path.startswith("/etc/")]
    assert "/usr" in system
    assert not {"/etc", "/etc/passwd", "/etc/ssl", "/var", "/home", "/root", "/opt", "/run"} & set(shown)


def test_only_libraries_beside_a_folder_of_programs_are_exposed(tmp_path):
    for name in ("project/bin", "project/lib", "project/notes", "go/bin", "go/src"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("project/.env", "go/go.env"):
        (tmp_path / name).touch()
    shown = exposed_paths(f"{tmp_path}/project/bin:{tmp_path}/go/bin").paths
    below = {path.removeprefix(f"{tmp_path}/") for path in shown if path.startswith(str(tmp_path))}
    assert below == {"project/bin", "project/lib", "go"}
