"""The demo model repairs unknown programs in a workspace, and learns only from its reflections."""

import asyncio
import re
import subprocess
from functools import cache

import pytest
from langchain_core.messages import HumanMessage, SystemMessage

from langgraph_reflexion import create_reflexion
from langgraph_reflexion.demo import DemoChatModel
from langgraph_reflexion.demo.prompt import without_examples
from langgraph_reflexion.envs.workspace.environment import Workspace
from langgraph_reflexion.envs.workspace.generate import generate
from langgraph_reflexion.envs.workspace.repositories import own_repositories, write_repositories
from langgraph_reflexion.prompts import load_prompts
from tests.support.demo import Between, reflections_in, with_reflections
from tests.support.tools import need_programs
from tests.support.toys import asks_for

OWN = {repository.id: repository for repository in own_repositories()}
SEEDS = (4, 9)
"""Of generated repositories, some that take more than one trial."""
needs_sandbox = pytest.mark.needs("bubblewrap")


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Plays tasks once for each requested setting.

    Gives the final states, each with its patch, and all prompts for a step.
    """
    folder = tmp_path_factory.mktemp("workshop")

    @cache
    def play(names, strategy="reflexion", trials=3):
        heard = []

        def hear(messages):
            heard.append(messages)
            return messages

        repositories = [OWN.get(name) or generate(name) for name in names]
        environment = Workspace(write_repositories(repositories, folder / "repositories"), store=folder / "store")
        model = Between(hears=hear)
        graph = create_reflexion(model, environment, strategy=strategy, actor="react", max_trials=trials).compile()

        async def all_of_them():
            return await asyncio.gather(*(graph.ainvoke({"task": task}) for task in environment.tasks()))

        finals = asyncio.run(all_of_them())
        for final in finals:
            final["patch"] = environment.patch(final["task"], final["episode"]["snapshot"])
        environment.close()
        return finals, [messages for messages in heard if asks_for(messages) == "act"]

    return play


def task_told(messages):
    """The task in a prompt, without the text before it."""
    first = without_examples(messages)[1].text
    return first.removeprefix(reflections_in(messages)).rpartition("Here is the task again:")[2].strip()


def first_edits(prompts):
    """The prompts that ask for a trial's first edit."""
    return [m for m in prompts if "I change line" in DemoChatModel().invoke(m).text and "I change" not in told(m)]


def told(messages):
    return "\n".join(message.text for message in without_examples(messages)[2:])


@needs_sandbox
@pytest.mark.parametrize("name", OWN)
def test_own_workspaces_are_repaired_within_three_trials_and_the_patch_applies(name, played, tmp_path):
    need_programs(OWN[name].needs)
    ((final,), _) = played((name,))
    assert final["status"] == "solved", final["trials"]
    folder = OWN[name].write(tmp_path / "wrong")
    subprocess.run(["git", "apply"], cwd=folder, input=final["patch"], text=True, check=True)
    assert {path: (folder / path).read_text() for path in OWN[name].files} == OWN[name].files


@needs_sandbox
def test_generated_workspaces_are_repaired_only_with_their_reflections(played):
    finals, prompts = played(SEEDS)
    assert {final["status"] for final in finals} == {"solved"}
    assert all(len(final["trials"]) > 1 for final in finals)
    retried, _ = played(SEEDS[1:], strategy="retry", trials=2)
    assert {final["status"] for final in retried} == {"failed"}
    begun = first_edits(prompts)
    fresh = {task_told(m): DemoChatModel().invoke(m).text for m in begun if not reflections_in(m)}
    later = [m for m in begun if reflections_in(m)]
    assert later
    for messages in later:
        task, said = task_told(messages), DemoChatModel().invoke(messages).text
        (other,) = [reflections_in(m) for m in later if task_told(m) != task][:1]
        assert said != fresh[task]
        assert DemoChatModel().invoke(with_reflections(messages, "")).text == fresh[task]
        assert DemoChatModel().invoke(with_reflections(messages, other)).text == fresh[task]
        for line, code in re.findall(r"(line \d+ of \S+) changed to: (.+) - it ", reflections_in(messages)):
            assert f"change {line} to: {code}" not in said


@needs_sandbox
def test_judge_follows_the_last_verification(played):
    prompts = load_prompts("workspace")

    def verdict(final):
        trial = prompts.render("trial", observation=final["episode"]["observation"], steps=final["trajectory"])
        return DemoChatModel().invoke([SystemMessage(prompts.render("judge")), HumanMessage(trial)]).text

    solved, _ = played(SEEDS)
    failed, _ = played(SEEDS[1:], strategy="retry", trials=2)
    assert [verdict(final).endswith("Verdict: yes") for final in [*solved, *failed]] == [True, True, False]
