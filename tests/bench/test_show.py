import io
from pathlib import Path

import pytest
from rich.console import Console

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.experiments.printable import printable
from langgraph_reflexion.experiments.record import read_run
from langgraph_reflexion.experiments.show import show_task
from langgraph_reflexion.experiments.trajectories import stories_of
from tests.bench.runs import folder, row, steps

LOOK, GO, TAKE = ("I look.", "look", "A cup."), ("I go.", "go", "A sink."), ("Mine.", "take cup", "You have a cup.")


def run_folder(path: Path, strategy: str = "reflexion", memory_size: int = 2, trials: int = 4) -> Path:
    rows = [row("a", trial, False, reflection=f"Lesson {trial}.") for trial in range(1, trials)]
    rows.append(row("a", trials, True))
    done = [(LOOK, GO, GO), (LOOK, GO, GO), (("Hm.", "look", "A cup."), TAKE), (TAKE,)]
    return folder(
        path,
        rows,
        ["a", "b"],
        trajectories=[steps("a", number, *each) for number, each in enumerate(done, 1)],
        strategy=strategy,
        memory_size=memory_size,
    )


def shown(path: Path, task: str = "a", trial: int | None = None) -> str:
    console = Console(width=80, record=True, file=io.StringIO(), highlight=False)
    show_task(console, path, task, trial)
    return console.export_text()


def test_the_last_reflections_were_in_the_prompt_as_many_as_are_kept(tmp_path: Path) -> None:
    told = stories_of(read_run(run_folder(tmp_path / "run")), "a")
    assert [(story.remembered, story.last_attempt) for story in told] == [
        ([], None),
        ([1], None),
        ([1, 2], None),
        ([2, 3], None),
    ]


def test_other_strategies_show_the_last_attempt_or_nothing(tmp_path: Path) -> None:
    told = {
        strategy: stories_of(read_run(run_folder(tmp_path / strategy, strategy)), "a")[2]
        for strategy in ("retry", "last_attempt", "last_attempt_and_reflexion")
    }
    assert [(story.remembered, story.last_attempt) for story in told.values()] == [([], None), ([], 2), ([1, 2], 2)]


def test_a_trial_leaves_the_one_before_where_action_or_observation_differ(tmp_path: Path) -> None:
    told = stories_of(read_run(run_folder(tmp_path / "run")), "a")
    assert [story.same for story in told] == [None, 3, 1, 0]


def test_a_task_is_shown_trial_by_trial(tmp_path: Path) -> None:
    text = shown(run_folder(tmp_path / "run"))
    order = [
        "Trial 1: verdict: not accepted, truth: not solved, hallucination, 1 action",
        "A room.",
        "> look",
        "Reflection: Lesson 1.",
        "Trial 2:",
        "In the prompt: reflections on trial 1.",
        "The first 3 steps are those of trial 1.",
        "Trial 3:",
        "> take cup",
        "You have a cup.",
        "Trial 4: verdict: accepted, truth: solved",
    ]
    places = [text.find(said) for said in order]
    assert -1 not in places
    assert places == sorted(places)
    assert "prompts themselves are not recorded" in " ".join(text.split())


def test_one_trial_is_shown_whole(tmp_path: Path) -> None:
    text = shown(run_folder(tmp_path / "run"), "1", trial=3)
    assert "Trial 2:" not in text
    assert "> look" in text
    assert "> take cup" in text


def test_nothing_in_a_text_reaches_the_terminal_but_text(tmp_path: Path) -> None:
    hostile = "\x1b]0;owned\x07 \x1b[2J [bold]x[/bold] \u202egnirts\x00 \x9b31m\ud800"
    path = folder(
        tmp_path / "run", [row("a", 1, True)], ["a"], trajectories=[steps("a", 1, (hostile, hostile, hostile))]
    )
    out = io.StringIO()
    show_task(Console(width=200, file=out, highlight=False), path, "a")
    told = out.getvalue()
    assert not set("\x1b\x07\x00\x9b\u202e\ud800") & set(told)
    assert told.count("␛]0;owned␇ ␛[2J [bold]x[/bold] \\u202egnirts␀ \\u009b31m\ufffd") == 3
    # What XML forbids would break the figures.
    assert printable("\ufffe\uffff") == "\\ufffe\\uffff"
    assert printable("one\n\ttwo ünï 日本 😀") == "one\n\ttwo ünï 日本 😀"


@pytest.mark.parametrize(
    ("task", "trial", "said"),
    [
        ("c", None, "has no task 'c': give an id such as 'a', or a number from 1 to 2"),
        ("3", None, "has no task '3'"),
        ("a", 9, "has no trial 9 of a: it has 4"),
        ("b", None, "has no trial 1 of b: none is finished yet"),
    ],
)
def test_what_is_not_there_is_said(tmp_path: Path, task: str, trial: int | None, said: str) -> None:
    path = run_folder(tmp_path / "run")
    with pytest.raises(ConfigurationError, match=said):
        show_task(Console(file=io.StringIO()), path, task, trial)


def test_a_run_without_trajectories_is_shown_as_far_as_it_goes(tmp_path: Path) -> None:
    path = folder(tmp_path / "run", [row("a", 1, False, reflection="Lesson.")], ["a"])
    text = shown(path)
    assert "Its steps were not recorded." in text
    assert "Reflection: Lesson." in text


def test_a_difference_is_marked_only_where_the_trial_before_is_known(tmp_path: Path) -> None:
    rows = [row("a", 1, False), row("a", 2, False), row("a", 3, True)]
    done = [steps("a", 2, LOOK), steps("a", 3, GO)]
    told = stories_of(read_run(folder(tmp_path / "run", rows, ["a"], trajectories=done)), "a")
    assert [story.same for story in told] == [None, None, 0]


@pytest.mark.parametrize("line", ["[]", '{"task_id": "a", "trial": 1}'])
def test_trajectories_that_cannot_be_read_are_named(tmp_path: Path, line: str) -> None:
    path = run_folder(tmp_path / "run")
    (path / "trajectories.jsonl").write_text(line + "\n")
    with pytest.raises(ConfigurationError, match=r"trajectories\.jsonl cannot be read: a row lacks"):
        shown(path)
