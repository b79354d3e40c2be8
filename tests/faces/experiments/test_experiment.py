"""Experiments from files: their runs, mistakes, estimates."""

import asyncio
import re
from pathlib import Path

import pytest

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.experiments.comparison import compare
from langgraph_reflexion.lab.experiments.estimates import estimate, estimate_table, total
from langgraph_reflexion.lab.experiments.locks import locked
from langgraph_reflexion.lab.experiments.matrix import ExperimentObserver, check, run_experiment
from langgraph_reflexion.lab.experiments.matrix_file import read_experiment
from tests.support.cli import GuessingServer
from tests.support.guessing import rows

DOCS = Path(__file__).parents[3] / "docs"
GUESSING = "tests.support.guessing:Guessing"


@pytest.fixture(scope="module")
def server():
    with GuessingServer() as running:
        yield running


@pytest.fixture(autouse=True)
def no_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def read(folder, text):
    (folder / "experiment.toml").write_text(text)
    return read_experiment(folder / "experiment.toml")


def matrix(server, more="", seeds="2"):
    """Two strategies under some seeds, at a game that an agent which learns solves in time."""
    return f"""
        [common]
        max_trials = 4
        retries = 1
        [matrix]
        strategies = ["retry", "reflexion"]
        seeds = {seeds}
        [environments.game]
        environment = "{GUESSING}"
        [models.toy]
        model = "openai:toy"
        base_url = "{server.url}"
        price = "10,20"
        {more}
        """


def run(experiment, out, **given):
    with locked(out):
        runs = check(experiment, out)
        return asyncio.run(run_experiment(runs, ExperimentObserver(), given))


def statuses(outcomes):
    return [outcome.status for outcome in outcomes]


def test_every_combination_is_a_run_with_the_most_specific_settings(tmp_path):
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
    assert len(names) == 20
    assert names[10:] == [name.replace("-s3", "-s7") for name in names[:10]], "all of the first seed, then the next"
    assert not [name for name in names if "-cot-reflexion-short-memory" in name]
    settings = {spec.name: spec.settings for spec in experiment.specs}
    household = settings["alfworld-retry-large-s3"]
    assert (household.environment, household.limit, household.max_trials, household.seed) == ("alfworld", 10, 5, 3)
    assert (household.model, household.temperature, household.prices) == ("openai:large", 0, {"openai:large": "1,2"})
    assert household.public()["budgets"] == {"task": {"actions": 100}, "run": {"cost": 2}}
    short = settings["questions-react-reflexion-short-memory-large-s3"]
    assert (short.environment, short.max_trials, short.memory_size, short.actor) == ("hotpotqa", 2, 1, "react")
    assert short.options == {"engine": "native", "language": "de"}


@pytest.mark.slow
def test_the_experiments_of_the_documentation_can_run(tmp_path):
    runs = check(read_experiment(DOCS / "experiments" / "demo.toml"), tmp_path / "out")
    assert [len(each.tasks) for each in runs[:6]] == [20] * 2 + [24] * 4
    assert len(runs) == 3 * 6
    assert not any(each.refusal for each in runs)
    assert len({spec.series for spec in read_experiment(DOCS / "experiments" / "llm.toml").specs}) == 21
    shown = re.findall(r"```toml [^\n]*\n(.*?)```", (DOCS / "experiments.md").read_text(), re.DOTALL)
    first, larger = ({spec.series for spec in read(tmp_path, text).specs} for text in shown)
    assert "alfworld-reflexion-demo" in first
    assert "hotpotqa-cot-retry-short-memory-demo" in larger
    assert "hotpotqa-cot-retry-short-memory-small" not in larger


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[comon]\nmax_trials = 3", "unknown key 'comon' (did you mean common?)"),
        ("[common]\nmax_trails = 3\n[environments.a]", "key 'max_trails' of [common] (did you mean max_trials?)"),
        ("[environments.a]\nlimit = 'two'", "the key limit of [environments.a] must be a valid integer, not 'two'"),
        (
            "[environments.a]\nlimt = 2\n[models.m]\nmodel = ['m']\nprice = '1,2'",
            "'limt' of [environments.a] (did you mean limit?); the key model of [models.m] must be a string",
        ),
        ("[common]\nseed = 1\n[environments.a]", "[common]: seed is an axis, not a setting"),
        ("[common]\nactor = 5\n[environments.a]", "the key actor of [common] must be a string, not 5"),
        ("[common]\nmodel = 5\n[environments.a]", "the key model of [common] must be a string, not 5"),
        ("[common]\noptions = 5\n[environments.a.options]\nb = 1", "the key options of [common] must be"),
        ("[common]\nbudgets = 5\n[environments.a.budgets.run]\ncost = 1", "the key budgets of [common] must be"),
        ("[environments.a]\n[models.m]\nprice = '1,2'\nprices = 'abc'", "the key prices of [models.m] must be"),
        ("[matrix]\nstrategy = ['retry']", "unknown key 'matrix.strategy' (did you mean strategies?)"),
        ("[common.budgets.run]\ncots = 1\n[environments.a]", "budgets.run.cots"),
        ("[matrix]\nstrategies = ['retry']", "environments"),
        ("[environments.alfworld]\n[[exclude]]\nactor = 'cot'", "[[exclude]] number 1 excludes nothing"),
        ("[environments.alfworld]\n[ablations.small]\nmemory_size = 1", "[ablations.small]: no run uses it"),
        ("[environments.alfworld]\n[ablations.none]\nmemory_size = 1", "this name stands for no ablation"),
        ("[matrix]\nenvironments = ['a/b', 'a b']", "2 runs would be called a-b-demo-s0"),
    ],
)
def test_a_mistake_is_named_by_file_table_and_key(tmp_path, text, said):
    with pytest.raises(ConfigurationError, match=re.escape(said)) as caught:
        read(tmp_path, text)
    assert "experiment.toml" in str(caught.value)


def test_impossible_combinations_are_named_before_any_run(tmp_path):
    text = f'[matrix]\nenvironments = ["{GUESSING}", "huntpotqa", "alfworld", "fever"]\nactors = ["react", "cot"]'
    more = "[environments.alfworld]\nray_address = 'host:1'\nactors = ['react']"
    more += "\n[environments.fever]\nstrategies = ['continue']\nactors = ['react']"
    experiment = read(tmp_path, f"{text}\n{more}")
    with pytest.raises(ConfigurationError) as caught:
        check(experiment, tmp_path / "out")
    told = str(caught.value)
    assert "tests.support.guessing-Guessing-cot-demo-s0: actor='cot'" in told
    assert "huntpotqa-react-demo-s0, huntpotqa-cot-demo-s0: no environment" in told
    assert "alfworld-react-demo-s0: workers on a Ray cluster need" in told
    assert "fever-react-continue-demo-s0: strategy='continue': an episode of fever ends for good" in told
    assert not (tmp_path / "out").exists()


def test_a_run_whose_file_is_missing_is_refused_and_the_others_are_planned(tmp_path):
    wiki = '[environments.wiki]\nenvironment = "hotpotqa"\noptions = { path = "missing.json" }'
    experiment = read(tmp_path, f"{wiki}\n[environments.alfworld]\nlimit = 2")
    refused, planned = check(experiment, tmp_path / "out")
    assert "missing.json cannot be read: No such file" in refused.refusal
    assert (planned.refusal, len(planned.tasks)) == ("", 2)


def test_a_check_finds_what_would_refuse_a_recorded_run(tmp_path):
    text = "[common]\nmemory_size = 1\n[environments.alfworld]\nlimit = 1\nmax_trials = 1"
    [outcome] = run(read(tmp_path, text), tmp_path / "out")
    [planned] = check(read(tmp_path, text.replace("memory_size = 1", "memory_size = 2")), tmp_path / "out")
    assert outcome.status == "finished"
    assert "memory_size was 1, is 2" in planned.refusal


@pytest.mark.long
def test_a_repeated_experiment_runs_only_what_is_new(tmp_path, server):
    experiment, out = read(tmp_path, matrix(server)), tmp_path / "out"
    outcomes = run(experiment, out)
    assert statuses(outcomes) == ["finished"] * 4
    solved = [sum(bool(row["success"]) for row in rows(outcome.folder)) for outcome in outcomes]
    assert solved == [1, 4, 1, 4]
    asked = len(server.requests)
    assert (statuses(run(experiment, out)), len(server.requests)) == (["finished"] * 4, asked)

    # New runs are run, those with other settings refused, and those that the file no longer has are kept.
    changed = matrix(server, f'[environments.other]\nenvironment = "{GUESSING}"\nstrategies = ["retry"]\nlimit = 2')
    changed = changed.replace("seeds = 2", "seeds = 1").replace("price =", "temperature = 0.5\nprice =", 1)
    outcomes = run(read(tmp_path, changed), out)
    assert statuses(outcomes) == ["refused", "refused", "finished"]
    assert "temperature was unset, is 0.5" in outcomes[0].why
    assert (out / "game-retry-toy-s1" / "run.json").exists()
    assert len(compare(out).runs) == 5


@pytest.mark.long
def test_estimates_come_from_recorded_runs(tmp_path, server):
    experiment, out = read(tmp_path, matrix(server, seeds="1")), tmp_path / "out"
    before = [estimate(each, []) for each in check(experiment, out)]
    assert [(each.tasks, each.most, each.calls, each.basis) for each in before] == [(4, 16, None, "")] * 2
    run(experiment, out)
    planned = check(experiment, out)
    assert total([estimate(each, []) for each in planned]).tasks == 0

    # Another seed is expected to take what the recorded run of the same strategy took.
    recorded = [each.run for each in planned if each.run]
    other = read(tmp_path, matrix(server, seeds="[8]"))
    estimates = [estimate(each, recorded) for each in check(other, tmp_path / "other")]
    assert [each.basis for each in estimates] == ["game-retry-toy-s0", "game-reflexion-toy-s0"]
    for each, took in zip(estimates, [rows(out / each.basis) for each in estimates], strict=True):
        spent = [sum(row[name] for row in took) for name in ("llm_calls", "input_tokens", "output_tokens", "cost")]
        assert (each.trials, each.calls) == pytest.approx((len(took), spent[0]))
        assert (each.tokens, each.cost) == pytest.approx((spent[1] + spent[2], spent[3]))
    assert "game-retry-toy-s0" in estimate_table(estimates).caption


@pytest.mark.slow
def test_runs_that_cannot_start_are_refused_and_the_others_run(tmp_path, server):
    text = matrix(server, '[models.far]\nmodel = "openai:far"', seeds="1")
    experiment = read(tmp_path, text.replace("[matrix]", '[matrix]\nmodels = ["far", "toy"]'))
    outcomes = run(experiment, tmp_path / "out")
    assert statuses(outcomes) == ["refused", "finished", "refused", "finished"]
    assert "OPENAI_API_KEY" in outcomes[0].why


@pytest.mark.slow
def test_runs_one_axis_apart_are_paired_whatever_else_follows_from_it(tmp_path, server):
    text = f"""
        [common]
        limit = 1
        max_trials = 1
        profile = "upstream"
        [matrix]
        environments = ["hotpotqa"]
        strategies = ["reflexion", "last_attempt_and_reflexion"]
        ablations = ["none", "paper", "two"]
        models = ["demo", "toy"]
        [models.toy]
        model = "openai:toy"
        base_url = "{server.url}"
        reflection_model = "demo"
        [ablations.paper]
        profile = "paper"
        [ablations.two]
        memory_size = 1
        feedback = "words"
        [[exclude]]
        strategy = "last_attempt_and_reflexion"
        ablation = ["paper", "two"]
        [[exclude]]
        model = "toy"
        ablation = ["paper", "two"]
        [[exclude]]
        model = "toy"
        strategy = "last_attempt_and_reflexion"
        """
    run(read(tmp_path, text), tmp_path / "out")
    comparison = compare(tmp_path / "out")
    assert [each.label for each in comparison.groups] == [
        "A hotpotqa-reflexion-demo",
        "B hotpotqa-reflexion-toy",
        "C hotpotqa-reflexion-paper-demo",
        "D hotpotqa-reflexion-two-demo",
        "E hotpotqa-last_attempt_and_reflexion-demo",
    ]
    assert [pair.one.name + pair.other.name for pair in comparison.pairs] == ["AB", "AC", "AD", "AE", "CD"]
