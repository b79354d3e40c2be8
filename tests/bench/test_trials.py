"""A task's trials, from states and from run folders, in notebooks and in the terminal."""

import io
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from rich.console import Console

from langgraph_reflexion import create_reflexion
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.experiments.record import read_run
from langgraph_reflexion.experiments.trials import Beside, Trials, trials_of, trials_of_run, trials_of_thread
from langgraph_reflexion.testing import ScriptedChatModel
from tests.bench.runs import folder, row, steps
from tests.toys import Counter, add, count_to, counting_badly

THREAD: Any = {"configurable": {"thread_id": "1"}}
HOSTILE = "<script>alert(1)</script>\x1b[2J[bold]"


def graph_of(**options: Any) -> Any:
    """Counts to 3 in three trials."""
    return create_reflexion(ScriptedChatModel(replies=counting_badly), Counter(), **options).compile(
        checkpointer=InMemorySaver()
    )


@pytest.fixture(scope="module")
def states() -> list[dict[str, Any]]:
    return list(graph_of().stream({"task": count_to(3)}, THREAD, stream_mode="values"))


def printed(shown: Trials | Beside, width: int = 100) -> str:
    console = Console(width=width, record=True, file=io.StringIO(), highlight=False)
    shown.print(console)
    return console.export_text()


def actions(trials: Trials) -> list[list[str]]:
    return [[step["action"]["text"] for step in story.steps if step["action"]] for story in trials.stories]


def test_the_states_of_a_stream_tell_every_trial_with_its_steps(states: list[dict[str, Any]]) -> None:
    trials = trials_of(states)
    assert [story.row["actions"] for story in trials.stories] == list(map(len, actions(trials)))
    assert actions(trials)[2] == ["add 1", "add 2"]
    assert [story.solved for story in trials.stories] == [False, False, True]
    assert [story.row["reflection"] for story in trials.stories] == ["Lesson 1.", "Lesson 2.", None]
    assert [story.remembered for story in trials.stories] == [[], [1], [1, 2]]
    assert [story.same for story in trials.stories] == [None, 0, 0]


def test_a_final_state_has_the_steps_of_the_last_trial_alone(states: list[dict[str, Any]]) -> None:
    trials = trials_of(states[-1])
    assert [story.trajectory is None for story in trials.stories] == [True, True, False]
    assert [story.row for story in trials.stories] == [story.row for story in trials_of(states).stories]
    assert trials._repr_html_().count("Its steps were not recorded.") == 2


def test_the_verdict_on_a_trial_is_not_told_of_the_next_one(states: list[dict[str, Any]]) -> None:
    second = [state for state in states if state.get("trial") == 2]
    trials = trials_of([*states[: states.index(second[0])], *second[:3]])
    assert trials.stories[0].as_json()["feedback"]
    assert trials.stories[1].as_json()["feedback"] == ""
    assert "no verdict, truth: not known, going on" in repr(trials)


def test_a_thread_tells_of_its_newest_branch_and_of_any_other_by_its_end() -> None:
    graph = graph_of()
    graph.invoke({"task": count_to(3)}, THREAD)
    end = graph.get_state(THREAD).config
    before = trials_of_thread(graph, THREAD)
    [fork] = [
        state
        for state in graph.get_state_history(THREAD)
        if state.next == ("observe",) and state.values["trial"] == 1 and len(state.values["trajectory"]) == 1
    ]
    changed = graph.update_state(fork.config, {"decision": {"thought": "", "action": add(2)}}, as_node="act")
    graph.invoke(None, changed)
    assert actions(trials_of_thread(graph, THREAD)) == [["add 1", "add 2"]]
    assert trials_of_thread(graph, end) == before
    assert len(before.stories) == 3


def test_another_task_on_the_same_thread_is_told_alone() -> None:
    graph = graph_of()
    graph.invoke({"task": count_to(3)}, THREAD)
    graph.invoke({"task": count_to(4)}, THREAD, interrupt_after=["evaluate"])
    trials = trials_of_thread(graph, THREAD)
    assert trials.title == "Count to 4."
    assert [story.row["task_id"] for story in trials.stories] == ["c4"]


def test_the_strategies_that_show_the_last_attempt_say_so() -> None:
    states = graph_of(strategy="last_attempt_and_reflexion").stream(
        {"task": count_to(3)}, THREAD, stream_mode="values"
    )
    trials = trials_of(states)
    assert [story.last_attempt for story in trials.stories] == [None, 1, 2]
    assert "In the prompt: every step of trial 1." in trials._repr_html_()


def branches(path: Path) -> tuple[Trials, Trials]:
    look, go, take = ("I look.", "look", "A cup."), ("I go.", "go", "A sink."), ("Mine.", "take cup", "Yours.")
    both = [
        folder(
            path / name,
            [row("a", 1, won), row("a", 2, True)],
            ["a"],
            trajectories=[steps("a", 1, *done), steps("a", 2, take)],
        )
        for name, won, done in (("one", False, (look, go, go)), ("other", True, (look, go, take)))
    ]
    one, other = (trials_of_run(read_run(each), "1") for each in both)
    return one, other


def test_branches_stand_side_by_side_and_where_they_part_is_marked(tmp_path: Path) -> None:
    one, other = branches(tmp_path)
    beside = one.beside(other)
    html = beside._repr_html_()
    left, right = html.split("<section>")[1:]
    assert left.count("&gt; go") == 2
    assert left.count('class="differs"') == right.count('class="differs"') == 1
    assert "The first 2 steps are those on the left." in right
    assert "&gt; go" not in right
    assert right.index('class="differs"') < right.index("&gt; take cup")
    text = printed(beside, 120)
    assert "The first 2 steps are those on the left." in text
    assert [line.count("Trial 1:") for line in text.splitlines() if "Trial 1:" in line] == [2]


def test_one_trial_is_told_whole(tmp_path: Path) -> None:
    one, _ = branches(tmp_path)
    assert "Trial 1" not in printed(one[2])
    assert "> take cup" in printed(one[2])
    with pytest.raises(ConfigurationError, match="a has no trial 3: it has 1, 2"):
        one[3]


def test_texts_are_neither_markup_nor_orders_to_a_terminal(tmp_path: Path) -> None:
    done = steps("a", 1, (HOSTILE, HOSTILE, HOSTILE), ("", "x", f"{HOSTILE}\n" * 30), observation=HOSTILE)
    rows = [row("a", 1, False, reflection=HOSTILE, notes=[HOSTILE], fault=HOSTILE, stop_reason=HOSTILE)]
    run = read_run(folder(tmp_path / "run", rows, ["a"], trajectories=[done], model=HOSTILE))
    trials = trials_of_run(run, "a")
    for html in (trials._repr_html_(), trials.beside(trials)._repr_html_()):
        assert "<script>" not in html
        assert "\x1b" not in html
        assert html.count("&lt;script&gt;") > 35
        assert "&lt;script&gt;alert(1)&lt;/script&gt;␛[2J[bold] … (31 lines)</summary>" in html
    assert "<script>alert(1)</script>␛[2J[bold]" in printed(trials)
    assert "\x1b" not in repr(trials)


def test_what_tells_of_no_trial_is_refused() -> None:
    for states in ({"task": count_to(3)}, []):
        with pytest.raises(ConfigurationError, match="no trial was begun"):
            trials_of(states)
    with pytest.raises(ConfigurationError, match="no trial was begun"):
        trials_of_thread(graph_of(), THREAD)
