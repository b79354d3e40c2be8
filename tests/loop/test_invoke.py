"""The graph runs from anywhere: plain code, a notebook, coroutines, under every checkpointer."""

import asyncio
import json
import os
import subprocess
import sys
import textwrap

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from langgraph_reflexion import create_reflexion
from langgraph_reflexion.checkpoints import LatestSaver
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import Counter, Notebook, SlowCounter, Timeless, count_to, counting_badly

THREAD = {"configurable": {"thread_id": "1"}}
INPUT = {"task": count_to(3)}


def compiled(checkpointer=None, environment=None):
    model = ScriptedChatModel(replies=counting_badly)
    return create_reflexion(model, environment or Counter()).compile(checkpointer=checkpointer)


@pytest.fixture(scope="module")
def expected():
    return Timeless(compiled().invoke(INPUT))


def test_plain(expected):
    assert expected.state["status"] == "solved"
    assert len(expected.state["trials"]) == 3


async def test_inside_a_running_loop_as_in_a_notebook(expected):
    assert compiled().invoke(INPUT) == expected
    assert list(compiled().stream(INPUT, stream_mode="values"))[-1] == expected


async def test_ainvoke_and_astream(expected):
    assert await compiled().ainvoke(INPUT) == expected
    assert [state async for state in compiled().astream(INPUT, stream_mode="values")][-1] == expected


def test_one_graph_from_plain_code_and_from_two_loops(expected):
    graph = compiled()
    assert graph.invoke(INPUT) == expected
    assert asyncio.run(graph.ainvoke(INPUT)) == expected
    assert asyncio.run(graph.ainvoke(INPUT)) == expected
    assert graph.invoke(INPUT) == expected


async def test_many_runs_at_once_do_not_mix(expected):
    graph = compiled(environment=SlowCounter())
    finals = await asyncio.gather(*(graph.ainvoke(INPUT) for _ in range(5)))
    assert finals == [expected] * 5


def test_batch(expected):
    # langchain-core passes a limit of 25 supersteps on in `batch`, unless one is given.
    assert compiled().batch([INPUT, INPUT], {"recursion_limit": 1000}) == [expected, expected]


@pytest.mark.parametrize("mode", ["updates", "values", "messages", "debug"])
def test_every_stream_mode(mode):
    assert len(list(compiled().stream(INPUT, stream_mode=mode))) > 10


def test_an_environment_that_blocks(expected):
    assert compiled(environment=SlowCounter()).invoke(INPUT) == expected


class OnlySync(BaseChatModel):
    @property
    def _llm_type(self):
        return "only sync"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        assert not kwargs
        return ChatResult(generations=[ChatGeneration(message=AIMessage(counting_badly(messages)))])


async def test_a_model_without_coroutines(expected):
    graph = create_reflexion(OnlySync(), Counter()).compile()
    assert graph.invoke(INPUT) == expected
    assert await graph.ainvoke(INPUT) == expected


def test_an_environment_that_exits_leaves_nobody_waiting(expected):
    class Exits(Counter):
        def start(self, task):
            sys.exit(3)

    with pytest.raises(SystemExit, match="3"):
        compiled(environment=Exits()).invoke(INPUT)
    assert compiled().invoke(INPUT) == expected


# Checkpointers.


def json_through_and_through(graph):
    states = list(graph.get_state_history(THREAD))
    for state in states:
        values = {key: value for key, value in state.values.items() if not key.startswith("__")}
        assert json.loads(json.dumps(values)) == values
    return len(states)


def test_in_memory(expected, caplog):
    graph = compiled(InMemorySaver())
    assert graph.invoke(INPUT, THREAD) == expected
    assert json_through_and_through(graph) > 30
    assert not caplog.records


def test_sqlite(expected, tmp_path, caplog):
    with SqliteSaver.from_conn_string(str(tmp_path / "run.db")) as saver:
        graph = compiled(saver)
        assert graph.invoke(INPUT, THREAD) == expected
        assert json_through_and_through(graph) > 30
    with SqliteSaver.from_conn_string(str(tmp_path / "run.db")) as saver:
        assert compiled(saver).get_state(THREAD).values == expected
    assert not caplog.records


async def test_async_sqlite(expected, tmp_path, caplog):
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "run.db")) as saver:
        graph = compiled(saver)
        assert await graph.ainvoke(INPUT, THREAD) == expected
        assert (await graph.aget_state(THREAD)).values == expected
    assert not caplog.records


async def test_the_latest_saver_resumes_from_anywhere(expected, tmp_path):
    for cut in (1, 5, 17, 24):
        with LatestSaver.open(tmp_path / f"{cut}.db") as saver:
            stream = compiled(saver).astream(INPUT, THREAD)
            for _ in range(cut):
                await anext(stream)
            await stream.aclose()
        with LatestSaver.open(tmp_path / f"{cut}.db") as saver:
            graph = compiled(saver)
            assert graph.get_state(THREAD).values["status"] == "running"
            assert await graph.ainvoke(None, THREAD) == expected
            assert len(list(saver.list(THREAD))) == 1


def test_an_environment_with_snapshots(tmp_path):
    model = ScriptedChatModel(replies=["Action: write a", "Action: write b", "Action: show", "Action: show"])
    with SqliteSaver.from_conn_string(str(tmp_path / "run.db")) as saver:
        stop = lambda steps: "enough" if len(steps) == 4 else None  # noqa: E731
        graph = create_reflexion(model, Notebook(), max_trials=1, heuristic=stop).compile(checkpointer=saver)
        final = graph.invoke({"task": Notebook().tasks()[0]}, THREAD)
        assert final["episode"]["snapshot"]["lines"] == ["a", "b"]
        json_through_and_through(graph)


def test_strict_and_without_any_warning():
    script = """
        import sys
        from langgraph.checkpoint.memory import InMemorySaver
        from langgraph_reflexion import create_reflexion
        from langgraph_reflexion.testing import ScriptedChatModel
        from tests.support.toys import Counter, count_to, counting_badly

        graph = create_reflexion(
            ScriptedChatModel(replies=counting_badly), Counter(), strategy="last_attempt_and_reflexion"
        ).compile(checkpointer=InMemorySaver(), interrupt_before=["observe", "reset"])
        config = {"configurable": {"thread_id": "1"}}
        final = graph.invoke({"task": count_to(3)}, config)
        while graph.get_state(config).next:
            final = graph.invoke(None, config)
        list(graph.get_state_history(config))
        print(final["status"], len(final["trials"]), "langchain_openai" in sys.modules)
    """
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(script)],
        env={**os.environ, "LANGGRAPH_STRICT_MSGPACK": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout.strip(), done.stderr) == ("solved 3 False", "")
