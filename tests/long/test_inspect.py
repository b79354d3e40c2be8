"""Reflexion in Inspect AI: its command line, its logs, its viewer.

Inspect is slow to start and warns while it does so: evaluations run in processes of their own, which tests share.
"""

import inspect
import json
import math
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from langgraph_reflexion import experiments
from langgraph_reflexion.envs import load_environment
from langgraph_reflexion.experiments.record import read_run
from langgraph_reflexion.experiments.report import report_run
from langgraph_reflexion.settings import RunSettings

pytest.importorskip("inspect_ai", reason="inspect-ai is not installed: pip install 'langgraph-reflexion[inspect]'")

ROOT = Path(__file__).parents[2]
TASKS, TRIALS, EPOCHS = 3, 2, 2
ENVIRONMENTS = ("alfworld", "hotpotqa")
# Whatever reaches for the network gets nowhere.
OFFLINE = {f"{scheme}_proxy": "http://127.0.0.1:9" for scheme in ("http", "https", "all")}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Outside of any repository, of which Inspect would ask git for every task."""
    folder = tmp_path_factory.mktemp("inspect")
    # What installing the package writes, for where it is used uninstalled: otherwise Inspect knows nothing of it.
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    installed = folder / "installed" / f"langgraph_reflexion-{project['version']}.dist-info"
    installed.mkdir(parents=True)
    written = "\n".join(f"{name} = {module}" for name, module in project["entry-points"]["inspect_ai"].items())
    (installed / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n", encoding="utf-8"
    )
    (installed / "entry_points.txt").write_text(f"[inspect_ai]\n{written}\n", encoding="utf-8")
    editable = {"url": ROOT.as_uri(), "dir_info": {"editable": True}}
    (installed / "direct_url.json").write_text(json.dumps(editable), encoding="utf-8")
    return folder


def environ(home: Path) -> dict[str, str]:
    paths = [str(home / "installed"), *filter(None, [os.environ.get("PYTHONPATH")]), str(ROOT)]
    return {**os.environ, **OFFLINE, "PYTHONPATH": os.pathsep.join(paths), "XDG_DATA_HOME": str(home / "data")}


def start(home: Path, *command: str, **options: Any) -> "subprocess.Popen[str]":
    command = (sys.executable, "-m", *command)
    return subprocess.Popen(command, cwd=home, env=environ(home), text=True, **options)


def run(home: Path, *command: str) -> str:
    process = start(home, *command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        said, _ = process.communicate(timeout=300)
    finally:
        process.kill()
    assert process.returncode == 0, said
    return said


def evaluation(*tasks: str, folder: Path, **options: Any) -> list[str]:
    """The command of a user, with the model that needs no key."""
    words = ["inspect_ai", "eval", *(f"langgraph_reflexion/{task}" for task in tasks)]
    words += ["--model", "reflexion/demo", "--log-dir", str(folder), "--display", "plain"]
    words += ["-T", f"max_trials={TRIALS}"]
    return words + [word for name, value in options.items() for word in (f"--{name}", str(value))]


def logs(folder: Path) -> dict[str, Any]:
    """The logs of a folder by their tasks; of several of one task, the last."""
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
    """Two environments, by Inspect's command line."""
    folder = home / "logs"
    run(home, *evaluation(*ENVIRONMENTS, folder=folder, limit=TASKS, epochs=EPOCHS))
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


@pytest.mark.parametrize("environment", ENVIRONMENTS)
@pytest.mark.parametrize("epoch", range(1, EPOCHS + 1))
def test_a_score_is_what_our_own_sweep_says(evaluated: Path, tmp_path: Path, environment: str, epoch: int) -> None:
    # Every epoch has a seed of its own, and the environment the first one's.
    settings = RunSettings(
        environment=environment,
        options={"seed": 0},
        limit=TASKS,
        max_trials=TRIALS,
        seed=epoch - 1,
        until_no_improvement=False,
    )
    experiments.run(settings, tmp_path / "run")
    ours = read_run(tmp_path / "run")
    # Of ours, only the clock is another; of Inspect's, the answer and the thread are more.
    expected = [{name: value for name, value in row.items() if name != "seconds"} for row in ours.trials]

    log = logs(evaluated)[environment]
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
    assert environment != "alfworld" or 0 < curve[0] < len(samples)  # otherwise this compares little


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_the_metrics_are_the_success_curve_over_all_epochs(evaluated: Path, environment: str) -> None:
    log = logs(evaluated)[environment]
    told = metrics(log)
    for trial in range(1, TRIALS + 1):
        values = [each.scores["solved_by_trial"].value[f"trial {trial}"] for each in log.samples]
        assert told[f"trial {trial}"] == pytest.approx(sum(values) / len(values))
    assert told["accuracy"] == pytest.approx(told[f"trial {TRIALS}"])
    used = log.stats.model_usage["reflexion/demo"]
    assert used.input_tokens == sum(
        row["input_tokens"] for each in log.samples for row in each.store["SampleStore:rows"]
    )


def test_trials_and_reflections_are_in_the_transcript(evaluated: Path) -> None:
    log = logs(evaluated)["alfworld"]
    retried = max(log.samples, key=lambda each: each.scores["solved"].metadata["trials"])
    trials = [event for event in retried.events if event.event == "span_begin" and event.type == "trial"]
    rows = retried.store["SampleStore:rows"]
    assert [event.name for event in trials] == [f"trial {row['trial']}" for row in rows]
    assert len(rows) > 1
    for span, row in zip(trials, rows, strict=True):
        inside = [event for event in retried.events if event.span_id == span.id]
        sources = [event.source for event in inside if event.event == "info"]
        assert sources.count("verdict") == 1
        assert sources.count("reflection") == bool(row["reflection"])
        assert sources.count("observation") == row["actions"] + 1
        assert sum(event.event == "model" for event in inside) == row["llm_calls"]
    said = [message.text for message in retried.messages]
    assert f"Reflection: {rows[0]['reflection']}" in said
    assert any(text.startswith("Trial 2\n") for text in said)


def test_a_killed_evaluation_goes_on_where_it_was(home: Path, evaluated: Path) -> None:
    folder, whole = home / "killed", logs(evaluated)["alfworld"]
    expected = max(whole.samples, key=lambda each: (each.scores["solved"].metadata["trials"], -each.epoch))
    command = evaluation("alfworld", folder=folder, **{"sample-id": expected.id})
    process = start(home, *command, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 180
        # In the middle of a sample: one of its trials has failed, and the next one is under way.
        while not any('"verdict": false' in path.read_text() for path in folder.glob("reflexion-*/trials.jsonl")):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.005)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    (log_file,) = folder.glob("*.eval")
    run(home, "inspect_ai", "eval-retry", str(log_file), "--log-dir", str(folder), "--display", "plain")
    log = logs(folder)["alfworld"]
    assert log.status == "success"
    again = sample(log)
    score, before = again.scores["solved"], expected.scores["solved"]
    assert (score.value, score.metadata["stop_reasons"]) == (before.value, before.metadata["stop_reasons"])
    assert score.metadata["resumed"] == 1
    spans = [event.name for event in again.events if event.event == "span_begin" and event.type == "trial"]
    assert spans == ["before it was stopped", *(f"trial {trial}" for trial in range(2, TRIALS + 1))]
    assert sum(event.event == "model" for event in again.events) <= again.store["SampleStore:rows"][1]["llm_calls"]
    (kept,) = folder.glob("reflexion-*/trials.jsonl")
    rows = [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]
    clocks = {"seconds", "thread"}
    assert [{name: row[name] for name in row if name not in clocks} for row in rows] == [
        {name: row[name] for name in row if name not in clocks} for row in expected.store["SampleStore:rows"]
    ]


@pytest.mark.parametrize(("name", "limit"), [("limited", "token"), ("talkative", "message")])
def test_a_limit_ends_the_sample_and_is_no_fault(small: dict[str, Any], name: str, limit: str) -> None:
    ended = sample(small[name])
    assert (ended.limit.type, ended.error) == (limit, None)
    assert ended.scores["solved"].value == "I"
    assert ended.scores["solved"].metadata["trials"] == 0


@pytest.mark.parametrize(
    ("name", "words"),
    [("broken", "fell off the wall"), ("silent", "the model is gone"), ("empty", "answered with nothing")],
)
def test_a_fault_is_an_error_and_no_wrong_answer(small: dict[str, Any], name: str, words: str) -> None:
    failed = sample(small[name])
    assert words in failed.error.message
    assert not failed.scores


def test_a_bug_is_the_error_that_it_is(small: dict[str, Any]) -> None:
    failed = sample(small["buggy"])
    assert "ZeroDivisionError: division by zero" in failed.error.traceback
    assert "TaskError" not in failed.error.traceback
    assert not failed.scores


def test_tools_are_called_both_ways(small: dict[str, Any]) -> None:
    ended = sample(small["tools"])
    assert ended.scores["solved"].value == "C"
    (call,) = [event for event in ended.events if event.event == "model"]
    offered = {tool.name: tool for tool in call.tools}
    assert set(offered) == {"add", "turn", "read", "break"}
    assert offered["add"].parameters.required == ["amount"]
    assert offered["turn"].parameters.properties["direction"].enum == ["up", "down"]
    (shown,) = [message.tool_calls[0] for message in ended.messages if message.role == "assistant"]
    assert (shown.function, shown.arguments) == ("add", {"amount": 3})


def test_the_reflector_is_a_role_and_settings_of_generation_arrive(small: dict[str, Any]) -> None:
    ended = sample(small["roles"])
    calls = [event for event in ended.events if event.event == "model"]
    assert [call.role for call in calls] == [None, None, "reflector", None]
    assert ended.role_usage["reflector"].total_tokens == 100
    (first, second) = ended.store["SampleStore:rows"]
    assert first["reflection"] == "Add three at once."
    # Both accounts have all tokens, those from the provider's prefix cache included.
    assert first["input_tokens"] + second["input_tokens"] == 4 * 90
    # Inspect keeps what the evaluation says to the evaluation's model; a role has settings of its own.
    assert [call.config.temperature for call in calls] == [0.25, 0.25, None, 0.25]
    assert len({call.config.seed for call in calls}) == 4
    assert calls[0].config.stop_seqs


def test_a_task_that_nobody_can_judge_is_not_scored(small: dict[str, Any]) -> None:
    log = small["doubtful"]
    values = [each.scores["solved"].value for each in log.samples]
    assert math.isnan(values[0])
    assert values[1:] == ["C", "I"]
    assert metrics(log)["accuracy"] == 0.5
    assert metrics(log)["trial 1"] == 0.5


def test_recorded_replies_are_a_model_too(small: dict[str, Any]) -> None:
    score = sample(small["recorded"]).scores["solved_by_trial"]
    assert score.value == {"trial 1": 0.0, "trial 2": 1.0}


def test_an_agent_of_ones_own_is_wrapped(small: dict[str, Any]) -> None:
    ended = sample(small["own_agent"])
    assert ended.output.completion == "forty-two"
    assert ended.scores["includes"].value == "C"
    assert sum(event.event == "model" for event in ended.events) == 3


def test_settings_are_checked_before_the_first_sample() -> None:
    from langgraph_reflexion import ConfigurationError
    from langgraph_reflexion.adapters.inspect import reflexion_agent

    for name, value in {"model": "demo", "reflection_model": "demo", "cache": "replies.sqlite"}.items():
        with pytest.raises(ConfigurationError, match=f"{name} is an option of inspect eval"):
            reflexion_agent("alfworld", **{name: value})
    with pytest.raises(ConfigurationError, match="unknown setting 'trials'; unknown setting 'samples'"):
        reflexion_agent("alfworld", trials=2, samples=3)
    with pytest.raises(ConfigurationError, match="max_actions: input should be greater than or equal to 1, not 0"):
        reflexion_agent("alfworld", max_actions=0)
    with pytest.raises(ConfigurationError, match="evaluator='luck': choose one of"):
        reflexion_agent("alfworld", evaluator="luck")


@pytest.mark.needs("sandbox")
def test_every_environment_is_a_task_with_the_settings_of_a_run() -> None:
    from langgraph_reflexion import ConfigurationError
    from langgraph_reflexion.adapters.inspect import registry

    run = set(RunSettings.model_fields)
    for name in ("alfworld", "hotpotqa", "programming", "webshop", "workspace"):
        made = getattr(registry, name)
        ids = [each["id"] for each in load_environment(name).tasks()]
        assert [each.id for each in made().dataset] == ids
        parameters = parameters_of(made)
        assert (
            {"actor", "evaluator", "max_trials", "max_actions", "memory_size", "split", "options"} < parameters < run
        )
    assert parameters_of(registry.reflexion) == {"environment", *parameters}
    # Inspect passes on what the signature takes, and drops the rest.
    with pytest.raises(ConfigurationError, match="unknown setting 'trials'"):
        registry.alfworld(trials=2)


def parameters_of(task: Any) -> set[str]:
    *named, unknown = inspect.signature(task).parameters.values()
    assert unknown.kind is inspect.Parameter.VAR_KEYWORD
    return {parameter.name for parameter in named}


def test_inspect_says_where_the_log_of_a_sample_is() -> None:
    """Nothing public does. Without it, a retried evaluation begins anew."""
    from inspect_ai.log import _samples

    from langgraph_reflexion.adapters.inspect import sample_store as log_location

    assert log_location.sample_active is _samples.sample_active
    assert "log_location" in inspect.signature(_samples.ActiveSample).parameters
    assert log_location.log_location() == ""


async def test_messages_keep_their_words_on_the_way() -> None:
    from langgraph_reflexion.adapters.inspect.chat_model import to_inspect

    call = {"name": "add", "args": {"amount": 3}, "id": "one"}
    picture = [
        {"type": "text", "text": "a dot"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}},
    ]
    converted = await to_inspect(
        [
            SystemMessage("Count."),
            HumanMessage(" to 3 <think>\n"),
            AIMessage("Well.", tool_calls=[call]),
            ToolMessage("3", tool_call_id="one", name="add"),
            HumanMessage(picture),
        ]
    )
    assert [(each.role, each.text) for each in converted] == [
        ("system", "Count."),
        ("user", " to 3 <think>\n"),
        ("assistant", "Well."),
        ("tool", "3"),
        ("user", "a dot"),
    ]
    assert (converted[2].tool_calls[0].function, converted[2].tool_calls[0].arguments) == ("add", {"amount": 3})
    assert converted[3].tool_call_id == converted[2].tool_calls[0].id
    assert [part.type for part in converted[4].content] == ["text", "image"]


async def test_what_a_provider_wants_to_see_again_comes_back() -> None:
    from inspect_ai.model import (
        ChatCompletionChoice,
        ChatMessageAssistant,
        ContentReasoning,
        ContentText,
        ModelOutput,
    )

    from langgraph_reflexion.adapters.inspect.chat_model import to_inspect, to_langchain

    thought = ContentReasoning(reasoning="hm", signature="signed")
    message = ChatMessageAssistant(content=[thought, ContentText(text="Three.")])
    reply = to_langchain(ModelOutput(model="m", choices=[ChatCompletionChoice(message=message)]))
    assert reply.text == "Three."
    (again,) = await to_inspect([reply])
    assert again.content == message.content


def test_without_inspect_the_error_names_the_extra() -> None:
    code = (
        "import sys; sys.modules['inspect_ai'] = None\n"
        "from langgraph_reflexion import EnvironmentUnavailable\n"
        "try: import langgraph_reflexion.adapters.inspect\n"
        "except EnvironmentUnavailable as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    hint = "the extra inspect: pip install 'langgraph-reflexion[inspect]', in a clone '.[inspect]'"
    assert done.stdout.strip() == f"inspect-ai is missing; it comes with {hint}"


@pytest.fixture
def viewer(home: Path, evaluated: Path) -> Iterator[str]:
    """Inspect's viewer of the logs, on loopback."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ("inspect_ai", "view", "start", "--log-dir", str(evaluated), "--host", "127.0.0.1", "--port", str(port))
    process = start(home, *command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 180
        while True:
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


@pytest.mark.needs("Chromium")
def test_the_log_opens_in_the_viewer(viewer: str, evaluated: Path) -> None:
    from playwright.sync_api import sync_playwright

    (log_file,) = evaluated.glob("*_alfworld_*.eval")
    log = logs(evaluated)["alfworld"]
    retried = max(log.samples, key=lambda each: each.scores["solved"].metadata["trials"])
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1400, "height": 1000})
        errors: list[str] = []
        tab.on("pageerror", lambda error: errors.append(str(error)))
        tab.goto(f"{viewer}/#/logs/{log_file.name}")
        tab.get_by_text(retried.id).first.wait_for()
        tab.goto(f"{viewer}/#/logs/{log_file.name}/samples/sample/{retried.id.replace('/', '%2F')}/{retried.epoch}/")
        tab.get_by_text("trial 1", exact=True).first.wait_for()
        tab.get_by_text("trial 2", exact=True).first.wait_for()
        if kept := os.environ.get("INSPECT_SCREENSHOT"):
            tab.wait_for_timeout(1000)
            tab.screenshot(path=kept)
        browser.close()
    assert errors == []
