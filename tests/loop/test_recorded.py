"""Recorded runs that are replayed from a file, and scripted models."""

import json

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_reflexion import ConfigurationError, ModelOptions, ReflexionError, create_reflexion
from langgraph_reflexion.retries import Retries
from langgraph_reflexion.testing import MissingReply, RecordedChatModel, Recorder, ScriptedChatModel, ScriptExhausted
from tests.support.toys import Counter, count_to

USED = {"input_tokens": 90, "output_tokens": 10, "total_tokens": 100}
SAYS = [
    AIMessage("Thought: just one.\nAction: add 1", usage_metadata=USED),
    "Action: add 5",
    "Count first: zoë said 2.",
    "Action: add 2",
]


def graph(model, **options):
    options = {"heuristic": lambda steps: "enough" if len(steps) > 1 else None, "max_trials": 2, **options}
    return create_reflexion(model, Counter(), **options)


def same(final):
    return {key: final[key] for key in ("status", "trial", "trajectory", "reflections", "usage")}


async def recorded(path):
    """Record a run that fails its first trial and solves the second."""
    config = {"callbacks": [Recorder(path)]}
    return await graph(ScriptedChatModel(replies=SAYS)).compile().ainvoke({"task": count_to(2)}, config)


async def test_a_recorded_run_is_replayed_the_same_also_after_a_stop(tmp_path):
    path = tmp_path / "recording.jsonl"
    final = await recorded(path)
    assert (final["status"], final["trial"]) == ("solved", 2)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [(row["trial"], row["call"]) for row in rows] == [(1, "act 0"), (1, "act 1"), (1, "reflect"), (2, "act 0")]
    assert rows[0]["usage"] == {"input_tokens": 90, "output_tokens": 10}
    saver, config = InMemorySaver(), {"configurable": {"thread_id": "1"}}
    stopped = graph(RecordedChatModel(recording=path)).compile(checkpointer=saver, interrupt_after=["reflect"])
    await stopped.ainvoke({"task": count_to(2)}, config)
    again = await graph(RecordedChatModel(recording=path)).compile(checkpointer=saver).ainvoke(None, config)
    assert same(again) == same(final)


async def test_tool_calls_are_recorded(tmp_path):
    path = tmp_path / "recording.jsonl"
    call = {"name": "add", "args": {"amount": 2}, "id": "one"}
    model = ScriptedChatModel(replies=[AIMessage("At once.", tool_calls=[call])], callbacks=[Recorder(path)])
    final = await graph(model, actor="tools").compile().ainvoke({"task": count_to(2)})
    assert final["status"] == "solved"
    assert json.loads(path.read_text(encoding="utf-8"))["tool_calls"] == [call]
    again = (
        await graph(RecordedChatModel(recording=str(path)), actor="tools").compile().ainvoke({"task": count_to(2)})
    )
    assert same(again) == same(final)


async def test_a_call_without_a_recorded_reply_ends_the_run_and_is_named(tmp_path):
    path = tmp_path / "recording.jsonl"
    await recorded(path)
    path.write_text("\n".join(path.read_text(encoding="utf-8").split("\n")[:2]), encoding="utf-8")
    task = count_to(2)
    with pytest.raises(MissingReply, match=rf"no reply to the call 'reflect' of trial 1 of {task['id']}"):
        await graph(RecordedChatModel(recording=path)).compile().ainvoke({"task": task})
    assert issubclass(MissingReply, ReflexionError)


def test_a_call_from_outside_the_graph_gets_the_last_reply_recorded_for_its_place():
    with pytest.raises(MissingReply, match="nodes only"):
        RecordedChatModel(recording=[]).invoke("?")
    row = {"task": "t", "trial": 2, "call": "plan"}
    model = RecordedChatModel(recording=[{**row, "reply": "No."}, {**row, "reply": "Here."}])
    place = {"reflexion_task": "t", "reflexion_trial": 2, "reflexion_call": "plan"}
    assert [model.invoke("?", {"metadata": place}).text for _ in range(2)] == ["Here."] * 2


async def test_failed_calls_and_calls_outside_the_graph_are_not_recorded(tmp_path):
    path = tmp_path / "recording.jsonl"
    model = ScriptedChatModel(
        replies=[OSError("down"), "Half \ud800.\nAction: add 1", "Hello."], callbacks=[Recorder(path)]
    )
    options = ModelOptions(Retries(2, first_wait=0))
    final = await graph(model, options=options).compile().ainvoke({"task": count_to(1)})
    assert final["status"] == "solved"
    model.invoke("Hi.")
    assert len(path.read_text(encoding="utf-8").splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "why"),
    [(b"{", "line 1"), (b'\n{"task": "t"}\n', "line 2.*has `task`, `trial`"), (b"\xff", "is not UTF-8")],
)
def test_an_invalid_recording_is_refused(tmp_path, text, why):
    path = tmp_path / "recording.jsonl"
    path.write_bytes(text)
    with pytest.raises(ConfigurationError, match=why):
        RecordedChatModel(recording=path)


async def test_a_script_without_replies_left_ends_the_run_and_is_no_fault():
    with pytest.raises(ScriptExhausted, match="no reply left: it has 1,"):
        await graph(ScriptedChatModel(replies=["Action: add 1"])).compile().ainvoke({"task": count_to(3)})
    assert issubclass(ScriptExhausted, ReflexionError)
