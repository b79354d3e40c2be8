"""Running the graph from plain code, notebooks and coroutines."""

import asyncio
import json

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


async def test_a_graph_runs_inside_a_running_loop_as_in_a_notebook(expected):
    assert compiled().invoke(INPUT) == expected
    assert list(compiled().stream(INPUT, stream_mode="values"))[-1] == expected
    assert [state async for state in compiled().astream(INPUT, stream_mode="values")][-1] == expected


def test_a_graph_runs_in_plain_code_and_in_several_loops(expected):
    graph = compiled()
    for run in (graph.invoke, lambda given: asyncio.run(graph.ainvoke(given))) * 2:
        assert run(INPUT) == expected


async def test_parallel_runs_do_not_mix(expected):
    environment = SlowCounter()
    environment.seconds = 0.02
    graph = compiled(environment=environment)
    finals = await asyncio.gather(*(graph.ainvoke(INPUT) for _ in range(3)))
    assert finals == [expected] * 3


def test_every_checkpointed_state_is_json(expected, caplog):
    graph = compiled(InMemorySaver())
    assert graph.invoke(INPUT, THREAD) == expected
    states = list(graph.get_state_history(THREAD))
    assert len(states) > 30
    for state in states:
        values = {key: value for key, value in state.values.items() if not key.startswith("__")}
        assert json.loads(json.dumps(values)) == values
    assert not caplog.records
