import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from langgraph_reflexion.experiments.comparison import Comparison, compare
from langgraph_reflexion.experiments.record import read_run
from langgraph_reflexion.experiments.rows import TrialRow
from langgraph_reflexion.experiments.show import show_task
from langgraph_reflexion.experiments.terminal import print_comparison
from tests.bench.runs import folder, row

TASKS = [f"t{number:02}" for number in range(40)]


def played(solved_in: Callable[[int], int], tokens: int, trials: int = 4) -> list[TrialRow]:
    """The trials of all tasks.

    Args:
        solved_in: The trial in which the task of this number is solved; beyond the last one it never is.
        tokens: What every trial costs.
        trials: How many there are at most.
    """
    return [
        row(task, trial, trial == solved_in(number), input_tokens=tokens - 10)
        for number, task in enumerate(TASKS)
        for trial in range(1, min(solved_in(number), trials) + 1)
    ]


def printed(comparison: Comparison, width: int = 100) -> str:
    console = Console(width=width, record=True, file=io.StringIO())
    print_comparison(console, comparison)
    return console.export_text()


@pytest.fixture
def dear_and_cheap(tmp_path: Path) -> Comparison:
    # One solves ten at once and the rest in the second trial; the other ten in each trial, at a third of the price.
    dear = played(lambda task: 1 if task < 10 else 2, 3000)
    cheap = played(lambda task: 1 + task // 10 + (task >= 30), 1000)
    return compare(
        [
            folder(tmp_path / "dear", dear, TASKS, max_trials=4),
            folder(tmp_path / "cheap", cheap, TASKS, max_trials=4, strategy="retry"),
        ]
    )


def test_a_strategy_may_win_by_trials_and_lose_by_tokens(dear_and_cheap: Comparison) -> None:
    (pair,) = dear_and_cheap.as_json()["pairs"]
    assert pair["equal_trials"] == {"amount": 4, "solved": [40, 30], "of": 40, "only": [10, 0], "p": 2 / 1024}
    # 100,000 tokens are all that the cheap one spends. They pay for 33 first trials of the dear one.
    tokens = pair["equal_tokens"]
    assert (tokens["amount"], tokens["solved"], tokens["only"]) == (100_000, [10, 30], [0, 20])
    assert tokens["p"] == pytest.approx(2 / 2**20)
    assert pair["conclusion"] == "A reflexion wins by trials and loses by tokens."
    assert "A reflexion wins by trials and loses by tokens." in printed(dear_and_cheap)


def test_the_order_of_the_runs_changes_no_conclusion(tmp_path: Path, dear_and_cheap: Comparison) -> None:
    turned = compare([tmp_path / "cheap", tmp_path / "dear"])
    assert turned.pairs[0].conclusion == "B reflexion wins by trials and loses by tokens."


def test_at_equal_tokens_all_tasks_advance_together_for_as_long_as_they_last(tmp_path: Path) -> None:
    one = folder(tmp_path / "one", played(lambda task: 1 + task % 2, 1000), TASKS, max_trials=4)
    other = folder(tmp_path / "other", played(lambda task: 1, 1250), TASKS, max_trials=4, strategy="retry")
    (pair,) = compare([one, other]).pairs
    trials, tokens = pair.matches
    assert (trials.solved, tokens.solved) == ((40, 40), (30, 40)), "40 first and 10 of 20 second trials"
    assert tokens.amount == 50_000
    assert pair.conclusion == "B retry wins by tokens; they are level by trials."


def test_a_small_difference_is_called_what_it_may_be(tmp_path: Path) -> None:
    one = folder(tmp_path / "one", played(lambda task: 1 if task < 21 else 9, 1000, 2), TASKS, max_trials=2)
    other = folder(
        tmp_path / "other", played(lambda task: 1 if task < 20 else 9, 1000, 2), TASKS, max_trials=2, strategy="retry"
    )
    (pair,) = compare([one, other]).pairs
    assert pair.conclusion == (
        "A reflexion wins by trials and by tokens. The difference by trials and by tokens may be chance."
    )


def test_of_several_pairs_each_sentence_says_whom_it_is_about(tmp_path: Path) -> None:
    def made(name: str, solved: bool) -> Path:
        return folder(tmp_path / name, [row("a", 1, solved)], ["a", "b"], max_trials=1, model=f"openai:{name}")

    sentences = compare([made("x", True), made("y", False), made("z", False)]).sentences()
    assert sentences[0].startswith("A and B: A reflexion wins by trials and by tokens. ")
    assert "B and C: They are level by trials and by tokens." in sentences
    assert sum(sentence.startswith("A is unfinished") for sentence in sentences) == 1


def test_a_lead_that_the_test_shows_the_other_way_round_is_called_chance(tmp_path: Path) -> None:
    tasks = list("abcdefghi")

    def made(strategy: str, seed: int, solved: str) -> Path:
        rows = [row(task, 1, task in solved) for task in tasks]
        return folder(tmp_path / f"{strategy}{seed}", rows, tasks, max_trials=1, strategy=strategy, seed=seed)

    # One solves a single task under ten seeds, the other eight tasks under one seed each.
    runs = [made("reflexion", seed, "a") for seed in range(10)]
    runs += [made("retry", seed, tasks[1 + seed] if seed < 8 else "") for seed in range(10)]
    (pair,) = compare(runs).pairs
    assert (pair.matches[0].solved, pair.matches[0].test[:2]) == ((10, 8), (1, 8))
    assert pair.matches[0].test.shown
    assert "The difference by trials and by tokens may be chance." in pair.conclusion


def test_what_nobody_knows_the_truth_of_is_said(tmp_path: Path) -> None:
    rows = [row("a", 1, None, True), row("b", 1, True), row("c", 1, None, stop_reason="fault", fault="gone")]
    (sentence,) = compare([folder(tmp_path / "run", rows, list("abc"), max_trials=1, evaluator="llm")]).sentences()
    assert sentence == "reflexion: for want of the truth 1 of 3 tasks count as not solved."


def test_runs_of_other_tasks_are_not_paired(tmp_path: Path) -> None:
    one = folder(tmp_path / "one", played(lambda task: 1, 1000), TASKS)
    others = {
        "questions": {"environment": "hotpotqa", "split": "own"},
        "engine": {"options": {"engine": "other"}},
    }
    for name, settings in others.items():
        (pair,) = compare([one, folder(tmp_path / name, played(lambda task: 1, 1000), TASKS, **settings)]).pairs
        assert (pair.matches, pair.conclusion) == ((), "")
        assert "cannot be paired: their tasks differ" in pair.notes[0]
    strangers = folder(tmp_path / "strangers", [row("x", 1, True)], ["x"], strategy="retry")
    assert compare([one, strangers]).pairs[0].notes == ("A and B cannot be paired: they have other tasks.",)
    seeded = folder(tmp_path / "seeded", played(lambda task: 1, 1000), TASKS, strategy="retry", seed=1)
    (pair,) = compare([one, seeded]).pairs
    assert pair.notes == ("A and B cannot be paired: they have the same tasks under other seeds.",)


def test_runs_that_share_some_tasks_are_compared_on_those(tmp_path: Path) -> None:
    one = folder(tmp_path / "one", [row("a", 1, True), row("b", 1, True)], ["a", "b"], max_trials=1)
    other = folder(tmp_path / "other", [row("b", 1, False)], ["b"], max_trials=1, strategy="retry")
    (pair,) = compare([one, other]).pairs
    assert [(match.solved, match.of) for match in pair.matches] == [((1, 0), 1)] * 2
    assert pair.notes == ("A and B are compared on the 1 tasks that both have (1 only A, 0 only B).",)


def test_a_fault_is_left_out_and_not_taken_for_a_wrong_answer(tmp_path: Path) -> None:
    fault: dict[str, Any] = {"stop_reason": "fault", "fault": "gone"}
    mine = [row("a", 1, False), row("a", 2, None, **fault), row("b", 1, True), row("c", 1, True)]
    theirs = [row("a", 1, True), row("b", 1, False), row("b", 2, False), row("c", 1, None, **fault)]
    one = folder(tmp_path / "one", mine, ["a", "b", "c"], max_trials=2)
    other = folder(tmp_path / "other", theirs, ["a", "b", "c"], max_trials=2, strategy="retry")
    (pair,) = compare([one, other]).pairs
    assert pair.left_out == 2
    assert [(match.solved, match.of) for match in pair.matches] == [((1, 0), 1)] * 2
    assert "2 tasks are left out, after a fault" in pair.notes[0]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"cached_calls": 1}, "answers out of the cache have cost none"),
        ({"input_tokens": 0, "output_tokens": 0}, "no tokens were counted"),
    ],
)
def test_tokens_that_do_not_tell_are_not_compared(tmp_path: Path, changes: dict[str, Any], why: str) -> None:
    one = folder(tmp_path / "one", [row("a", 1, True, **changes)], ["a"])
    other = folder(tmp_path / "other", [row("a", 1, True)], ["a"], strategy="retry")
    (pair,) = compare([one, other]).pairs
    assert [match.equal for match in pair.matches] == ["trials"]
    assert pair.notes == (f"A and B are not compared at equal tokens: {why}.",)


def test_seeds_are_one_series_and_models_are_several(tmp_path: Path) -> None:
    def made(name: str, solved: int, **settings: Any) -> Path:
        rows = played(lambda task: 1 if task < solved else 9, 1000, 1)
        return folder(tmp_path / name, rows, TASKS, max_trials=1, **settings)

    comparison = compare(
        [
            made("0", 20, model="openai:a"),
            made("1", 30, model="openai:a", seed=1, concurrency=1),
            made("other", 10, model="openai:b"),
        ]
    )
    both, other = comparison.series
    assert (both.report.solved, both.report.tasks, both.facts["seed"]) == ([50], 80, "seeds 0, 1")
    assert (other.report.solved, other.report.tasks) == ([10], 40)
    assert len(comparison.runs) == 3
    (pair,) = comparison.pairs
    # Only seed 0 has a partner. There, ten tasks are solved by the first model alone.
    assert [match.solved for match in pair.matches] == [(20, 10)] * 2
    (within,) = both.intervals()
    assert within is not None
    assert within.high - within.low > 0.2, "forty tasks, and not eighty"


def test_with_several_seeds_tasks_are_paired_under_the_same_one_and_vote_once(tmp_path: Path) -> None:
    def made(strategy: str, seed: int, solved: set[str]) -> Path:
        rows = [row(task, 1, task in solved) for task in "abc"]
        return folder(tmp_path / f"{strategy}{seed}", rows, list("abc"), max_trials=1, strategy=strategy, seed=seed)

    runs = [made("reflexion", 0, {"a", "b"}), made("reflexion", 1, {"a", "b"})]
    runs += [made("retry", 0, {"b"}), made("retry", 1, {"c"})]
    (pair,) = compare(runs).pairs
    match = pair.matches[0]
    assert (match.solved, match.of) == ((4, 2), 6)
    assert (match.test.wins, match.test.losses) == (2, 1)


def test_every_table_names_what_it_was_measured_under(tmp_path: Path, dear_and_cheap: Comparison) -> None:
    facts = "demo model, not an LLM · actor react · profile paper · oracle · seed 0 · version not recorded"
    assert all(grid.caption.endswith(facts) for grid in dear_and_cheap.grids())
    assert dear_and_cheap.grids()[1].title.startswith("Task by task")
    versions: dict[str, str | None] = {"langgraph_reflexion": "1.0", "commit": "0123456789ab-dirty"}
    rows = [row("a", 1, False, True), row("a", 2, True, notes=["the prompt was shortened"])]
    one = folder(tmp_path / "one", rows, ["a"], versions=versions, evaluator="llm", model="openai:x")
    other = folder(tmp_path / "other", rows, ["a"], versions={**versions, "commit": None}, strategy="retry", seed=4)
    grids = compare([one, other]).grids()
    assert len(grids) == 5
    for grid in grids:
        said = ["profile paper", "verdicts by llm, no oracle", "openai:x", "seed 0", "commit 0123456789ab-dirty"]
        if grid.title.startswith("Verdict"):  # an oracle's need no telling
            assert all(fact in grid.caption for fact in said)
            continue
        said += ["oracle", "demo model, not an LLM", "seed 4", "version 1.0"]
        assert all(fact in grid.caption for fact in said), grid.title


def test_the_report_as_json_has_curves_and_intervals_by_series(dear_and_cheap: Comparison) -> None:
    told = json.loads(json.dumps(dear_and_cheap.as_json()))
    assert [run["solved"] for run in told["runs"]] == [[10, 40, 40, 40], [10, 20, 30, 30]]
    one, other = told["series"]
    assert (one["label"], one["solved"], one["tasks"]) == ("A reflexion", [10, 40, 40, 40], 40)
    assert one["tokens"] == [120_000, 210_000, 210_000, 210_000]
    assert other["intervals"][1] == [0.352, 0.648]
    assert other["facts"]["profile"] == "profile paper"


def test_costs_are_told_for_each_solved_task(tmp_path: Path) -> None:
    rows = [row("a", 1, True, cost=0.5, seconds=3.0), row("b", 1, False, cost=1.0, seconds=5.0)]
    comparison = compare([folder(tmp_path / "run", rows, ["a", "b"], max_trials=1)])
    assert comparison.runs[0].per_solved == {"tokens": 2020.0, "cost": 1.5, "seconds": 8.0}
    lines = [line.split() for line in printed(comparison).splitlines()]
    assert ["tokens", "per", "solved", "task", "2,020"] in lines
    assert ["cost", "per", "solved", "task", "1.5000"] in lines
    assert ["seconds", "per", "solved", "task", "8.00"] in lines
    none = compare([folder(tmp_path / "none", [row("a", 1, False)], ["a"], max_trials=1)])
    assert none.runs[0].per_solved is None
    assert "per solved task" not in printed(none)


def test_a_table_of_two_curves_with_intervals_fits_into_80_columns(dear_and_cheap: Comparison) -> None:
    text = printed(dear_and_cheap, 80)
    (second,) = [line for line in text.splitlines() if line.strip().startswith("2 ")]
    assert "40  100% 91-100" in second
    assert "20   50%  35-65" in second


def test_runs_and_comparisons_show_themselves_in_notebooks(tmp_path: Path, dear_and_cheap: Comparison) -> None:
    hostile = folder(tmp_path / "hostile", [row("a", 1, True)], ["a"], model="<script>alert(1)</script>")
    comparison = compare([hostile])
    for shown in (read_run(hostile), comparison.runs[0], comparison):
        html = shown._repr_html_()
        assert "<table" in html
        assert "<script>" not in html
        assert "&lt;script&gt;" in html
    assert "wins by trials and loses by tokens" in dear_and_cheap._repr_html_()
    # As text, which a notebook keeps beside it, each is a line.
    assert repr(comparison) == repr(comparison.runs[0]) == f"<report on {hostile}: solved by trial [1, 1, 1] of 1>"
    assert repr(read_run(hostile)).endswith("seed 0, 1 trials>")
    assert repr(comparison.grids()[0]) == "<table 'Tasks solved by trial, with 95 % intervals': 3 rows>"


def test_nothing_in_a_setting_or_a_name_reaches_the_terminal_but_text(tmp_path: Path) -> None:
    hostile = "\x1b[2J[bold]x[/bold]\u202e\x9b"
    settings = dict.fromkeys(("split", "model", "reflection_model", "profile", "evaluator", "actor", "seed"), hostile)
    run = folder(tmp_path / hostile, [row("a", 1, True)], ["a"], versions={"commit": hostile}, **settings)
    out = io.StringIO()
    console = Console(width=200, file=out)
    print_comparison(console, compare([run]))
    show_task(console, run, "a")
    assert not set("\x1b\u202e\x9b") & set(out.getvalue())
    assert out.getvalue().count("␛[2J[bold]x[/bold]") > 10


@pytest.mark.long
def test_without_scipy_and_matplotlib_the_tables_say_what_is_missing(tmp_path: Path) -> None:
    one = folder(tmp_path / "one", [row("a", 1, True)], ["a"], max_trials=1)
    other = folder(tmp_path / "other", [row("a", 1, False)], ["a"], max_trials=1, strategy="retry")
    program = (
        "import sys; sys.modules['scipy'] = sys.modules['matplotlib'] = None\n"
        "from langgraph_reflexion.cli import main; main()"
    )

    def command(*args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-c", program, *args], capture_output=True, text=True, timeout=60)

    def report(*args: str) -> subprocess.CompletedProcess[str]:
        return command("report", str(one), str(other), *args)

    done = report()
    assert (done.returncode, done.stderr) == (0, "")
    assert "A reflexion wins by trials and by tokens." in done.stdout
    assert "pip install 'langgraph-reflexion[bench]', in a clone '.[bench]'" in done.stdout
    (head,) = [line for line in done.stdout.splitlines() if "solved alone" in line]
    assert head.split()[-2:] == ["solved", "alone"], "no column p without the test"
    done = command("run", "alfworld", "--limit", "1", "--max-trials", "1", "--out", str(tmp_path / "run"))
    assert done.returncode == 0
    assert "langgraph-reflexion[bench]" not in done.stdout, "the report says it"
    pairs = json.loads(report("--json").stdout)["pairs"]
    assert (pairs[0]["equal_trials"]["only"], pairs[0]["equal_trials"]["p"]) == ([1, 0], None)
    done = report("--figures", str(tmp_path / "figures"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "langgraph-reflexion[bench]" in done.stderr
