"""A run that was stopped and resumed has the record of an uninterrupted one."""

import json
import sqlite3
from contextlib import closing
from functools import partial
from typing import Any
from zlib import crc32

import pytest
from langchain_core.messages import AIMessage, BaseMessage

from langgraph_reflexion.errors import ConfigurationError, ModelFault
from langgraph_reflexion.lab.experiments.provenance import new_info, resumed_info, settings_of
from langgraph_reflexion.lab.experiments.run_files import SENT
from langgraph_reflexion.lab.experiments.runs import read_info
from langgraph_reflexion.lab.run_settings import RunSettings
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support import guessing
from tests.support.guessing import Guessing, RefusedError, Watch, rows, timeless
from tests.support.toys import text_of

drive_all = partial(guessing.drive_all, model_class=ScriptedChatModel)


def think_first(messages):
    """Takes two steps per trial: a thought, then a guess that counts up by whatever the prompt tells of before."""
    before = messages[1].text
    tried = max(before.count("Next time I will say"), before.count("Action: say"))
    if before.endswith("Reflection:"):
        reply = f"Wrong. Next time I will say {before.count('Next time') + 2}."
    else:
        reply = "Thought: hm." if len(messages) == 2 else f"Action: say {tried + 1}"
    # What differs in a prompt shows in the account, and so in the row.
    read = crc32(text_of(messages).encode())
    return AIMessage(reply, usage_metadata={"input_tokens": read, "output_tokens": 1, "total_tokens": read + 1})


class Interrupted:
    """Replies until the n-th call, which meets an error."""

    def __init__(self, call, error):
        self.calls, self.call, self.error = 0, call, error

    def __call__(self, messages: list[BaseMessage]) -> Any:
        self.calls += 1
        return self.error if self.calls == self.call else think_first(messages)


SETTINGS = {"numbers": [2, 3], "max_trials": 3, "concurrency": 1, "feedback": "words"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("strategy", "checkpoints", "every", "forgets"),
    [
        ("reflexion", "latest", 3, False),
        ("reflexion", "history", 3, True),
        pytest.param("last_attempt", "history", 1, False, marks=pytest.mark.long),
    ],
)
def test_a_run_stopped_at_any_call_continues_and_repeats_no_call(tmp_path, strategy, checkpoints, every, forgets):
    """Also where the process died between the writes of a step and its checkpoint, which then has no next node."""
    settings = SETTINGS | {"strategy": strategy, "checkpoints": checkpoints}
    _, model = drive_all(tmp_path / "whole", think_first, **settings)
    calls = len(model.prompts)
    assert calls > 9
    for call in range(2 if forgets else 1, calls + 1, every):
        folder = tmp_path / str(call)
        with pytest.raises(ModelFault):
            drive_all(folder, Interrupted(call, RefusedError("no")), **settings)
        if forgets:
            forget_last_checkpoint(folder)
        _, rest = drive_all(folder, think_first, **settings)
        assert timeless(folder) == timeless(tmp_path / "whole")
        assert (folder / SENT).read_bytes() == (tmp_path / "whole" / SENT).read_bytes()
        assert (call - 1) + len(rest.prompts) == calls


def forget_last_checkpoint(folder):
    last = "SELECT thread_id || max(checkpoint_id) FROM checkpoints GROUP BY thread_id"
    with closing(sqlite3.connect(folder / "checkpoints.db")) as connection, connection:
        connection.execute(f"DELETE FROM checkpoints WHERE thread_id || checkpoint_id IN ({last})")


class Unprepared(Guessing):
    """Cannot prepare its first task."""

    prepared = 0

    def prepare(self, task):
        self.prepared += 1
        if self.prepared == 1:
            raise OSError("no room")
        return {}


def test_a_fault_before_the_first_trial_is_retried_by_resuming(tmp_path):
    environment = Unprepared(numbers=[2, 3])
    for statuses in ({"fault": 1, "solved": 1}, {"fault": 0, "solved": 2}):
        summary, _ = drive_all(tmp_path, environment=environment, concurrency=1)
        assert {name: summary.statuses[name] for name in statuses} == statuses
    assert environment.prepared == 3, "what was prepared is kept"
    assert [(row["task_id"], row["trial"]) for row in rows(tmp_path)] == [
        *(("g2", 1), ("g2", 2), ("g3", 1), ("g3", 2), ("g3", 3))
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("strategy", "in_step", "first"), [("reflexion", False, 1), ("retry", True, 2)])
def test_a_run_with_more_trials_continues_with_the_reflection_on_the_last_one(tmp_path, strategy, in_step, first):
    settings = SETTINGS | {"strategy": strategy, "in_step": in_step, "numbers": [1, 3, 9]}
    _, whole = drive_all(tmp_path / "whole", think_first, **settings | {"max_trials": 4})
    _, one = drive_all(tmp_path / "run", think_first, **settings | {"max_trials": first})
    _, other = drive_all(tmp_path / "run", think_first, **settings | {"max_trials": 4})
    assert timeless(tmp_path / "run") == timeless(tmp_path / "whole")
    assert len(one.prompts) + len(other.prompts) == len(whole.prompts)


@pytest.mark.slow
@pytest.mark.parametrize(("in_step", "forgets"), [(False, False), (True, False), (False, True)])
def test_a_finished_run_stays_as_it_is(tmp_path, in_step, forgets):
    def files():
        return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in tmp_path.glob("*.jsonl")}

    settings = {"numbers": [1, 2, 9], "in_step": in_step, "checkpoints": "history"}
    first, _ = drive_all(tmp_path, **settings)
    if forgets:
        forget_last_checkpoint(tmp_path)
    before, watch = files(), Watch()
    again, model = drive_all(tmp_path, observer=watch, **settings)
    assert model.prompts == []
    assert (again.statuses, again.report.solved, files()) == (first.statuses, first.report.solved, before)
    assert watch.seen == [(row["task_id"], row["trial"]) for row in rows(tmp_path)], "observers see earlier rows"


class Repairs(Watch):
    def __init__(self):
        super().__init__()
        self.repairs: list[str] = []

    def on_repair(self, task, what):
        self.repairs.append(f"{task}: {what}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("checkpoints", "lost", "says"),
    [
        ("latest", 1, None),
        ("latest", 0, "g2: the record lacks trial 1: the task begins again"),
        ("history", 0, "g2: restored trial 1 from the checkpoints"),
    ],
    ids=["the last trial", "an earlier one", "an earlier one, with a history"],
)
def test_a_torn_row_is_restored_or_its_task_begins_again(tmp_path, checkpoints, lost, says):
    settings = {"numbers": [2, 1], "checkpoints": checkpoints}
    drive_all(tmp_path, think_first, **settings)
    trials = tmp_path / "trials.jsonl"
    before, lines = timeless(tmp_path), trials.read_text().splitlines(keepends=True)
    lines[lost] = lines[lost][: len(lines[lost]) // 2] + "\n"
    trials.write_text("".join(lines))
    watch = Repairs()
    _, again = drive_all(tmp_path, think_first, observer=watch, **settings)
    assert timeless(tmp_path) == before
    assert watch.repairs == ([says] if says else [])
    assert bool(again.prompts) == bool(says and "again" in says)


def test_a_broken_database_is_named_with_what_to_do(tmp_path):
    drive_all(tmp_path, numbers=[2])
    for path in tmp_path.glob("checkpoints.db*"):
        path.write_bytes(b"no database, but as long as one " * 500)
    with pytest.raises(ConfigurationError, match=r"cannot use .*checkpoints.db: file is not a database: .*backup"):
        drive_all(tmp_path, numbers=[2])


def test_a_record_that_contradicts_its_checkpoints_is_refused(tmp_path):
    drive_all(tmp_path, numbers=[2])
    trials = (tmp_path / "trials.jsonl").read_text()
    for path in tmp_path.glob("checkpoints.db*"):
        path.unlink()
    with pytest.raises(ConfigurationError, match="holds trial 2 of g2, and its"):
        drive_all(tmp_path, numbers=[2])
    assert (tmp_path / "trials.jsonl").read_text() == trials


def resolved(**changes):
    made = {"max_trials": 4, "limit": 2, "options": {"numbers": (1, 2)}} | changes
    return filled_in(RunSettings(environment="guessing", **{"budgets": {"run": {"actions": 4}}} | made))


def filled_in(settings):
    environment = Guessing()
    return settings.resolved(environment, settings.rules(environment))


@pytest.mark.parametrize(
    ("changes", "tasks", "says"),
    [
        ({"model": "openai:m", "seed": 3}, ["g1", "g2"], "model was demo, is openai:m; seed was 0, is 3$"),
        ({"base_url": "http://me:word@host/v1"}, ["g1", "g2"], "base_url was unset, is http://host/v1$"),
        ({"database": "postgresql://me:word@host/db"}, ["g1", "g2"], "database was .*, is postgresql://me@host/db$"),
        ({"max_trials": 3}, ["g1", "g2"], "max_trials was 4, is 3, and can only be raised"),
        ({"budgets": {"run": {"actions": 3}}}, ["g1", "g2"], "run.actions was 4, is 3, and can only be raised"),
        ({"budgets": {"task": {"tokens": 5}}}, ["g1", "g2"], "task.tokens was unset, is 5, and can only be raised"),
        ({}, ["g1", "g3"], "task 2 was 'g2', is 'g3'"),
        ({}, ["g1"], "task 2 was 'g2', is None"),
        ({}, ["g1", "g2"], "another text of task 'g2': choose another folder"),
    ],
)
def test_other_settings_or_tasks_are_refused_without_passwords(tmp_path, changes, tasks, says):
    info = new_info(resolved(), ["g1", "g2"]) | {"goals": {"g1": "Guess", "g2": "Guess it."}}
    with pytest.raises(ConfigurationError, match=says) as caught:
        resumed_info(info, resolved(**changes), dict.fromkeys(tasks, "Guess"), tmp_path)
    assert "word" not in str(caught.value)


def test_limits_can_be_raised_and_all_else_stays(tmp_path):
    info = json.loads(json.dumps(new_info(resolved(), ["g1", "g2"]))) | {"goals": {"g1": "Say [secret]."}}
    assert settings_of(info) == resolved(options={"numbers": [1, 2]})
    for changes in ({}, {"concurrency": 1}, {"max_trials": 9}, {"limit": None}, {"limit": 3}, {"budgets": {}}):
        later = resumed_info(info, resolved(**changes), dict.fromkeys(["g1", "g2", "g3"], ""), tmp_path)
        assert (later["tasks"], later["settings"]) == (["g1", "g2", "g3"], resolved(**changes).public())
        assert {**later, "tasks": 0, "settings": 0} == {**info, "tasks": 0, "settings": 0}
    # A run of an older version, which did not have the setting, has its default.
    older = info | {"settings": {name: value for name, value in info["settings"].items() if name != "feedback"}}
    again = resumed_info(older, filled_in(settings_of(older)), dict.fromkeys(["g1", "g2"], ""), tmp_path)
    assert again["settings"] == info["settings"]


@pytest.mark.parametrize(
    ("text", "says"),
    [(None, "there is no run.json"), ("{", "not JSON"), ("{}", "settings is missing"), ("[]", "valid dictionary")],
)
def test_a_folder_without_a_readable_run_is_refused(tmp_path, text, says):
    if text:
        (tmp_path / "run.json").write_text(text)
    with pytest.raises(ConfigurationError, match=says):
        read_info(tmp_path)
