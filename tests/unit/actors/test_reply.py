from functools import partial

import pytest

from langgraph_reflexion.actors.reply import LONGEST, read_reply
from langgraph_reflexion.adapters.tools import ToolEnvironment
from langgraph_reflexion.envs.alfworld.environment import ALFWorld
from langgraph_reflexion.envs.base import Episode, action
from langgraph_reflexion.envs.grammar import parse_action
from tests.support.toys import Counter


class Archive(Episode):
    @action()
    def search(self, entity: str) -> str:
        """Look it up."""


class Archives(Counter):
    name = "archives"
    episode = Archive


GOES_UP = {"name": "turn", "args": {"direction": "up"}, "text": "go up"}


def read(reply):
    return read_reply(reply, partial(parse_action, Counter()))


@pytest.mark.parametrize(
    "reply",
    [
        "Action: go up",
        "Action 2: go up",
        "**Action:** go up",
        "### Action: go up",
        'Action: "go up"',
        "Action:\n```text\ngo up\n```",
        "```\nAction: go up\n```",
        "`go up`",
        "Sure! Here is what I will do next.\n\nAction: go up\n\nLet me know how it went!",
        "I will go up the stairs now:\ngo up",
        "Action: go up\nObservation: You are up.\nThought: done\nAction: go down",
        "\r\nAction: go up\r\nObservation: You are up.\r\n",
        "- go up",
        "Action: 1. go up",
        "Observation: The counter stands at 3.\nIt is red.\nAction: go up",
        "\nObservation: The counter stands at 3.\nThought: Up.\ngo up\nObservation: You are up.",
    ],
)
def test_the_action_is_found(reply):
    assert read(reply)["action"] == GOES_UP


@pytest.mark.parametrize(
    ("reply", "thought", "action"),
    [
        ("Thought: up is best.\nAction: go up", "up is best.", GOES_UP),
        ("Thought: up\nis best.\n\nAction: go up", "up is best.", GOES_UP),
        ("Think: up is best.\n> go up", "up is best.", GOES_UP),
        ("Thought: up is best.\ngo up\nObservation: nonsense", "up is best.", GOES_UP),
        ("Action: go up\nThought: later", "", GOES_UP),
        ("Thought: \ud83d hm\nAction: go up", "? hm", GOES_UP),
        ("Thought: I wonder.", "I wonder.", None),
        ("> think: I wonder.", "I wonder.", None),
        ("think[I wonder.]", "I wonder.", None),
        ("Action: think[I wonder.]", "I wonder.", None),
        ("Thought: Well.\nAction: think: I wonder.", "Well. I wonder.", None),
        ("Thought: go up", "go up", None),
        ("Thought: up is best. Action: go up", "up is best.", GOES_UP),
        ("Thought: The last Action: go up was right", "The last Action: go up was right", None),
        ("Thought: I did Action: go up and it failed.", "I did Action: go up and it failed.", None),
        ("Thought: I did (it, too.) Action: go up", "I did (it, too.)", GOES_UP),
        ("Thought 1: Action: add 9? No. Action 1: go up\nI hope so.", "Action: add 9? No.", GOES_UP),
        ("Well.\nThought: up is best. **Action:** `go up`", "Well. Thought: up is best.", GOES_UP),
        ("Thought: my next action: go up", "my next action: go up", None),
        ("Thought: Action: jump", "Action: jump", None),
        ("Thought: Action: add 9\ngo up", "Action: add 9", GOES_UP),
        ("Thought: I wonder.\nObservation: so do I.", "I wonder.", None),
        ("I am there.\nI see it.", "I am there. I see it.", {"name": "", "args": {}, "text": ""}),
    ],
)
def test_a_thought_precedes_the_action_or_is_alone(reply, thought, action):
    assert read(reply) == {"thought": thought, "action": action}


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("Thought: hm\nAction: jump high", "jump high"),
        ("Thought: hm\nAction: (none)", ""),
        ("Observation: The counter stands at 3.", ""),
        ("Observation: The counter stands at 3.\ngo up", ""),
        ("1. go up\n2. go down", ""),
        ("read[] would show it", ""),
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
        ("- Search[a]", "a"),
        ("search[a], [b]", "a"),
        ("Search[a (film)], Search[b], Lookup[c]", "a (film)"),
        ("Search[a] and Search[b]", "a"),
        ("Search[a] Action 2: Search[b]", "a"),
        ("search[a][b], and so on", "a"),
        ("search[a](/wiki/a)", "a"),
        ("search[a[0] + b[1]].", "a[0] + b[1]"),
        ("search[[ -f a ] && [ -f b ]]", "[ -f a ] && [ -f b ]"),
        ("search[test] && [b]", "test] && [b"),
    ],
)
def test_what_surrounds_brackets_is_none_of_the_action(written, read_as):
    action = read_reply(f"Thought: hm\nAction: {written}", partial(parse_action, Archives()))["action"]
    assert (action["name"], action["args"]) == ("search", {"entity": read_as})
    assert action["text"] in written


@pytest.mark.parametrize(
    ("reply", "args"),
    [
        ('Action: go "up" or "down"', {"direction": '"up" or "down"'}),
        ("Action: go __up__", {"direction": "__up__"}),
        ("<think>\ngo up\nAction: add 9\n</think>\nAction: go down", {"direction": "down"}),
        ("no opening tag, add 9\nadd 9\n</think>\n\ngo down", {"direction": "down"}),
        ("<think>a\n</think>\n<think>\nadd 9\n</think>\ngo down", {"direction": "down"}),
        ("I add 9.\nadd 9</think>\n\ngo down", {"direction": "down"}),
        ("add 9\n</think>go down", {"direction": "down"}),
        ("<think>\nMaybe\nAction: add 9\nno", {}),
        ("<think>add 9</think>\n<think>\nadd 9", {}),
        ("I go up first.</think>Action: go down", {"direction": "down"}),
        ("I go up first.</think> **Action 2:** go down", {"direction": "down"}),
        ("I go up first.</think> go down", {"direction": "down"}),
        ("Okay <think>hm</think> Action: go down", {"direction": "down"}),
        (
            "<think>a</think>\nThought: hm\n<think>\nAction: add 9? No.\n</think>\nAction: go down",
            {"direction": "down"},
        ),
        ("<think>\nI go.\n\nAction: go down\n", {"direction": "down"}),
        ("<think>a</think>\n<think>\nAction: go down", {"direction": "down"}),
        ("<think>\nI go.\n\nAction: go down</think>", {}),
        ("<think>\nI go.\n\nAction: jump", {}),
        ("Thought: the tag </think> is odd", None),
        ("Action: go by '</think>'", {"direction": "by '</think>'"}),
        ("<think>add 9</think>\ngo </think>\nadd 9", {"direction": "</think>"}),
        ("hm\rObservation: x\rgo up", {}),
    ],
)
def test_marks_within_an_action_belong_to_it_and_reasoning_does_not(reply, args):
    action = read(reply)["action"]
    assert (action and action["args"]) == args


def test_what_is_too_long_is_cut_between_lines():
    assert len(read("x" * 10_000)["thought"]) == 500
    assert len(read("Action: " + "x" * 10_000)["action"]["text"]) == 500
    assert read("x " * 9_999 + "\nadd 12345")["action"]["name"] == ""
    assert read("x\n" + " " * 19_900 + "add 12345" + "7" * 200)["action"]["name"] == ""


class Scribe(Episode):
    @action("note {title}\n{text}")
    def note(self, title: str, text: str) -> str:
        """Write a note down."""

    @action("done")
    def done(self) -> str:
        """Go home."""


class Scribes(Counter):
    name = "scribes"
    episode = Scribe


HELP = "HELP = '''\nThought: hm\nAction: done\n'''\nx = 1"
BLOCKS = "import re\nre.findall(r'```', s)\nAction: done"


@pytest.mark.parametrize(
    ("reply", "name", "text"),
    [
        ("Thought: hm\nAction: note a.py\nx = 1\n\n    y = 2", "note", "x = 1\n\n    y = 2"),
        ("Action:\n```\nnote a.py\nx = 1\n```", "note", "x = 1"),
        ("Action: note a.py\n```python\nx = 1\n```", "note", "```python\nx = 1\n```"),
        ("Action: note a.py\n    indented\nObservation: Noted.\nAction: done", "note", "    indented"),
        ("Action: note a.md\n```\nObservation: so\n```\nObservation: no", "note", "```\nObservation: so\n```"),
        ("note a.py\nx = 1", "note", "x = 1"),
        ("Action: done\n\nnote a.py\nx = 1", "done", None),
        ("Action: note a.py\nx = 1\n\nAction: done", "note", "x = 1"),
        ("Action: note a.py\nx = 1\nThought 2: Done.\n**Action 2:** done", "note", "x = 1"),
        ("note a.py\nx = 1\n\nAction: note b.py\ny = 2", "note", "x = 1"),
        ("note a.md\n```\nAction: so\n```\nAction: done", "note", "```\nAction: so\n```"),
        ("note a.py\n# Action: so\n    action: str", "note", "# Action: so\n    action: str"),
        (
            "Action: note a.py\nAction: Alias = str\nThought: List[str] = []",
            "note",
            "Action: Alias = str\nThought: List[str] = []",
        ),
        ("Action: note a.py\nAction: str\nx = 1", "note", "Action: str\nx = 1"),
        ("Action: note a.py\nx = 1\nAction: note b.py", "note", "x = 1"),
        (f"Action: note a.py\n{HELP}", "note", HELP),
        (f"Action: note a.py\n{HELP}\nAction: done", "note", HELP),
        (f"Action: note a.py\n```\n{BLOCKS}\n```\nThought: so.", "note", f"```\n{BLOCKS}\n```"),
        ("Action: note a.py ```py\nObservation: x\n```\nObservation: no", "note", "Observation: x\n```"),
        ("<think>hm</think>\nnote a.md\n```\n<think>\nhm\n</think>\n```", "note", "```\n<think>\nhm\n</think>\n```"),
        ("Action:\n```\nnote a.py\nx = 1\n```\nThat is it.", "note", "x = 1"),
        ("Action:\n```\nnote a.md\nso:\n```py\nx = 1\n```\nThat is it.", "", None),
        ("Action: note a.py\n" + "x = 1\n" * LONGEST, "", None),
        ("<think>" + "note a.py\n" * LONGEST + "</think>Action: done", "done", None),
    ],
)
def test_an_action_of_several_lines_is_read_as_a_whole_or_not_at_all(reply, name, text):
    action = read_reply(reply, partial(parse_action, Scribes()))["action"]
    assert (action["name"], action["args"].get("text")) == (name, text)


def write(place: str, text: str) -> str:
    """Write a text down."""


def read_tools(reply):
    environment = ToolEnvironment([write], ["Write."], lambda answer: True)
    return read_reply(reply, partial(parse_action, environment))["action"]


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("write[a, x\ny]\n\nAction: finish[b]", "x\ny"),
        ("write[a, x\ny].\nThat is all [really].", "x\ny"),
        ("write[a, x\ny]\nThought: so.", "x\ny"),
        ("write[a, x\ny[0]\nz]", "x\ny[0]\nz"),
        ("write[a, x\n# until ]\nb]", "x\n# until ]\nb"),
        ("write[a, x\nAction: y\nb]", "x\nAction: y\nb"),
        ("write[a, x:\n- y [1]\nAction: finish[2]\nDone]", "x:\n- y [1]\nAction: finish[2]\nDone"),
        ("write[a, x:\n- y [1]\nAction: call Bob [2]\nDone].", "x:\n- y [1]\nAction: call Bob [2]\nDone"),
        ('write[a, x\ny = "]"\nz]', 'x\ny = "]"\nz'),
    ],
)
@pytest.mark.parametrize("before", ["Action: ", "Thought: hm\nAction: ", ""])
def test_brackets_of_several_lines_end_before_what_follows_them(before, written, text):
    action = read_tools(f"{before}{written}")
    assert (action["name"], action["args"]) == ("write", {"place": "a", "text": text})


@pytest.mark.parametrize(
    ("reply", "args"),
    [
        ("Heat comes next: the egg is cold.\nAction: heat egg 1 with microwave 1", ["egg 1", "microwave 1"]),
        ("Take note: it is on desk 1.\nThought: I take it from there.\nAction: go to desk 1", ["desk 1"]),
        ("take a look at the desk\nThen take mug 1 from desk 2", []),
        ("Thought: ok\nAction: take the mug\nI will get it from desk 2", []),
    ],
)
def test_prose_of_several_lines_is_no_command(reply, args):
    assert list(read_reply(reply, ALFWorld().parse)["action"]["args"].values()) == args


@pytest.mark.parametrize("reply", ["Action: go to cabinet 1\nI hope so.", "```\ngo to cabinet 1\nopen it\n```"])
def test_an_action_of_one_line_takes_nothing_of_the_next(reply):
    # Blanks do not matter to this parser, and ends of lines are blanks.
    assert read_reply(reply, ALFWorld().parse)["action"]["args"] == {"receptacle": "cabinet 1"}
