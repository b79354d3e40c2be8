"""The loop for prompts: kept replies, what is counted, and readers' marks."""

import csv
import json
import sys

import httpx
import pytest

from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.loopback import Answer, Listener
from tests.support.model_server import ModelServer
from tests.support.reflections.marks import QUESTIONS, agreement, kappa, read_marks, shares, write_sheet
from tests.support.reflections.play import keep, play
from tests.support.reflections.read import counts, read_failures, refuses, repeated, side_by_side
from tests.support.reflections.reply_cache import ReplyKeeper

ANSWER = {"kind": "number", "unit": "legs", "right": "4"}
TASK = json.dumps({"id": "one", "task": "How many legs has a horse?", "answer": ANSWER})


def ask(url):
    body = {"model": "any", "messages": [{"role": "user", "content": "A number?"}]}
    answered = httpx.post(f"{url}/chat/completions", json=body).json()
    return answered["choices"][0]["message"]["content"]


@pytest.mark.slow
def test_replies_are_kept_by_prompt_and_occurrence(tmp_path):
    file = tmp_path / "replies.db"
    with ModelServer(ScriptedChatModel(replies=["1", "2", "3"])) as server:
        with ReplyKeeper(server.url, file) as keeper:
            assert [ask(keeper.url), ask(keeper.url)] == ["1", "2"]
        with ReplyKeeper(server.url, file) as keeper:
            assert [ask(keeper.url), ask(keeper.url)] == ["1", "2"]
            assert (keeper.asked, keeper.found) == (0, 2)
        with ReplyKeeper(server.url, file, "another sample") as keeper:
            assert ask(keeper.url) == "3"


@pytest.mark.slow
def test_of_two_processes_that_ask_at_once_both_get_the_reply_that_is_kept(tmp_path):
    file = tmp_path / "replies.db"
    answered = []

    def answer(call):
        answered.append(call)
        number = len(answered)
        if number == 1:
            # While the first reply is being written, another keeper asks for the same, and is faster.
            assert ask(other.url) == "2"
        content = {"choices": [{"message": {"role": "assistant", "content": str(number)}}]}
        return Answer(json.dumps(content).encode(), 200)

    server = Listener(0, answer)
    with ReplyKeeper(f"{server.url}/v1", file) as keeper, ReplyKeeper(f"{server.url}/v1", file) as other:
        assert ask(keeper.url) == "2"
    server.close()


@pytest.mark.slow
def test_a_refusal_is_kept_and_trouble_that_passes_is_not(tmp_path):
    file = tmp_path / "replies.db"
    body = {"model": "any", "messages": [{"role": "user", "content": "A number?"}]}
    statuses = iter([503, 400])
    server = Listener(0, lambda call: Answer(b"{}", next(statuses)))
    for expected in (503, 400, 400):
        # A third request would find no status to answer with.
        with ReplyKeeper(f"{server.url}/v1", file) as keeper:
            assert httpx.post(f"{keeper.url}/chat/completions", json=body).status_code == expected
    server.close()


@pytest.mark.slow
def test_a_random_mark_makes_no_other_prompt(tmp_path):
    bodies = [
        {"model": "any", "messages": [{"role": "user", "content": f"<a-{mark}> A number?"}]} for mark in (12, 7)
    ]
    with (
        ModelServer(ScriptedChatModel(replies=["1", "2"])) as server,
        ReplyKeeper(server.url, tmp_path / "replies.db", ignored=r"(?<=a-)\d+") as keeper,
    ):
        for body in bodies:
            httpx.post(f"{keeper.url}/chat/completions", json=body)
    with ReplyKeeper(server.url, tmp_path / "replies.db", ignored=r"(?<=a-)\d+") as keeper:
        answers = [httpx.post(f"{keeper.url}/chat/completions", json=body).json() for body in reversed(bodies)]
        assert [answer["choices"][0]["message"]["content"] for answer in answers] == ["1", "2"]


@pytest.mark.slow
def test_a_run_is_read_and_a_repeat_is_free(tmp_path, capfd):
    tasks, cache = tmp_path / "tasks.jsonl", tmp_path / "replies.db"
    tasks.write_text(TASK)
    note = "Wrong: 5 is larger than the check wants. Next time: count two pairs."
    with ModelServer(ScriptedChatModel(replies=["Answer: 5", note, "Answer: 4"])) as server:
        for name in ("first", "again"):
            assert play(tmp_path / name, tasks, server.url, cache, "reflexion", "", 2, []) == 0
    assert "0 replies asked for, 3 found" in capfd.readouterr().out
    [failure] = read_failures(tmp_path / "first")
    assert failure.answer == "Answer: 5"
    assert failure.check == "wanted: a smaller number (legs) / got: 'Answer: 5'"
    assert (failure.note, failure.next_answer, failure.repaired) == (note, "Answer: 4", True)
    assert "How many legs" in failure.reflecting_prompt
    assert note in failure.next_prompt
    found = counts(tmp_path / "first")
    assert (found["failures"], found["repaired"], found["same answer"], found["calls"]) == (1, 1, 0, 3)
    shown = "\n".join(side_by_side([tmp_path / "first", tmp_path / "again"]))
    assert shown.count(f"note:    {note}") == 2

    sheet, key = tmp_path / "sheet.csv", tmp_path / "key.json"
    assert write_sheet([tmp_path / "first", tmp_path / "again"], sheet, key) == 2
    assert "first" not in sheet.read_text()
    assert "again" not in sheet.read_text()
    assert repeated([failure, failure]) == 1


def test_refusals():
    assert refuses("I'm sorry, but I can't assist with that.")
    assert not refuses("Wrong: the list cannot hold five lines. Next time: provide four.")


def write_marks(path, marks):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", *QUESTIONS])
        writer.writerows([number, *mark] for number, mark in enumerate(marks, 1))
    return read_marks(path)


def test_shares_and_agreement(tmp_path):
    first = write_marks(tmp_path / "1.csv", ["yyyy", "ynyy", "yyyy", "nnnn"])
    second = write_marks(tmp_path / "2.csv", ["yyyy", "yyyy", "yyyy", "nnnn"])
    variants = {"1": "a", "2": "a", "3": "b", "4": "b"}
    assert shares(first, variants)["a"] == {"R1": (2, 2), "R2": (1, 2), "R3": (2, 2), "R4": (2, 2), "useful": (1, 2)}
    assert agreement(first, second) == {"R1": 1, "R2": 0.5, "R3": 1, "R4": 1, "useful": 0.5}


def test_kappa_of_readers_who_always_say_the_same_is_undefined():
    assert kappa([True, True], [True, True]) is None


def test_a_missing_mark_is_named(tmp_path):
    with pytest.raises(ValueError, match="item 2, R1: write y or n"):
        write_marks(tmp_path / "1.csv", ["yyyy", ["", "y", "y", "y"]])


@pytest.mark.slow
def test_any_command_runs_with_the_replies_kept(tmp_path, capfd):
    asking = "import httpx, sys; print(httpx.get(sys.argv[1] + '/models').status_code)"
    with ModelServer(ScriptedChatModel(replies=["1"])) as server:
        command = [sys.executable, "-c", asking, "ADDRESS"]
        assert keep(server.url, tmp_path / "replies.db", "", command) == 0
    assert "0 replies asked for, 0 found" in capfd.readouterr().out
