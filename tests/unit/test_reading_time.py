import os
import random
from functools import partial
from time import thread_time

import pytest
from langchain_core.messages import AIMessage

from langgraph_reflexion.actors.base import TextActor
from langgraph_reflexion.actors.original_react import thought_in
from langgraph_reflexion.actors.reply import LONGEST
from langgraph_reflexion.actors.tools import ToolActor
from langgraph_reflexion.adapters.tools import ToolEnvironment
from langgraph_reflexion.envs import load_environment
from langgraph_reflexion.envs.base import prompts_of
from langgraph_reflexion.envs.programming import test_extraction
from langgraph_reflexion.envs.programming.assemble import assemble
from langgraph_reflexion.envs.programming.episode import program_in
from langgraph_reflexion.envs.protocols import for_actor
from langgraph_reflexion.evaluators.judges import verdict_in
from langgraph_reflexion.loop.profiles import Rules
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.models.replies import LONGEST_CALL, bounded, storable, to_json
from langgraph_reflexion.models.written_calls import read_calls
from langgraph_reflexion.testing import ScriptedChatModel

SECONDS = 0.5
"""CPU seconds that a reader may take. It takes a tenth of that at most; quadratic time takes more."""
REPLIES = int(os.environ.get("FUZZ_REPLIES", "15"))
UNITS = [
    *("\n", " ", "\t", "\r\n", "\x85", "\u00a0", "`", "~", "*", "\"'", ">", "-", "#", "\\", "(", ")", "[", "]", "{"),
    *("a\n", "1", "r", "x,", "1+", "not ", "lambda:", "import a\n", "def f(x):\n  return x\n", "\U0001f600"),
    *("Action: x\n", "Action:", "action 1 ", "> action  ", "Observation: \n", "```\nObservation:\n", "</think>"),
    *("Thought 1: hm\nAction 1: x\n", "think[", "go to ", "a from ", "put a in/on ", "search[", "click[a\n", "```a"),
    *("edit_file[a]\n<<<<<<< SEARCH\n=======\n", "write_file[a]\n```\n", "submit\n", "verdict\n", "=======\n"),
    *(">>>>>>> REPLACE\n", "<think>", "**Action:", "```\nThought: x\n", "nothing", "get[", "get[x\n]\n", '{"a": '),
    *("assert f(1\n", "assert (\n", "assert '''\n", "assert f(1) == 2\n", 'assert f("', "assert_eq!(", "assert!('"),
    *("/*", 'r#"', "'a ", "//", "assert_eq!(f(1), 2);\n"),
]
AROUND = [
    *(("", ""), ("search[", "]"), ("```", "`"), ("```python\n", "\n```"), ("assert f(", ")"), ("Action: ", "x")),
    *(("submit\n", ""), ("edit_file[a]\n<<<<<<< SEARCH\n", ">>>>>>> REPLACE"), ("go to ", "x"), ("verdict", "")),
    *(
        ("nothing", "x"),
        ("Action: get[x]", "y"),
        ("get[", "\n]\ny"),
        ("Thought: ", "x"),
        ("write_file[a]\n```\n", "\n```"),
    ),
]


ACTORS = {
    f"{environment} {actor}": (environment, actor)
    for environment, actor in (
        *(("alfworld", "react"), ("alfworld", "tools"), ("hotpotqa", "react"), ("hotpotqa", "cot")),
        *(("webshop", "react"), ("programming", "react"), ("programming", "code"), ("workspace", "react")),
        *(("langchain", "react"), ("langchain", "tools")),
    )
}
READERS = ["thought", "verdict", "call", "tests in python", "tests in rust", *ACTORS, "program", "whole program"]
"""The readers of model output."""


def reader(name):
    """A reader of model output as a function of a text."""
    if name in ACTORS:
        named, actor = ACTORS[name]
        environment = langchain_tools() if named == "langchain" else for_actor(load_environment(named), actor)
        kind, client = ToolActor if actor == "tools" else TextActor, Client(ScriptedChatModel(replies=[]))
        return partial(_decide, kind(client, environment, prompts_of(environment), Rules("mine")))
    if name == "whole program":
        problem = next(iter(load_environment("programming").problems.values()))
        return lambda text: assemble(problem, text[:LONGEST_CALL])
    return {
        "thought": thought_in,
        "verdict": lambda text: verdict_in(text[-LONGEST:]),
        "call": _as_a_call,
        "tests in python": partial(_tests, "python"),
        "tests in rust": partial(_tests, "rust"),
        "program": lambda text: program_in(text[:LONGEST_CALL]),
    }[name]


def langchain_tools():
    """An environment of tools with no, one and two arguments."""

    def nothing() -> str:
        """Do nothing."""

    def get(name: str) -> str:
        """Get a thing."""

    def write(name: str, text: str) -> str:
        """Write a text."""

    return ToolEnvironment([nothing, get, write], ["Write."], lambda answer: True)


def _decide(actor, text):
    actor.decide(storable(bounded(AIMessage(text))))


def _as_a_call(text):
    call = {"name": "submit", "args": {"code": text, "more": [text[:99]] * 9}, "id": "1", "type": "tool_call"}
    to_json(storable(bounded(AIMessage(text, tool_calls=[call]))), 1)


def _tests(language, text):
    test_extraction.tests_in_reply(text[:LONGEST], language, language)


SLOW = {
    "thought": ["\n"],
    "tests in python": [
        "```a",
        "assert f(1\n",
        "assert (\n",
        "```\nassert f(1)\n",
        "with a.raises(\n",
        "self.assertEqual(\n",
    ],
    "tests in rust": ["assert_eq!(", "/*", 'r#"', "assert!('"],
    "programming code": ["~", "```a"],
    "workspace react": ["edit_file[a]\n<<<<<<< SEARCH\n=======\n"],
    "alfworld react": ["\n", "> ", "think["],
    "call": ["\\"],
}


def seconds(read, unit, head="", tail="", length=1_000_000):
    """The CPU time of reading a unit again and again."""
    text, began = head + unit * (length // len(unit)) + tail, thread_time()
    read(text)
    return thread_time() - began


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_an_endless_reply_is_read_quickly(name):
    read = reader(name)
    for unit in SLOW[name]:
        assert seconds(read, unit) < SECONDS
        assert seconds(read, unit, tail="`", length=19_000) < SECONDS


@pytest.mark.parametrize("head", ["nothing", "Action: get[x]", "Action: nothing", "Thought: hm Action: get[x]"])
def test_blanks_after_a_tool_are_read_quickly(head):
    assert seconds(reader("langchain react"), " ", head=head, tail="y", length=19_000) < SECONDS


@pytest.mark.parametrize("unit", ["*", "_", "Action:", "Thought: x\nAction:"])
def test_marks_in_a_thought_are_read_quickly(unit):
    assert seconds(reader("alfworld react"), unit, head="Thought: ", tail="x", length=19_000) < SECONDS


@pytest.mark.parametrize(
    "unit",
    [
        *("Action: x\n", "Action: List[", "Thought: x = ", "'''\nAction: x\n", "```\nAction: x\n", "```a ", "'''"),
        *("<think>\n", "</think>", "</think> ", "<think>\n</think>\n", "<<a\n", "<<", "run_command\n", "] ", "a\n"),
        *("<<<<<<< SEARCH\n", "=======\n", ">>>>>>> REPLACE\n", ". ", ".*", "edit_file[a]\n"),
    ],
)
@pytest.mark.parametrize(
    ("name", "head"),
    [
        *(("programming react", "submit\n"), ("programming code", ""), ("langchain react", "Action: write[a, ")),
        *(("workspace react", "run_command\n```\n"), ("workspace react", "edit_file[a]\n<<<<<<< SEARCH\n")),
        *(("alfworld react", "<think>a</think>\n"), ("alfworld react", "Thought: "), ("alfworld tools", "<think>")),
        ("program", "Hm:\n```\n"),
    ],
)
def test_parts_of_steps_and_blocks_are_read_quickly(name, head, unit):
    assert seconds(reader(name), unit, head=head, tail="x", length=19_900) < SECONDS


def test_an_open_block_of_blanks_is_read_quickly():
    # Even quadratic time is short for a text of this length, and linear time is next to nothing.
    assert seconds(lambda text: read_calls(text, ["add"]), " ", head="```\n", length=19_900) < SECONDS / 5


@pytest.mark.long
def test_readers_are_quick_with_a_megabyte_of_anything():
    draw, found = random.Random(11), {name: reader(name) for name in READERS}
    for _ in range(REPLIES):
        around, units = draw.choice(AROUND), draw.sample(UNITS, draw.choice([1, 1, 2, 3]))
        reply = ("".join(units), *around, draw.choice([1_000_000, 100_000, 19_900, 9_900]))
        assert {name: reply for name, read in found.items() if seconds(read, *reply) > SECONDS} == {}
