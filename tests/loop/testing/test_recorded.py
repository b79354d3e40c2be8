"""Runs that are recorded once, and replayed from the file."""

import asyncio
import json

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_reflexion import ConfigurationError, ModelOptions, ReflexionError, create_reflexion
from langgraph_reflexion.retries import Retries
from langgraph_reflexion.testing import MissingReply, RecordedChatModel, Recorder, ScriptedChatModel
from tests.support.toys import Counter, count_to

USED = {"input_tokens": 90, "output_tokens": 10, "total_tokens": 100}
SAYS = [
    AIMessage("Thought: just one.\nAction: add 1", usage_metadata=USED),
    "Action: add 5",
    "Count first: zoë said 2.",
    "Action: add 2",
]


def asks(goal):
    """Fails the first trial, and solves the second."""
    return ScriptedChatModel(replies=[*SAYS[:-1], f"Action: add {goal}"])


def graph(model, **options):
    options = {"heuristic": lambda steps: "enough" if len(steps) > 1 else None, "max_trials": 2, **options}
    return create_reflexion(model, Counter(), **options)


def same(final):
    return {key: final[key] for key in ("status", "trial", "trajectory", "reflections", "usage")}


async def recorded(path, goal=2, **options):
    config = {"callbacks": [Recorder(path)]}
    return await graph(asks(goal), **options).compile().ainvoke({"task": count_to(goal)}, config)


async def test_a_recorded_run_comes_out_the_same(tmp_path):
    path = tmp_path / "recording.jsonl"
    final = await recorded(path)
    assert (final["status"], final["trial"]) == ("solved", 2)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [(row["trial"], row["call"]) for row in rows] == [(1, "act 0"), (1, "act 1"), (1, "reflect"), (2, "act 0")]
    assert rows[0]["usage"] == {"input_tokens": 90, "output_tokens": 10}
    again = await graph(RecordedChatModel(recording=path)).compile().ainvoke({"task": count_to(2)})
    assert same(again) == same(final)


async def test_tool_calls_are_recorded_too(tmp_path):
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


async def test_many_tasks_at_once_get_each_its_own(tmp_path):
    path = tmp_path / "recording.jsonl"
    finals = [await recorded(path, goal) for goal in range(2, 8)]
    replaying = graph(RecordedChatModel(recording=path)).compile()
    again = await asyncio.gather(*(replaying.ainvoke({"task": count_to(goal)}) for goal in range(2, 8)))
    assert [same(final) for final in again] == [same(final) for final in finals]


async def test_a_run_that_was_stopped_goes_on_with_the_file(tmp_path):
    path = tmp_path / "recording.jsonl"
    final = await recorded(path)
    saver, config = InMemorySaver(), {"configurable": {"thread_id": "1"}}
    stopped = graph(RecordedChatModel(recording=path)).compile(checkpointer=saver, interrupt_after=["reflect"])
    await stopped.ainvoke({"task": count_to(2)}, config)
    again = await graph(RecordedChatModel(recording=path)).compile(checkpointer=saver).ainvoke(None, config)
    assert same(again) == same(final)


async def test_a_call_without_a_reply_ends_the_run_and_is_named(tmp_path):
    path = tmp_path / "recording.jsonl"
    await recorded(path)
    path.write_text("\n".join(path.read_text(encoding="utf-8").split("\n")[:2]), encoding="utf-8")
    task = count_to(2)
    with pytest.raises(MissingReply, match=rf"no reply to the call 'reflect' of trial 1 of {task['id']}"):
        await graph(RecordedChatModel(recording=path)).compile().ainvoke({"task": task})
    assert issubclass(MissingReply, ReflexionError)


async def test_the_same_call_gets_the_same_reply_and_the_last_one_recorded():
    place = {"task": count_to(1)["id"], "trial": 1, "call": "act 0"}
    model = RecordedChatModel(recording=[{**place, "reply": "Action: add 3"}, {**place, "reply": "Action: add 1"}])
    for _ in range(2):
        final = await graph(model, options=ModelOptions(Retries(1))).compile().ainvoke({"task": count_to(1)})
        assert final["status"] == "solved"


def test_a_call_from_elsewhere_is_none_of_the_recording():
    with pytest.raises(MissingReply, match="nodes only"):
        RecordedChatModel(recording=[]).invoke("?")
    model = RecordedChatModel(recording=[{"task": "t", "trial": 2, "call": "plan", "reply": "Here."}])
    place = {"reflexion_task": "t", "reflexion_trial": 2, "reflexion_call": "plan"}
    assert model.invoke("?", {"metadata": place}).text == "Here."


async def test_what_failed_and_what_is_no_call_of_the_graph_is_not_recorded(tmp_path):
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
    [
        ("{", "line 1"),
        ('\n{"task": "t"}\n', "line 2.*has `task`, `trial`"),
        ("[]", "line 1"),
        (b"\xff", "cannot be read"),
    ],
)
def test_what_is_no_recording_is_refused(tmp_path, text, why):
    path = tmp_path / "recording.jsonl"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigurationError, match=why):
        RecordedChatModel(recording=path)
    with pytest.raises(ConfigurationError, match=r"has `task`, `trial`"):
        RecordedChatModel(recording=[{"task": "t"}])
