"""Reflexion in Inspect AI: command line, logs and viewer.

Inspect is slow to start and prints warnings, so evaluations run in separate processes, which tests share.
"""

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from langgraph_reflexion.lab import experiments
from langgraph_reflexion.lab.experiments.report import report_run
from langgraph_reflexion.lab.experiments.rows import brief
from langgraph_reflexion.lab.experiments.runs import read_run
from langgraph_reflexion.lab.run_settings import RunSettings

pytestmark = pytest.mark.extra("inspect")

ROOT = Path(__file__).parents[2]
TASKS, TRIALS, EPOCHS = 3, 2, 2
# Network access fails.
OFFLINE = {f"{scheme}_proxy": "http://127.0.0.1:9" for scheme in ("http", "https", "all")}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder outside any repository, where Inspect does not call git for every task."""
    return tmp_path_factory.mktemp("inspect")


def logs(home, *command):
    """Run an evaluation, and return its logs by task."""
    from inspect_ai.log import read_eval_log

    folder = home / command[0]
    folder.mkdir()
    paths = [*filter(None, [os.environ.get("PYTHONPATH")]), str(ROOT)]
    environment = {**os.environ, **OFFLINE, "PYTHONPATH": os.pathsep.join(paths), "XDG_DATA_HOME": str(home / "data")}
    words = [sys.executable, "-m", *command, str(folder)]
    done = subprocess.run(words, cwd=home, env=environment, text=True, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    read = [read_eval_log(str(path)) for path in sorted(folder.glob("*.eval"))]
    return {log.eval.task.rpartition("/")[2]: log for log in read}


def metrics(log):
    """Accuracy and its error, and the means over each trial."""
    found = {}
    for score in log.results.scores:
        for name, metric in score.metrics.items():
            found[score.name if name == "mean" else name] = metric.value
    return found


@pytest.fixture(scope="module")
def evaluated(home):
    """An environment run with Inspect's command line."""
    what = ["langgraph_reflexion/alfworld", "-T", f"max_trials={TRIALS}", "--model", "reflexion/demo"]
    how = ["--limit", str(TASKS), "--epochs", str(EPOCHS), "--display", "plain", "--log-dir"]
    return logs(home, "inspect_ai", "eval", *what, *how)["alfworld"]


@pytest.fixture(scope="module")
def small(home):
    """The evaluations of `inspect_runs.py`."""
    return logs(home, "tests.support.inspect_runs")


def rows(samples):
    return [row for each in samples for row in each.store["SampleStore:rows"]]


def solved_by(samples, trial):
    return [each.scores["solved_by_trial"].value[f"trial {trial}"] for each in samples]


@pytest.mark.parametrize("epoch", [1, 2])
def test_score_equals_that_of_our_own_run(evaluated, tmp_path, epoch):
    # Every epoch has its own seed; the environment uses the first epoch's.
    settings = RunSettings(
        environment="alfworld",
        options={"seed": 0},
        limit=TASKS,
        max_trials=TRIALS,
        seed=epoch - 1,
        until_no_improvement=False,
    )
    experiments.run(settings, tmp_path / "run")
    ours = read_run(tmp_path / "run")
    # In our run only the times differ; Inspect adds the answer and the thread.
    expected = [{name: value for name, value in brief(row).items() if name != "seconds"} for row in ours.trials]
    assert evaluated.status == "success"
    samples = [each for each in evaluated.samples if each.epoch == epoch]
    assert [{name: row[name] for name in expected[0]} for row in rows(samples)] == expected
    curve = [sum(solved_by(samples, trial)) for trial in range(1, TRIALS + 1)]
    assert curve == report_run(ours).solved
    assert sum(each.scores["solved"].value == "C" for each in samples) == curve[-1]
    assert 0 < curve[0] < len(samples)  # otherwise this compares little


def test_metrics_are_the_success_curve_over_all_epochs(evaluated):
    shown = metrics(evaluated)
    for trial in range(1, TRIALS + 1):
        assert shown[f"trial {trial}"] == pytest.approx(sum(solved_by(evaluated.samples, trial)) / TASKS / EPOCHS)
    assert shown["accuracy"] == pytest.approx(shown[f"trial {TRIALS}"])
    used = evaluated.stats.model_usage["reflexion/demo"]
    assert used.input_tokens == sum(row["input_tokens"] for row in rows(evaluated.samples))


def test_transcript_contains_trials_and_reflections(evaluated):
    retried = max(evaluated.samples, key=lambda each: each.scores["solved"].metadata["trials"])
    trials = [event for event in retried.events if event.event == "span_begin" and event.type == "trial"]
    recorded = rows([retried])
    assert [event.name for event in trials] == [f"trial {row['trial']}" for row in recorded]
    assert len(recorded) > 1
    for span, row in zip(trials, recorded, strict=True):
        inside = [event for event in retried.events if event.span_id == span.id]
        assert sum(event.event == "model" for event in inside) == row["llm_calls"]
    said = [message.text for message in retried.messages]
    assert f"Reflection: {recorded[0]['reflection']}" in said
    assert any(text.startswith("Trial 2\n") for text in said)


@pytest.mark.parametrize(("name", "limit"), [("limited", "token"), ("talkative", "message")])
def test_limit_ends_the_sample_without_a_fault(small, name, limit):
    [ended] = small[name].samples
    assert (ended.limit.type, ended.error) == (limit, None)
    assert (ended.scores["solved"].value, ended.scores["solved"].metadata["trials"]) == ("I", 0)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("broken", "fell off the wall"),
        ("silent", "the model is gone"),
        ("empty", "reply is empty"),
        ("buggy", "ZeroDivisionError: division by zero"),
    ],
)
def test_fault_or_bug_is_an_error_rather_than_a_wrong_answer(small, name, words):
    [failed] = small[name].samples
    assert words in failed.error.message + failed.error.traceback
    assert "TaskError" not in failed.error.traceback
    assert not failed.scores


def test_tool_calls_are_converted_in_both_directions(small):
    [ended] = small["tools"].samples
    assert ended.scores["solved"].value == "C"
    (call,) = [event for event in ended.events if event.event == "model"]
    offered = {tool.name: tool for tool in call.tools}
    assert set(offered) == {"add", "turn", "read", "break"}
    assert offered["add"].parameters.required == ["amount"]
    assert offered["turn"].parameters.properties["direction"].enum == ["up", "down"]
    (shown,) = [message.tool_calls[0] for message in ended.messages if message.role == "assistant"]
    assert (shown.function, shown.arguments) == ("add", {"amount": 3})


def test_reflector_is_a_model_role_and_generation_settings_apply(small):
    [ended] = small["roles"].samples
    calls = [event for event in ended.events if event.event == "model"]
    assert [call.role for call in calls] == [None, None, "reflector", None]
    assert ended.role_usage["reflector"].total_tokens == 100
    first, second = rows([ended])
    assert first["reflection"] == "Add three at once."
    # Both counts include all tokens, also those from the provider's prefix cache.
    assert first["input_tokens"] + second["input_tokens"] == 4 * 90
    # The evaluation's settings apply to its own model only; a role has its own settings.
    assert [call.config.temperature for call in calls] == [0.25, 0.25, None, 0.25]
    assert len({call.config.seed for call in calls}) == 4
    assert calls[0].config.stop_seqs


def test_ungradable_task_is_not_scored(small):
    values = [each.scores["solved"].value for each in small["doubtful"].samples]
    assert math.isnan(values[0])
    assert values[1:] == ["C", "I"]
    shown = metrics(small["doubtful"])
    assert (shown["accuracy"], shown["trial 1"]) == (0.5, 0.5)


def test_custom_agent_is_wrapped(small):
    [ended] = small["own_agent"].samples
    assert ended.output.completion == "forty-two"
    assert ended.scores["includes"].value == "C"
    assert sum(event.event == "model" for event in ended.events) == 3


def test_a_function_is_wrapped_too(small):
    [ended] = small["own_function"].samples
    assert (ended.error, ended.output.completion) == (None, "forty-two")


def test_prices_go_by_the_name_of_the_evaluations_model(small):
    [ended] = small["priced"].samples
    [row] = rows([ended])
    assert row["usage"]["act"]["cost"] == pytest.approx((90 * 1 + 10 * 2) / 1e6)
    [failed] = small["unpriced"].samples
    assert "a budget of money needs the price of model" in failed.error.message


def test_each_epoch_counts_for_the_budget_of_the_run(small):
    # They are played at once, and each stops within one action.
    taken = [row["actions"] for row in rows(small["epochs"].samples)]
    assert 20 <= sum(taken) <= 20 + len(taken)


def test_a_reflection_is_shown_in_its_own_trial_alone(small):
    [ended] = small["repeated"].samples
    shown = [message.text for message in ended.messages if message.text.startswith("Reflection: ")]
    assert shown == ["Reflection: Say forty-two."]
    assert len(rows([ended])) == 3


def test_error_without_inspect_names_the_extra():
    code = "import sys; sys.modules['inspect_ai'] = None; import langgraph_reflexion.lab.inspect"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "EnvironmentUnavailable: inspect-ai is missing; it comes with the extra inspect" in done.stderr
