"""LangGraph's own rules: recursion limits that nobody chose, parents, and what checkpointers keep."""

from itertools import chain
from typing import Annotated

import pytest
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.channels import DeltaChannel
from langgraph.graph import START, StateGraph

from langgraph_reflexion import ConfigurationError, ReflexionState, create_reflexion
from langgraph_reflexion.checkpoints import LatestSaver, open_checkpointer
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import Counter


def long_run(**options):
    """A graph that takes 95 supersteps, and its input."""
    environment = Counter(limit=100)
    replies = iter(range(10_000))
    model = ScriptedChatModel(replies=lambda messages: f"Action: add 0.0{next(replies)}")

    def never_well(instruction, trajectory):
        return False

    graph = create_reflexion(model, environment, max_trials=1, evaluator=never_well, strategy="retry", **options)
    return graph, {"task": environment.tasks()[0]}


def finished(final):
    return final["status"] == "failed" and final["trial"] == 1 and final["trials"][-1]["actions"] == 31


def test_inside_a_runnable_a_tool_a_pipe_and_a_node_it_runs_to_its_end():
    builder, task = long_run()
    graph = builder.compile()
    parent = StateGraph(ReflexionState)
    parent.add_node("solve", graph)
    parent.add_edge(START, "solve")

    @tool
    def reflexion() -> bool:
        """Run it."""
        return finished(graph.invoke(task))

    assert finished(RunnableLambda(lambda given: graph.invoke(given)).invoke(task))
    assert finished((RunnableLambda(lambda given: given) | graph).invoke(task))
    [trial] = parent.compile().invoke(task, {"recursion_limit": 10})["trials"]
    assert trial["actions"] == 31
    assert reflexion.invoke({})


async def test_a_limit_that_a_front_end_sets_does_not_cut_it_short():
    builder, task = long_run()
    graph = builder.compile()
    assert all(map(finished, graph.batch([task, task])))
    assert finished(await graph.ainvoke(task, {"recursion_limit": 25}))
    assert finished(await graph.with_config(recursion_limit=5).ainvoke(task))


class Noting(ReflexionState):
    """A state of the user's own, with a channel that is kept as its changes."""

    said: Annotated[list[str], DeltaChannel(lambda said, writes: [*said, *chain(*writes)], list)]


def test_latest_saver_refuses_a_channel_that_needs_history(tmp_path):
    builder, task = long_run(state_schema=Noting)
    with LatestSaver.open(tmp_path / "latest.db") as saver:
        graph = builder.compile(checkpointer=saver)
        with pytest.raises(ConfigurationError, match="DeltaChannel of said"):
            graph.invoke({**task, "said": ["hello"]}, {"configurable": {"thread_id": "1"}})


@pytest.mark.parametrize("kind", ["latest", "history"])
@pytest.mark.parametrize("file", ["checkpoints.db", None], ids=["file", "memory"])
async def test_opened_checkpointers_resume(kind, file, tmp_path):
    environment = Counter()
    where = None if file is None else tmp_path / file
    config = {"configurable": {"thread_id": "1"}}
    async with open_checkpointer(kind, where) as saver:
        model = ScriptedChatModel(replies=["Action: add 1", "Action: add 2"])
        graph = create_reflexion(model, environment).compile(checkpointer=saver)
        await graph.ainvoke({"task": environment.tasks()[0]}, config, interrupt_after=["heuristic_check"])
        final = await graph.ainvoke(None, config)
        assert final["status"] == "solved"
        assert len((await graph.aget_state(config)).values["trajectory"]) == 2
        history = [state async for state in graph.aget_state_history(config)]
        assert (len(history) == 1) is (kind == "latest" and file is not None)
