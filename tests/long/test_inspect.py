"""Reflexion in Inspect AI: command line, logs and viewer.

Inspect is slow to start and prints warnings, so evaluations run in separate processes, which tests share.
"""

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from langgraph_reflexion import experiments
from langgraph_reflexion.experiments.record import read_run
from langgraph_reflexion.experiments.report import report_run
from langgraph_reflexion.settings import RunSettings

pytestmark = pytest.mark.extra("inspect")

ROOT = Path(__file__).parents[2]
TASKS, TRIALS, EPOCHS = 3, 2, 2
# Network access fails.
OFFLINE = {f"{scheme}_proxy": "http://127.0.0.1:9" for scheme in ("http", "https", "all")}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder outside any repository, where Inspect does not call git for every task."""
    return tmp_path_factory.mktemp("inspect")


def environ(home: Path) -> dict[str, str]:
    paths = [*filter(None, [os.environ.get("PYTHONPATH")]), str(ROOT)]
    return {**os.environ, **OFFLINE, "PYTHONPATH": os.pathsep.join(paths), "XDG_DATA_HOME": str(home / "data")}


def run(home: Path, *command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=home,
        env=environ(home),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def logs(folder: Path) -> dict[str, Any]:
    """The logs in a folder by task; if a task has several, the last."""
    from inspect_ai.log import read_eval_log

    read = [read_eval_log(str(path)) for path in sorted(folder.glob("*.eval"))]
    return {log.eval.task.rpartition("/")[2]: log for log in read}


def metrics(log: Any) -> dict[str, float]:
    """Accuracy and its error, and the means over each trial."""
    found = {}
    for score in log.results.scores:
        for name, metric in score.metrics.items():
            found[score.name if name == "mean" else name] = metric.value
    return found


@pytest.fixture(scope="module")
def evaluated(home: Path) -> Path:
    """An environment run with Inspect's command line."""
    folder = home / "logs"
    words = [
        "inspect_ai",
        "eval",
        "langgraph_reflexion/alfworld",
        "--model",
        "reflexion/demo",
        "--log-dir",
        str(folder),
        "--display",
        "plain",
    ]
    run(home, *words, "-T", f"max_trials={TRIALS}", "--limit", str(TASKS), "--epochs", str(EPOCHS))
    return folder


@pytest.fixture(scope="module")
def small(home: Path) -> dict[str, Any]:
    """The evaluations of `inspect_runs.py`."""
    folder = home / "small"
    folder.mkdir()
    run(home, "tests.support.inspect_runs", str(folder))
    return logs(folder)


def sample(log: Any) -> Any:
    (only,) = log.samples
    return only


@pytest.mark.parametrize("epoch", [1, 2])
def test_score_equals_that_of_our_own_run(evaluated: Path, tmp_path: Path, epoch: int) -> None:
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
    expected = [{name: value for name, value in row.items() if name != "seconds"} for row in ours.trials]

    log = logs(evaluated)["alfworld"]
    assert log.status == "success"
    samples = [each for each in log.samples if each.epoch == epoch]
    rows = [row for each in samples for row in each.store["SampleStore:rows"]]
    assert [{name: row[name] for name in expected[0]} for row in rows] == expected
    curve = [
        sum(each.scores["solved_by_trial"].value[f"trial {trial}"] for each in samples)
        for trial in range(1, TRIALS + 1)
    ]
    assert curve == report_run(ours).solved
    right = sum(each.scores["solved"].value == "C" for each in samples)
    assert right == curve[-1]
    assert 0 < curve[0] < len(samples)  # otherwise this compares little


def test_metrics_are_the_success_curve_over_all_epochs(evaluated: Path) -> None:
    log = logs(evaluated)["alfworld"]
    told = metrics(log)
    for trial in range(1, TRIALS + 1):
        values = [each.scores["solved_by_trial"].value[f"trial {trial}"] for each in log.samples]
        assert told[f"trial {trial}"] == pytest.approx(sum(values) / len(values))
    assert told["accuracy"] == pytest.approx(told[f"trial {TRIALS}"])
    used = log.stats.model_usage["reflexion/demo"]
    assert used.input_tokens == sum(
        row["input_tokens"] for each in log.samples for row in each.store["SampleStore:rows"]
    )


def test_transcript_contains_trials_and_reflections(evaluated: Path) -> None:
    log = logs(evaluated)["alfworld"]
    retried = max(log.samples, key=lambda each: each.scores["solved"].metadata["trials"])
    trials = [event for event in retried.events if event.event == "span_begin" and event.type == "trial"]
    rows = retried.store["SampleStore:rows"]
    assert [event.name for event in trials] == [f"trial {row['trial']}" for row in rows]
    assert len(rows) > 1
    for span, row in zip(trials, rows, strict=True):
        inside = [event for event in retried.events if event.span_id == span.id]
        assert sum(event.event == "model" for event in inside) == row["llm_calls"]
    said = [message.text for message in retried.messages]
    assert f"Reflection: {rows[0]['reflection']}" in said
    assert any(text.startswith("Trial 2\n") for text in said)


@pytest.mark.parametrize(("name", "limit"), [("limited", "token"), ("talkative", "message")])
def test_limit_ends_the_sample_without_a_fault(small: dict[str, Any], name: str, limit: str) -> None:
    ended = sample(small[name])
    assert (ended.limit.type, ended.error) == (limit, None)
    assert ended.scores["solved"].value == "I"
    assert ended.scores["solved"].metadata["trials"] == 0


@pytest.mark.parametrize(
    ("name", "words"),
    [("broken", "fell off the wall"), ("silent", "the model is gone"), ("empty", "reply is empty")],
)
def test_fault_is_an_error_rather_than_a_wrong_answer(small: dict[str, Any], name: str, words: str) -> None:
    failed = sample(small[name])
    assert words in failed.error.message
    assert not failed.scores


def test_bug_is_reported_as_the_original_error(small: dict[str, Any]) -> None:
    failed = sample(small["buggy"])
    assert "ZeroDivisionError: division by zero" in failed.error.traceback
    assert "TaskError" not in failed.error.traceback
    assert not failed.scores


def test_tool_calls_are_converted_in_both_directions(small: dict[str, Any]) -> None:
    ended = sample(small["tools"])
    assert ended.scores["solved"].value == "C"
    (call,) = [event for event in ended.events if event.event == "model"]
    offered = {tool.name: tool for tool in call.tools}
    assert set(offered) == {"add", "turn", "read", "break"}
    assert offered["add"].parameters.required == ["amount"]
    assert offered["turn"].parameters.properties["direction"].enum == ["up", "down"]
    (shown,) = [message.tool_calls[0] for message in ended.messages if message.role == "assistant"]
    assert (shown.function, shown.arguments) == ("add", {"amount": 3})


def test_reflector_is_a_model_role_and_generation_settings_apply(small: dict[str, Any]) -> None:
    ended = sample(small["roles"])
    calls = [event for event in ended.events if event.event == "model"]
    assert [call.role for call in calls] == [None, None, "reflector", None]
    assert ended.role_usage["reflector"].total_tokens == 100
    (first, second) = ended.store["SampleStore:rows"]
    assert first["reflection"] == "Add three at once."
    # Both counts include all tokens, also those from the provider's prefix cache.
    assert first["input_tokens"] + second["input_tokens"] == 4 * 90
    # The evaluation's settings apply to its own model only; a role has its own settings.
    assert [call.config.temperature for call in calls] == [0.25, 0.25, None, 0.25]
    assert len({call.config.seed for call in calls}) == 4
    assert calls[0].config.stop_seqs


def test_ungradable_task_is_not_scored(small: dict[str, Any]) -> None:
    log = small["doubtful"]
    values = [each.scores["solved"].value for each in log.samples]
    assert math.isnan(values[0])
    assert values[1:] == ["C", "I"]
    assert metrics(log)["accuracy"] == 0.5
    assert metrics(log)["trial 1"] == 0.5


def test_custom_agent_is_wrapped(small: dict[str, Any]) -> None:
    ended = sample(small["own_agent"])
    assert ended.output.completion == "forty-two"
    assert ended.scores["includes"].value == "C"
    assert sum(event.event == "model" for event in ended.events) == 3


def test_error_without_inspect_names_the_extra() -> None:
    code = (
        "import sys; sys.modules['inspect_ai'] = None\n"
        "from langgraph_reflexion import EnvironmentUnavailable\n"
        "try: import langgraph_reflexion.adapters.inspect\n"
        "except EnvironmentUnavailable as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    hint = "the extra inspect (in the clone: pip install '.[inspect]')"
    assert done.stdout.strip() == f"inspect-ai is missing; it comes with {hint}"
