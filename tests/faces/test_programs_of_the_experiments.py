"""The programs of docs/experiments: plain prompts, examples as tests, counts, wrong reflections, and two judges."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from langgraph_reflexion import create_reflexion, load_environment
from langgraph_reflexion.lab.experiments import read_run, run
from langgraph_reflexion.lab.run_settings import RunSettings
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.model_server import ModelServer
from tests.support.run_folders import folder, row
from tests.support.toys import text_of

EXPERIMENTS = Path(__file__).parents[2] / "docs" / "experiments"
PROGRAMS = str(EXPERIMENTS / "programs.py")
RUBRIC_JUDGES = str(EXPERIMENTS / "rubric_judges.py")
FAILED_PROBLEMS = str(EXPERIMENTS / "failed_problems.py")
WRONG_REFLECTIONS = str(EXPERIMENTS / "wrong_reflections.py")
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_problems_of_both_formats_that_failed_at_first_are_written(tmp_path):
    rows = [
        row("HumanEval/0", 1, False),
        row("HumanEval/0", 2, True),
        row("HumanEval/1", 1, True),
        row("mbpp_3_name", 1, False),
    ]
    made = folder(tmp_path / "run", rows, ["HumanEval/0", "HumanEval/1", "mbpp_3_name"])
    problems = [{"task_id": "HumanEval/0"}, {"task_id": "HumanEval/1"}, {"name": "mbpp_3_name"}]
    write_rows(tmp_path / "problems.jsonl", *problems)
    failed = tmp_path / "failed.jsonl"
    subprocess.run(
        [sys.executable, FAILED_PROBLEMS, made, tmp_path / "problems.jsonl", failed], check=True, timeout=60
    )
    assert [json.loads(line) for line in failed.read_text().splitlines()] == [problems[0], problems[2]]


@pytest.mark.slow
def test_wrong_reflections_name_a_place_and_the_second_trials_are_counted(tmp_path):
    # Three actions solve no game.
    common = {"split": "generated-134", "limit": 2, "max_trials": 2, "max_actions": 3, "strategy": "reflexion"}
    names = {"environment": f"{WRONG_REFLECTIONS}:SpreadGames", "reflection_model": f"{WRONG_REFLECTIONS}:model"}
    for facts in (False, True):
        run(RunSettings(**common, **names, facts=facts), tmp_path / f"facts-{facts}")
    rows = read_run(tmp_path / "facts-True").trials
    first = [each for each in rows if each["trial"] == 1]
    assert len(first) == 2
    for each in first:
        assert re.search(r"what I need is at \w+ \d+\. Next time", each["reflection"])
    done = subprocess.run(
        [sys.executable, WRONG_REFLECTIONS, tmp_path], capture_output=True, text=True, check=True, timeout=60
    )
    heading, *lines = done.stdout.splitlines()
    assert heading.split() == ["run", "games", "solved", "actions", "possible", "places"]
    counts = [line.split() for line in lines[:2]]
    assert [each[:3] for each in counts] == [["facts-False", "2", "0"], ["facts-True", "2", "0"]]
    for _, _, _, actions, possible, places in counts:
        assert 0 < int(places) <= int(possible) <= int(actions)
    assert "possible actions: more in" in done.stdout


def judges(step, folder, *options):
    """The output of a step of the program that measures judges."""
    pytest.importorskip("deepagents")
    command = [sys.executable, "-W", "ignore", RUBRIC_JUDGES, *step.split(), "--out", str(folder), *options]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


def cells_of(output, judge):
    """The cells of each line of a judge."""
    lines = [line for line in output.splitlines() if line.startswith(f"| {judge} |")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def write_rows(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.slow
def test_judges_are_counted_by_the_truth_and_errors_apart(tmp_path):
    right, wrong = [True, True], [True, False]
    wire = {"calls": 2, "prompt_tokens": 100, "completion_tokens": 10, "forms": {"text": 2}}

    def judged(truth, verdicts, accepted, error=""):
        return {"truth": truth, "verdicts": verdicts, "accepted": accepted, "error": error}

    exact = [judged(right, right, True), judged(wrong, wrong, False)]
    lenient = [judged(right, right, True), judged(wrong, right, True)]
    broken = [judged(right, [None, None], False, "Grader raised ValueError"), judged(wrong, [None, False], False)]
    write_rows(
        tmp_path / "judge-rubric.jsonl",
        {"task": "one", "judged": exact, "wire": wire},
        {"task": "two", "judged": lenient, "wire": wire},
    )
    write_rows(
        tmp_path / "judge-middleware.jsonl",
        {"task": "one", "judged": lenient, "wire": wire},
        {"task": "two", "judged": broken, "wire": wire},
    )
    told = {"first": False, "accepted": True, "error": "", "wire": {**wire, "calls": 9}}
    write_rows(tmp_path / "solve-rubric.jsonl", {"task": "three", "solved": True, **told})
    write_rows(tmp_path / "solve-middleware.jsonl", {"task": "three", "solved": False, **told})
    output = judges("table", tmp_path)
    [first, solved] = cells_of(output, "rubric")
    assert first[1:5] == ["text 4", "4", "0", "7 of 8, 88%"]
    assert first[6:] == ["0", "2", "0", "1", "1", "4", "200", "20"]
    assert solved[1:4] == ["1", "0", "1 of 1, 100%"]
    assert solved[5:] == ["1", "0", "0", "1", "9", "100", "10"]
    [second, unsolved] = cells_of(output, "middleware")
    assert second[2:5] == ["4", "1", "4 of 6, 67%"]
    assert second[6:11] == ["1", "1", "0", "1", "1"]
    assert unsolved[3] == "0 of 1, 0%"
    assert unsolved[6] == "1"
    assert "Grader errors of middleware: Grader raised ValueError 1." in output
    assert "all answers, where an error judges nothing rightly: more criteria judged rightly on 2 tasks" in output
    assert "answers that both judged: more criteria judged rightly on 1 tasks, fewer on 0" in output


@pytest.mark.long
def test_both_judges_judge_a_recorded_answer(tmp_path):
    met = {"name": "It names the order.", "passed": True}
    missed = {"name": "It names the day.", "passed": False, "gap": "the day"}
    graded = {"result": "needs_revision", "explanation": "Nearly.", "criteria": [met, missed, met, met]}
    lines = "\n".join(f"Criterion: {number}\nMet: yes" for number in (1, 3, 4)) + "\nCriterion: 2\nMet: no"

    def reply(messages):
        if "GraderResponse" in text_of(messages):
            return json.dumps(graded)
        return lines

    recorded = {"answer": "Order 4711 is late.", "truth": [True, False, True, True]}
    write_rows(tmp_path / "answers.jsonl", {"task": "delay-1", "answers": [recorded]})
    with ModelServer(ScriptedChatModel(replies=reply)) as server:
        for judge in ("rubric", "middleware"):
            judges(f"judge {judge}", tmp_path, "--base-url", server.url)
    output = judges("table", tmp_path)
    for judge in ("rubric", "middleware"):
        [found] = cells_of(output, judge)
        assert found[1:5] == ["json_schema 1", "1", "0", "4 of 4, 100%"]
        assert found[6:11] == ["0", "0", "0", "0", "1"]
