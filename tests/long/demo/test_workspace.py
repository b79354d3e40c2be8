import subprocess
from functools import cache

import pytest
from langchain_core.messages import HumanMessage, SystemMessage

from langgraph_reflexion.envs.workspace.environment import Workspace
from langgraph_reflexion.envs.workspace.generate import generate
from langgraph_reflexion.envs.workspace.repositories import own_repositories, write_repositories
from langgraph_reflexion.lab.demo import DemoChatModel
from langgraph_reflexion.prompts import load_prompts
from tests.support.demo import forgetful, play_all
from tests.support.tools import need_programs

OWN = {repository.id: repository for repository in own_repositories()}
SEEDS = (4, 9)
"""Of generated repositories, some that take more than one trial."""
needs_sandbox = pytest.mark.needs("bubblewrap")


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Plays tasks once for each requested setting, and gives the final states with their patches."""
    folder = tmp_path_factory.mktemp("workshop")

    @cache
    def play(names, strategy="reflexion", trials=3, forgets=False):
        tasks = write_repositories([OWN.get(name) or generate(name) for name in names], folder / "repositories")
        environment = Workspace(tasks, store=folder / "store")
        model, removed = forgetful()
        options = {"strategy": strategy, "actor": "react", "max_trials": trials}
        finals = play_all(environment, None, model=model if forgets else None, **options)
        assert bool(removed) == forgets
        for final in finals:
            final["patch"] = environment.patch(final["task"], final["episode"]["snapshot"])
        return finals

    return play


@needs_sandbox
@pytest.mark.parametrize("name", OWN)
def test_own_workspaces_are_repaired_within_three_trials_and_the_patch_applies(name, played, tmp_path):
    need_programs({"cargo", "node"} & set(OWN[name].verify[0].split()))
    (final,) = played((name,))
    assert final["status"] == "solved", final["trials"]
    folder = OWN[name].write(tmp_path / "wrong")
    subprocess.run(["git", "apply"], cwd=folder, input=final["patch"], text=True, check=True)
    assert {path: (folder / path).read_text() for path in OWN[name].files} == OWN[name].files


@needs_sandbox
def test_generated_workspaces_are_repaired_only_with_reflections(played):
    finals = played(SEEDS)
    assert {final["status"] for final in finals} == {"solved"}
    assert all(len(final["trials"]) > 1 for final in finals)
    for how in ({"strategy": "retry"}, {"forgets": True}):
        assert {final["status"] for final in played(SEEDS[1:], trials=2, **how)} == {"failed"}


@needs_sandbox
def test_judge_follows_the_last_verification(played):
    prompts = load_prompts("workspace")

    def verdict(final):
        trial = prompts.render("trial", observation=final["episode"]["observation"], steps=final["trajectory"])
        return DemoChatModel().invoke([SystemMessage(prompts.render("judge")), HumanMessage(trial)]).text

    finals = [*played(SEEDS), *played(SEEDS[1:], trials=2, strategy="retry")]
    assert [verdict(final).endswith("Verdict: yes") for final in finals] == [True, True, False]
