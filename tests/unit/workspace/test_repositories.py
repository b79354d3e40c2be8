"""The repositories that ship and those from a seed: right without their mistake, and wrong with it."""

from dataclasses import replace
from pathlib import Path

import pytest

from langgraph_reflexion.envs.workspace.environment import Workspace
from langgraph_reflexion.envs.workspace.generate import generate
from langgraph_reflexion.envs.workspace.repositories import Defect, own_repositories, write_repositories
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable
from tests.support.workspace import state

OWN = {repository.id: repository for repository in own_repositories()}


@pytest.mark.parametrize("name", OWN)
def test_the_mistake_is_one_line_outside_of_the_tests_and_nothing_tells_of_it(name, tmp_path):
    repository = OWN[name]
    right, wrong = (repository.write(tmp_path / str(broken), broken=broken) for broken in (False, True))
    differing = [path for path in repository.files if (right / path).read_text() != (wrong / path).read_text()]
    assert differing == [repository.defect.path]
    lines = zip(*((f / differing[0]).read_text().splitlines() for f in (right, wrong)), strict=True)
    assert sum(a != b for a, b in lines) == 1
    assert "test" not in differing[0]
    assert repository.defect.path not in repository.instruction
    assert {str(path.relative_to(wrong)) for path in wrong.rglob("*") if path.is_file()} == set(repository.files)


def test_a_mistake_that_fits_nowhere_is_an_error_of_ours(tmp_path):
    repository = replace(OWN["ledger-py"], defect=Defect("ledger/book.py", "no such line", ""))
    with pytest.raises(ConfigurationError, match=r"not exactly once in ledger/book\.py"):
        repository.write(tmp_path)


# From a seed.


def test_the_same_seed_gives_the_same_repository_and_another_seed_another():
    made = [generate(seed) for seed in range(20)]
    assert made[:3] == [generate(seed) for seed in range(3)]
    assert len({repository.defect for repository in made}) == 20
    assert len({path for repository in made for path in repository.files}) > 40


# As an environment's tasks.


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_without_tasks_of_ones_own_there_are_these(cache):
    environment = Workspace()
    assert environment.splits == ("own", "generated-12")
    assert [task["id"] for task in environment.tasks()] == list(OWN)
    assert [task["id"] for task in environment.tasks("generated-12", 2)] == ["generated-0", "generated-1"]
    assert [task["id"] for task in Workspace(seed=3).tasks("generated-12", 1)] == ["generated-36"]
    assert len(Workspace().tasks("generated-12")) == 12
    assert all(Path(task["data"]["path"]).is_relative_to(cache) for task in environment.tasks())


def test_tasks_of_ones_own_take_their_place(cache, tmp_path):
    (tmp_path / "mine").mkdir()
    environment = Workspace(path=tmp_path / "mine", instruction="Do it.", verify=["true"])
    assert environment.splits == ("tasks",)
    with pytest.raises(ConfigurationError, match="no split 'own'"):
        environment.tasks("own")
    with pytest.raises(ConfigurationError, match="not both"):
        Workspace(path=tmp_path / "mine", tasks=[])


def test_they_are_laid_out_once_and_found_again(tmp_path):
    first = write_repositories(OWN.values(), tmp_path)
    before = state(tmp_path)
    assert write_repositories(OWN.values(), tmp_path) == first
    assert state(tmp_path) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(task["path"].name for task in first)
    mended = first[1]["path"] / OWN["ledger-py"].defect.path
    mended.write_text(OWN["ledger-py"].files[OWN["ledger-py"].defect.path])
    write_repositories(OWN.values(), tmp_path)
    assert OWN["ledger-py"].defect.wrong in mended.read_text(), "the mistake is there again"
    other = replace(OWN["grid-rs"], instruction="Another one.")
    (task,) = write_repositories([other], tmp_path)
    assert task["path"] not in [each["path"] for each in first]


def test_where_they_cannot_be_laid_out_that_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentUnavailable, match="cannot be written"):
        write_repositories(OWN.values(), tmp_path / "file")
