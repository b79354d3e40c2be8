"""The demo model solves programming tasks after a failed trial and a reflection."""

from pathlib import Path

import pytest

from langgraph_reflexion import create_reflexion, load_environment
from langgraph_reflexion.demo import DemoChatModel
from langgraph_reflexion.envs.workspace.environment import Workspace
from langgraph_reflexion.envs.workspace.generate import generate
from langgraph_reflexion.envs.workspace.repositories import write_repositories
from tests.support.demo import play_all

pytestmark = pytest.mark.needs("bubblewrap")


@pytest.mark.long
def test_programs_are_repaired_after_reflections() -> None:
    environment = load_environment("programming")
    finals = play_all(environment, 2, strategy="last_attempt_and_reflexion", actor="code", max_trials=3)
    assert any(final["status"] == "solved" and final["reflections"] for final in finals)


@pytest.mark.long
async def test_a_workspace_is_repaired_after_a_reflection(tmp_path: Path) -> None:
    repository = generate(9)
    tasks = write_repositories([repository], tmp_path / "repositories")
    environment = Workspace(tasks=tasks, store=tmp_path / "store")
    graph = create_reflexion(DemoChatModel(), environment, actor="react", max_trials=3).compile()
    final = await graph.ainvoke({"task": environment.tasks()[0]})
    environment.close()
    assert final["status"] == "solved"
    assert len(final["trials"]) > 1
    assert "changed to: " in final["reflections"][0]["text"]
