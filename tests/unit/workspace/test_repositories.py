from dataclasses import replace
from pathlib import Path

import pytest

from langgraph_reflexion.envs.workspace.environment import Workspace
from langgraph_reflexion.envs.workspace.generate import generate
from langgraph_reflexion.envs.workspace.repositories import own_repositories, write_repositories
from langgraph_reflexion.errors import ConfigurationError
from tests.support.workspace import state

OWN = {repository.id: repository for repository in own_repositories()}


@pytest.mark.parametrize("name", OWN)
def test_the_mistake_is_one_line_outside_of_the_tests_and_nothing_tells_of_it(name, tmp_path):
    repository = OWN[name]
    wrong = repository.write(tmp_path / "wrong")
    differing = [path for path, text in repository.files.items() if (wrong / path).read_text() != text]
    assert differing == [repository.defect.path]
    assert "\n" not in repository.defect.right + repository.defect.wrong
    assert "test" not in differing[0]
    assert repository.defect.path not in repository.instruction
    assert {str(path.relative_to(wrong)) for path in wrong.rglob("*") if path.is_file()} == set(repository.files)


def test_without_tasks_of_ones_own_there_are_these(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    environment = Workspace()
    tasks, generated = environment.tasks(), environment.tasks("generated-12")
    assert ([task["id"] for task in tasks], len(generated)) == (list(OWN), 12)
    assert all(Path(task["data"]["path"]).is_relative_to(tmp_path / "cache") for task in tasks)
    assert [task["id"] for task in Workspace(seed=3).tasks("generated-12", 1)] == ["generated-36"]
    assert environment.answer(tasks[0]).startswith("in src/grid.rs, write `")
    assert generate(5).defect.right in environment.answer(generated[5])
    environment = Workspace({"path": tmp_path, "instruction": "Do it.", "verify": "true"})
    assert (environment.splits, environment.answer(environment.tasks()[0])) == (("tasks",), "")
    with pytest.raises(ConfigurationError, match="no split 'own'"):
        environment.tasks("own")


def test_they_are_written_once_and_their_mistake_is_put_back(tmp_path):
    first = write_repositories(OWN.values(), tmp_path)
    before = state(tmp_path)
    assert write_repositories(OWN.values(), tmp_path) == first
    assert state(tmp_path) == before
    defect = OWN["ledger-py"].defect
    mended = first[1]["path"] / defect.path
    mended.write_text(OWN["ledger-py"].files[defect.path])
    write_repositories(OWN.values(), tmp_path)
    assert defect.wrong in mended.read_text()
    (task,) = write_repositories([replace(OWN["grid-rs"], instruction="Another one.")], tmp_path)
    assert task["path"] not in [each["path"] for each in first]
