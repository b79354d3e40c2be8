"""Checkpoints in Postgres, on a server that the test starts."""

import importlib.util

import pytest

from langgraph_reflexion import ConfigurationError, create_reflexion
from langgraph_reflexion.checkpoints import open_checkpointer
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.postgres_server import postgres_server
from tests.support.toys import Counter

needs_extra = pytest.mark.skipif(
    importlib.util.find_spec("psycopg") is None, reason="needs the extra: pip install 'langgraph-reflexion[postgres]'"
)
needs_server = pytest.mark.needs("PostgreSQL")


@pytest.fixture(scope="module")
def database():
    with postgres_server() as url:
        yield url


def build(saver):
    model = ScriptedChatModel(replies=["Action: add 1", "Action: add 2"])
    return create_reflexion(model, Counter()).compile(checkpointer=saver)


@needs_extra
@needs_server
@pytest.mark.parametrize("kind", ["latest", "history"])
async def test_it_resumes_mid_trial_from_another_connection(kind, database):
    config = {"configurable": {"thread_id": kind}}
    async with open_checkpointer(kind, database) as saver:
        await build(saver).ainvoke({"task": Counter().tasks()[0]}, config, interrupt_after=["heuristic_check"])
    async with open_checkpointer(kind, database) as saver:
        model = ScriptedChatModel(replies=["Action: add 2"])
        graph = create_reflexion(model, Counter()).compile(checkpointer=saver)
        final = await graph.ainvoke(None, config)
        assert final["status"] == "solved"
        assert [step["action"]["text"] for step in final["trajectory"]] == ["add 1", "add 2"]
        kept = [state async for state in graph.aget_state_history(config)]
        assert (len(kept) == 1) is (kind == "latest")


@needs_extra
@pytest.mark.long
async def test_a_server_that_is_not_there_is_a_clear_error():
    with pytest.raises(ConfigurationError, match="cannot be reached"):
        async with open_checkpointer("latest", "postgresql://nobody@127.0.0.1:9/none"):
            pass
