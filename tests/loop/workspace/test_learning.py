"""A workspace task from a wrong edit to a right patch, by a model's replies."""

import asyncio
import subprocess

import pytest

from langgraph_reflexion import create_reflexion
from langgraph_reflexion.envs.workspace.environment import Workspace
from langgraph_reflexion.envs.workspace.repositories import own_repositories, write_repositories
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support import toys
from tests.support.scripts import SmallModel, scripted
from tests.support.scripts.workspace import LESSON
from tests.support.tools import need_programs

pytestmark = pytest.mark.slow

OWN = {repository.id: repository for repository in own_repositories()}


@pytest.mark.parametrize("actor", ["react", "tools"])
def test_verification_fails_and_the_reflection_on_it_leads_to_a_patch_that_passes(play, folder, actor):
    played = play()
    final, _ = toys.play(SmallModel(), played.environment, task=played.task, max_trials=3, actor=actor)
    assert [trial["verdict"] for trial in final["trials"]] == [False, True]
    lesson = LESSON.format(path="code_.py", right="return n * 2")
    assert [reflection["text"] for reflection in final["reflections"]] == [lesson]
    patch = played.environment.patch(final["task"], final["episode"]["snapshot"])
    subprocess.run(["git", "apply"], cwd=folder, input=patch, text=True, check=True)
    assert (folder / "code_.py").read_text() == "def double(n):\n    return n * 2\n"


def test_without_the_reflection_the_next_trial_repeats_the_mistake(play):
    played = play()
    final, _ = toys.play(SmallModel(), played.environment, task=played.task, max_trials=2, strategy="retry")
    assert [trial["verdict"] for trial in final["trials"]] == [False, False]


@pytest.mark.parametrize("verdict", ["yes", "no"])
def test_a_judge_reads_what_verification_said(play, verdict):
    played = play()

    def judged(messages):
        if toys.asks_for(messages) == "judge":
            return f"It ran the checks.\nVerdict: {verdict}"
        return scripted(messages)

    final, model = toys.play(judged, played.environment, task=played.task, max_trials=1, evaluator="llm")
    [trial] = final["trials"]
    assert (trial["verdict"], trial["success"]) == (verdict == "yes", False)
    [seen] = [toys.text_of(prompt) for prompt in model.prompts if toys.asks_for(prompt) == "judge"]
    assert "Verification failed" in seen


@pytest.mark.long
@pytest.mark.needs("bubblewrap")
@pytest.mark.parametrize("name", OWN)
def test_own_workspaces_can_be_repaired_and_the_patch_applies(name, tmp_path):
    repository = OWN[name]
    need_programs({"cargo", "node"} & set(repository.verify[0].split()))
    [given] = write_repositories([repository], tmp_path / "repositories")
    environment = Workspace(given, store=tmp_path / "store")
    graph = create_reflexion(ScriptedChatModel(replies=scripted), environment, max_trials=3).compile()
    final = asyncio.run(graph.ainvoke({"task": environment.tasks()[0]}))
    patch = environment.patch(final["task"], final["episode"]["snapshot"])
    environment.close()
    assert [trial["verdict"] for trial in final["trials"]] == [False, True]
    folder = repository.write(tmp_path / "wrong")
    subprocess.run(["git", "apply"], cwd=folder, input=patch, text=True, check=True)
    assert {path: (folder / path).read_text() for path in repository.files} == repository.files
