import io
import json
import re

import pytest
from rich.console import Console

from langgraph_reflexion.lab.experiments.comparison import compare
from langgraph_reflexion.lab.experiments.diagnostics import diagnose
from langgraph_reflexion.lab.experiments.groundedness import specific_words
from langgraph_reflexion.lab.experiments.page import write_page
from langgraph_reflexion.lab.experiments.runs import read_run
from langgraph_reflexion.support.copies import repeats
from tests.support.run_folders import folder, row, steps

FAULT = {"stop_reason": "fault", "fault": "gone"}
TEN = "one two three four five six seven eight nine ten"
DRAWER = "Next time I open drawer 2."
SHELF = "I look on the shelf before anything else."
REJECTED = "reflection rejected: it says nothing"


def reflected(task, trial, note, success=False, **changes):
    return row(task, trial, success, reflection=note, **changes)


def signs(*runs):
    """Return the signs of some run folders that any trial could show: found, of, and the next trials' successes."""
    found = diagnose([read_run(run) for run in runs])
    return {name: tuple(vars(sign).values()) for name, sign in found.signs().items() if sign.of}


def printed(comparison, width=80):
    console = Console(width=width, file=io.StringIO())
    comparison.print(console)
    return console.file.getvalue()


@pytest.mark.parametrize(
    ("note", "is_repeat"),
    [
        (TEN.replace("ten", "zehn"), True),
        (TEN.replace("nine ten", "neun zehn"), False),
        (TEN.upper(), True),
        (" ".join(reversed(TEN.split())), True),
        (TEN + " 11 12 13 14", True),
        (f"{TEN} {TEN}", True),
        ("12 34", False),
        ("", False),
    ],
)
def test_a_reflection_repeats_another_if_both_share_four_fifths_of_their_words(note, is_repeat):
    # With one word in ten replaced, 9 of 11 different words are shared, and with two of them, 8 of 12.
    assert repeats(note, ["something else", TEN]) == is_repeat


def test_notes_without_words_repeat_nothing():
    assert not repeats("12", ["12"])
    assert repeats("先打开柜子2", ["先打开柜子1"])


@pytest.mark.parametrize(
    ("note", "seen", "counted"),
    [
        ("Next time I should be more careful and think first.", "anything", (0, 0)),
        ("It has 11 words, and 9 are wanted.", "It has 11 words.", (1, 2)),
        ("The mug is in cabinet 3, not in cabinet 1.", "cabinet 1: mug. drawer 3: pan. cabinet 2: empty.", (1, 2)),
        ("I asked for Anna Berg. Then for Berg's film.", "Anna Berg, an actress", (2, 2)),
        ("Call get_item before parseAll or HTTP.", "get_item(1) over http", (2, 3)),
        ('Say "red leaves" and `sort`.', "red leaves fall", (2, 3)),
        ("Open 5, 5 and again 5.", "5", (1, 1)),
        ("先打开柜子2", "柜子 2", (1, 1)),
    ],
)
def test_specific_words_are_numbers_identifiers_names_and_quotations(note, seen, counted):
    assert specific_words(note, seen) == counted


def test_each_sign_is_counted_with_what_the_next_trial_made_of_it(tmp_path):
    rows = [
        reflected("a", 1, DRAWER),
        reflected("a", 2, "I open drawer 2 next time."),  # repeated, and the next trial fails
        reflected("a", 3, SHELF),
        row("a", 4, True),
        reflected("b", 1, SHELF),
        reflected("b", 2, SHELF),  # repeated, and the next trial solves the task
        row("b", 3, True),
        reflected("c", 1, SHELF),
        reflected("c", 2, SHELF),  # repeated, and a fault is not a success
        row("c", 3, None, **FAULT),
        reflected("d", 1, None, notes=[REJECTED, f"{REJECTED}: none is kept, and the check's words stand alone"]),
        reflected("d", 2, DRAWER, notes=[REJECTED]),
        row("d", 3, True),
    ]
    opened = ("", "open drawer 2", "It is empty.")
    seen = [steps(each["task_id"], each["trial"], opened) for each in rows]
    seen[1] = steps("a", 2, ("", "open drawer 1", "It is empty."))
    run = folder(tmp_path / "run", rows, list("abcd"), trajectories=seen, max_trials=4)
    assert signs(run) == {
        # Found, of; solved and tried after those with the sign, and after the others.
        "repeated": (3, 4, 1, 2, 1, 1),
        "grounded": (2, 8, 1, 2, 2, 5),
        "asked_again": (2, 9, 1, 2, 2, 6),
    }
    found = diagnose([read_run(run)])
    assert (found.words_seen, found.words) == (2, 3)
    text = printed(compare(run))
    assert re.search(r"\n repeated reflections +3 of 4 +75% +1 of 2 +50% +1 of 1 +100% *\n", text)
    assert max(map(len, text.splitlines()[1:])) <= 80


def test_an_agents_answers_are_compared_whatever_their_spaces(tmp_path):
    answers = ["4 legs", "5 legs", " 4  legs\n", "", "6 legs"]
    rows = [row("a", trial, trial == 5, result=answer) for trial, answer in enumerate(answers, 1)]
    rows[3]["stop_reason"] = "truncated"
    run = folder(tmp_path / "run", rows, ["a"], max_trials=5, actor="agent", strategy="retry")
    # Of three answers after the first one, trial 3 hands in that of trial 1; the next trial has none.
    assert signs(run) == {"same_answer": (1, 3, 0, 1, 0, 1)}
    assert "answers handed in again" in printed(compare(run))


def test_answers_that_were_sampled_again_are_counted_where_a_run_does_so(tmp_path):
    again = "a rejected answer was sampled again, and another choice came"
    rows = [row("a", 1, False), row("a", 2, False, notes=[again]), row("a", 3, True)]
    run = folder(tmp_path / "run", rows, ["a"], strategy="retry", rejects_answers=True)
    assert signs(run) == {"sampled_again": (1, 2, 1, 1, 0, 0)}
    assert "answers sampled again" in printed(compare(run))
    assert signs(folder(tmp_path / "other", rows, ["a"], strategy="retry")) == {}


def test_what_was_not_recorded_is_left_out_and_said(tmp_path):
    rows = [reflected("a", 1, SHELF), reflected("a", 2, SHELF), row("a", 3, True)]
    run = folder(tmp_path / "old", rows, ["a"], actor="agent")
    assert signs(run) == {"repeated": (1, 1, 1, 1, 0, 0), "asked_again": (0, 2, 0, 0, 1, 2)}
    said = compare(run).sentences()
    assert said == [
        "reflexion: grounded reflections are left out: the steps of trials are not recorded.",
        "reflexion: answers handed in again are left out: the answers of trials are not recorded.",
    ]
    (group,) = compare(run).as_json()["groups"]
    assert set(group["diagnostics"]) == {"repeated", "asked_again", "sampled_again", "left_out"}


def test_runs_of_one_group_are_counted_together_task_by_task(tmp_path):
    rows = [reflected("a", 1, SHELF), reflected("a", 2, SHELF), row("a", 3, True)]
    runs = [folder(tmp_path / str(seed), rows, ["a"], seed=seed) for seed in range(2)]
    (group,) = compare(runs).groups
    assert group.diagnostics.repeated.found == 2
    assert group.diagnostics.repeated.of == 2, "no reflection of one run repeats one of another"


def test_ungradable_tasks_and_baselines_show_no_signs(tmp_path):
    rows = [reflected("a", trial, SHELF, None, gradable=False) for trial in (1, 2)]
    assert signs(folder(tmp_path / "ungradable", rows, ["a"])) == {}
    assert "Signs in" not in printed(compare(folder(tmp_path / "retry", [row("a", 1, True)], ["a"])))


def test_the_page_and_json_have_the_diagnostics(tmp_path):
    rows = [reflected("a", 1, SHELF), reflected("a", 2, SHELF), row("a", 3, True)]
    comparison = compare(folder(tmp_path / "run", rows, ["a"]))
    write_page(comparison, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert '<th scope="row">repeated reflections</th><td>1 of 1 100%</td><td>1 of 1 100%</td>' in page
    assert "grounded reflections are left out" in page
    (group,) = json.loads(json.dumps(comparison.as_json()))["groups"]
    assert group["diagnostics"]["repeated"]["solved_after"] == 1


def test_a_result_that_no_run_would_write_is_no_answer(tmp_path):
    deep = json.loads("[" * 400 + "]" * 400)
    rows = [row("a", 1, False, result=deep), row("a", 2, False, result=deep)]
    assert signs(folder(tmp_path / "run", rows, ["a"], actor="agent")) == {}
