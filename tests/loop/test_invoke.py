"""The graph runs from anywhere: plain code, a notebook, coroutines, under every checkpointer."""

import asyncio
import json
import sys

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_reflexion import create_reflexion
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import Counter, SlowCounter, Timeless, count_to, counting_badly

THREAD = {"configurable": {"thread_id": "1"}}
INPUT = {"task": count_to(3)}


def compiled(checkpointer=None, environment=None):
    model = ScriptedChatModel(replies=counting_badly)
    return create_reflexion(model, environment or Counter()).compile(checkpointer=checkpointer)


@pytest.fixture(scope="module")
def expected():
    return Timeless(compiled().invoke(INPUT))


async def test_inside_a_running_loop_as_in_a_notebook(expected):
    assert compiled().invoke(INPUT) == expected
    assert list(compiled().stream(INPUT, stream_mode="values"))[-1] == expected
    assert [state async for state in compiled().astream(INPUT, stream_mode="values")][-1] == expected


def test_one_graph_from_plain_code_and_from_two_loops(expected):
    graph = compiled()
    for run in (graph.invoke, lambda given: asyncio.run(graph.ainvoke(given))) * 2:
        assert run(INPUT) == expected


async def test_many_runs_at_once_do_not_mix(expected):
    environment = SlowCounter()
    environment.seconds = 0.02
    graph = compiled(environment=environment)
    finals = await asyncio.gather(*(graph.ainvoke(INPUT) for _ in range(3)))
    assert finals == [expected] * 3


def test_an_environment_that_exits_leaves_nobody_waiting(expected):
    class Exits(Counter):
        def start(self, task):
            sys.exit(3)

    with pytest.raises(SystemExit, match="3"):
        compiled(environment=Exits()).invoke(INPUT)
    assert compiled().invoke(INPUT) == expected


def test_every_state_in_memory_is_json(expected, caplog):
    graph = compiled(InMemorySaver())
    assert graph.invoke(INPUT, THREAD) == expected
    states = list(graph.get_state_history(THREAD))
    assert len(states) > 30
    for state in states:
        values = {key: value for key, value in state.values.items() if not key.startswith("__")}
        assert json.loads(json.dumps(values)) == values
    assert not caplog.records
