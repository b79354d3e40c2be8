"""A matrix from a file: what it stands for, what is wrong with it, what it will take, and that it is run whole."""

import asyncio
import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.experiments.comparison import compare
from langgraph_reflexion.experiments.estimate import Estimate, estimate_all, opening_tokens
from langgraph_reflexion.experiments.estimate_table import estimate_table
from langgraph_reflexion.experiments.matrix import Outcome, PlannedRun, check, checked, run_experiment
from langgraph_reflexion.experiments.matrix_file import Experiment, read_experiment
from langgraph_reflexion.experiments.record import read_run
from langgraph_reflexion.experiments.scheduler import Observer
from tests.support.cli import ENV, GuessingServer, call, make_home, start, wait_for_rows
from tests.support.guessing import rows, timeless

DOCS = Path(__file__).parents[3] / "docs"
GUESSING = "tests.support.guessing:Guessing"


class Watch(Observer):
    def __init__(self) -> None:
        self.begun: list[str] = []

    def on_run(self, name: str) -> None:
        self.begun.append(name)

    def on_outcome(self, outcome: Outcome) -> None:
        pass


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def server(loop: asyncio.Runner) -> Iterator[GuessingServer]:
    with GuessingServer() as running:
        yield running


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def read(folder: Path, text: str) -> Experiment:
    (folder / "experiment.toml").write_text(text)
    return read_experiment(folder / "experiment.toml")


def matrix(server: GuessingServer, more: str = "", *, environment: str = GUESSING, seeds: str = "2") -> str:
    """Two strategies under some seeds, at a game that an agent which learns solves in time."""
    return f"""
        [common]
        max_trials = 4
        retries = 1
        [matrix]
        strategies = ["retry", "reflexion"]
        seeds = {seeds}
        [environments.game]
        environment = "{environment}"
        [models.toy]
        model = "openai:toy"
        base_url = "{server.url}"
        price = "10,20"
        {more}
        """


@pytest.fixture
def run(loop: asyncio.Runner) -> Callable[..., tuple[list[Outcome], list[str]]]:
    def run(experiment: Experiment, out: Path, **given: Any) -> tuple[list[Outcome], list[str]]:
        """Run it. Returns what became of its runs, and which of them had to be begun."""
        watch = Watch()
        with checked(experiment, out) as runs:
            return loop.run(run_experiment(experiment, runs, out, watch, given)), watch.begun

    return run


Run = Callable[..., tuple[list[Outcome], list[str]]]


def statuses(outcomes: list[Outcome]) -> list[str]:
    return [outcome.status for outcome in outcomes]


def test_every_combination_is_a_run_and_what_is_said_nearest_to_it_holds(tmp_path: Path) -> None:
    experiment = read(
        tmp_path,
        """
        [common]
        max_trials = 5
        budgets = { task = { actions = 100 } }
        options = { engine = "native" }
        [matrix]
        strategies = ["retry", "reflexion"]
        models = ["demo", "large"]
        seeds = [3, 7]
        [environments.alfworld]
        limit = 10
        budgets = { run = { cost = 2 } }
        [environments.questions]
        environment = "hotpotqa"
        actors = ["react", "cot"]
        strategies = ["reflexion"]
        ablations = ["none", "short-memory"]
        max_trials = 2
        [models.large]
        model = "openai:large"
        base_url = "http://127.0.0.1:1/v1"
        price = "1,2"
        temperature = 0
        [ablations.short-memory]
        memory_size = 1
        options = { language = "de" }
        [[exclude]]
        actor = "cot"
        ablation = "short-memory"
        model = ["demo", "large"]
        """,
    )
    names = [spec.name for spec in experiment.specs]
    first = [
        *("alfworld-retry-demo-s3", "alfworld-retry-large-s3"),
        *("alfworld-reflexion-demo-s3", "alfworld-reflexion-large-s3"),
        *("questions-react-reflexion-demo-s3", "questions-react-reflexion-large-s3"),
        *("questions-react-reflexion-short-memory-demo-s3", "questions-react-reflexion-short-memory-large-s3"),
        *("questions-cot-reflexion-demo-s3", "questions-cot-reflexion-large-s3"),
    ]
    assert sorted(names[:10]) == sorted(first), "all of the first seed, then all of the next"
    assert names[10:] == [name.replace("-s3", "-s7") for name in names[:10]]
    settings = {spec.name: spec.settings for spec in experiment.specs}
    household, short = settings[first[1]], settings[first[7]]
    assert (household.environment, household.limit, household.max_trials, household.seed) == ("alfworld", 10, 5, 3)
    assert (household.model, household.temperature, household.prices) == ("openai:large", 0, {"openai:large": "1,2"})
    assert household.public()["budgets"] == {"task": {"actions": 100}, "run": {"cost": 2}}
    assert (short.environment, short.max_trials, short.memory_size, short.actor) == ("hotpotqa", 2, 1, "react")
    assert short.options == {"engine": "native", "language": "de"}
    assert settings[first[0]].model == "demo"


@pytest.mark.needs("sandbox")
def test_the_files_of_the_documentation_are_what_they_say(tmp_path: Path) -> None:
    demo = read_experiment(DOCS / "experiments" / "demo.toml")
    runs = check(demo, tmp_path / "out")
    assert len(runs) == 3 * (2 + 4 + 3)
    assert not any(each.refusal for each in runs)
    assert [len(each.tasks) for each in runs[:9]] == [20] * 2 + [24] * 4 + [8] * 3
    full = [spec.series for spec in read_experiment(DOCS / "experiments" / "llm.toml").specs]
    assert (len(full), len(set(full))) == (3 * 17, 17)
    first, larger = re.findall(r"```toml [^\n]*\n(.*?)```", (DOCS / "experiments.md").read_text(), re.DOTALL)
    assert "alfworld-reflexion-demo-s1" in [spec.name for spec in read(tmp_path, first).specs]
    names = {spec.series for spec in read(tmp_path, larger).specs}
    assert {"hotpotqa-cot-retry-short-memory-demo", "hotpotqa-react-retry-short-memory-small"} <= names
    assert "hotpotqa-cot-retry-short-memory-small" not in names


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[comon]\ntrials = 3", "unknown table 'comon': did you mean 'common'?"),
        ("[common]\nmax_trails = 3", "[common], unknown key 'max_trails': did you mean 'max_trials'?"),
        (
            "[environments.alfworld]\nmax_trials = 'x'",
            "[environments.alfworld], max_trials: input should be a valid integer",
        ),
        ("[common]\nlimit = 0", "[common], limit: input should be greater than or equal to 1"),
        ("[common]\ncheckpoints = 'none'", "[common], checkpoints: input should be 'history' or 'latest'"),
        ("[common.budgets.day]\ncost = 1", "[common.budgets], day: input should be 'trial', 'task' or 'run'"),
        ("[common.budgets.run]\ncots = 1", "[common.budgets.run], unknown key 'cots': did you mean 'cost'?"),
        ("[matrix]\nseeds = 0", "[matrix], seeds: at least one seed is needed"),
        (
            "[matrix]\nseeds = 20260131",
            "[matrix], seeds: 20260131 is the number of seeds: write [20260131] for that",
        ),
        ("[matrix]\nseeds = [1, 1]", "[matrix], seeds: 1 is listed twice"),
        ("[matrix]\nstrategies = []", "[matrix], strategies: list should have at least 1 item"),
        ("[matrix]\nstrategies = ['retry']", "[matrix], environments: name at least one"),
        ("[budget]\ncost = 0", "[budget], cost: input should be greater than 0"),
        ("[budget]\ncost = inf", "[budget], cost: input should be a finite number"),
        (
            "[environments.alfworld]\n[[exclude]]\nactor = 'cot'",
            "[[exclude]] number 1 (actor = cot) excludes nothing",
        ),
        ("[environments.alfworld]\n[[exclude]]\nactors = ['cot']", "[[exclude]] number 1, unknown key 'actors'"),
        ("[environments.alfworld]\n[[exclude]]\nseed = 0", "every combination is excluded"),
        ("[environments.alfworld]\n[ablations.small]\nmemory_size = 1", "[ablations.small]: no run uses it"),
        ("[environments.alfworld]\nablations = ['small']", "there is no table [ablations.small]"),
        (
            "[environments.alfworld]\nstrategies = ['retry', 'reflexion']\nablations = ['none', 'x']\n"
            "[ablations.x]\nstrategy = 'retry'",
            "alfworld-retry-demo-s0 and alfworld-retry-x-demo-s0 are the same run",
        ),
        ("[matrix]\nenvironments = ['a/b', 'a b']", "2 runs would be called a-b-demo-s0"),
        ("[matrix", "is no TOML"),
    ],
)
def test_what_is_wrong_is_named_by_file_table_and_key(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(said)) as caught:
        read(tmp_path, text)
    assert "experiment.toml" in str(caught.value)


def test_combinations_that_an_environment_does_not_have_are_named_before_anything_begins(tmp_path: Path) -> None:
    text = f'[matrix]\nenvironments = ["{GUESSING}", "huntpotqa", "alfworld"]\nactors = ["react", "cot"]'
    experiment = read(tmp_path, f"{text}\n[environments.alfworld]\nray_address = 'host:1'\nactors = ['react']")
    with pytest.raises(ConfigurationError) as caught:
        check(experiment, tmp_path / "out")
    told = str(caught.value)
    assert "tests.support.guessing-Guessing-cot-demo-s0: actor='cot': choose one of react, tools" in told
    assert "huntpotqa-react-demo-s0, huntpotqa-cot-demo-s0: no environment 'huntpotqa'" in told
    assert "alfworld-react-demo-s0: workers on a Ray cluster need" in told
    assert "[[exclude]]" in told
    assert not (tmp_path / "out").exists()


def test_it_is_run_whole_and_again_there_is_nothing_left_to_do(
    tmp_path: Path, server: GuessingServer, run: Run
) -> None:
    experiment, out = read(tmp_path, matrix(server)), tmp_path / "out"
    outcomes, begun = run(experiment, out)
    assert statuses(outcomes) == ["finished"] * 4
    assert begun == [spec.name for spec in experiment.specs]
    solved = [sum(bool(row["success"]) for row in rows(outcome.folder)) for outcome in outcomes]
    assert solved == [1, 4, 1, 4]
    asked = len(server.requests)
    again, begun = run(experiment, out)
    assert (statuses(again), begun, len(server.requests)) == (["finished"] * 4, [], asked)
    told = json.loads((out / "experiment.json").read_text())
    assert list(told["runs"]) == [outcome.name for outcome in outcomes]
    assert told["runs"]["game-reflexion-toy-s1"]["axes"]["strategy"] == "reflexion"

    # The file changes: what is new is run, what differs is refused by name, what is gone is kept and left alone.
    changed = matrix(server, f'[environments.other]\nenvironment = "{GUESSING}"\nstrategies = ["retry"]\nlimit = 2')
    changed = changed.replace("seeds = 2", "seeds = 1").replace("price =", "temperature = 0.5\nprice =", 1)
    outcomes, begun = run(read(tmp_path, changed), out)
    assert statuses(outcomes) == ["refused", "refused", "finished"]
    assert begun == ["other-retry-toy-s0"]
    assert (
        outcomes[0].why == f"{out}/game-retry-toy-s0 holds a run with other settings: temperature was unset, is 0.5"
    )
    told = json.loads((out / "experiment.json").read_text())["runs"]
    assert [name for name, each in told.items() if each.get("dropped")] == [
        "game-retry-toy-s1",
        "game-reflexion-toy-s1",
    ]
    assert len(compare(out).runs) == 3


def test_a_run_that_ended_as_a_trial_solved_nothing_new_has_nothing_left_to_do(
    tmp_path: Path, server: GuessingServer, run: Run
) -> None:
    text = matrix(server, seeds="1").replace("max_trials = 4", "max_trials = 4\n        until_no_improvement = true")
    experiment, out = read(tmp_path, text), tmp_path / "out"
    outcomes, _ = run(experiment, out)
    # Retrying solves one game at once, and then none; who learns solves one in every trial.
    assert [max(row["trial"] for row in rows(outcome.folder)) for outcome in outcomes] == [2, 4]
    assert [each.finished for each in check(experiment, out)] == [True, True]
    trials = (outcomes[0].folder / "trials.jsonl").read_text().splitlines(keepends=True)
    (outcomes[0].folder / "trials.jsonl").write_text("".join(trials[:-1]))
    assert [each.finished for each in check(experiment, out)] == [False, True]


def within(estimate: Estimate, name: str, amount: float) -> bool:
    told = getattr(estimate, name)
    return bool(told.low <= amount <= (told.most if told.most is not None else amount))


def spent(outcomes: list[Outcome]) -> dict[str, float]:
    trials = [row for outcome in outcomes for row in rows(outcome.folder)]
    return {
        "trials": len(trials),
        "calls": sum(row["llm_calls"] for row in trials),
        "tokens": sum(row["input_tokens"] + row["output_tokens"] for row in trials),
        "money": sum(row["cost"] for row in trials),
        "seconds": sum(read_run(outcome.folder).info["seconds"] for outcome in outcomes),
    }


def estimated(experiment: Experiment, out: Path, like: list[PlannedRun]) -> tuple[list[Estimate], Estimate]:
    runs = check(experiment, out, opening=opening_tokens)
    return estimate_all(runs, [each.run for each in like if each.run], experiment.budget)


def test_what_it_takes_is_within_what_was_estimated(tmp_path: Path, server: GuessingServer, run: Run) -> None:
    experiment, out = read(tmp_path, matrix(server)), tmp_path / "out"
    before, total = estimated(experiment, out, [])
    asked = len(server.requests)
    # Four tasks of four trials of 31 actions with a thought before each, and three reflections a task.
    assert [each.calls.most for each in before] == [4 * 4 * 62, 4 * (4 * 62 + 3)] * 2
    assert [(each.calls.low, each.calls.likely, each.basis) for each in before] == [(4, None, "")] * 4
    assert (total.tokens.likely, total.tokens.most, total.money.likely, total.seconds.most) == (None,) * 4
    assert total.tokens.low > 0
    assert not out.exists(), "nothing is run"

    outcomes, _ = run(experiment, out)
    took = spent(outcomes)
    assert len(server.requests) == asked + took["calls"]
    assert all(within(total, name, took[name]) for name in ("trials", "calls"))
    _, left = estimated(experiment, out, [])
    assert (left.tasks, left.calls.most) == (0, 0)

    # Measured by that, another seed of the same games has nothing that is unknown, and comes out as expected.
    measured = check(experiment, out)
    other = read(tmp_path, matrix(server, seeds="[8]"))
    estimates, total = estimated(other, tmp_path / "other", measured)
    assert [each.basis for each in estimates] == [f"game-{name}-toy-s0 and 1 more" for name in ("retry", "reflexion")]
    outcomes, _ = run(other, tmp_path / "other")
    took = spent(outcomes)
    for name in ("trials", "calls", "tokens", "money"):
        assert within(total, name, took[name]), name
        assert getattr(total, name).likely == pytest.approx(took[name]), name
    assert took["money"] == pytest.approx(took["calls"] * (100 * 10 + 5 * 20) / 1e6)
    assert (total.seconds.likely or 0) > 0
    # The limits of a run and of the whole bound what is the most.
    capped = read(
        tmp_path, matrix(server, "[budget]\ncost = 0.01\n[common.budgets.run]\nllm_calls = 20", seeds="[9]")
    )
    estimates, total = estimated(capped, tmp_path / "capped", measured)
    assert ([each.calls.most for each in estimates], total.money.most) == ([20, 20], 0.01)
    assert "measured by game-retry-toy-s0" in str(estimate_table(estimates, total).caption)


def test_what_cannot_run_is_told_and_the_others_run(tmp_path: Path, server: GuessingServer, run: Run) -> None:
    text = matrix(server, '[models.far]\nmodel = "openai:far"', seeds="1")
    experiment = read(tmp_path, text.replace("[matrix]", '[matrix]\nmodels = ["far", "toy"]'))
    estimates, _ = estimated(experiment, tmp_path / "out", [])
    assert [each.refused for each in estimates] == [True, False, True, False]
    outcomes, _ = run(experiment, tmp_path / "out")
    assert statuses(outcomes) == ["refused", "finished", "refused", "finished"]
    assert "set OPENAI_API_KEY" in outcomes[0].why


def test_an_executor_that_cannot_be_used_is_refused_before_anything_begins(
    tmp_path: Path, server: GuessingServer
) -> None:
    with pytest.raises(ConfigurationError, match="workers on a Ray cluster need"):
        check(read(tmp_path, matrix(server)), tmp_path / "out", {"ray_address": "host:1"})
    assert not (tmp_path / "out").exists()


@pytest.mark.long
@pytest.mark.parametrize(("limit", "spends"), [("cost = 0.004", True), ("seconds = 0.4", False)])
def test_the_budget_of_the_whole_stops_it_and_more_of_it_goes_on(
    tmp_path: Path, server: GuessingServer, run: Run, limit: str, spends: bool
) -> None:
    out = tmp_path / "out"
    server.seconds = 0.0 if spends else 0.2
    try:
        outcomes, _ = run(read(tmp_path, matrix(server, f"[budget]\n{limit}")), out, concurrency=1)
    finally:
        server.seconds = 0.0
    # Four trials of the first run are paid for; in the given time there are about two.
    assert statuses(outcomes) == ["stopped", "refused", "refused", "refused"]
    assert (
        outcomes[0].why
        == outcomes[1].why
        == f"the experiment's budget of {limit.split()[-1]} {limit.split()[0]} is used up"
    )
    outcomes, _ = run(read(tmp_path, matrix(server)), out)
    assert statuses(outcomes) == ["finished"] * 4
    run(read(tmp_path, matrix(server)), tmp_path / "whole")
    assert timeless(outcomes[1].folder) == timeless(tmp_path / "whole" / outcomes[1].name)
    assert timeless(outcomes[0].folder) == timeless(tmp_path / "whole" / outcomes[0].name)


@pytest.mark.long
def test_killed_it_goes_on_by_the_same_command(tmp_path: Path, server: GuessingServer) -> None:
    home = make_home(tmp_path)
    (home / "mine.toml").write_text(matrix(server, environment=ENV))
    server.seconds, asked = 0.15, len(server.requests)
    try:
        process = start(home, "experiment", "mine.toml", "--concurrency", "1")
        wait_for_rows(home / "runs/mine/game-reflexion-toy-s0", 1)
        with (
            pytest.raises(ConfigurationError, match="another process is at work on"),
            checked(read_experiment(home / "mine.toml"), home / "runs/mine"),
        ):
            raise AssertionError("two at once")
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=30)
    finally:
        server.seconds = 0.0
    status, out, err = call(home, "experiment", "mine.toml", "--json")
    assert (status, err) == (0, "")
    told = json.loads(out)
    assert [each["status"] for each in told["outcomes"]] == ["finished"] * 4
    assert [(each["label"], each["solved"][-1], each["tasks"]) for each in told["groups"]] == [
        ("A game-retry-toy", 2, 6),
        ("B game-reflexion-toy", 6, 6),
    ]
    for each in told["outcomes"]:
        reflects = "reflexion" in each["name"]
        ends = [1, 2, 3] if reflects else [1, 4, 4]
        assert [(row["task_id"], row["trial"]) for row in rows(home / each["dir"])] == [
            (f"g{game}", trial) for game, last in enumerate(ends, 1) for trial in range(1, last + 1)
        ]
    # Nine calls a run, and no more than the one that was in flight once more.
    assert len(server.requests) - asked in (36, 37)
