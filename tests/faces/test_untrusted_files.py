"""Checkpoints and cached replies that somebody else wrote: nothing in them is run, and the error names the file."""

import asyncio
import os
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Interrupt, Send, interrupt
from typing_extensions import TypedDict

from langgraph_reflexion import ConfigurationError, ModelOptions, open_checkpointer
from langgraph_reflexion.errors import ModelFault
from langgraph_reflexion.support.checkpoints import LatestSaver
from tests.faces.experiments.test_resume import SETTINGS, Interrupted, RefusedError, drive_all, think_first, timeless
from tests.support.poison import POISONS, edit, folder_made, poisons
from tests.support.toys import THREAD, counting_badly, play

__all__ = ["folder_made"]  # a fixture


def test_the_poison_works(folder_made):
    """LangGraph's own default runs it: the tests below would not notice a harmless value."""
    assert InMemorySaver().serde.loads_typed(poisons(folder_made)["one argument"]) is None
    assert folder_made.is_dir()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The rows of a run that nobody has disturbed."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    assert drive_all(folder, think_first, **SETTINGS)[0].statuses["solved"] == 2
    return timeless(folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("poison", "kind"),
    [*((poison, "latest") for poison in POISONS), ("one argument", "history"), ("json", "history")],
)
def test_a_checkpoint_of_somebody_else_runs_nothing_and_the_run_can_go_on(poison, kind, folder_made, tmp_path, whole):
    run = tmp_path / "run"
    settings = SETTINGS | {"checkpoints": kind}
    with pytest.raises(ModelFault):
        drive_all(run, Interrupted(4, RefusedError("no")), **settings)
    before = timeless(run)
    good = (run / "checkpoints.db").read_bytes()
    edit(run / "checkpoints.db", "UPDATE checkpoints SET type = ?, checkpoint = ?", poisons(folder_made)[poison])
    with pytest.raises(ConfigurationError, match=r"checkpoints in .*checkpoints\.db hold") as refused:
        drive_all(run, think_first, **settings)
    assert "os.mkdir" in str(refused.value) or poison in str(refused.value)
    assert not folder_made.exists()
    assert timeless(run) == before
    (run / "checkpoints.db").write_bytes(good)
    drive_all(run, think_first, **settings)
    assert timeless(run) == whole


def test_a_pending_write_of_somebody_else_runs_nothing(folder_made, tmp_path):
    with pytest.raises(ModelFault):
        drive_all(tmp_path / "run", Interrupted(4, RefusedError("no")), **SETTINGS)
    database = tmp_path / "run" / "checkpoints.db"
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(
            "INSERT INTO writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, value) "
            "SELECT thread_id, checkpoint_ns, checkpoint_id, 'x', 0, 'task', ?, ? FROM checkpoints",
            poisons(folder_made)["arguments"],
        )
    with pytest.raises(ConfigurationError, match=r"os\.mkdir"):
        drive_all(tmp_path / "run", think_first, **SETTINGS)
    assert not folder_made.exists()


@pytest.mark.slow
@pytest.mark.parametrize("poison", POISONS)
def test_a_cached_reply_of_somebody_else_runs_nothing_and_names_the_file(poison, folder_made, tmp_path):
    file = tmp_path / "replies.db"
    options = {"options": ModelOptions(cache=file)}
    play(counting_badly, **options)
    edit(file, "UPDATE cache SET encoding = ?, val = ?", poisons(folder_made)[poison])
    with pytest.raises(ConfigurationError, match=r"the cached replies in .*replies\.db hold"):
        play(counting_badly, **options)
    assert not folder_made.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("encoding", "content"),
    [
        ("null", b""),
        ("msgpack", b"\x80"),
        ("msgpack", b"\x93\x01\x02\x03"),
        ("msgpack", b"\xc1 no msgpack"),
        ("bytes", b"a reply"),
        ("something new", b"a reply"),
    ],
)
def test_a_cached_value_that_is_no_reply_is_an_error(encoding, content, tmp_path):
    file = tmp_path / "replies.db"
    play(counting_badly, options=ModelOptions(cache=file))
    edit(file, "UPDATE cache SET encoding = ?, val = ?", (encoding, content))
    with pytest.raises(ConfigurationError, match=r"replies\.db hold"):
        play(counting_badly, options=ModelOptions(cache=file))


def test_what_a_wrapped_agent_s_state_may_hold_is_read_back(tmp_path):
    call = {"name": "look", "args": {"x": [1, {"y": None}]}, "id": "c1", "type": "tool_call"}
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    held = [
        AIMessage("a", tool_calls=[call], usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}),
        AIMessageChunk("b", tool_call_chunks=[{"name": "look", "args": "{", "id": "c2", "index": 0, "type": None}]),
        HumanMessage([{"type": "text", "text": "c"}, image]),
        ToolMessage("d", tool_call_id="c1", artifact={"e": b"f"}, status="error"),
        Send("node", {"task": "g"}),
        Command(goto="node", update={"h": 1}),
        Interrupt({"i": 1}, id="j"),
        {"k", "l"},
        b"m",
        None,
    ]
    with LatestSaver.open(tmp_path / "latest.db") as saver:
        for value in held:
            assert saver.serde.loads_typed(saver.serde.dumps_typed(value)) == value


@pytest.mark.parametrize("kind", ["latest", "history"])
def test_files_that_were_written_without_the_strict_mode_are_read(kind, tmp_path):
    """By LangGraph's own savers, which write as this package did at first."""
    messages = [HumanMessage("a", id="1"), AIMessage("b", id="2")]
    where = tmp_path / "old.db"
    with SqliteSaver.from_conn_string(str(where)) as old:
        asking(old).invoke({"messages": messages}, THREAD)

    async def read():
        async with open_checkpointer(kind, where) as saver:
            return await asking(saver).ainvoke(Command(resume="yes"), THREAD)

    assert asyncio.run(read()) == {"messages": messages, "answer": "yes"}


class Asked(TypedDict, total=False):
    messages: list
    answer: str


def asking(saver):
    """A graph that pauses with messages in its state."""

    def ask(state):
        return {"answer": interrupt("Go on?")}

    graph = StateGraph(Asked).add_node("ask", ask).add_edge(START, "ask").add_edge("ask", END)
    return graph.compile(checkpointer=saver)


OWN_TYPE = """
import sys
from operator import add
from typing import Annotated
from langchain_core.messages import AIMessage
from langgraph.graph import MessagesState, StateGraph
from langgraph.types import Command, interrupt
from pydantic import BaseModel
from langgraph_reflexion import create_reflexion
from langgraph_reflexion.support.checkpoints import LatestSaver


class Plan(BaseModel):
    steps: list[str]


class Planning(MessagesState):
    plan: Plan


def think(state):
    return {"plan": Plan(steps=["look"])}


def ask(state):
    said = interrupt("Go on?")
    return {"messages": [AIMessage(f"{said}: {state['plan'].steps}")]}


agent = StateGraph(Planning).add_sequence([think, ask]).set_entry_point("think").compile()


def go_on(saver):
    whole = create_reflexion("demo", actor=agent, evaluator=lambda result: True, strategy="retry")
    graph = whole.compile(checkpointer=saver)
    thread = {"configurable": {"thread_id": "1"}}
    graph.invoke({"task": "Look."}, thread)
    print(graph.invoke(Command(resume="yes"), thread)["result"])


with LatestSaver.open("checkpoints.db") as saver:
    allowed = [("planning", "Plan")] if "allow" in sys.argv else []
    go_on(saver.with_allowlist(allowed))
"""


def planning(folder, *args, **environment):
    """Run a wrapped agent with a pydantic model in its state up to a pause, and go on."""
    (folder / "planning.py").write_text(OWN_TYPE)
    program = [sys.executable, "-c", "import planning", *args]
    return subprocess.run(program, cwd=folder, env=os.environ | environment, capture_output=True, text=True)


@pytest.mark.slow
def test_a_type_of_an_agent_is_not_read_and_the_error_says_how_to_allow_it(tmp_path):
    done = planning(tmp_path)
    error = next(line for line in done.stderr.splitlines() if "ConfigurationError: " in line)
    assert "checkpoints.db hold a value that would call planning.Plan, which is not allowed" in error
    assert "with_allowlist" in error
    assert "LANGGRAPH_STRICT_MSGPACK=true" in error


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "environment"), [(["allow"], {}), ([], {"LANGGRAPH_STRICT_MSGPACK": "true"})], ids=["saver", "process"]
)
def test_whoever_starts_the_process_allows_a_type(args, environment, tmp_path):
    done = planning(tmp_path, *args, **environment)
    assert done.stdout == "yes: ['look']\n", done.stderr
    assert done.stderr == ""
