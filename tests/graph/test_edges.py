"""Edges that read less of the state lead where LangGraph's own reading of it leads."""

import asyncio
import operator
from typing import Annotated, Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

from langgraph_reflexion import create_reflexion
from langgraph_reflexion.graph import edges
from langgraph_reflexion.graph.state import ReflexionState
from langgraph_reflexion.models.retries import Retries
from langgraph_reflexion.testing import ScriptedChatModel
from tests.toys import Breaking, Counter, Timeless, count_to, counting_badly

THREAD = {"configurable": {"thread_id": "1"}}
TASK = {"task": count_to(3)}
NODES = ["reset", "act", "observe", "heuristic_check", "evaluate", "reflect"]


def made(environment=None, replies=counting_badly, **options):
    model = ScriptedChatModel(replies=replies)
    return create_reflexion(
        model, environment or Counter(), retries=Retries(1), **{"strategy": "reflexion", **options}
    )


def lean(graph, **options):
    return graph.compile(checkpointer=InMemorySaver(), **options)


def plain(graph, **options):
    """The same graph with the edges that LangGraph makes."""
    compiled = StateGraph.compile(graph, checkpointer=InMemorySaver(), **options)
    return compiled.with_config(recursion_limit=1000)


def way(graph, start=TASK):
    """The nodes, in order."""
    return [node for update in graph.stream(start, THREAD) for node in update]


async def away(graph, start=TASK):
    return [node async for update in graph.astream(start, THREAD) for node in update]


WAYS = {
    "reflexion": lambda: made(),
    "retry": lambda: made(strategy="retry", replies=["Action: read[]"] * 60),
    "the environment does not start again": lambda: made(Breaking(2)),
    "an action breaks the environment": lambda: made(replies=["Action: fail"]),
    "the model answers with nothing": lambda: made(replies=[""]),
    "no reflection is to be had": lambda: made(replies=[*["Action: read[]"] * 4, ""]),
}


@pytest.mark.parametrize("case", WAYS)
def test_the_way_is_the_same(case):
    graph, reference = lean(WAYS[case]()), plain(WAYS[case]())
    nodes = way(graph)
    assert nodes == way(reference)
    assert graph.get_state(THREAD).values == Timeless(reference.get_state(THREAD).values)
    assert asyncio.run(away(lean(WAYS[case]()))) == nodes


UPDATES: list[Any] = [
    {},
    {"notes": ["a person looked at it"]},
    {"fault": "the power is gone"},
    {"fault": ""},
    {"status": "solved"},
    {"status": "running"},
    {"stop_reason": "loop"},
    {"stop_reason": None},
    {"status": "fault", "fault": "gone", "stop_reason": "fault"},
]


@pytest.mark.parametrize("stop", NODES)
def test_what_a_person_writes_as_a_node_leads_to_the_same_next_node(stop):
    nexts = []
    for graph in (lean(made(), interrupt_after=[stop]), plain(made(), interrupt_after=[stop])):
        graph.invoke(TASK, THREAD)
        before = graph.get_state(THREAD).config
        forks = [graph.update_state(before, values, as_node=node) for values in UPDATES for node in NODES]
        nexts.append([graph.get_state(fork).next for fork in forks])
    assert nexts[0] == nexts[1]
    assert len(set(nexts[0])) > 4


def test_conditional_edges_of_ones_own_see_the_whole_state():
    seen = []

    def beside(state):
        seen.append(sorted(state))
        return END if state["trial"] == 2 else "reset"

    ways = []
    for compiled in (lean, plain):
        graph = made(strategy="retry", replies=["Action: read[]"] * 8)
        del graph.branches["evaluate"]
        graph.add_conditional_edges("evaluate", beside, ["reset", END])
        ways.append(way(compiled(graph)))
    assert ways[0] == ways[1]
    assert seen[:2] == seen[2:]


def test_a_graph_may_be_compiled_twice_and_is_drawn_as_ever():
    graph = made()
    drawings = [lean(graph).get_graph().draw_mermaid() for _ in range(2)]
    assert drawings == [plain(made()).get_graph().draw_mermaid()] * 2
    assert way(lean(graph)) == way(lean(made()))


class Signed(ReflexionState, total=False):
    """A state of the user's own."""

    signed: Annotated[list[str], operator.add]


def test_people_sub_graphs_and_states_of_ones_own():
    ways = []
    for compiled in (lean, plain):
        inner = made(state_schema=Signed, approve_actions=["add"], approve_reflections=True)
        outer = StateGraph(Signed)
        outer.add_node("agent", compiled(inner) if compiled is plain else inner.compile())
        outer.add_node("sign", lambda state: {"signed": [state["status"]]})
        outer.add_edge(START, "agent")
        outer.add_edge("agent", "sign")
        graph = outer.compile(checkpointer=InMemorySaver())
        start, nodes = TASK, []
        for _ in range(20):
            for _, update in graph.stream(start, THREAD | {"recursion_limit": 1000}, subgraphs=True):
                nodes += update
            if not (asked := graph.get_state(THREAD).interrupts):
                break
            start = Command(resume="approve", update={"signed": [asked[0].value["kind"]]})
        assert graph.get_state(THREAD).values["signed"][-1] == "solved"
        ways.append(nodes)
    assert ways[0] == ways[1]
    assert ways[0].count("__interrupt__") == 10


def test_where_langgraph_keeps_its_reading_elsewhere_it_is_asked_as_ever():
    graph, config = lean(made()), {}
    edge = graph.builder.branches["evaluate"]["after_evaluate"]
    run = edge.run(lambda ends, static: [], lambda config: {"status": "running"})
    assert edges.READ not in config
    assert run.kwargs["reader"](config) == {"status": "running"}
    assert run.kwargs["reader"]({"configurable": {}}) == {"status": "running"}
