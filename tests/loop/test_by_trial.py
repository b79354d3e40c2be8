"""A list in place of a model or an agent: one for each trial, and the last for all further ones."""

from typing import Any

import pytest
from langchain.agents import AgentState, create_agent
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_reflexion import ConfigurationError, ReflexionMiddleware, WrappedAgent, create_reflexion
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import INPUT, THREAD, Counter

TASK = {"task": "How many?"}


def saying(*replies: str) -> ScriptedChatModel:
    return ScriptedChatModel(replies=[*replies])


def test_each_trial_has_its_model_and_further_ones_the_last() -> None:
    small = saying("Action: add 1", "Action: add 5", "It was too much.", "It was too much.", "Still too much.")
    large = saying("Action: add 9", "Action: add 9", "Action: add 9", "Action: add 3")
    graph = create_reflexion([small, large], Counter(limit=2), max_trials=3, strategy="reflexion")
    final = graph.compile().invoke(INPUT)
    assert [record["actions"] for record in final["trials"]] == [2, 2, 2]
    # The first also reflects.
    assert (len(small.prompts), len(large.prompts)) == (4, 4)
    assert [record["usage"]["act"]["llm_calls"] for record in final["trials"]] == [2, 2, 2]


def test_a_resumed_task_goes_on_with_the_model_of_its_trial() -> None:
    saver = InMemorySaver()

    def graph(*models: Any) -> Any:
        made = create_reflexion([*models], Counter(limit=2), max_trials=2, strategy="retry")
        return made.compile(checkpointer=saver, interrupt_before=["reset"])

    first = graph(saying("Action: add 1", "Action: add 9"), saying())
    first.invoke(INPUT, THREAD)
    first.invoke(None, THREAD)
    # In another process, after the first trial.
    unused = saying()
    second = graph(unused, saying("Action: add 3"))
    assert second.invoke(None, THREAD)["status"] == "solved"
    assert unused.prompts == []


def test_self_consistency_samples_the_model_of_the_trial() -> None:
    small = saying("Action: add 1", "Action: add 9", "Action: add 9", "Action: add 8", "Action: add 7")
    large = saying("Action: add 3", "Action: add 3", "Action: add 3", "Action: add 3")
    graph = create_reflexion(
        [small, large], Counter(limit=2), evaluator="self-consistency:3", max_trials=2, strategy="retry"
    )
    final = graph.compile().invoke(INPUT)
    assert final["status"] == "solved"
    # A trial that did not end by itself is not sampled.
    assert (len(small.prompts), len(large.prompts)) == (2, 4)


def test_each_trial_has_its_agent() -> None:
    small = create_agent(saying("One."), [])
    large = create_agent(saying("Two.", "Three."), [])
    heard: list[str] = []

    def accepts(result: str) -> bool:
        heard.append(result)
        return result == "Three."

    graph = create_reflexion(actor=[small, large], evaluator=accepts, strategy="retry", max_trials=5).compile()
    final = graph.invoke(TASK)
    assert (final["status"], heard) == ("solved", ["One.", "Two.", "Three."])
    assert create_reflexion([small, large], evaluator=accepts, strategy="retry").compile().get_graph(xray=1)


class WithFiles(AgentState[Any]):
    """The state of an agent that writes files."""

    files: dict[str, str]


def test_the_state_of_every_agent_is_passed_in_and_out() -> None:
    seen: list[Any] = []

    def write(state: WithFiles) -> dict[str, Any]:
        seen.append(state.get("files"))
        return {"messages": [AIMessage("Written.")], "files": {"out.txt": "made"}}

    builder = StateGraph(WithFiles).add_node("write", write)
    builder.add_edge(START, "write")
    writer = builder.compile()
    plain = create_agent(saying("No."), [])
    graph = create_reflexion(
        actor=[plain, writer], evaluator=lambda result: result == "Written.", strategy="retry", max_trials=2
    )
    final = graph.compile().invoke({"task": "Write.", "files": {"in.txt": "given"}})
    assert seen == [{"in.txt": "given"}]
    assert (final["status"], final["files"]) == ("solved", {"out.txt": "made"})


def test_an_agents_state_goes_on_past_one_that_lacks_it() -> None:
    seen: list[Any] = []

    def write(state: WithFiles) -> dict[str, Any]:
        files = state.get("files") or {}
        seen.append(files)
        return {"messages": [AIMessage("Written.")], "files": {**files, f"{len(seen)}.txt": "made"}}

    builder = StateGraph(WithFiles).add_node("write", write)
    builder.add_edge(START, "write")
    writer = builder.compile()

    def ask(state: dict[str, Any]) -> dict[str, Any]:
        heard.append(sorted(state))
        return {"messages": [AIMessage("No.")]}

    heard: list[Any] = []
    asking = StateGraph(MessagesState).add_node("ask", ask)
    asking.add_edge(START, "ask")
    plain = asking.compile()
    graph = create_reflexion(
        actor=[writer, plain, writer], evaluator=lambda result: False, strategy="continue", max_trials=3
    )
    final = graph.compile().invoke({"task": "Write."})
    assert seen == [{}, {"1.txt": "made"}]
    assert heard == [["messages"]]
    assert final["files"] == {"1.txt": "made", "2.txt": "made"}


def test_what_an_agent_has_left_is_in_the_final_state_whoever_ends() -> None:
    def write(state: WithFiles) -> dict[str, Any]:
        return {"messages": [AIMessage("Written.")], "files": {"out.txt": "made"}}

    builder = StateGraph(WithFiles).add_node("write", write)
    builder.add_edge(START, "write")
    seen: list[Any] = []

    def end(state: dict[str, Any]) -> dict[str, Any]:
        # A function of a state has no schema, and is given all of it.
        seen.append(state.get("files"))
        return {"messages": [*state["messages"], AIMessage("Done.")]}

    graph = create_reflexion(
        actor=[builder.compile(), create_agent(saying("Done."), [])],
        evaluator=lambda result: result == "Done.",
        strategy="continue",
        max_trials=2,
    )
    final = graph.compile().invoke({"task": "Write.", "files": {"in.txt": "given"}})
    assert (final["status"], final["files"]) == ("solved", {"out.txt": "made"})
    graph = create_reflexion(
        actor=[builder.compile(), end], evaluator=lambda result: result == "Done.", strategy="retry", max_trials=2
    )
    assert graph.compile().invoke({"task": "Write.", "files": {"in.txt": "given"}})["status"] == "solved"
    assert seen == [{"in.txt": "given"}]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"model": [], "environment": Counter()}, "model is an empty list"),
        ({"model": [saying(), 3], "environment": Counter()}, r"model\[1\]"),
        ({"model": [saying()], "actor": lambda task: "", "evaluator": lambda result: True}, "give a list of agents"),
        ({"actor": [], "evaluator": lambda result: True}, "actor is an empty list"),
        ({"actor": [lambda task: "", "react"], "evaluator": lambda result: True}, r"actor\[1\]"),
        ({"actor": [lambda task: ""]}, "an agent needs an evaluator"),
        ({"model": saying(), "environment": Counter(), "reflection_model": [saying()]}, "reflection_model"),
        ({"actor": [WrappedAgent(make=lambda task: None)], "evaluator": lambda result: True}, "needs no list"),
        (
            {
                "actor": [lambda task: "", WrappedAgent(lambda task: "", reset=lambda task: None)],
                "evaluator": lambda result: True,
            },
            "give that one reset=",
        ),
    ],
)
def test_wrong_lists_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        create_reflexion(**given)


def test_the_middleware_refuses_a_list_with_its_reason() -> None:
    with pytest.raises(ConfigurationError, match="the agent acts with its own in all trials"):
        ReflexionMiddleware([saying()], evaluator=lambda result: True)
