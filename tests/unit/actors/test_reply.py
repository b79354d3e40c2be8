"""Thought and action, read out of whatever a chat model wrote."""

import time

import pytest

from langgraph_reflexion.actors.reply import LONGEST, read_reply
from langgraph_reflexion.envs.alfworld.environment import ALFWorld
from langgraph_reflexion.envs.base import Episode, action
from tests.support.toys import Counter


def parse(text):
    return Counter().parse(text)


class Archive(Episode):
    """Knows everything."""

    @action()
    def search(self, entity: str) -> str:
        """Look it up."""
        return entity


class Archives(Counter):
    """Where actions have brackets."""

    name = "archives"
    episode = Archive


GOES_UP = {"name": "turn", "args": {"direction": "up"}, "text": "go up"}


def read(reply):
    return read_reply(reply, parse)


@pytest.mark.parametrize(
    "reply",
    [
        "Action: go up",
        "Action:\n\n  go up\n",
        "Action 2: go up",
        "**Action:** go up",
        "### Action: go up",
        "> Action: go up",
        'Action: "go up"',
        "Action:\n```text\ngo up\n```",
        "```\nAction: go up\n```",
        "`go up`",
        "Sure! Here is what I will do next.\n\nAction: go up\n\nLet me know how it went!",
        "I will go up the stairs now:\ngo up",
        "Action: go up\nObservation: You are up.\nThought: done\nAction: go down",
        "go up\ngo down",
        "\r\nAction: go up\r\nObservation: You are up.\r\n",
        "- go up",
        "Action: 1. go up",
        "Observation: The counter stands at 3.\nIt is red.\nAction: go up",
        "\nObservation: The counter stands at 3.\nThought: Up.\ngo up\nObservation: You are up.",
    ],
)
def test_the_action_is_found(reply):
    action = read(reply)["action"]
    assert action is not None
    assert (action["name"], action["args"]["direction"].lower()) == ("turn", "up")
    assert action["text"].lower() == "go up"


@pytest.mark.parametrize(
    ("reply", "thought"),
    [
        ("Thought: up is best.\nAction: go up", "up is best."),
        ("**Thought:** up is best.\n**Action:** go up", "up is best."),
        ("Thought: up\nis best.\n\nAction: go up", "up is best."),
        ("Think: up is best.\n> go up", "up is best."),
        ("Thought: up is best.\ngo up\nObservation: nonsense", "up is best."),
        ("Action: go up\nThought: later", ""),
    ],
)
def test_the_thought_is_what_stands_before_it(reply, thought):
    assert read(reply) == {"thought": thought, "action": GOES_UP}


@pytest.mark.parametrize(
    ("reply", "thought"),
    [
        ("Thought: I wonder.", "I wonder."),
        ("> think: I wonder.", "I wonder."),
        ("think[I wonder.]", "I wonder."),
        ("think[I won", "I won"),
        ("Action: think[I wonder.]", "I wonder."),
        ("Thought: Well.\nAction: think: I wonder.", "Well. I wonder."),
        ("Thought: go up", "go up"),
        ("Thought: I wonder.\nObservation: so do I.", "I wonder."),
    ],
)
def test_a_thought_alone_is_no_action(reply, thought):
    assert read(reply) == {"thought": thought, "action": None}


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("Thought: hm\nAction: jump high", "jump high"),
        ("Sorry.\nI cannot.", ""),
        ("Thought: hm\nAction: ", ""),
        ("Thought: hm\nAction: (none)", ""),
        ("Observation: The counter stands at 3.", ""),
        ("Observation: The counter stands at 3.\ngo up", ""),
        ("1. go up\n2. go down", ""),
        ("read[] would show it", ""),
        ("```\n```", ""),
        ("Action: do it 'now'", "do it 'now'"),
    ],
)
def test_what_is_no_allowed_action_has_no_name(reply, text):
    action = read(reply)["action"]
    assert action == {"name": "", "args": {}, "text": text}


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        ("search[a].", "a"),
        ("search[a],", "a"),
        ("- Search[a]", "a"),
        ("search[a], [b]", "a"),
        ("Search[a (film)], Search[b], Lookup[c]", "a (film)"),
        ("Search[a] and Search[b]", "a"),
        ("Search[a] Action 2: Search[b]", "a"),
        ("search[a][b], and so on", "a"),
        ("search[a](/wiki/a)", "a"),
        ("search[a] to find out", "a"),
        ("`search[a]`.", "a"),
        ("search[a[0] + b[1]].", "a[0] + b[1]"),
        ("search[[ -f a ] && [ -f b ]]", "[ -f a ] && [ -f b ]"),
        ("search[test] && [b]", "test] && [b"),
    ],
)
def test_what_surrounds_brackets_is_none_of_the_action(written, read_as):
    action = read_reply(f"Thought: hm\nAction: {written}", Archives().parse)["action"]
    assert (action["name"], action["args"]) == ("search", {"entity": read_as})
    assert action["text"] in written


def test_prose_becomes_a_thought():
    assert read("I am there.\nI see it.") == {
        "thought": "I am there. I see it.",
        "action": {"name": "", "args": {}, "text": ""},
    }


def test_a_very_long_reply_is_cut_in_the_transcript():
    assert len(read("x" * 10_000)["thought"]) == 500
    assert len(read("Action: " + "x" * 10_000)["action"]["text"]) == 500


@pytest.mark.parametrize(
    "reply", ["\n" * 1_000_000, "> " * 15_000, "think[" * 5_000], ids=["newlines", "quotes", "think"]
)
def test_a_degenerate_reply_takes_no_time(reply):
    started = time.process_time()
    read(reply)
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    ("reply", "direction"),
    [
        ('Action: go "up" or "down"', '"up" or "down"'),
        ("Action: go __up__", "__up__"),
    ],
)
def test_marks_within_an_action_belong_to_it(reply, direction):
    assert read(reply)["action"]["args"] == {"direction": direction}


@pytest.mark.parametrize(
    ("reply", "name"),
    [
        ("<think>\ngo up\nAction: add 9\n</think>\nAction: go down", "turn"),
        ("no opening tag, add 9\nadd 9\n</think>\n\ngo down", "turn"),
        ("hm\rObservation: x\rgo up", ""),
    ],
)
def test_reasoning_and_invented_observations_are_not_acted_on(reply, name):
    action = read(reply)["action"]
    assert (action["name"], action["args"]) == (name, {"direction": "down"} if name else {})


def test_what_is_cut_is_cut_between_lines():
    assert read("x " * 9_999 + "\nadd 12345")["action"]["name"] == ""
    assert read("x\n" + " " * 19_900 + "add 12345" + "7" * 200)["action"]["name"] == ""


def test_half_a_surrogate_pair_is_replaced():
    decision = read("Thought: \ud83d hm\nAction: go up")
    assert decision["thought"] == "? hm"


class Scribe(Episode):
    """Keeps notes."""

    @action("note {title}\n{text}")
    def note(self, title: str, text: str) -> str:
        """Write a note down."""
        return "Noted."

    @action("done")
    def done(self) -> str:
        """Go home."""
        return "Bye."


class Scribes(Counter):
    """Where notes have several lines."""

    name = "scribes"
    episode = Scribe


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("Thought: hm\nAction: note a.py\nx = 1\n\n    y = 2", "x = 1\n\n    y = 2"),
        ("Action:\n```\nnote a.py\nx = 1\n```", "x = 1"),
        ("Action: note a.py\n```python\nx = 1\n```", "```python\nx = 1\n```"),
        ("Action: note a.py\n    indented\nObservation: Noted.\nAction: done", "    indented"),
        ("Action: note a.md\n```\nObservation: a word\n```\nObservation: no", "```\nObservation: a word\n```"),
        ("note a.py\nx = 1", "x = 1"),
    ],
)
def test_an_action_of_several_lines_is_read_as_a_whole(reply, text):
    action = read_reply(reply, Scribes().parse)["action"]
    assert (action["name"], action["args"]["text"]) == ("note", text)
    assert action["args"]["title"].startswith("a.")


@pytest.mark.parametrize(
    ("reply", "name"),
    [
        ("Action: done\n\nnote a.py\nx = 1", "done"),
        ("Action: note a.py\n" + "x = 1\n" * LONGEST, ""),
        ("<think>" + "note a.py\n" * LONGEST + "</think>Action: done", "done"),
    ],
)
def test_half_an_action_of_several_lines_is_none(reply, name):
    assert read_reply(reply, Scribes().parse)["action"]["name"] == name


@pytest.mark.parametrize(
    "reply",
    [
        "Thought: hm\nAction: go to cabinet 1\nI hope that the mug is there.",
        "go to cabinet 1\nopen cabinet 1",
        "```\ngo to cabinet 1\nopen cabinet 1\n```",
    ],
)
def test_an_action_of_one_line_takes_nothing_of_the_next(reply):
    # Blanks do not matter to this parser, and ends of lines are blanks.
    assert read_reply(reply, ALFWorld().parse)["action"]["args"] == {"receptacle": "cabinet 1"}
