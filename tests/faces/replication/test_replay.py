"""Invented HotPotQA logs, replayed in the graph."""

import contextlib
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from langgraph_reflexion import ConfigurationError
from langgraph_reflexion.envs.base import Action
from langgraph_reflexion.state import Strategy
from tests.replication.__main__ import app
from tests.replication.hotpotqa_log import read_log
from tests.replication.replay import LoggedQuestions, recorded, replay
from tests.support.upstream_clone import HEADER, cot, react, trial

RIVER = ("Which river runs through Aldmoor? ", "Tavel")
MAYOR = ("Who was the first mayor of Brise Bay", "Ilse Kranz")
TOWER = ('In which year was the "Lantern Tower" of Cask built?', "1871")

REACT_BASE = trial(
    1,
    (1, 1, 1),
    right=[react(RIVER, "Tavel")],
    wrong=[react(MAYOR, "Nobody", steps=6)],
    # A wrong answer at the last step is listed as halted, too.
    halted=[react(MAYOR, "Nobody", steps=6), react(TOWER, steps=6)],
) + trial(
    2, (2, 0, 1), right=[react(RIVER, "Tavel"), react(MAYOR, "Ilse Kranz", steps=3)], halted=[react(TOWER, steps=3)]
)


def write(folder: Path, text: str, name: str = "log.txt") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def counts(path: Path) -> list[list[tuple[int, ...]]]:
    replayed = replay(path).as_json()
    return [[tuple(trial.values()) for trial in replayed[which]] for which in ("logged", "replayed")]


LOGGED = [(1, 1, 1), (2, 0, 1)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "replayed", "note"),
    [
        (("", ""), LOGGED, "trial 1: 1 question listed twice: counted once, as listed first"),
        (("Action 6: Search[page 6]", "Action 6: Finish[1871]"), [(2, 1, 0), (3, 0, 0)], "listed twice"),
        (("Incorrect: 0, Halted: 1", "Incorrect: 0"), LOGGED, "listed twice"),
    ],
    ids=["as logged", "an answer altered", "a summary that counts too few"],
)
def test_react_is_replayed_by_its_questions(
    tmp_path: Path, changes: tuple[str, str], replayed: list[tuple[int, ...]], note: str
) -> None:
    path = write(tmp_path, REACT_BASE.replace(*changes, 1))
    assert counts(path) == [LOGGED, replayed]
    assert note in replay(path).notes[-1]


def test_each_trial_gives_its_own_observations(tmp_path: Path) -> None:
    second = react(MAYOR, "Ilse Kranz", steps=3, told="Brise Bay, later on.")
    log = read_log(write(tmp_path, REACT_BASE.replace(react(MAYOR, "Ilse Kranz", steps=3), second)))
    environment = LoggedQuestions(log)
    task = next(task for task in environment.tasks() if "mayor" in task["instruction"])
    search = Action(name="search", args={"entity": "x"}, text="Search[x]")
    first, later = environment.start(task), environment.start(task)
    page = "Aldmoor is a town on the Tavel.\nQuestion: not this one.\nThought 9: of a page."
    assert first.step(search).observation == page
    assert later.step(search).observation == "Brise Bay, later on.\nThought 9: of a page."
    later.step(search)
    result = later.step(Action(name="finish", args={"answer": "the Ilse Kranz!"}, text=""))
    assert (result.observation, result.reward, result.terminated) == ("Answer is CORRECT", 1.0, True)


@pytest.mark.slow
def test_logged_reflections_are_replayed_and_missing_ones_are_placeholders(tmp_path: Path) -> None:
    lessons = ["Look for the page of the bay.", "Look for its mayors."]
    log = trial(1, (1, 1, 1), [react(RIVER, "Tavel")], [react(MAYOR, "Nobody")], [react(TOWER, steps=6)])
    log += trial(2, (1, 1, 0), [react(RIVER, "Tavel")], [react(MAYOR, "Somebody", lessons[:1])], [])
    right = [react(RIVER, "Tavel"), react(MAYOR, "Ilse Kranz", lessons)]
    log += trial(3, (2, 1, 0), right, [react(TOWER, "1872", ["Guess."])], [])
    replayed = replay(write(tmp_path, log))
    assert replayed.log.strategy is Strategy.REFLEXION
    assert [tuple(trial) for trial in replayed.replayed] == [(1, 1, 1), (1, 1, 0), (2, 1, 0)]
    assert "trial 2: 1 question of other trials missing" in replayed.notes[0]
    said = {(row["task"], row["trial"]): row["reply"] for row in recorded(replayed.log) if row["call"] == "reflect"}
    question = " ".join(MAYOR[0].split())
    assert [said[question, trial] for trial in (1, 2)] == lessons
    missing = "".join(trial(number, (0, 1), wrong=[cot(MAYOR, "Nobody")]) for number in (1, 2, 3))
    assert replay(write(tmp_path, missing, "reflexion/log.txt")).notes[0].startswith("2 of 2 reflections")


LAST = "\nThought: I thought.\nAction: Finish[Nobody]\nObservation: Answer is INCORRECT"
CONTEXT = "Context: Brise Bay is a town.\n\nIts first mayor was Ilse Kranz. "
WHOLE = (
    f"Answer the question.\n{HEADER}\nQuestion: {MAYOR[0]}\nThought: Hm.\nAction: Finish[Nobody]\n"
    "Observation: Answer is INCORRECT\n(END PREVIOUS TRIAL)\n\nThese help.\nReflections:\n- I look it up.\n\n"
)


@pytest.mark.parametrize(
    ("second", "agent", "strategy"),
    [
        (cot(MAYOR, "Ilse Kranz", "I guessed. I look it up."), "cot", "reflexion"),
        (cot(MAYOR, "Ilse Kranz", LAST), "cot", "last_attempt"),
        (cot(MAYOR, "Ilse Kranz", before=CONTEXT), "cot-gt", "retry"),
        (cot(MAYOR, "Ilse Kranz", before=f"{WHOLE}Relevant {CONTEXT}\n"), "cot-gt", "last_attempt_and_reflexion"),
    ],
)
def test_each_layout_of_cot_is_replayed_as_logged(tmp_path: Path, second: str, agent: str, strategy: str) -> None:
    log = trial(1, (0, 1), wrong=[cot(MAYOR, "Nobody", "")]) + trial(2, (1, 0), [second])
    replayed = replay(write(tmp_path, log))
    assert (replayed.log.agent, replayed.log.strategy) == (agent, strategy)
    assert counts(replayed.log.path) == [[(0, 1, 0), (1, 0, 0)]] * 2
    [(_, row)] = replayed.log.attempts(MAYOR[0])[1:]
    if "context" in second.lower() and agent == "cot-gt":
        assert row.context == "Brise Bay is a town.\n\nIts first mayor was Ilse Kranz."
        assert row.observation.endswith(f"Question: {MAYOR[0]}")
    if strategy.endswith("reflexion"):
        assert " ".join(row.reflections).endswith("I look it up.")


def test_questions_without_steps_count_if_they_were_solved_before_the_log(tmp_path: Path) -> None:
    log = trial(
        6, (2, 0, 1), [react(RIVER, "Tavel"), react(MAYOR, lessons=["Look."], steps=0)], [], [react(TOWER, steps=0)]
    )
    replayed = replay(write(tmp_path, log))
    assert [tuple(trial) for trial in replayed.replayed] == [(2, 0, 0)]
    assert replayed.as_json()["trials"] == [6]
    assert "without steps" in replayed.notes[0]


def test_any_part_of_a_log_is_replayed_or_refused(tmp_path: Path) -> None:
    for start in range(0, len(REACT_BASE) - 1500, 500):
        with contextlib.suppress(ConfigurationError):
            replay(write(tmp_path, REACT_BASE[start : start + 1500]))
    for path, says in (
        (write(tmp_path, "not a log"), "lists no question"),
        (tmp_path / "none.txt", "none.txt cannot be read"),
        (write(tmp_path, "BEGIN TRIAL 1", "folder/cut.txt").parent, "lists no question"),
    ):
        with pytest.raises(ConfigurationError, match=says):
            replay(path)


@pytest.mark.slow
def test_invalid_actions_are_replayed(tmp_path: Path) -> None:
    for action in ("think: I wonder", "Think[of it]", "Observation 1:", "", "Search[a], Search[b]"):
        row = react(TOWER, steps=4).replace("Search[page 2]", action).replace("Search[page 3]", action)
        assert counts(write(tmp_path, trial(1, (0, 0, 1), halted=[row]))) == [[(0, 0, 1)]] * 2


@pytest.mark.slow
def test_the_command_shows_logged_and_replayed_counts(tmp_path: Path) -> None:
    path = write(tmp_path, REACT_BASE.replace("Finish[Tavel]", "Finish[The Moor]"))
    text = CliRunner().invoke(app, ["replay", str(path)]).output
    assert "1 1 1 1 0 ≠ 2 ≠ 1" in " ".join(text.split())
    assert "2 of 2 trials differ" in text
    replayed = CliRunner().invoke(app, ["replay", str(path), "--json"]).output
    assert json.loads(replayed)["replayed"][0] == {"right": 0, "wrong": 2, "halted": 1}
