"""The repositories that ship: right without their mistake, and wrong with it."""

import pytest

from langgraph_reflexion.envs.workspace.environment import Workspace
from langgraph_reflexion.envs.workspace.failure_parser import failed_tests
from langgraph_reflexion.envs.workspace.generate import generate
from langgraph_reflexion.envs.workspace.repositories import own_repositories
from tests.support.tools import need_programs
from tests.support.workspace import Played

OWN = {repository.id: repository for repository in own_repositories()}


@pytest.fixture
def verified(tmp_path):
    """Verifies a repository in a workspace of its own: what was observed, and the reward."""

    def verify(repository, *, broken):
        need_programs(repository.needs)
        folder = repository.write(tmp_path / f"broken-{broken}", broken=broken)
        given = {"instruction": repository.instruction, "verify": repository.verify}
        played = Played(Workspace(path=folder, store=tmp_path / "store", **given))
        result = played.do("verify")
        played.episode.close()
        played.environment.close()
        return result

    return verify


@pytest.mark.needs("bubblewrap")
@pytest.mark.parametrize("name", [*OWN, 4])
def test_the_mistake_and_nothing_else_makes_several_tests_fail(name, verified):
    repository = OWN.get(name) or generate(name)
    assert verified(repository, broken=False).reward == 1.0
    failed = verified(repository, broken=True)
    assert failed.reward == 0.0
    assert len(failed_tests(failed.observation)) >= 2, failed.observation
