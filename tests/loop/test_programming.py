"""The loop on programming problems: programs in replies, self-written tests, and hidden tests that stay hidden."""

import asyncio
import json
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from langgraph_reflexion import ConfigurationError, ModelOptions, ReflexionError, create_reflexion, load_environment
from langgraph_reflexion.envs.programming.environment import Programming
from langgraph_reflexion.envs.programming.episode import HANDED_IN, NO_TESTS
from langgraph_reflexion.envs.programming.problems import Case as Call
from langgraph_reflexion.envs.programming.problems import Problem
from langgraph_reflexion.experiments.locks import locked
from langgraph_reflexion.experiments.runner import run_setup
from langgraph_reflexion.experiments.setup import Setup, SharedBudgets
from langgraph_reflexion.settings import RunSettings
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import asks_for, finished, text_of

pytestmark = pytest.mark.needs("sandbox")

RIGHT = "def area(side: int) -> int:\n    return side * side if side > 0 else 0"
FENCED = 'def area(side):\n    """\n    ```\n    4\n    ```\n    """\n    return side * side'
WRONG = "def area(side: int) -> int:\n    return side * side"
PROBLEM = {
    "task_id": "own/area",
    "prompt": 'def area(side: int) -> int:\n    """The area of a square; 0 where the side is negative."""\n',
    "entry_point": "area",
    "canonical_solution": "    return side * side if side > 0 else 0\n",
    "test": "def check(candidate):\n    assert candidate(3) == 9\n    assert candidate(-2) == 0\n",
}
TESTS = "Squares of sides.\n```python\nassert area(2) == 4\nassert area(-1) == 0\nassert sum([1]) == 1\n  x =\n```"


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("problems") / "squares.jsonl"
    path.write_text(json.dumps(PROBLEM) + "\n")
    environment = load_environment("programming", path=str(path))
    yield environment
    environment.close()


def block(code: str) -> str:
    return f"I multiply.\n\n```python\n{code}\n```\n"


def play(problems: Programming, *programs: str, tests: str = TESTS, **options: Any) -> tuple[Any, ScriptedChatModel]:
    """Run the loop with one program per trial."""
    written = iter(programs)

    def reply(prompt: Any) -> str:
        if prompt[-1].text.endswith("Tests:"):
            return tests
        return next(written) if asks_for(prompt) == "act" else "A negative side has no area."

    model = ScriptedChatModel(replies=reply)
    graph = create_reflexion(model, problems, max_trials=len(programs), **options).compile()
    return graph.invoke({"task": problems.tasks()[0]}), model


def test_loop_of_the_paper(problems: Programming) -> None:
    final, model = play(problems, block(WRONG), block(RIGHT))
    assert final["task"]["prepared"]["tests"] == ["assert area(2) == 4", "assert area(-1) == 0"]
    assert [trial["verdict"] for trial in final["trials"]] == [False, True]
    assert [trial["success"] for trial in final["trials"]] == [None, None], "the graph does not know the truth"
    asked, first, reflected, second = map(text_of, model.prompts)
    assert "assert area(arguments) == expected" in asked
    assert "Its outcome" not in first
    failed = "assert area(-1) == 0  -- came out: 1"
    assert failed in reflected
    for shown in (failed, "return side * side", "A negative side has no area.", "1 of 2 tests passed"):
        assert shown in second
    assert {usage for trial in final["trials"] for usage in trial["usage"]} == {"reset", "act", "reflect"}


def test_loop_without_tests(problems: Programming) -> None:
    final, model = play(problems, block(RIGHT), block(RIGHT), evaluator="none")
    assert (final["status"], len(final["trials"])) == ("failed", 2)
    assert not any(prompt[-1].text.endswith("Tests:") for prompt in model.prompts)
    assert "Tests were left out" in text_of(model.prompts[-1])


def test_hidden_tests_stay_hidden(problems: Programming) -> None:
    final, model = play(problems, block(WRONG), block(WRONG))
    for hidden in ("candidate(3)", "candidate(-2)", "area(3)", "area(-2)", PROBLEM["canonical_solution"].strip()):
        assert hidden not in json.dumps(final)
        assert hidden not in "".join(map(text_of, model.prompts))


def test_review(problems: Programming) -> None:
    task, code = problems.tasks()[0], problems.variant("code")
    assert problems.review(task, finished(code.parse(block(RIGHT)))).success is True
    assert problems.review(task, finished(code.parse(block(WRONG)))).success is False
    assert problems.review(task, finished()).success is False
    tried = {"name": "run_tests", "args": {"code": RIGHT}, "text": ""}
    assert problems.review(task, finished(tried)).success is False, "tried out, and not handed in"
    cut_short = {**finished(tried), "stop_reason": "fault"}
    assert problems.review(task, cut_short).success is None, "nobody knows what it would have been"


def test_run_records_verdict_and_truth(problems: Programming, tmp_path: Path) -> None:
    written = iter([block(WRONG), block(RIGHT)])
    tests = "```\nassert area(2) == 4\n```"
    model = ScriptedChatModel(replies=lambda prompt: tests if prompt[-1].text.endswith("Tests:") else next(written))
    settings, budgets = RunSettings(environment="programming", max_trials=2).resolved(problems), SharedBudgets()
    graph = create_reflexion(model, problems, max_trials=2, budgets=budgets)
    with locked(tmp_path):
        setup = Setup(graph, problems.tasks(), budgets, problems)
        summary = asyncio.run(run_setup(settings, setup, tmp_path))
    assert (summary.report.answers or {})["false_positive"] == 1, "its own test passes what is wrong"
    assert summary.report.solved == [0, 0]


def test_environment_evaluator_is_refused(problems: Programming) -> None:
    with pytest.raises(ConfigurationError, match="self-tests"):
        create_reflexion(ScriptedChatModel(replies=[]), problems, evaluator="environment")


def test_flaky_test_is_dropped(problems: Programming) -> None:
    luck = "import os\ndef area(side):\n    return os.urandom(1)[0] if side == 7 else side * side"
    tests = "```\nassert area(2) == 4\nassert area(7) % 2 == 0\nassert area(-1) == 0\n```"
    for _ in range(40):
        final, _ = play(problems, block(luck), block(RIGHT), tests=tests)
        dropped = "assert area(7) % 2 == 0" not in final["task"]["prepared"]["tests"]
        assert dropped == any("two outcomes: 1" in note for trial in final["trials"] for note in trial["notes"])
        if dropped:
            return
    raise AssertionError("half of the programs give two outcomes at once")


def test_first_program_is_accepted_without_valid_tests(problems: Programming) -> None:
    final, _ = play(problems, block(WRONG), tests="I cannot think of any.")
    assert (final["status"], final["task"]["prepared"]["tests"]) == ("solved", [])
    assert "tests: none that is valid was written" in final["trials"][0]["notes"]


def test_tests_are_sampled_by_the_seed(problems: Programming) -> None:
    many = "```\n" + "\n".join(f"assert area({side}) == {side * side}" for side in range(10)) + "\n```"
    drawn = [
        play(problems, block(RIGHT), tests=many, options=ModelOptions(seed=seed))[0]["task"]["prepared"]["tests"]
        for seed in (1, 1, 2)
    ]
    assert {len(tests) for tests in drawn} == {6}
    assert drawn[0] == drawn[1] != drawn[2]
    one, _ = play(problems, block(RIGHT), tests=many, profile="upstream")
    assert len(one["task"]["prepared"]["tests"]) == 1, "as in the original code"


@pytest.mark.parametrize("agent", ["react", "tools"])
def test_agents_with_actions(agent: str, problems: Programming) -> None:
    steps = iter([("run_tests", WRONG), ("submit", RIGHT)])

    def reply(prompt: Any) -> Any:
        if prompt[-1].text.endswith("Tests:"):
            return TESTS
        name, code = next(steps)
        if agent == "react":
            return f"Thought: I try it.\nAction: {name}\n{code}"
        return AIMessage("", tool_calls=[{"name": name, "args": {"code": code}, "id": "1"}])

    graph = create_reflexion(ScriptedChatModel(replies=reply), problems, actor=agent, max_trials=1).compile()
    final = graph.invoke({"task": problems.tasks()[0]})
    assert [step["observation"].splitlines()[-1] for step in final["trajectory"]] == [
        "assert area(-1) == 0  -- came out: 1",
        HANDED_IN,
    ]
    assert final["status"] == "solved"


def test_tools_by_hand(problems: Programming) -> None:
    names = {tool.name: tool for tool in problems.start(problems.tasks()[0]).tools}
    assert "submit wants a program" in names["submit"].invoke({"code": " \n\t\n"})
    assert names["run_tests"].invoke({"code": RIGHT}) == NO_TESTS


def test_lone_surrogates(problems: Programming) -> None:
    odd = 'def area(side):\n    raise ValueError("\\ud800")'
    tests = "```\nassert area(2) == 4  # \ud800\nassert area(3) == '\ud800'\n```"
    final, _ = play(problems, block(odd), tests=tests)
    assert final["status"] == "failed"
    json.dumps(final, default=str, ensure_ascii=False).encode()


def test_language_without_self_written_tests(tmp_path: Path) -> None:
    problem = Problem("x", "own", "go", "func area(side int) int {\n", "area", (Call("area(2)", "4"),)).as_json()
    path = tmp_path / "go.jsonl"
    path.write_text(json.dumps(problem) + "\n")
    environment = load_environment("programming", path=str(path))
    model = ScriptedChatModel(replies=[])
    graph = create_reflexion(model, environment).compile()
    with pytest.raises(ConfigurationError, match="evaluator"):
        graph.invoke({"task": environment.tasks()[0]})
    assert not model.prompts


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (block(RIGHT), RIGHT),
        (f"Here is a sketch:\n```text\nmultiply\n```\nand the program:\n```python\n{RIGHT}\n```", RIGHT),
        (f"Of course.\n{RIGHT}", RIGHT),
        (f"~~~py\n{RIGHT}\n~~~", RIGHT),
        (f"```python\n# Action: multiply\n{RIGHT}\n```", f"# Action: multiply\n{RIGHT}"),
        (f"```python\n{RIGHT}", RIGHT),
        (f"It says `area`.\r\n```python\r\n{RIGHT}\r\n```\r\n".replace("\n    ", "\r\n    "), RIGHT),
        (f"1. The program:\n   ```python\n{indent(RIGHT, '   ')}\n   ```", RIGHT),
        (f"```python\n{FENCED}\n```\nIt multiplies.", FENCED),
    ],
)
def test_program_in_a_reply(reply: str, code: str, problems: Programming) -> None:
    final, _ = play(problems, reply)
    assert final["trajectory"][0]["action"]["args"]["code"] == code


@pytest.mark.parametrize("reply", ["I do not know.", "```python\n\n```", "def area(side): return side"])
def test_reply_without_a_program(reply: str, problems: Programming) -> None:
    final, _ = play(problems, reply)
    assert (final["status"], final["trials"][0]["verdict"]) == ("failed", False)
    assert "No program was handed in." in final["evaluation"]["feedback"]


def test_invalid_options(problems: Programming) -> None:
    for options, says in (
        ({"language": "cobol"}, "cobol"),
        ({"path": "/nowhere/x.jsonl"}, "/nowhere/x.jsonl"),
    ):
        with pytest.raises(ReflexionError, match=says):
            load_environment("programming", **options)
    with pytest.raises(ConfigurationError, match="elsewhere"):
        problems.start({"id": "elsewhere", "instruction": ""})
    with pytest.raises(ConfigurationError, match=r"self-tests.*hotpotqa"):
        create_reflexion(ScriptedChatModel(replies=[]), load_environment("hotpotqa"), evaluator="self-tests")
