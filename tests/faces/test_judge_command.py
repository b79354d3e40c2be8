"""`judge`: evaluators on recorded trials, compared with the truth; and `--truth` of a run."""

import json

import pytest

from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.cli import call
from tests.support.model_server import ModelServer

pytestmark = pytest.mark.slow

AGENT = """
def agent(task: str) -> str:
    return task.removeprefix("Say ").removesuffix("!")
"""
CHECKS = """
def lenient(result):
    return "wrong" in result or "right" in result

def short(result):
    return len(result) < 8

def known(task, result):
    return "right" in result, "the words of the truth"

def unknown(task, result):
    raise ConnectionError("no route")

def looks(world):
    return True

def talks(messages):
    return len(messages) > 1

def patchy(task, result):
    if result == "right 1":
        raise ConnectionError("no route")
    return "right" in result

def broken(task, result):
    return 1 / 0
"""
ANSWERS = ["right 1", "right 2", "wrong 3", "wrong number 4", "other 5"]
REFERENCES = ["right 1", "right 2", "right 3", "right number 4", "right 5"]
TASKS = "".join(
    json.dumps({"task": f"Say {answer}!", "answer": reference}) + "\n"
    for answer, reference in zip(ANSWERS, REFERENCES, strict=True)
)
RUN = ("run", "agent.py:agent", "--tasks", "tasks.jsonl", "--strategy", "retry", "--max-trials", "2", "--out", "run")


@pytest.fixture
def home(tmp_path):
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "checks.py").write_text(CHECKS)
    (tmp_path / "tasks.jsonl").write_text(TASKS)
    return tmp_path


def rows(home):
    return [json.loads(line) for line in (home / "run" / "trials.jsonl").read_text().splitlines()]


def report_of(home, *options):
    status, out, err = call(home, "judge", "run", "--json", *options)
    assert status == 0, err
    return json.loads(out)


def test_planted_errors_come_back_from_the_run_and_its_report(home):
    status, out, err = call(home, *RUN, "--evaluator", "checks.py:lenient", "--truth", "exact")
    assert (status, err) == (0, "")
    found = [(row["task_id"], row["verdict"], row["success"]) for row in rows(home)]
    # One that is rejected is tried again, with the same answer.
    rejected = [("5", False, False)] * 2
    assert found == [("1", True, True), ("2", True, True), ("3", True, False), ("4", True, False), *rejected]
    report = json.loads(call(home, "report", "run", "--json")[1])["runs"][0]
    assert report["verdicts"] == {"true_positive": 2, "false_positive": 2, "true_negative": 2, "false_negative": 0}
    assert (report["solved"], report["accepted"]) == ([2, 2], [4, 4])
    assert "Tasks that the verdict calls solved, by trial" in out
    assert call(home, "report", "run", "--html", "page.html")[0] == 0
    assert "accepted by the verdict" in (home / "page.html").read_text()


def test_planted_errors_come_back_from_judge(home):
    call(home, *RUN, "--evaluator", "checks.py:lenient", "--truth", "checks.py:known")
    found = report_of(home, "--evaluator", "checks.py:lenient", "--evaluator", "checks.py:short")
    lenient, short = found["reports"]
    counts = ("true_positive", "false_negative", "false_positive", "true_negative")
    assert [lenient[name] for name in counts] == [2, 0, 2, 2]
    assert [short[name] for name in counts] == [2, 0, 3, 1]
    wrong = [(each["task"], each["trial"]) for each in lenient["judgements"] if each["verdict"] != each["truth"]]
    assert wrong == [("3", 1), ("4", 1)]
    assert found["paired"] == {"wins": 1, "losses": 1, "p": 1.0, "tasks": 5}


def test_the_table_and_the_trials_to_read(home):
    call(home, *RUN, "--evaluator", "checks.py:lenient", "--truth", "checks.py:known")
    status, out, _ = call(home, "judge", "run", "--evaluator", "checks.py:lenient")
    assert status == 0
    assert "wrong accepted" in out
    assert "2 of 4   50%" in out
    assert "accepted, and is wrong: langgraph-reflexion show run 3 --trial 1" in out
    assert call(home, "show", "run", "3", "--trial", "1")[0] == 0


def test_truth_may_be_named_afterwards(home):
    call(home, *RUN, "--evaluator", "checks.py:lenient")
    status, _, err = call(home, "judge", "run", "--evaluator", "checks.py:short")
    assert status == 2
    assert "has recorded the verdicts of its run, and not the truth: give --truth" in err
    by_function = report_of(home, "--evaluator", "checks.py:lenient", "--truth", "checks.py:known")
    assert by_function["reports"][0]["false_positive"] == 2
    exactly = ("--truth", "exact", "--tasks", "tasks.jsonl")
    assert report_of(home, "--evaluator", "checks.py:lenient", *exactly)["reports"][0]["false_positive"] == 2
    status, _, err = call(home, "judge", "run", "--evaluator", "checks.py:lenient", "--truth", "exact")
    assert (status, "needs a reference answer" in err) == (2, True)


def test_a_model_judges_and_its_calls_are_counted(home):
    call(home, *RUN, "--evaluator", "checks.py:lenient", "--truth", "checks.py:known")

    def reply(messages):
        return "Verdict: yes" if "number" in messages[-1].text else "Verdict: no"

    with ModelServer(ScriptedChatModel(replies=reply)) as server:
        found = report_of(home, "--evaluator", "llm", "--model", "openai:any", "--base-url", server.url)
        asked = len(server.requests)
    [judge] = found["reports"]
    assert (judge["true_positive"], judge["false_positive"], judge["llm_calls"]) == (0, 1, 6)
    assert asked == 6
    status, _, err = call(home, "judge", "run", "--evaluator", "llm")
    assert (status, "--model" in err) == (2, True)


def test_where_the_truth_is_down_a_trial_is_left_out(home):
    call(home, *RUN, "--evaluator", "checks.py:lenient")
    options = ("--evaluator", "checks.py:lenient", "--truth", "checks.py:patchy", "--retries", "1")
    found = report_of(home, *options)
    assert (found["unknown"], len(found["reports"][0]["judgements"])) == (1, 5)
    assert "Left out: 1 trial whose truth is not known." in call(home, "judge", "run", *options)[1]


def test_a_verdict_that_is_unverified_is_no_error(home):
    call(home, *RUN, "--evaluator", "checks.py:lenient", "--truth", "checks.py:known")
    [report] = report_of(home, "--evaluator", "none")["reports"]
    assert (report["unverified"], report["false_negative"], report["true_negative"]) == (6, 0, 0)
    assert "Errors" not in call(home, "judge", "run", "--evaluator", "none")[1]
    both = json.loads(
        call(home, "judge", "run", "--evaluator", "none", "--evaluator", "checks.py:lenient", "--json")[1]
    )
    assert both["paired"]["tasks"] == 0, "of nothing that was checked by both can one be right more often"


def test_a_bug_is_told_with_the_trial(home):
    call(home, *RUN, "--evaluator", "checks.py:lenient", "--truth", "checks.py:known")
    with pytest.raises(ZeroDivisionError) as raised:
        call(home, "judge", "run", "--evaluator", "checks.py:broken")
    assert raised.value.__notes__[0].startswith("while judging the task '")


def test_trials_are_named_so_that_the_command_can_be_typed(home):
    (home / "tasks.jsonl").write_text('{"id": "--help", "task": "Say wrong!"}\n')
    call(home, *RUN, "--evaluator", "checks.py:lenient", "--truth", "checks.py:known")
    out = call(home, "judge", "run", "--evaluator", "checks.py:lenient")[1]
    assert "langgraph-reflexion show run 1 --trial 1" in out


def test_other_tasks_under_the_same_names_are_refused(home):
    call(home, *RUN, "--evaluator", "checks.py:lenient")
    turned = "".join(reversed(TASKS.splitlines(keepends=True)))
    (home / "other.jsonl").write_text(turned)
    options = ("--evaluator", "checks.py:lenient", "--truth", "exact", "--tasks", "other.jsonl")
    status, _, err = call(home, "judge", "run", *options)
    assert (status, "have different tasks '1'" in err) == (2, True)


def test_trouble_outside_is_a_fault_and_no_verdict(home):
    call(home, *RUN, "--evaluator", "checks.py:lenient", "--truth", "checks.py:known")
    [report] = report_of(home, "--evaluator", "checks.py:unknown", "--retries", "1")["reports"]
    assert (report["faults"], report["true_negative"], report["false_negative"]) == (6, 0, 0)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--evaluator", "checks.py:looks"), "reads the world of a trial, which the run has not recorded"),
        (("--evaluator", "checks.py:talks"), "reads the messages of a trial, which the run has not recorded"),
        (("--evaluator", "environment"), "for an agent, choose one of exact, llm"),
        (("--evaluator", "exakt"), "did you mean exact?"),
        (("--evaluator", "exact", "--answer-field", "x"), "give --tasks with it"),
        (("--evaluator", "llm", "--evaluator", "llm"), "or two different ones"),
        (("--evaluator", "exact", "--truth", "llm"), "what a model says is a verdict"),
        (("--evaluator", "checks.py:short", "--truth", "checks.py:unknown", "--retries", "1"), "no route"),
    ],
)
def test_what_cannot_judge_is_one_clear_line(home, options, says):
    call(home, *RUN, "--evaluator", "checks.py:lenient", "--truth", "checks.py:known")
    status, _, err = call(home, "judge", "run", *options)
    assert status != 0
    assert says in err
    assert err.count("\n") == 1


def test_a_judge_of_recorded_trials_of_an_environment(home):
    run = ("run", "hotpotqa", "--limit", "4", "--max-trials", "2", "--out", "run")
    assert call(home, *run)[0] == 0
    found = report_of(home, "--evaluator", "llm", "--model", "demo")
    [judge] = found["reports"]
    truths = [each["truth"] for each in judge["judgements"]]
    assert truths == [row["success"] for row in rows(home)]
    assert judge["llm_calls"] == len(truths)
    status, _, err = call(home, "judge", "run", "--evaluator", "checks.py:short")
    assert (status, "reads the result of a trial" in err) == (2, True)


@pytest.mark.parametrize(
    ("truth", "says"), [("llm", "what a model says is a verdict"), ("exakt", "choose exact")], ids=["llm", "exakt"]
)
def test_a_wrong_truth_of_a_run_is_refused_before_anything_is_written(home, truth, says):
    status, _, err = call(home, *RUN, "--evaluator", "checks.py:lenient", "--truth", truth)
    assert (status, says in err, (home / "run").exists()) == (2, True, False)


def test_an_environment_has_its_own_truth(home):
    status, _, err = call(home, "run", "hotpotqa", "--limit", "1", "--truth", "exact", "--out", "run")
    assert (status, "is for agents of your own: hotpotqa knows itself" in err, (home / "run").exists()) == (
        2,
        True,
        False,
    )


def test_several_models_cannot_judge(home):
    status, out, err = call(home, "judge", "run", "--evaluator", "llm", "--model", "openai:a,openai:b")
    assert (status, out) == (2, "")
    assert "one model judges all trials" in " ".join(err.split())
