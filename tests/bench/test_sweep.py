import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage

from langgraph_reflexion import Environment, Episode, ModelFault, StepResult, Task, action, create_reflexion
from langgraph_reflexion.bench.drive import Drive
from langgraph_reflexion.bench.environment import make_environment
from langgraph_reflexion.bench.record import RunRecord, TrajectoryRow, TrialRow, free_folder, read_run
from langgraph_reflexion.bench.sweep import SweepSettings, Unobserved, describe, sweep
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.testing import ScriptedChatModel

TRIAL_KEYS = [
    *("task_id", "trial", "success", "verdict", "score", "stop_reason", "actions"),
    *("llm_calls", "input_tokens", "output_tokens", "reflection", "fault", "seconds"),
]


class Guess(Episode):
    def __init__(self, number: int) -> None:
        self.observation = f"I think of a number below ten. This is game {number}."
        self.number = number

    @action("say {number}")
    def say(self, number: Annotated[int, "the guess"]) -> StepResult:
        """Say a number."""
        right = number == self.number
        return StepResult("Right." if right else "Wrong.", float(right), terminated=True)

    @action("drop it")
    def drop(self) -> str:
        """Break the game."""
        raise OSError("the game fell on the floor")


class Guessing(Environment):
    """The task g3 is solved by saying 3, which an agent that counts up from trial to trial does in trial 3."""

    name = "guessing"
    splits = ("numbers",)
    episode = Guess
    blocking = False

    def __init__(self, seed: int = 0, numbers: Sequence[int] = (1, 2, 3, 4)) -> None:
        self.seed = seed
        self.numbers = numbers

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        return [Task(id=f"g{n}", instruction="Guess.", data={"number": n}) for n in self.numbers][:limit]

    def start(self, task: Task) -> Guess:
        return Guess(task["data"]["number"])


class Slow(ScriptedChatModel):
    """Takes its time, another one for each prompt, so that tasks overtake each other."""

    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        await asyncio.sleep(len(messages[-1].text) * 7 % 5 / 500)
        return self._generate(messages, **kwargs)


def count_up(messages: list[BaseMessage]) -> AIMessage:
    """Says 1 first, and what its last reflection advises after that."""
    *_, after = messages[-1].text.rpartition("I will say ")
    number = int(after[0]) if "I will say " in messages[-1].text else 1
    lesson = f"{number} was wrong. Next time I will say {number + 1}."
    failed = "Status: FAILED" in messages[-1].text
    return AIMessage(
        lesson if failed else f"Action: say {number}",
        usage_metadata={"input_tokens": 10, "output_tokens": 2, "total_tokens": 12},
    )


class Watch(Unobserved):
    def __init__(self) -> None:
        self.seen: list[tuple[str, int]] = []

    def on_trial(self, row: TrialRow, finished: bool) -> None:
        self.seen.append((row["task_id"], row["trial"]))


def drive_all(
    folder: Path,
    replies: Any = count_up,
    *,
    numbers: Sequence[int] = (1, 2, 3, 4),
    strategy: str = "reflexion",
    trials: int = 5,
    concurrency: int = 8,
    in_step: bool = False,
    observer: Any = None,
) -> tuple[Drive, ScriptedChatModel]:
    """A sweep around a scripted model."""
    environment = Guessing(numbers=numbers)
    model = Slow(replies=replies)
    settings = SweepSettings("guessing", trials=trials, strategy=strategy).resolved(environment)
    tasks = environment.tasks()

    async def run() -> Drive:
        graph = create_reflexion(model, environment, strategy=strategy, max_trials=trials).compile()
        record = RunRecord(folder, describe(settings, [task["id"] for task in tasks]))
        drive = Drive(
            graph,
            tasks,
            record,
            observer or Unobserved(),
            reflects=strategy == "reflexion",
            concurrency=concurrency,
        )
        try:
            await (drive.in_step() if in_step else drive.to_the_end())
        finally:
            await drive.close()
            record.close()
        return drive

    return asyncio.run(run()), model


def rows(folder: Path, name: str = "trials.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def timeless(folder: Path) -> tuple[list[Any], str]:
    return [{**row, "seconds": 0} for row in rows(folder)], (folder / "trajectories.jsonl").read_text()


def test_every_trial_is_a_row_with_the_reflection_that_followed_it(tmp_path: Path) -> None:
    drive_all(tmp_path)
    written = rows(tmp_path)
    assert all(list(row) == TRIAL_KEYS for row in written)
    assert [(row["task_id"], row["trial"]) for row in written] == [
        (f"g{n}", trial) for n in (1, 2, 3, 4) for trial in range(1, n + 1)
    ]
    failed, solved = written[1], written[2]
    assert failed["reflection"] == "1 was wrong. Next time I will say 2."
    assert (failed["success"], failed["verdict"], failed["score"]) == (False, False, 0.0)
    assert (failed["stop_reason"], failed["actions"], failed["fault"]) == ("terminated", 1, "")
    assert (failed["llm_calls"], failed["input_tokens"], failed["output_tokens"]) == (2, 20, 4)
    assert (solved["success"], solved["verdict"], solved["reflection"]) == (True, True, None)
    assert (solved["llm_calls"], solved["input_tokens"]) == (1, 10)
    assert failed["seconds"] > 0


def test_every_trajectory_is_whole(tmp_path: Path) -> None:
    drive_all(tmp_path, numbers=[2])
    first, second = rows(tmp_path, "trajectories.jsonl")
    assert list(first) == ["task_id", "trial", "observation", "steps", "evaluation"]
    assert first["observation"].startswith("I think of a number")
    assert first["steps"] == [
        {
            "thought": "",
            "action": {"name": "say", "args": {"number": "1"}, "text": "say 1"},
            "observation": "Wrong.",
        }
    ]
    assert first["evaluation"]["success"] is False
    assert second["evaluation"]["success"] is True


@pytest.mark.parametrize("in_step", [False, True])
def test_the_record_does_not_depend_on_the_concurrency(tmp_path: Path, in_step: bool) -> None:
    for concurrency in (1, 8):
        drive_all(tmp_path / str(concurrency), concurrency=concurrency, in_step=in_step)
    drive_all(tmp_path / "overtaking", concurrency=8)
    assert timeless(tmp_path / "1") == timeless(tmp_path / "8") == timeless(tmp_path / "overtaking")


def test_tasks_really_overtake_each_other(tmp_path: Path) -> None:
    watch = Watch()
    drive_all(tmp_path, observer=watch)
    assert watch.seen != sorted(watch.seen)


def test_in_step_all_tasks_finish_a_trial_before_any_begins_the_next(tmp_path: Path) -> None:
    watch = Watch()
    drive_all(tmp_path, in_step=True, concurrency=2, observer=watch)
    assert [trial for _, trial in watch.seen] == sorted(trial for _, trial in watch.seen)
    assert len(watch.seen) == 10


def test_in_step_the_sweep_ends_when_a_trial_solves_nothing_new(tmp_path: Path) -> None:
    # Solved after each trial: 1, 2, 2. The task that trial 4 would have solved is left unfinished.
    drive, model = drive_all(tmp_path, numbers=[1, 2, 4], in_step=True)
    assert [run.status for run in drive.runs] == ["solved", "solved", "running"]
    assert max(row["trial"] for row in rows(tmp_path)) == 3
    # A graph that stands still asks no model: one call per row, and one per reflection.
    assert len(model.prompts) == sum(row["llm_calls"] for row in rows(tmp_path)) == 6 + 4


def test_in_step_two_trials_without_success_are_enough(tmp_path: Path) -> None:
    drive_all(tmp_path, numbers=[8, 9], strategy="retry", in_step=True)
    assert max(row["trial"] for row in rows(tmp_path)) == 2


def test_a_fault_of_one_task_leaves_the_others_alone(tmp_path: Path) -> None:
    def replies(messages: list[BaseMessage]) -> Any:
        return "Action: drop it" if "This is game 2" in messages[-1].text else count_up(messages)

    drive, _ = drive_all(tmp_path, replies)
    assert [run.status for run in drive.runs] == ["solved", "fault", "solved", "solved"]
    (fault,) = (row for row in rows(tmp_path) if row["task_id"] == "g2")
    assert (fault["success"], fault["verdict"], fault["stop_reason"]) == (None, None, "fault")
    assert "fell on the floor" in fault["fault"]


def test_a_model_that_answered_before_and_fails_now_is_a_fault(tmp_path: Path) -> None:
    def replies(messages: list[BaseMessage]) -> Any:
        return ConnectionError("gone") if "This is game 2" in messages[-1].text else count_up(messages)

    drive, _ = drive_all(tmp_path, replies, concurrency=1)
    assert [run.status for run in drive.runs] == ["solved", "fault", "solved", "solved"]


def test_a_reflection_that_cannot_be_had_leaves_a_failed_trial_and_a_fault(tmp_path: Path) -> None:
    def replies(messages: list[BaseMessage]) -> Any:
        return ConnectionError("gone") if "Status: FAILED" in messages[-1].text else count_up(messages)

    drive, _ = drive_all(tmp_path, replies, numbers=[2])
    (row,) = rows(tmp_path)
    assert drive.runs[0].status == "fault"
    assert (row["stop_reason"], row["verdict"], row["reflection"]) == ("terminated", False, None)
    assert "gone" in row["fault"]


def test_a_model_that_never_answered_stops_the_run_and_leaves_no_folder(tmp_path: Path) -> None:
    def replies(messages: list[BaseMessage]) -> Any:
        return ConnectionError("nobody is there")

    with pytest.raises(ModelFault, match=r"has not answered once.*nobody is there") as caught:
        drive_all(tmp_path / "run", replies)
    assert caught.value.permanent
    assert not (tmp_path / "run").exists()


def test_a_permanent_fault_stops_the_run_and_keeps_the_rows(tmp_path: Path) -> None:
    class RefusedError(Exception):
        status_code = 401

    def replies(messages: list[BaseMessage]) -> Any:
        return RefusedError("no") if "This is game 3" in messages[-1].text else count_up(messages)

    with pytest.raises(ModelFault):
        drive_all(tmp_path, replies, concurrency=1)
    assert [row["task_id"] for row in rows(tmp_path)] == ["g1", "g2", "g2"]


def test_a_programming_error_is_raised_and_the_rows_are_safe(tmp_path: Path) -> None:
    class Clumsy(Watch):
        def on_trial(self, row: TrialRow, finished: bool) -> None:
            super().on_trial(row, finished)
            if len(self.seen) == 3:
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        drive_all(tmp_path, observer=Clumsy())
    written = rows(tmp_path)
    assert 3 <= len(written) < 10
    assert written == read_run(tmp_path).trials


def test_settings_are_filled_in_from_environment_and_profile() -> None:
    environment = Guessing()
    settings = SweepSettings("guessing").resolved(environment)
    assert (settings.split, settings.trials, settings.memory_size) == ("numbers", 12, 3)
    assert settings.stop_without_improvement is False
    assert SweepSettings("guessing", profile="preprint").resolved(environment).stop_without_improvement is True
    own = SweepSettings("guessing", profile="preprint", stop_without_improvement=False, trials=2)
    assert own.resolved(environment).stop_without_improvement is False
    assert own.resolved(environment).trials == 2


def test_run_json_names_everything_and_no_secret() -> None:
    settings = SweepSettings("guessing", base_url="http://user:pa55word@host:1/v1?key=k", model="openai:m")
    info = describe(settings.resolved(Guessing()), ["g1"])
    assert info["settings"]["base_url"] == "http://host:1/v1"
    assert info["settings"]["oracle"] is True
    assert info["tasks"] == ["g1"]
    assert set(info["versions"]) == {"python", "langgraph_reflexion", "langgraph", "langchain-core"}
    assert "note" not in info
    assert "not an LLM" in describe(SweepSettings("guessing").resolved(Guessing()), [])["note"]


def test_an_environment_that_generates_gets_the_seed() -> None:
    path = f"{__name__}:Guessing"
    made = make_environment(path, {"numbers": [7]}, seed=5)
    assert isinstance(made, Guessing)
    assert (made.seed, made.numbers) == (5, [7])
    assert make_environment(path, {"seed": 9}, seed=5).seed == 9  # type: ignore[attr-defined]
    assert make_environment(f"{__name__}:Unseeded", {}, seed=5).name == "guessing"
    with pytest.raises(ConfigurationError, match="speed"):
        make_environment(path, {"speed": 1}, seed=5)


class Unseeded(Guessing):
    def __init__(self) -> None:
        super().__init__()


def test_a_split_without_tasks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-irrelevant")
    settings = SweepSettings(f"{__name__}:Guessing", options={"numbers": []}, model="openai:m")
    with pytest.raises(ConfigurationError, match="has no tasks"):
        sweep(settings, tmp_path / "run")
    assert not (tmp_path / "run").exists()


INFO = {"settings": {"environment": "guessing"}, "tasks": ["b", "a"]}


def trial(task: str, number: int, **changes: Any) -> TrialRow:
    row: dict[str, Any] = dict.fromkeys(TRIAL_KEYS, 0) | {"task_id": task, "trial": number} | changes
    return row  # type: ignore[return-value]


def trajectory(task: str, number: int) -> TrajectoryRow:
    return TrajectoryRow(task_id=task, trial=number, observation="", steps=[], evaluation=None)


def test_rows_are_put_in_the_order_of_tasks_and_trials(tmp_path: Path) -> None:
    record = RunRecord(tmp_path, INFO)
    for task, number in (("a", 1), ("b", 2), ("b", 1)):
        record.append(trial(task, number), trajectory(task, number))
    before = [(row["task_id"], row["trial"]) for row in read_run(tmp_path).trials]
    record.close()
    expected = [("b", 1), ("b", 2), ("a", 1)]
    assert before == expected
    for name in ("trials.jsonl", "trajectories.jsonl"):
        assert [(row["task_id"], row["trial"]) for row in rows(tmp_path, name)] == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.json", "trajectories.jsonl", "trials.jsonl"]


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    record = RunRecord(tmp_path, INFO)
    record.append(trial("a", 1), trajectory("a", 1))
    with (tmp_path / "trials.jsonl").open("a") as file:
        file.write('{"task_id": "a", "tri')
    assert [row["trial"] for row in read_run(tmp_path).trials] == [1]
    record.close()
    assert len(rows(tmp_path)) == 1


def test_a_later_row_of_the_same_trial_takes_the_place_of_the_earlier(tmp_path: Path) -> None:
    record = RunRecord(tmp_path, INFO)
    record.append(trial("a", 1, fault="gone"), trajectory("a", 1))
    record.append(trial("a", 1, fault=""), trajectory("a", 1))
    assert [row["fault"] for row in read_run(tmp_path).trials] == [""]
    record.close()


def test_a_folder_with_a_run_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    record = RunRecord(tmp_path, INFO)
    record.append(trial("a", 1), trajectory("a", 1))
    record.close()
    before = (tmp_path / "trials.jsonl").read_bytes()
    with pytest.raises(ConfigurationError, match="already holds a run"):
        RunRecord(tmp_path, INFO)
    assert (tmp_path / "trials.jsonl").read_bytes() == before


def test_a_run_without_rows_leaves_what_was_there_before(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    RunRecord(tmp_path, INFO).close()
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    for name in ("notes.txt", "notes.txt/run"):
        with pytest.raises(ConfigurationError, match="cannot write"):
            RunRecord(tmp_path / name, INFO)


def test_secrets_are_blotted_out(tmp_path: Path) -> None:
    record = RunRecord(tmp_path, INFO, ['sk-very"secret'])
    record.append(trial("a", 1, fault='401: sk-very"secret is no key'), trajectory("a", 1))
    record.close()
    assert rows(tmp_path)[0]["fault"] == "401: [secret] is no key"


def test_the_first_free_folder_is_taken(tmp_path: Path) -> None:
    assert free_folder(tmp_path, "run") == tmp_path / "run-1"
    (tmp_path / "run-1").mkdir()
    assert free_folder(tmp_path, "run") == tmp_path / "run-2"
