"""The workspace's examples are what it really says, each played in a small workspace of its own."""

import re
import tomllib
from pathlib import Path

import pytest

from langgraph_reflexion import prompts as package
from langgraph_reflexion.envs.actions import shown_actions
from langgraph_reflexion.envs.workspace.environment import Workspace
from langgraph_reflexion.envs.workspace.repositories import own_repositories
from langgraph_reflexion.nodes.heuristic_check import Heuristic
from langgraph_reflexion.prompts import load_prompts

HERE = Path(package.__file__).parent / "workspace"
SOLVED, FAILED = (
    tomllib.loads((HERE / name).read_text(encoding="utf-8"))["example"]
    for name in ("examples.toml", "reflections.toml")
)
needs_sandbox = pytest.mark.needs("bubblewrap")


def label(entry):
    return entry["id"]


every_example = pytest.mark.parametrize("entry", [*SOLVED, *FAILED], ids=label)
failed_example = pytest.mark.parametrize("entry", FAILED, ids=label)


@pytest.fixture
def environment(entry, tmp_path):
    folder = tmp_path / entry["id"]
    for name, text in entry["files"].items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    given = {"instruction": entry["instruction"], "verify": entry["verify"]}
    environment = Workspace(path=folder, store=tmp_path / "store", **given)
    yield environment
    environment.close()


@needs_sandbox
@every_example
def test_the_environment_says_what_an_example_shows(entry, environment):
    episode = environment.start(environment.tasks()[0])
    assert episode.observation == entry["observation"]
    results = []
    for step in entry["step"]:
        action = environment.parse(step["action"])
        assert type(episode).actions()[action["name"]].render(action["args"]) == step["action"]
        results.append(episode.step(action))
        assert results[-1].observation == step["observation"]
    episode.close()
    assert not any(result.terminated for result in results[:-1])
    assert results[-1].reward == float(entry in SOLVED)


@every_example
def test_thoughts_name_only_what_was_seen_by_then(entry):
    seen = entry["observation"]
    for step in entry["step"]:
        for path in re.findall(r"[\w/]+\.py\b", f"{step['thought']}\n{step['action'].splitlines()[0]}"):
            assert path in seen, path
        seen += step["observation"]


def test_three_solved_ones_and_two_failed_ones():
    assert (len(SOLVED), len(FAILED)) == (3, 2)
    assert len({entry["id"] for entry in [*SOLVED, *FAILED]}) == 5
    for entry in SOLVED:
        actions = [step["action"] for step in entry["step"]]
        assert actions[0] == "verify[]"
        assert actions[-2:] == ["verify[]", "submit[]"]
    used = {re.match(r"\w+", step["action"])[0] for entry in SOLVED for step in entry["step"]}
    assert used == {"verify", "read_file", "search_files", "edit_file", "submit"}


@every_example
def test_no_example_is_of_a_repository_that_ships(entry):
    shipped = {name for repository in own_repositories() for name in repository.files}
    assert not [name for name in entry["files"] if name in shipped]


@failed_example
def test_reflections_look_back_and_ahead(entry):
    assert re.search(r"\bI\b.*\bNext time I will\b", entry["reflection"])
    assert entry["step"][-1]["action"] in entry["reflection"]


def test_one_changes_its_judge_and_the_other_repeats_itself():
    changes, repeats = (
        [
            {
                "thought": s["thought"],
                "action": {"name": "", "args": {}, "text": s["action"]},
                "observation": s["observation"],
            }
            for s in entry["step"]
        ]
        for entry in FAILED
    )
    assert "did not count" in changes[-1]["observation"]
    assert Heuristic()(repeats) == "hallucination"
    assert Heuristic()(repeats[:-1]) is None


def test_the_prompts_render_with_every_example():
    prompts = load_prompts("workspace")
    specs = [*Workspace.episode.actions().values()]
    actions = shown_actions([spec.forms[0] for spec in specs], specs)
    text = prompts.render("act", in_text=True, actions=actions, examples=prompts.examples(None, 3))
    assert "--- Example 3 ---" in text
    assert prompts.render("setting") in text
    assert "\n\n{}\n\nLeave the thought out".format("\n".join(f"- {action.form}" for action in actions)) in text
    reflect = prompts.render("reflect", examples=prompts.reflections)
    assert reflect.count("Status: FAILED\n\nReflection: ") == 2
