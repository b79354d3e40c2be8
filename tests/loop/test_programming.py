"""Programming problems in the graph: programs in replies, self-written tests, hidden tests."""

import asyncio
import json
import re
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from langgraph_reflexion import ConfigurationError, ModelOptions, ReflexionError, create_reflexion, load_environment
from langgraph_reflexion.envs.programming.compiled import CompiledGrader
from langgraph_reflexion.envs.programming.episode import HANDED_IN, NO_TESTS, NOT_YET
from langgraph_reflexion.envs.programming.languages import LANGUAGES
from langgraph_reflexion.envs.sandbox import Limits, Sandbox
from langgraph_reflexion.errors import EnvironmentUnavailable
from langgraph_reflexion.evaluators.self_tests import MAY_BE_WRONG
from langgraph_reflexion.lab.experiments.comparison import compare
from langgraph_reflexion.lab.experiments.locks import locked
from langgraph_reflexion.lab.experiments.runner import run, run_setup
from langgraph_reflexion.lab.experiments.runs import read_run
from langgraph_reflexion.lab.experiments.setup import Setup, SharedBudgets
from langgraph_reflexion.lab.experiments.trials import trials_of_run
from langgraph_reflexion.lab.run_settings import RunSettings
from langgraph_reflexion.loop.profiles import PROFILES
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support import toys
from tests.support.model_server import ModelServer
from tests.support.scripts import SmallModel
from tests.support.toys import asks_for, finished, text_of

pytestmark = [pytest.mark.needs("sandbox"), pytest.mark.slow]

RIGHT = "def area(side: int) -> int:\n    return side * side if side > 0 else 0"
WRONG = "def area(side: int) -> int:\n    return side * side"
PROBLEM = {
    "task_id": "own/area",
    "prompt": 'def area(side: int) -> int:\n    """The area of a square; 0 where the side is negative."""\n',
    "entry_point": "area",
    "canonical_solution": "    return side * side if side > 0 else 0\n",
    "test": "def check(candidate):\n    assert candidate(3) == 9\n    assert candidate(-2) == 0\n",
}
AGAIN = replace(PROFILES["paper"], name="mine", rejects_answers=True)
TESTS = "Squares of sides.\n```python\nassert area(2) == 4\nassert area(-1) == 0\nassert sum([1]) == 1\n  x =\n```"


@pytest.fixture(scope="module")
def problems(tmp_path_factory):
    path = tmp_path_factory.mktemp("problems") / "squares.jsonl"
    path.write_text(json.dumps(PROBLEM) + "\n")
    environment = load_environment("programming", path=str(path))
    yield environment
    environment.close()


def test_a_missing_toolchain_is_noticed_before_a_run(problems):
    problems.expect_programs(problems.tasks())
    missing = replace(LANGUAGES["rust"], compile=["rustcc"])
    with pytest.raises(EnvironmentUnavailable, match=r"rust: rustcc: no such program .*; install Rust"):
        CompiledGrader(Sandbox(), Limits()).expect_toolchain(missing)


def block(code):
    return f"I multiply.\n\n```python\n{code}\n```\n"


def play(problems, *programs, tests=TESTS, **options):
    """Run the loop with one program per trial."""
    written = iter(programs)

    def reply(prompt):
        if prompt[-1].text.endswith("Tests:"):
            return tests() if callable(tests) else tests
        return next(written) if asks_for(prompt) == "act" else "A negative side has no area."

    final, model = toys.play(reply, problems, **{"max_trials": len(programs), **options})
    return final, model


def test_a_program_is_repaired_by_its_self_written_tests(problems):
    final, model = play(problems, block(WRONG), block(RIGHT))
    assert final["task"]["prepared"]["tests"] == ["assert area(2) == 4", "assert area(-1) == 0"]
    assert [trial["verdict"] for trial in final["trials"]] == [False, True]
    assert [trial["success"] for trial in final["trials"]] == [None, None], "the graph does not know the truth"
    asked, first, reflected, second = map(text_of, model.prompts)
    assert "assert area(arguments) == expected" in asked
    assert "What the check found" not in first
    failed = "assert area(-1) == 0  -- wanted: 0, came out: 1"
    assert failed in reflected
    assert "What the check found" in second
    for shown in (failed, "return side * side", "A negative side has no area.", "1 of 2 tests failed:"):
        assert shown in second
    assert {usage for trial in final["trials"] for usage in trial["usage"]} == {"reset", "act", "reflect"}


@pytest.mark.parametrize(("profile", "recalls"), [("paper", 1), ("upstream", 0)])
def test_the_first_program_is_asked_for_without_an_example(problems, profile, recalls):
    tests = "```python\nassert area(-1) == 0\n```"
    for strategy, shown in ((None, [False, True, True]), ("retry", [False, False])):
        wrong = [block(WRONG)] * len(shown)
        _, model = play(problems, *wrong, tests=tests, profile=profile, strategy=strategy)
        asked = [(asks_for(prompt), text_of(prompt)) for prompt in model.prompts[1:]]
        assert ["is an example, already solved" in text for node, text in asked if node == "act"] == shown
        reflecting = [text.count("This is what you wrote down") for node, text in asked if node == "reflect"]
        assert reflecting == ([0, recalls] if strategy is None else [])


def in_order(text, *parts):
    """Whether all parts are in a text, one after the other."""
    return re.search(".*".join(map(re.escape, parts)), text, re.DOTALL) is not None


FAILED, PASSED = "assert area(-1) == 0  -- wanted: 0, came out: 1", "assert area(2) == 4"
NOTE = "A negative side has no area."


def test_a_reflection_reads_description_program_and_the_failing_test_first(problems):
    _, model = play(problems, block(WRONG), block(RIGHT))
    reflecting = next(prompt[-1].text for prompt in model.prompts if asks_for(prompt) == "reflect")
    written = "return side * side"
    assert in_order(reflecting, "The area of a square", written, "1 of 2 tests failed:", FAILED, PASSED, MAY_BE_WRONG)
    assert "score" not in reflecting


@pytest.mark.parametrize(
    ("strategy", "shown"),
    [
        ("last_attempt", ["return side * side\n```", FAILED, PASSED]),
        ("reflexion", [FAILED, PASSED, NOTE]),
        ("last_attempt_and_reflexion", ["return side * side\n```", FAILED, PASSED, NOTE]),
    ],
)
@pytest.mark.parametrize("actor", ["code", "react"])
def test_the_next_trial_reads_the_description_first_and_the_request_last(problems, strategy, shown, actor):
    programs = [block(WRONG), block(RIGHT)]
    if actor == "react":
        programs = [f"Thought: I try.\nAction: submit\n{code}" for code in (WRONG, RIGHT)]
        shown = [each.removesuffix("\n```") for each in shown]
    _, model = play(problems, *programs, strategy=strategy, actor=actor)
    opening = [prompt for prompt in model.prompts if asks_for(prompt) == "act"][-1][-1].text
    assert in_order(opening, "The area of a square", *shown, "It has to pass the test that failed")
    assert opening.endswith("and still pass the others.")


@pytest.mark.parametrize("actor", ["code", "react"])
def test_a_program_is_followed_by_what_its_tests_found_and_by_another(problems, actor):
    programs = [block(WRONG), block(RIGHT)]
    if actor == "react":
        programs = [f"Action: submit\n{code}" for code in (WRONG, RIGHT)]
    final, model = play(problems, *programs, strategy="continue", actor=actor)
    assert (final["status"], final["trial"]) == ("solved", 2)
    _, first, second = model.prompts
    assert [message.text for message in second[: len(first)]] == [message.text for message in first]
    assert WRONG in second[-2].text
    assert FAILED in second[-1].text
    assert second[-1].text.endswith("It has to pass the test that failed, and still pass the others.")


def test_a_program_that_its_tests_have_rejected_is_sampled_again(problems):
    same = WRONG.replace("\n", "  \n\n")
    final, _ = play(problems, block(WRONG), block(same), block(RIGHT), max_trials=2, profile=AGAIN, strategy="retry")
    assert (final["status"], final["trials"][1]["usage"]["act"]["llm_calls"]) == ("solved", 2)


def test_a_program_with_another_indentation_is_another_one(problems):
    one = "def area(side: int) -> int:\n    for _ in range(2):\n        side = 1\n        return side"
    other = one.replace("        return", "    return")
    final, _ = play(problems, block(one), block(other), profile=AGAIN, strategy="retry")
    assert [record["usage"]["act"]["llm_calls"] for record in final["trials"]] == [1, 1]


def test_a_retry_reads_nothing_of_the_trial_before(problems):
    _, model = play(problems, block(WRONG), block(RIGHT), strategy="retry")
    _, first, second = model.prompts
    assert text_of(first) == text_of(second)


def test_a_reflection_sees_examples_of_the_tasks_language_only(problems):
    _, model = play(problems, block(WRONG), block(RIGHT))
    reflecting = next(text_of(prompt) for prompt in model.prompts if asks_for(prompt) == "reflect")
    assert "def shorten" in reflecting
    assert "```rust" not in reflecting
    assert "assert_eq!" not in reflecting


def test_hidden_tests_stay_hidden(problems):
    final, model = play(problems, block(WRONG), block(WRONG))
    for hidden in ("candidate(3)", "candidate(-2)", "area(3)", "area(-2)", PROBLEM["canonical_solution"].strip()):
        assert hidden not in json.dumps(final)
        assert hidden not in "".join(map(text_of, model.prompts))


def test_only_a_submitted_program_of_a_completed_trial_is_graded(problems):
    task = problems.tasks()[0]
    tried = {"name": "run_tests", "args": {"code": RIGHT}, "text": ""}
    assert problems.review(task, finished(tried)).success is False
    assert problems.review(task, {**finished(tried), "stop_reason": "fault"}).success is None


def test_a_run_records_verdict_and_truth(problems, tmp_path):
    tests = "```\nassert area(2) == 4\n```"
    model = ScriptedChatModel(replies=lambda prompt: tests if prompt[-1].text.endswith("Tests:") else block(WRONG))
    settings = RunSettings(environment="programming", max_trials=2)
    settings = settings.resolved(problems, settings.rules(problems))
    budgets = SharedBudgets()
    graph = create_reflexion(model, problems, max_trials=2, budgets=budgets)
    with locked(tmp_path):
        setup = Setup(settings, graph, problems.tasks(), budgets, problems)
        summary = asyncio.run(run_setup(setup, tmp_path))
    assert (summary.report.answers or {})["false_positive"] == 1, "its own test passes what is wrong"
    assert summary.report.solved == [0, 0]


def test_a_run_counts_the_programs_that_were_sampled_again(tmp_path):
    def reply(messages):
        return TESTS if messages[-1].text.endswith("Tests:") else block(WRONG)

    path = tmp_path / "squares.jsonl"
    path.write_text(json.dumps(PROBLEM) + "\n")
    with ModelServer(ScriptedChatModel(replies=reply)) as server:
        given = {"model": "openai:small", "base_url": server.url, "strategy": "retry", "rejects_answers": True}
        settings = RunSettings(environment="programming", options={"path": str(path)}, max_trials=2, **given)
        run(settings, tmp_path / "run")
    assert [row["usage"]["act"]["llm_calls"] for row in read_run(tmp_path / "run").trials] == [1, 3]
    compared = compare(tmp_path / "run")
    sign = compared.as_json()["groups"][0]["diagnostics"]["sampled_again"]
    assert (sign["found"], sign["of"]) == (1, 1)
    assert "rejected answers sampled again" in compared.groups[0].facts.values()


def test_a_reflection_leads_from_a_wrong_program_to_a_right_one_by_the_hidden_tests_too(tmp_path):
    with ModelServer(SmallModel()) as server:
        given = {"environment": "programming", "model": "openai:small", "base_url": server.url}
        summary = run(RunSettings(**given, max_trials=3, limit=3), tmp_path / "run")
    rows = read_run(tmp_path / "run").trials
    outcomes = {(row["trial"], row["verdict"], row["success"]) for row in rows}
    assert outcomes == {(1, False, False), (2, True, True)}
    assert summary.report.solved == [0, 3, 3]


@pytest.mark.long
def test_flaky_tests_are_dropped(problems):
    luck = "import os\ndef area(side):\n    return os.urandom(1)[0] if side > 6 else side * side"
    flaky = [f"assert area({side}) % 2 == 0" for side in range(7, 12)]
    tests = "\n".join(["```", "assert area(2) == 4", *flaky, "```"])
    for _ in range(5):  # five tests have the same outcomes twice in one of 32 cases
        final, _ = play(problems, block(luck), block(RIGHT), tests=tests)
        if len(final["task"]["prepared"]["tests"]) < 6:
            break
    assert any("two outcomes" in note for trial in final["trials"] for note in trial["notes"])
    assert "assert area(2) == 4" in final["task"]["prepared"]["tests"]


NONE = "I cannot think of any."


def asked_for_tests(model):
    return [prompt for prompt in model.prompts if prompt[-1].text.endswith("Tests:")]


def test_a_reply_without_a_valid_test_is_asked_for_once_more(problems):
    written = iter([NONE, TESTS])
    final, model = play(problems, block(RIGHT), tests=lambda: next(written))
    assert final["task"]["prepared"]["tests"] == ["assert area(2) == 4", "assert area(-1) == 0"]
    first, second = asked_for_tests(model)
    assert "held no test" not in text_of(first)
    assert "held no test" in second[-1].text
    assert NONE not in text_of(second)
    assert final["trials"][0]["usage"]["reset"]["llm_calls"] == 2, "both are paid for"
    assert final["trials"][0]["notes"].count("tests: no valid test was written") == 1


def with_example(tmp_path, example):
    text = f"The area of a square; 0 where the side is negative.\n\n    {example}\n    "
    prompt = f'def area(side: int) -> int:\n    """{text}"""\n'
    (tmp_path / "squares.jsonl").write_text(json.dumps({**PROBLEM, "prompt": prompt}) + "\n")
    return load_environment("programming", path=str(tmp_path / "squares.jsonl"))


def test_the_examples_of_the_description_are_the_tests_if_none_is_written(tmp_path):
    problems = with_example(tmp_path, ">>> area(-3)\n    0")
    final, model = play(problems, block(WRONG), block(RIGHT), tests=NONE)
    assert len(asked_for_tests(model)) == 2
    assert final["task"]["prepared"]["tests"] == ["assert area(-3) == 0"]
    assert [trial["verdict"] for trial in final["trials"]] == [False, True]
    assert "tests: the examples in the description are the tests" in final["trials"][0]["notes"]
    assert final["task"]["prepared"]["tests_from"] == "description"
    assert not any(MAY_BE_WRONG in text_of(prompt) for prompt in model.prompts)
    problems.close()


def test_a_test_that_contradicts_the_description_is_dropped(tmp_path):
    problems = with_example(tmp_path, "area(-3) == 0")
    tests = "```python\nassert area(-3) == 9\nassert area(2) == 4\n```"
    final, _ = play(problems, block(RIGHT), tests=tests)
    assert final["status"] == "solved"
    assert final["task"]["prepared"]["tests"] == ["assert area(2) == 4"]
    assert "tests, 1 of 2: dropped, as they contradict the description" in final["trials"][0]["notes"]
    problems.close()


LEETCODE = {**PROBLEM, "cannonical_solution": "", "test": ""}
del LEETCODE["canonical_solution"]


def given_and_written(tmp_path, *programs, tests):
    """Play a problem that brings a test of its own, with the model's tests beside it."""
    path = tmp_path / "given.jsonl"
    path.write_text(json.dumps({**LEETCODE, "visible_tests": ["assert area(3) == 9"]}) + "\n")
    problems = load_environment("programming", path=str(path))
    try:
        return play(problems, *programs, tests=tests, evaluator="self-tests+given")
    finally:
        problems.close()


def test_self_written_tests_run_beside_those_of_the_task(tmp_path):
    tests = "```python\nassert area(3) == 10\nassert area(-1) == 0\nassert area(3) == 9\n```"
    final, model = given_and_written(tmp_path, block(WRONG), block(RIGHT), tests=tests)
    prepared = final["task"]["prepared"]
    assert prepared["tests"] == ["assert area(3) == 9", "assert area(-1) == 0"], "once each, and none against another"
    assert prepared["tests_from"] == "task and model"
    assert [trial["verdict"] for trial in final["trials"]] == [False, True]
    assert len(asked_for_tests(model)) == 1
    reflecting = next(prompt[-1].text for prompt in model.prompts if asks_for(prompt) == "reflect")
    assert in_order(reflecting, "1 of 2 tests failed:", FAILED, MAY_BE_WRONG)


def test_a_failed_test_of_the_task_is_not_said_to_be_perhaps_wrong(tmp_path):
    tests = "```python\nassert area(-1) == 0\n```"
    _, model = given_and_written(tmp_path, block("def area(side):\n    return 0"), block(RIGHT), tests=tests)
    reflecting = next(prompt[-1].text for prompt in model.prompts if asks_for(prompt) == "reflect")
    assert "assert area(3) == 9  -- wanted: 9, came out: 0" in reflecting
    assert MAY_BE_WRONG not in reflecting


def test_without_a_valid_self_written_test_those_of_the_task_stand_alone(tmp_path):
    final, model = given_and_written(tmp_path, block(RIGHT), tests=NONE)
    assert final["task"]["prepared"] == {"tests": ["assert area(3) == 9"], "tests_from": "task"}
    assert final["status"] == "solved"
    assert len(asked_for_tests(model)) == 2, "it is asked once more"


def test_examples_of_the_description_are_given_tests_too(tmp_path):
    problems = with_example(tmp_path, ">>> area(-3)\n    0")
    tests = "```python\nassert area(2) == 4\n```"
    final, _ = play(problems, block(WRONG), block(RIGHT), tests=tests, evaluator="self-tests+given")
    assert final["task"]["prepared"]["tests"] == ["assert area(-3) == 0", "assert area(2) == 4"]
    assert [trial["verdict"] for trial in final["trials"]] == [False, True]
    problems.close()


def test_without_any_test_a_program_is_unverified_and_the_task_goes_on(problems):
    final, _ = play(problems, block(WRONG), block(RIGHT), tests=NONE)
    assert final["task"]["prepared"]["tests"] == []
    assert final["status"] == "failed"
    found = [(trial["verdict"], trial["score"], trial["unverified"]) for trial in final["trials"]]
    assert found == [(False, 0.0, True), (False, 0.0, True)]
    assert final["evaluation"]["unverified"] is True
    assert "may be right" in final["evaluation"]["feedback"]
    final, _ = play(problems, block("The area has\nthe following structure."), tests=NONE)
    (trial,) = final["trials"]
    assert trial["verdict"] is False
    assert "unverified" not in trial, "what is not a program is known to be wrong"


@pytest.mark.parametrize("actor", ["code", "react"])
@pytest.mark.parametrize("feedback", ["binary", "scalar", "words"])
def test_without_an_evaluator_no_prompt_calls_a_program_failed(actor, feedback, problems):
    def reply(prompt):
        if asks_for(prompt) != "act":
            return NOTE
        return block(WRONG) if actor == "code" else f"Thought: I try it.\nAction: submit\n{WRONG}"

    how = {"evaluator": "none", "feedback": feedback, "actor": actor, "strategy": "last_attempt_and_reflexion"}
    final, model = toys.play(reply, problems, max_trials=2, **how)
    assert [(trial["verdict"], trial["unverified"]) for trial in final["trials"]] == [(False, True)] * 2
    first, reflecting, second = (prompt[-1].text for prompt in model.prompts)
    assert "Tests were left out" not in first
    for shown in (reflecting, second):
        assert "What the check found:\n| Tests were left out: it is unknown whether this is right." in shown
        assert "FAILED" not in shown
        assert "score" not in shown
    instruction = model.prompts[1][0].text
    assert "No test has judged one of them" in instruction.partition("This is what such a note looks like")[0]
    assert "failed" not in instruction.partition("This is what such a note looks like")[0]
    assert "You have tried this task before." in second
    assert "failed" not in second


def test_a_trial_that_nothing_has_judged_is_not_called_failed_in_any_world():
    def reply(prompt):
        return "Thought: I look.\nAction: look" if asks_for(prompt) == "act" else "I saw nothing."

    _, model = toys.play(reply, load_environment("alfworld"), evaluator="none", feedback="binary", max_trials=2)
    reflecting = next(prompt[-1].text for prompt in model.prompts if asks_for(prompt) == "reflect")
    assert in_order(reflecting, "The trial that has just ended:", "Status: UNKNOWN", "| Tests were left out")
    assert "FAILED" not in reflecting
    assert "failed" not in reflecting.partition("The trial that has just ended:")[2]
    instruction = next(prompt[0].text for prompt in model.prompts if asks_for(prompt) == "reflect")
    assert "You have just tried such a task" in instruction
    assert "failed at such a task" not in instruction
    said = "\n".join(message.text for prompt in model.prompts for message in prompt)
    assert "You have tried this task before." in said
    assert "trials of this task failed" not in said


def test_upstream_accepts_a_program_without_tests(problems):
    final, model = play(problems, block(WRONG), block(RIGHT), tests=NONE, profile="upstream")
    assert len(asked_for_tests(model)) == 1
    assert (final["status"], len(final["trials"])) == ("solved", 1)
    assert final["trials"][0]["unverified"] is True


def test_unverified_trials_are_counted_and_shown(problems, tmp_path):
    model = ScriptedChatModel(replies=lambda prompt: NONE if prompt[-1].text.endswith("Tests:") else block(WRONG))
    settings = RunSettings(environment="programming", max_trials=2)
    settings = settings.resolved(problems, settings.rules(problems))
    budgets = SharedBudgets()
    graph = create_reflexion(model, problems, max_trials=2, budgets=budgets)
    with locked(tmp_path):
        setup = Setup(settings, graph, problems.tasks(), budgets, problems)
        summary = asyncio.run(run_setup(setup, tmp_path))
    assert summary.report.unverified == 2
    rows = [row for table in compare(tmp_path).tables() for row in table.rows]
    assert ["unverified", "2"] in rows
    assert "verdict: not accepted (unverified)" in repr(trials_of_run(tmp_path, "1"))


def test_six_tests_are_drawn_by_the_seed(problems):
    many = "```\n" + "\n".join(f"assert area({side}) == {side * side}" for side in range(10)) + "\n```"
    finals = [play(problems, block(RIGHT), tests=many, options=ModelOptions(seed=seed))[0] for seed in (1, 2)]
    one, other = (final["task"]["prepared"]["tests"] for final in finals)
    assert len(one) == len(other) == 6
    assert one != other


@pytest.mark.parametrize("actor", ["react", "tools"])
def test_actors_with_actions_run_their_tests(actor, problems):
    def acting(name: str, code: str) -> Any:
        if actor == "react":
            return f"Thought: I try it.\nAction: {name}\n{code}"
        return AIMessage("", tool_calls=[{"name": name, "args": {"code": code}, "id": "1"}])

    final, _ = play(problems, acting("run_tests", WRONG), acting("submit", RIGHT), actor=actor, max_trials=1)
    tried, submitted = (step["observation"] for step in final["trajectory"])
    assert (tried.splitlines()[1], submitted) == ("assert area(-1) == 0  -- wanted: 0, came out: 1", HANDED_IN)
    assert final["status"] == "solved"


@pytest.mark.parametrize(
    ("example", "seen"),
    [(">>> area(-3)\n    0", "assert area(-3) == 0  -- wanted: 0, came out: 9"), ("A line.", NO_TESTS)],
)
def test_where_no_test_is_written_a_program_is_run_on_the_examples(example, seen, tmp_path):
    problems = with_example(tmp_path, example)
    replies = [f"Action: run_tests\n{WRONG}", "Action: submit", f"Action: submit\n{RIGHT}"]
    final, _ = play(problems, *replies, actor="react", evaluator="none", max_trials=1)
    tried, empty, submitted = (step["observation"] for step in final["trajectory"])
    assert tried.splitlines()[-1] == seen
    assert empty == (
        "Invalid action: submit needs {code}, in the lines below it. "
        "Allowed actions:\n- submit\n{code}\n- run_tests\n{code}"
    )
    assert submitted == HANDED_IN
    problems.close()


def test_a_program_that_passes_its_tests_is_still_to_be_handed_in(problems):
    replies = [f"Action: run_tests\n{RIGHT}", f"Action: submit\n{RIGHT}"]
    final, _ = play(problems, *replies, actor="react", max_trials=1)
    assert final["trajectory"][0]["observation"].splitlines()[-1] == NOT_YET
    assert final["status"] == "solved"


@pytest.mark.parametrize("reply", ["I do not know.", "```python\n\n```"])
def test_a_reply_without_a_program_fails(reply, problems):
    final, _ = play(problems, reply)
    assert (final["status"], final["trials"][0]["verdict"]) == ("failed", False)
    assert "No program was handed in." in final["evaluation"]["feedback"]


def test_invalid_options_are_refused(problems):
    for options, says in (({"language": "cobol"}, "cobol"), ({"path": "/nowhere/x.jsonl"}, "/nowhere/x.jsonl")):
        with pytest.raises(ReflexionError, match=says):
            load_environment("programming", **options)
    with pytest.raises(ConfigurationError, match="elsewhere"):
        problems.start({"id": "elsewhere", "instruction": ""})
    for environment, evaluator in ((problems, "environment"), (load_environment("hotpotqa"), "self-tests")):
        with pytest.raises(ConfigurationError, match="self-tests"):
            create_reflexion(ScriptedChatModel(replies=[]), environment, evaluator=evaluator)
