"""The programs of docs/experiments: problems with a plain prompt, examples as the tests, and counts of actions."""

import subprocess
import sys
from pathlib import Path

from langgraph_reflexion import create_reflexion, load_environment
from langgraph_reflexion.lab.experiments import run
from langgraph_reflexion.lab.settings import RunSettings
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import text_of

EXPERIMENTS = Path(__file__).parents[2] / "docs" / "experiments"
PROGRAMS = str(EXPERIMENTS / "programs.py")
VALID_ACTIONS = str(EXPERIMENTS / "valid_actions.py")


def test_a_plain_prompt_holds_the_description_and_one_sentence():
    environment = load_environment(f"{PROGRAMS}:Programs")
    [task] = environment.tasks(limit=1)
    model = ScriptedChatModel(replies=lambda messages: "```python\npass\n```")
    create_reflexion(model, environment, actor="plain", evaluator="none", max_trials=1).compile().invoke(
        {"task": task}
    )
    [prompt] = model.prompts
    said = text_of(prompt)
    assert task["instruction"] in said
    assert len(said.replace(task["instruction"], "").split()) < 25


def test_visible_tests_are_the_examples_in_the_description_and_no_model_writes_any():
    environment = load_environment(f"{PROGRAMS}:VisibleTests")
    task = next(each for each in environment.tasks() if ">>>" in each["instruction"])
    right = environment.answer(task)
    model = ScriptedChatModel(replies=lambda messages: f"```python\n{task['instruction']}\n{right}\n```")
    graph = create_reflexion(model, environment, max_trials=1).compile()
    final = graph.invoke({"task": task})
    assert len(model.prompts) == 1
    assert final["task"]["prepared"]["tests"] == environment.described_tests(task)
    assert final["trials"][0]["verdict"] is True


def test_the_first_actions_of_a_run_are_counted_by_their_form_and_possibility(tmp_path):
    settings = RunSettings(environment="alfworld", split="generated-134", limit=2, max_trials=2, strategy="retry")
    run(settings, tmp_path / "two-games")
    done = subprocess.run(
        [sys.executable, VALID_ACTIONS, tmp_path], capture_output=True, text=True, check=True, timeout=60
    )
    heading, line = done.stdout.splitlines()
    assert heading.split()[:3] == ["run", "tasks", "solved"]
    name, tasks, solved, actions, known, possible = line.split()
    assert (name, tasks) == ("two-games", "2")
    assert int(possible) <= int(known) == int(actions) <= 20, "the demo model writes only known forms"
    assert int(possible) > 0
    assert int(solved) <= 2
