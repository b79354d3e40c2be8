"""The demo model in a workspace: it repairs programs that it does not know, and learns from its reflections alone."""

import asyncio
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage, SystemMessage

from langgraph_reflexion import create_reflexion
from langgraph_reflexion import demo as package
from langgraph_reflexion.demo import DemoChatModel
from langgraph_reflexion.demo.failing import NOTHING_RUNS, read_outcome
from langgraph_reflexion.demo.mending import edits
from langgraph_reflexion.demo.suspects import candidates
from langgraph_reflexion.envs.workspace.environment import Workspace
from langgraph_reflexion.envs.workspace.generate import generate
from langgraph_reflexion.envs.workspace.repositories import lay_out, own_repositories
from langgraph_reflexion.prompts import load_prompts
from tests.demo.between import Between, lessons_of, with_lessons
from tests.tools import need_programs
from tests.toys import asks_for

pytestmark = pytest.mark.long

OWN = {repository.id: repository for repository in own_repositories()}
SEEDS = (4, 9)
"""Of generated repositories, some that take more than one trial."""
COMMON = {"__init__", "at", "count", "first", "inside", "plain", "read"}
"""Names that programs of all kinds have."""
needs_sandbox = pytest.mark.needs("bubblewrap")


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Plays tasks once for each way that is asked for.

    Gives the final states, each with its patch, and all prompts for a step.
    """
    folder = tmp_path_factory.mktemp("workshop")

    @cache
    def play(names, strategy="reflexion", actor="react", trials=3):
        heard = []

        def hear(messages):
            heard.append(messages)
            return messages

        repositories = [OWN.get(name) or generate(name) for name in names]
        environment = Workspace(tasks=lay_out(repositories, folder / "repositories"), store=folder / "store")
        model = Between(hears=hear)
        graph = create_reflexion(model, environment, strategy=strategy, actor=actor, max_trials=trials).compile()

        async def all_of_them():
            return await asyncio.gather(*(graph.ainvoke({"task": task}) for task in environment.tasks()))

        finals = asyncio.run(all_of_them())
        for final in finals:
            final["patch"] = environment.patch(final["task"], final["episode"]["snapshot"])
        environment.close()
        return finals, [messages for messages in heard if asks_for(messages) == "act"]

    return play


def task_told(messages):
    """The task in a prompt, whatever stands before it."""
    return messages[1].text.removeprefix(lessons_of(messages)).rpartition("Here is the task again:")[2].strip()


def first_edits(prompts):
    """The prompts that ask for a trial's first edit."""
    return [m for m in prompts if "I change line" in DemoChatModel().invoke(m).text and "I change" not in told(m)]


def told(messages):
    return "\n".join(message.text for message in messages[2:])


def changes(text):
    return re.findall(r"I change (line \d+ of \S+ to: .+)", text)


@needs_sandbox
@pytest.mark.parametrize("name", OWN)
def test_each_of_our_own_is_repaired_within_three_trials_and_the_patch_applies(name, played, tmp_path):
    need_programs(OWN[name].needs)
    ((final,), _) = played((name,))
    assert final["status"] == "solved", final["trials"]
    folder = OWN[name].write(tmp_path / "wrong")
    subprocess.run(["git", "apply"], cwd=folder, input=final["patch"], text=True, check=True)
    assert {path: (folder / path).read_text() for path in OWN[name].files} == OWN[name].files


@needs_sandbox
def test_generated_ones_are_repaired_after_trials_that_failed(played):
    finals, _ = played(SEEDS)
    assert {final["status"] for final in finals} == {"solved"}
    assert all(len(final["trials"]) > 1 for final in finals)
    for final in finals:
        assert re.search(
            r"line \d+ of \S+ changed to: .+ - it (did not help|helped in part|broke)", str(final["reflections"])
        )


@needs_sandbox
def test_retry_tries_the_same_again(played):
    finals, _ = played(SEEDS[1:], strategy="retry", trials=2)
    assert {final["status"] for final in finals} == {"failed"}


@needs_sandbox
def test_without_the_reflections_in_its_prompt_or_with_anothers_the_gain_is_gone(played):
    _, prompts = played(SEEDS)
    begun = first_edits(prompts)
    fresh = {task_told(m): DemoChatModel().invoke(m).text for m in begun if not lessons_of(m)}
    later = [m for m in begun if lessons_of(m)]
    assert len(fresh) == len(SEEDS)
    assert later
    for messages in later:
        task = task_told(messages)
        (other,) = [lessons_of(m) for m in later if task_told(m) != task][:1]
        assert DemoChatModel().invoke(messages).text != fresh[task]
        assert DemoChatModel().invoke(with_lessons(messages, "")).text == fresh[task]
        assert DemoChatModel().invoke(with_lessons(messages, other)).text == fresh[task]


@needs_sandbox
def test_what_a_reflection_names_is_not_tried_again(played):
    _, prompts = played(SEEDS)
    for messages in (m for m in prompts if lessons_of(m)):
        noted = re.findall(r"(line \d+ of \S+) changed to: (.+) - it ", lessons_of(messages))
        for line, code in noted:
            assert f"{line} to: {code}" not in changes(DemoChatModel().invoke(messages).text)


@needs_sandbox
def test_tool_calls_do_as_well_as_text(played):
    by_text, _ = played(SEEDS)
    (by_tools,), _ = played(SEEDS[1:], actor="tools")
    assert by_tools["status"] == "solved"
    assert by_tools["reflections"] == by_text[1]["reflections"]


@needs_sandbox
def test_as_a_judge_it_goes_by_the_last_verification(played):
    prompts = load_prompts("workspace")

    def verdict(final):
        trial = prompts.render("trial", observation=final["episode"]["observation"], steps=final["trajectory"])
        return DemoChatModel().invoke([SystemMessage(prompts.render("judge")), HumanMessage(trial)]).text

    solved, _ = played(SEEDS)
    failed, _ = played(SEEDS[1:], strategy="retry", trials=2)
    assert [verdict(final).endswith("Verdict: yes") for final in [*solved, *failed]] == [True, True, False]


# What it knows: languages and the forms of test programs.


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("if count < limit:", "if count <= limit:"),
        ("for i in 0..=n {", "for i in 0..n {"),
        ("return base - sum(parts)", "return base + sum(parts)"),
        ("if ready and empty:", "if ready or empty:"),
        ("if ready:", "if not ready:"),
        ("total = 1", "total = 0"),
        ("share = part(whole, size)", "share = part(size, whole)"),
        ("return row[i]", "return row[i - 1]"),
        ("top = min(values)", "top = max(values)"),
        ("step = n % 3", "step = n % 2"),
    ],
)
def test_its_catalogue_holds_the_usual_mistakes(wrong, right):
    assert right in [edit.line for edit in edits(wrong)]


def test_it_negates_as_the_language_does():
    assert "return !seen.has(word);" in [edit.line for edit in edits("return seen.has(word);", "!")]
    assert "while !done(x) {" in [edit.line for edit in edits("while done(x) {", "!")]


@pytest.mark.parametrize("line", ["", "# a < b", "// a < b", "import a", "use crate::a;", "});", '"""a and b"""'])
def test_it_leaves_alone_what_does_nothing(line):
    assert edits(line) == []


@pytest.mark.parametrize(
    ("output", "failed", "names", "place", "pair"),
    [
        (
            "FAILED\n>       assert f(2) == 3\nE       assert 2 == 3\n\ntests/test_a.py:7: AssertionError\n"
            "FAILED tests/test_a.py::test_f - assert 2 == 3\n1 failed, 4 passed in \u2026s",
            *(1, ("test_f",), ("tests/test_a.py", 7), ("2", "3")),
        ),
        (
            "not ok 2 - it adds\n  stack: |-\n    TestContext.<anonymous> (file:///w/test/a.test.js:6:10)\n"
            "  expected: 3\n  actual: 2\n# pass 4\n# fail 1",
            *(1, ("it adds",), ("///w/test/a.test.js", 6), ("2", "3")),
        ),
        (
            "test sums::adds ... FAILED\n---- sums::adds stdout ----\n"
            "thread 'sums::adds' panicked at tests/a.rs:6:5:\nassertion `left == right` failed\n"
            "  left: 2\n right: 3\n"
            "test result: FAILED. 4 passed; 1 failed; 0 ignored\nerror: test failed, to rerun pass `--test a`",
            *(1, ("adds",), ("tests/a.rs", 6), ("2", "3")),
        ),
    ],
    ids=["pytest", "node", "cargo"],
)
def test_it_reads_what_fails_where_and_by_how_much(output, failed, names, place, pair):
    outcome = read_outcome(output, passed=False)
    assert (outcome.failed, outcome.names) == (failed, names)
    assert place in outcome.places
    assert pair in outcome.pairs


@pytest.mark.parametrize(
    "output",
    [
        "E   SyntaxError: invalid syntax\n1 error in 0.1s",
        "error[E0308]: mismatched types\nerror: could not compile `a`",
        "",
    ],
)
def test_a_program_that_does_not_start_is_worse_than_any_failure(output):
    assert read_outcome(output, passed=False).failed == NOTHING_RUNS


def test_it_looks_first_at_what_failing_tests_reach_and_passing_ones_do_not():
    files = {
        "a.py": ["def one(n):", "    return n < 1", "", "def two(n):", "    return n < 2"],
        "tests/test_a.py": ["def test_one():", "    assert one(0)", "", "def test_two():", "    assert two(2)"],
    }
    outcome = read_outcome("E  assert False\ntests/test_a.py:5: AssertionError\n1 failed, 1 passed", passed=False)
    assert {(each.path, each.number) for each in candidates(files, outcome)} == {("a.py", 5)}


def test_it_knows_no_word_of_the_repositories():
    texts = [text for repository in OWN.values() for text in repository.files.values()]
    texts += [text for seed in SEEDS for text in generate(seed).files.values()]
    named = {name for text in texts for name in re.findall(r"(?:def|function|fn|class|struct) (\w+)", text)}
    assert len(named) > 40
    for path in Path(package.__file__).parent.glob("*.py"):
        if path.stem in ("repairing", "workshop", "suspects", "mending", "failing"):
            words = set(re.findall(r"\w+", path.read_text(encoding="utf-8")))
            assert not {name for name in named & words if name not in COMMON}, path.name
