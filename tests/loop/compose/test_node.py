"""In a larger graph: in a node of another state, and as a subgraph."""

from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from tests.support import compositions as ways
from tests.support.composing import SOLVED, TASK, THREAD, Guessing, call


def test_in_a_node_of_a_graph_with_another_state() -> None:
    guessing = Guessing()
    way = ways.node(guessing)
    final = way.graph.invoke(way.input)
    assert final == {"question": f"{TASK} Please.", "answer": "It is 3.", "trials": 3}
    guessing.expect_lessons()


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_as_a_subgraph_the_task_and_the_answer_are_messages(how: str) -> None:
    guessing = Guessing()
    way = ways.subgraph(guessing)
    # A limit of the larger graph is meant for its own steps.
    limit: Any = {"recursion_limit": 5}
    final = way.graph.invoke(way.input, limit) if how == "invoke" else await way.graph.ainvoke(way.input, limit)
    [question, answer] = final["messages"]
    assert (question.text, answer.text) == (TASK, "It is 3.")
    assert answer.response_metadata["reflexion"] == SOLVED
    assert set(final) == {"messages"}
    guessing.expect_lessons()


def test_the_steps_of_a_subgraph_are_seen() -> None:
    way = ways.subgraph(Guessing())
    seen = [
        ("/".join(part.partition(":")[0] for part in namespace), next(iter(update)))
        for namespace, update in way.graph.stream(way.input, stream_mode="updates", subgraphs=True)
    ]
    trial = [("solve/act", "model"), ("solve/act", "tools"), ("solve/act", "model"), ("solve", "act")]
    trial += [("solve", "observe"), ("solve", "heuristic_check"), ("solve", "evaluate")]
    assert seen == [
        ("solve", "reset"), *trial, ("solve", "reflect"), ("solve", "reset"), *trial, ("solve", "reflect"),
        ("solve", "reset"), *trial, ("", "solve"),
    ]  # fmt: skip


def test_each_run_of_the_larger_graph_is_a_task_of_its_own() -> None:
    guessing = Guessing()
    way = ways.subgraph(guessing, InMemorySaver())
    way.graph.invoke(way.input, THREAD)
    final = way.graph.invoke({"messages": [HumanMessage(TASK)]}, THREAD)
    assert [message.text for message in final["messages"]] == [TASK, "It is 3."] * 2
    assert final["messages"][-1].response_metadata["reflexion"] == SOLVED
    assert len(guessing.guesses.prompts) == 12


def test_an_agent_that_raises_ends_the_task_and_not_the_larger_graph() -> None:
    @tool
    def look_up(number: int) -> str:
        """Look a number up."""
        raise OSError("the book is gone")

    way = ways.subgraph(Guessing(tool=look_up))
    final = way.graph.invoke(way.input)
    [_, answer] = final["messages"]
    assert answer.text == "the agent failed: OSError: the book is gone"
    assert answer.response_metadata["reflexion"]["status"] == "fault"


def test_an_agent_that_loops_ends_its_trials_and_not_the_larger_graph() -> None:
    guessing = Guessing()
    guessing.guesses.replies = lambda messages: call("look_up", number=1)
    way = ways.subgraph(guessing)
    [_, answer] = way.graph.invoke(way.input)["messages"]
    outcome = answer.response_metadata["reflexion"]
    assert (outcome["status"], outcome["trials"]) == ("failed", 12)


@pytest.mark.parametrize("nothing", ["", " "])
def test_an_agent_that_returns_nothing_has_failed(nothing: str) -> None:
    guessing = Guessing()
    guessing.guesses.replies = lambda messages: nothing
    way = ways.subgraph(guessing)
    [_, answer] = way.graph.invoke(way.input)["messages"]
    assert answer.response_metadata["reflexion"]["status"] == "failed"
