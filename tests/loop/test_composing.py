"""The graph in larger graphs: its schemas, limits, context and checkpointers, and its nodes connected anew."""

import json
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.channels import DeltaChannel
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolRuntime
from typing_extensions import TypedDict

from langgraph_reflexion import ConfigurationError, ReflexionState, connect, create_reflexion
from langgraph_reflexion.loop.heuristic import Heuristic
from langgraph_reflexion.loop.profiles import Rules
from langgraph_reflexion.support.checkpoints import LatestSaver, open_checkpointer
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import INPUT, THREAD, Counter, compiled, count_to, counting_badly, timeless


def long_run(**options):
    """A graph that takes 32 supersteps: more than LangGraph's own limit."""
    replies = (f"Action: add 0.0{number}" for number in range(10_000))
    options |= {"max_trials": 1, "heuristic": Heuristic(max_actions=9)}
    return compiled(lambda messages: next(replies), **options)[0]


def finished(final):
    return final["status"] == "failed" and [trial["actions"] for trial in final["trials"]] == [10]


@pytest.mark.slow
async def test_neither_callers_nor_recursion_limits_cut_it_short():
    graph = long_run()
    parent = StateGraph(ReflexionState).add_node("solve", graph).add_edge(START, "solve")

    @tool
    def reflexion() -> bool:
        """Run it."""
        return finished(graph.invoke(INPUT))

    assert finished((RunnableLambda(lambda given: given) | graph).invoke(INPUT))
    assert [trial["actions"] for trial in parent.compile().invoke(INPUT, {"recursion_limit": 10})["trials"]] == [10]
    assert reflexion.invoke({})
    assert all(map(finished, graph.batch([INPUT, INPUT])))
    assert finished(await graph.with_config(recursion_limit=5).ainvoke(INPUT))


class Noting(ReflexionState):
    """A state of the user's own, with a channel that is kept as its changes."""

    said: Annotated[list[str], DeltaChannel(lambda said, writes: [*said, *chain(*writes)], list)]


def test_latest_saver_refuses_a_channel_that_needs_history(tmp_path):
    with LatestSaver.open(tmp_path / "latest.db") as saver:
        graph = long_run(state_schema=Noting, saver=saver)
        with pytest.raises(ConfigurationError, match="DeltaChannel of said"):
            graph.invoke({**INPUT, "said": ["hello"]}, THREAD)


@pytest.mark.parametrize("kind", ["latest", "history"])
@pytest.mark.parametrize("file", ["checkpoints.db", None], ids=["file", "memory"])
async def test_opened_checkpointers_resume(kind, file, tmp_path):
    async with open_checkpointer(kind, file and tmp_path / file) as saver:
        graph, _ = compiled(["Action: add 1", "Action: add 2"], saver=saver)
        await graph.ainvoke(INPUT, THREAD, interrupt_after=["heuristic_check"])
        final = await graph.ainvoke(None, THREAD)
        assert final["status"] == "solved"
        assert len((await graph.aget_state(THREAD)).values["trajectory"]) == 2
        history = [state async for state in graph.aget_state_history(THREAD)]
        assert (len(history) == 1) is (kind == "latest" and file is not None)


def made(**options):
    return create_reflexion(ScriptedChatModel(replies=counting_badly), Counter(), **options)


RULES = Rules("mine")


def connected(nodes, rules=RULES, graph=None):
    graph = graph or StateGraph(ReflexionState)
    connect(graph, nodes, rules)
    return graph.compile()


def run(compiled):
    return compiled.invoke(INPUT, {"recursion_limit": 1000})


@pytest.mark.slow
def test_the_nodes_connected_again_are_the_same_graph():
    graph = made()
    again = connected(graph.loop, graph.rules)
    assert timeless(run(again)) == timeless(run(made().compile()))
    assert again.get_graph().draw_mermaid() == graph.compile().get_graph().draw_mermaid()
    assert "ReflexionGraph(counter, actor=react, strategy=reflexion, trials=12)" in repr(graph.compile())


class Form(TypedDict):
    target: int


class Counting(ReflexionState, total=False):
    target: int


class Outcome(TypedDict):
    status: str


def test_the_graph_can_have_its_own_input_and_output():
    loop = made().loop

    async def begin(state, config):
        task = {"task": count_to(state["target"])} if "task" not in state else {}
        return await loop["reset"]({**state, **task}, config)

    graph = StateGraph(Counting, input_schema=Form, output_schema=Outcome)
    compiled = connected({**loop, "reset": begin}, graph=graph)
    assert compiled.invoke({"target": 3}, {"recursion_limit": 1000}) == {"status": "solved"}


def test_incomplete_nodes_are_refused():
    loop = made().loop
    with pytest.raises(ConfigurationError, match=r"connect: the nodes are reset, act, .*; got reset"):
        connected({"reset": loop["reset"]})


def answering(right=True, **options):
    """A graph around an agent whose answer is right, or never is."""
    model, agent = ScriptedChatModel(replies=lambda messages: "Try again."), RunnableLambda(lambda messages: "42")
    return create_reflexion(model, actor=agent, evaluator=lambda task, result: right, **options).compile()


ASKED = {"task": "Six times seven?"}


class Article(TypedDict, total=False):
    """The state of a graph that has a task and a status of its own."""

    task: str
    status: str
    result: Any


def test_a_graph_around_it_keeps_its_own_task_and_status():
    parent = StateGraph(Article).add_node("solve", answering()).add_edge(START, "solve")
    article = ASKED | {"status": "draft"}
    assert parent.compile().invoke(article) == article | {"result": "42"}


@pytest.mark.parametrize("make", [answering, lambda: compiled([])[0]], ids=["an agent", "an environment"])
def test_its_json_schemas_show_what_is_given_and_what_comes_back(make):
    graph = make()
    given, returned = graph.get_input_jsonschema(), graph.get_output_jsonschema()
    assert given["properties"].keys() == {"task", "messages"} < returned["properties"].keys() | {"task"}
    assert not returned["properties"].keys() & {"task", "status", "episode"}
    assert len(json.dumps(given)) + len(json.dumps(returned)) < 6_000  # with the docstrings that Studio shows
    assert graph.get_context_jsonschema()["properties"].keys() == {"max_trials", "user_id", "rubric"}


@pytest.mark.parametrize(
    ("context", "says"),
    [({"max_trials": "many"}, "max_trials"), ({"max_trial": 1}, "'max_trial': it takes max_trials, user_id")],
)
async def test_a_wrong_setting_is_refused(context, says):
    with pytest.raises(ConfigurationError, match=says):
        answering(right=False).invoke(ASKED, context=context)
    with pytest.raises(ConfigurationError, match=says):
        await answering(right=False).ainvoke(ASKED, context=context)


def test_a_node_of_a_graph_ignores_other_settings_in_its_context():
    solving = answering(right=False)
    parent = StateGraph(MessagesState, context_schema=dict).add_node("solve", solving).add_edge(START, "solve")
    question = {"messages": [{"role": "user", "content": "Guess."}]}
    final = parent.compile().invoke(question, context={"max_trials": 1, "tone": "kind"})
    assert final["messages"][-1].response_metadata["reflexion"]["trials"] == 1


@dataclass
class Customer:
    """The context of an agent."""

    name: str
    max_trials: int = 1


def test_an_agents_own_context_reaches_its_tools_and_may_set_the_trials():
    names = []

    @tool
    def greet(runtime: ToolRuntime[Customer]) -> str:
        """Greet the customer."""
        names.append(runtime.context.name)
        return "Hello."

    asking = AIMessage("", tool_calls=[{"name": "greet", "args": {}, "id": "1"}])
    agent = create_agent(ScriptedChatModel(replies=[asking, "Done."]), [greet], context_schema=Customer)
    model = ScriptedChatModel(replies=[])
    graph = create_reflexion(model, actor=agent, evaluator=lambda task, result: False).compile()
    final = graph.invoke({"task": "Greet."}, context=Customer("Ann"))
    assert (names, final["trial"]) == (["Ann"], 1)
