"""The built-in repositories pass their tests without the planted bug, and fail with it."""

import pytest

from langgraph_reflexion.envs.workspace.environment import Workspace
from langgraph_reflexion.envs.workspace.generate import generate
from langgraph_reflexion.envs.workspace.repositories import own_repositories
from langgraph_reflexion.envs.workspace.truncate import failed_tests
from tests.support.tools import need_programs
from tests.support.workspace import Played

OWN = {repository.id: repository for repository in own_repositories()}


@pytest.mark.needs("bubblewrap")
@pytest.mark.parametrize("name", [*OWN, 4])
def test_only_the_planted_bug_makes_several_tests_fail(name, tmp_path):
    repository = OWN.get(name) or generate(name)
    need_programs({"cargo", "node"} & set(repository.verify[0].split()))
    folder = repository.write(tmp_path / "folder")
    task = {"path": folder, "instruction": "x", "verify": repository.verify}
    played = Played(Workspace(task, store=tmp_path / "store"))
    failed = played.do("verify")
    assert failed.reward == 0.0
    assert len(failed_tests(failed.observation)) >= 2, failed.observation
    assert played.do("verify").observation == failed.observation
    text = repository.files[repository.defect.path]
    played.do("write_file", path=repository.defect.path, text=text)
    assert played.do("verify").reward == 1.0
    played.episode.close()
