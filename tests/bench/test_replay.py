"""Logs of the original code, run through the graph: small ones of our own in each of its layouts, and real ones."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from langgraph_reflexion import ConfigurationError, Strategy
from langgraph_reflexion.envs.base import Action
from langgraph_reflexion.replication.hotpotqa_log import read_log
from langgraph_reflexion.replication.hotpotqa_replay import PLACEHOLDER, LoggedQuestions, recorded
from langgraph_reflexion.replication.replay import replay

RIVER = ("Which river runs through Aldmoor? ", "Tavel")
MAYOR = ("Who was the first mayor of Brise Bay", "Ilse Kranz")
TOWER = ('In which year was the "Lantern Tower" of Cask built?', "1871")
HEADER = "You have attempted to answer this before and failed. These reflections help."
FINISHED = {True: "Answer is CORRECT", False: "Answer is INCORRECT"}


def trial(number, summary, right=(), wrong=(), halted=None):
    counts = dict(zip(("Correct", "Incorrect", "Halted"), summary, strict=False))
    lines = f"\n{'#' * 40}\nBEGIN TRIAL {number}\n"
    lines += f"Trial summary: {', '.join(f'{name}: {count}' for name, count in counts.items())}\n{'#' * 39}\n"
    lines += "------------- BEGIN CORRECT AGENTS -------------\n\n" + "".join(right)
    lines += "------------- BEGIN INCORRECT AGENTS -----------\n\n" + "".join(wrong)
    if halted is not None:
        lines += "------------- BEGIN HALTED AGENTS --------------\n\n" + "".join(halted)
    return lines + "\n"


def react(about, answer=None, lessons=(), steps=2, told="Aldmoor is a town on the Tavel.\nQuestion: not this one."):
    question, key = about
    memory = HEADER + "\nReflections:" + "".join(f"\n- {lesson}" for lesson in lessons) if lessons else ""
    lines = [f"Question: {question}{memory}"]
    for number in range(1, steps + 1):
        last = answer is not None and number == steps
        action = f"Finish[{answer}]" if last else f"Search[page {number}]"
        seen = FINISHED[answer == key] if last else f"{told}\nThought 9: of a page."
        lines += [f"Thought {number}: I look.", f"Action {number}: {action}", f"Observation {number}: {seen}"]
    return "\n".join([*lines, f"Correct answer: {key}", "", ""])


def cot(about, answer, behind=None, before="Context: \n", thought="I think."):
    question, key = about
    lines = [f"{before}Question: {question}", f"Thought: {thought}", f"Action: Finish[{answer}]"]
    lines += [f"Observation: {FINISHED[answer == key]}"]
    lines += [] if behind is None else [f"Reflections: {behind}"]
    return "\n".join([*lines, f"Correct answer: {key}", "", ""])


REACT_BASE = trial(
    1,
    (1, 1, 1),
    right=[react(RIVER, "Tavel")],
    wrong=[react(MAYOR, "Nobody", steps=6)],
    # What was answered wrong at the last step is listed as halted, too.
    halted=[react(MAYOR, "Nobody", steps=6), react(TOWER, steps=6)],
) + trial(
    2,
    (2, 0, 1),
    right=[react(RIVER, "Tavel"), react(MAYOR, "Ilse Kranz", steps=3)],
    halted=[react(TOWER, steps=3)],
)


def write(folder, text, name="log.txt", **options):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="", **options)
    return path


def counts(path):
    told = replay(path).as_json()
    return [[tuple(trial.values()) for trial in told[which]] for which in ("logged", "replayed")]


def test_react_comes_out_as_logged(tmp_path):
    told = replay(write(tmp_path, REACT_BASE))
    assert told.as_json()["logged"] == told.as_json()["replayed"]
    assert [tuple(trial) for trial in told.replayed] == [(1, 1, 1), (2, 0, 1)]
    assert told.notes == ["trial 1: 1 question listed twice: counted once, as listed first"]


def test_an_altered_answer_moves_what_is_replayed_and_not_what_is_logged(tmp_path):
    altered = REACT_BASE.replace("Finish[Tavel]", "Finish[The Moor]", 1)
    assert counts(write(tmp_path, altered)) == [[(1, 1, 1), (2, 0, 1)], [(0, 2, 1), (2, 0, 1)]]
    answered = REACT_BASE.replace("Action 6: Search[page 6]", "Action 6: Finish[1871]", 1)
    assert counts(write(tmp_path, answered)) == [[(1, 1, 1), (2, 0, 1)], [(2, 1, 0), (3, 0, 0)]]


def test_the_observations_are_those_of_the_trial(tmp_path):
    second = react(MAYOR, "Ilse Kranz", steps=3, told="Brise Bay, later on.")
    log = read_log(write(tmp_path, REACT_BASE.replace(react(MAYOR, "Ilse Kranz", steps=3), second)))
    environment = LoggedQuestions(log)
    task = next(task for task in environment.tasks() if "mayor" in task["instruction"])
    search = Action(name="search", args={"entity": "x"}, text="Search[x]")
    first, later = environment.start(task), environment.start(task)
    told = "Aldmoor is a town on the Tavel.\nQuestion: not this one.\nThought 9: of a page."
    assert first.step(search).observation == told
    assert later.step(search).observation == "Brise Bay, later on.\nThought 9: of a page."
    finish = Action(name="finish", args={"answer": "the Ilse Kranz!"}, text="")
    again = environment.restore(task, {"attempt": 1, "done": 2})
    result = again.step(finish)
    assert (result.observation, result.reward, result.terminated) == ("Answer is CORRECT", 1.0, True)


def test_a_summary_that_counts_too_few_yields_to_the_questions(tmp_path):
    path = write(tmp_path, REACT_BASE.replace("Correct: 2, Incorrect: 0, Halted: 1", "Correct: 2, Incorrect: 0"))
    told = replay(path)
    assert [tuple(trial) for trial in told.replayed] == [(1, 1, 1), (2, 0, 1)]
    assert told.as_json()["logged"] == told.as_json()["replayed"]
    assert told.as_json()["summaries"][1] == {"right": 2, "wrong": 0, "halted": 0}
    assert told.notes[-1] == (
        "trial 2: its summary line says 2/0/0, which makes 2 of the 3 questions listed: these are counted, 2/0/1"
    )


def test_react_with_reflections_is_served_the_logged_ones(tmp_path):
    lessons = ["Look for the page of the bay.", "Look for its mayors."]
    log = trial(1, (1, 1, 1), [react(RIVER, "Tavel")], [react(MAYOR, "Nobody")], [react(TOWER, steps=6)])
    log += trial(2, (1, 1, 0), [react(RIVER, "Tavel")], [react(MAYOR, "Somebody", lessons[:1])], [])
    right = [react(RIVER, "Tavel"), react(MAYOR, "Ilse Kranz", lessons)]
    log += trial(3, (2, 1, 0), right, [react(TOWER, "1872", ["Guess."])], [])
    told = replay(write(tmp_path, log))
    assert told.log.strategy is Strategy.REFLEXION
    assert [tuple(trial) for trial in told.replayed] == [(1, 1, 1), (1, 1, 0), (2, 1, 0)]
    assert told.notes == ["trial 2: 1 question of other trials missing: unless solved before, not counted"]
    said = {(row["task"], row["trial"]): row["reply"] for row in recorded(told.log) if row["call"] == "reflect"}
    question = " ".join(MAYOR[0].split())
    assert [said[question, trial] for trial in (1, 2, 3)] == [*lessons, PLACEHOLDER]


def test_reflections_that_are_not_in_the_log_are_placeholders(tmp_path):
    log = "".join(trial(number, (0, 1), wrong=[cot(MAYOR, "Nobody")]) for number in (1, 2, 3))
    told = replay(write(tmp_path, log, "reflexion/log.txt"))
    assert told.log.strategy is Strategy.REFLEXION
    assert told.notes == ["2 of 2 reflections are not in the log: a placeholder was served"]


def test_cot_with_reflections(tmp_path):
    log = trial(1, (1, 1), [cot(RIVER, "Tavel", "")], [cot(MAYOR, "Nobody", "")])
    log += trial(2, (2, 0), [cot(RIVER, "Tavel", ""), cot(MAYOR, "Ilse Kranz", "I guessed. I look it up.")])
    told = replay(write(tmp_path, log))
    assert (told.log.react, told.log.with_context, told.log.strategy) == (False, False, Strategy.REFLEXION)
    assert counts(told.log.path) == [[(1, 1, 0), (2, 0, 0)]] * 2
    assert "I guessed. I look it up." in [row["reply"] for row in recorded(told.log)]


def test_cot_with_the_last_attempt_behind(tmp_path):
    last = "\nThought: I thought.\nAction: Finish[Nobody]\nObservation: Answer is INCORRECT"
    log = trial(1, (0, 1), wrong=[cot(MAYOR, "Nobody", "")])
    log += trial(2, (1, 0), [cot(MAYOR, "Ilse Kranz", last)])
    told = replay(write(tmp_path, log))
    assert told.log.strategy is Strategy.LAST_ATTEMPT
    assert counts(told.log.path) == [[(0, 1, 0), (1, 0, 0)]] * 2


def test_cot_with_context_on_the_line_of_the_question(tmp_path):
    context = "Context: Brise Bay is a town.\n\nIts first mayor was Ilse Kranz. "
    told = replay(write(tmp_path, trial(1, (1, 0), [cot(MAYOR, "Ilse Kranz", before=context)])))
    assert told.log.with_context
    assert tuple(told.replayed[0]) == (1, 0, 0)
    environment = LoggedQuestions(told.log)
    episode = environment.start(environment.tasks()[0])
    assert episode.observation == f"{context[9:].strip()}\n\nQuestion: {MAYOR[0]}"


def test_prompts_in_full_with_last_attempt_reflections_and_context(tmp_path):
    before = f"Answer the question.\n{HEADER}\nQuestion: {MAYOR[0]}\nThought: Hm.\nAction: Finish[Nobody]\n"
    before += (
        "Observation: Answer is INCORRECT\n(END PREVIOUS TRIAL)\n\nThese help.\nReflections:\n- I look it up.\n\n"
    )
    context = "Relevant Context: Brise Bay is a town.\n\nIts mayor was Ilse Kranz.\n"
    log = trial(1, (0, 1), wrong=[cot(MAYOR, "Nobody", before=f"Answer the question.\n{context}")])
    log += trial(2, (1, 0), [cot(MAYOR, "Ilse Kranz", before=before + context)])
    told = replay(write(tmp_path, log))
    assert told.log.strategy is Strategy.LAST_ATTEMPT_AND_REFLEXION
    assert counts(told.log.path) == [[(0, 1, 0), (1, 0, 0)]] * 2
    [[_, row]] = [each for each in told.log.attempts(MAYOR[0]) if each[0] == 2]
    assert row.context == "Brise Bay is a town.\n\nIts mayor was Ilse Kranz."
    assert row.reflections == ("I look it up.",)
    assert told.notes == []


def test_questions_without_what_was_done_are_told_of(tmp_path):
    log = trial(6, (2, 0, 0), [react(RIVER, "Tavel"), react(MAYOR, lessons=["Look."], steps=0)], [], [])
    told = replay(write(tmp_path, log))
    assert [tuple(trial) for trial in told.replayed] == [(1, 0, 0)]
    assert told.as_json()["trials"] == [6]
    assert told.notes == ["trial 6: 1 question listed without what was done: unless solved before, not counted"]


@pytest.mark.parametrize("cut", [0.3, 0.55, 0.75, 0.95])
def test_a_log_that_is_cut_off_is_replayed_as_far_as_it_goes(tmp_path, cut):
    told = replay(write(tmp_path, REACT_BASE[: int(len(REACT_BASE) * cut)]))
    # The summaries are in the log before what was cut off.
    assert told.as_json()["logged"][0] == {"right": 1, "wrong": 1, "halted": 1}
    assert any("cut off in the middle" in note or "not listed, and not replayed" in note for note in told.notes)


@pytest.mark.parametrize("start", range(0, len(REACT_BASE) - 1500, 97))
def test_wherever_a_log_is_cut_it_is_replayed_or_refused(tmp_path, start):
    path = write(tmp_path, REACT_BASE[start : start + 1500])
    with contextlib.suppress(ConfigurationError):
        replay(path)


def test_an_action_that_is_none_was_one_all_the_same(tmp_path):
    actions = ["think: I wonder", "Think[of it]", "Observation 1:", "", "Search[a], Search[b]"]
    for action in actions:
        row = react(TOWER, steps=4).replace("Search[page 2]", action).replace("Search[page 3]", action)
        assert counts(write(tmp_path, trial(1, (0, 0, 1), halted=[row]))) == [[(0, 0, 1)]] * 2


def test_a_trial_that_is_in_the_log_twice_counts_once(tmp_path):
    again = trial(1, (1, 1, 1), [react(RIVER, "Tavel")], [react(MAYOR, "Another")], [react(TOWER, steps=6)])
    told = replay(write(tmp_path, REACT_BASE + again))
    assert [tuple(trial) for trial in told.replayed] == [(1, 1, 1), (2, 0, 1)]
    assert told.notes[-2:] == [
        "trial 1: it is in the log more than once",
        "trial 1: 3 questions listed twice (1 of them with another text): counted once, as listed first",
    ]


@pytest.mark.parametrize(
    ("encoding", "named"),
    [("utf-16", "UTF-16"), ("utf-8-sig", "UTF-8-SIG"), ("windows-1252", "WINDOWS-1252")],
)
def test_a_log_in_another_encoding_is_read_and_named(tmp_path, encoding, named):
    text = REACT_BASE.replace("Ilse Kranz", "Zoë Çelik").replace("\n", "\r\n")
    path = tmp_path / "log.txt"
    path.write_bytes(text.encode(encoding))
    told = replay(path)
    assert [tuple(trial) for trial in told.replayed] == [(1, 1, 1), (2, 0, 1)]
    assert told.notes[0] == f"the file is no plain UTF-8: read as {named}"


@pytest.mark.parametrize(
    ("files", "named", "why"),
    [
        ({}, "", "holds no HotPotQA log"),
        ({"a.txt": REACT_BASE, "b/c.txt": REACT_BASE}, "", "holds 2 logs: choose a.txt, b/c.txt"),
        ({"a.txt": "no log at all"}, "a.txt", "lists no question"),
        ({"a.txt": "BEGIN TRIAL 1\n\0"}, "a.txt", "lists no question"),
        ({}, "a.txt", "cannot be read: No such file"),
    ],
)
def test_what_is_no_log_is_said_in_one_line(tmp_path, files, named, why):
    for name, text in files.items():
        write(tmp_path, text, name)
    with pytest.raises(ConfigurationError, match=why):
        replay(tmp_path / named)


def command(*arguments):
    run = [sys.executable, "-m", "langgraph_reflexion", "replay", *map(str, arguments)]
    return subprocess.run(run, capture_output=True, text=True, check=False, encoding="utf-8")


@pytest.mark.long
def test_the_command_shows_both_side_by_side(tmp_path):
    path = write(tmp_path, REACT_BASE.replace("Finish[Tavel]", "Finish[The Moor]"))
    told = command(tmp_path)
    assert (told.returncode, told.stderr) == (0, "")
    assert str(path) in told.stdout
    assert "1 1 1 1 0 ≠ 2 ≠ 1" in " ".join(told.stdout.split())
    assert "2 of 2 trials differ" in told.stdout
    assert "listed twice" in told.stdout
    as_json = json.loads(command(path, "--json").stdout)
    assert as_json["logged"][0] == {"right": 1, "wrong": 1, "halted": 1}
    assert as_json["replayed"][0] == {"right": 0, "wrong": 2, "halted": 1}
    refused = command(tmp_path / "nothing")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)


REAL = Path(os.environ.get("UPSTREAM_LOGS", "none")) / "hotpotqa_runs" / "root"
real = pytest.mark.skipif(not REAL.is_dir(), reason="UPSTREAM_LOGS names no folder with the original's logs")


@pytest.mark.long
@real
@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("ReAct/base", [(34, 56, 10), (34, 57, 9), (34, 56, 10), (34, 57, 9), (34, 56, 10)]),
        ("CoT/no_context/base", [(32, 68, 0), *[(33, 67, 0)] * 4]),
    ],
)
def test_the_real_ones_come_out_as_logged(folder, expected):
    assert counts(REAL / folder) == [expected, expected]


@pytest.mark.long
@real
def test_an_altered_answer_of_a_real_one(tmp_path):
    text = (REAL / "ReAct/base/100_questions_5_trials.txt").read_text(encoding="utf-8")
    first = text[: text.index("BEGIN TRIAL 2")]
    altered = first.replace("Finish[Creature Comforts]", "Finish[something else]")
    assert counts(write(tmp_path, altered)) == [[(34, 56, 10)], [(33, 57, 10)]]
