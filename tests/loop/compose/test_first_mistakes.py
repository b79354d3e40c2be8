"""The mistakes that people make first: what they are told, or that it is none."""

import math
from dataclasses import replace

import numpy as np
import pytest
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from langgraph_reflexion import ConfigurationError, Lessons, ReflexionMiddleware, WrappedAgent, create_reflexion
from langgraph_reflexion.loop.profiles import PROFILES
from langgraph_reflexion.testing import ScriptedChatModel


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("agent", "actor=AGENT"),
        ("lessons", r"memory=Memory\(lessons="),
        ("reset", r"WrappedAgent\(AGENT, reset="),
        ("checkpointer", r"compile\(checkpointer="),
        ("evaluater", "evaluator"),
    ],
)
def test_an_unknown_argument_says_where_it_belongs(name, says):
    with pytest.raises(ConfigurationError, match=rf"no argument '{name}' \(did you mean .*{says}"):
        create_reflexion("demo", **{name: object()})


def test_an_agent_in_the_first_place_is_the_actor():
    agent = create_agent(ScriptedChatModel(replies=["29"]), [])
    final = create_reflexion(agent, evaluator=lambda result: result == "29").compile().invoke({"task": "q"})
    assert final["status"] == "solved"


@pytest.mark.parametrize("strategy", ["retry", "feedback", "last_attempt"])
def test_a_function_whose_check_is_code_needs_no_model_unless_it_reflects(strategy):
    said = iter(["Paris", "Rome"])
    options = {"actor": lambda text: next(said), "evaluator": lambda result: (result == "Rome", "Not there.")}
    final = create_reflexion(strategy=strategy, **options).compile().invoke({"task": "Where?"})
    assert (final["status"], final["trial"]) == ("solved", 2)


@pytest.mark.parametrize(
    "options",
    [
        {"strategy": "reflexion"},
        {"strategy": "retry", "evaluator": "llm"},
        {"strategy": "retry", "memory": Lessons()},
        {"reflection_model": lambda feedback: "Say Rome.", "memory": Lessons()},
    ],
    ids=["reflections", "a judge", "lessons", "lessons beside a function"],
)
def test_what_a_model_writes_needs_one(options):
    given = {"actor": lambda text: "Paris", "evaluator": lambda result: False} | options
    with pytest.raises(ConfigurationError, match="create_reflexion needs model=") as caught:
        create_reflexion(**given)
    assert ("strategy='retry' needs none" in str(caught.value)) == (options == {"strategy": "reflexion"})


@pytest.mark.parametrize("method", ["invoke", "ainvoke", "stream", "batch"])
def test_a_graph_that_is_not_compiled_says_so(method):
    graph = create_reflexion("demo", "alfworld")
    with pytest.raises(AttributeError, match=rf"\.compile\(\)\.{method}"):
        getattr(graph, method)


def judged_by(evaluator, how, **compiling):
    """A graph or an agent under the middleware that answers Rome, with this evaluator."""
    model = ScriptedChatModel(replies=["Rome"] * 2)
    if how == "graph":
        return create_reflexion(actor=create_agent(model, []), evaluator=evaluator, max_trials=1).compile(**compiling)
    return create_agent(model, [], middleware=[ReflexionMiddleware(model, evaluator=evaluator)], **compiling)


@pytest.mark.parametrize("take", [create_reflexion, lambda graph: create_reflexion(actor=graph), WrappedAgent])
def test_an_agent_that_is_not_compiled_says_so(take):
    agent = StateGraph(MessagesState).add_node("answer", lambda state: state).add_edge(START, "answer")
    for graph in (agent, create_reflexion("demo", "alfworld")):
        with pytest.raises(ConfigurationError, match=r"not \w+Graph: compile it first, with \.compile\(\)"):
            take(graph)


ASKED = {"messages": [("human", "Where?")]}
SCORES = r"scores are at most 1.*threshold="


def approving(result):
    return interrupt(f"Is {result} right?")


@pytest.mark.parametrize("how", ["graph", "middleware"])
def test_an_evaluator_that_pauses_without_a_checkpointer_says_what_to_pass(how):
    with pytest.raises(ConfigurationError, match=r"the evaluator paused.*compile\(checkpointer=.*thread_id"):
        judged_by(approving, how).invoke(ASKED)


@pytest.mark.parametrize("how", ["graph", "middleware"])
def test_an_evaluator_that_pauses_is_resumed_with_a_checkpointer(how):
    graph, thread = judged_by(approving, how, checkpointer=InMemorySaver()), {"configurable": {"thread_id": "1"}}
    assert graph.invoke(ASKED, thread)["__interrupt__"][0].value == "Is Rome right?"
    final = graph.invoke(Command(resume=True), thread)
    assert final["messages"][-1].response_metadata["reflexion"]["status"] == "solved"


@pytest.mark.parametrize("how", ["graph", "middleware"])
@pytest.mark.parametrize(
    ("returned", "error", "says"),
    [
        (7, ConfigurationError, SCORES),
        ((1.01, "Good."), ConfigurationError, SCORES),
        (10**400, ValueError, "a finite score, not inf"),
        ({"score": -(10**400)}, ValueError, "a finite score, not -inf"),
        (math.nan, ValueError, "a finite score, not nan"),
    ],
)
def test_a_score_on_another_scale_is_not_a_success(how, returned, error, says):
    with pytest.raises(error, match=says):
        judged_by(lambda result: returned, how).invoke(ASKED)


@pytest.mark.parametrize(("score", "status"), [(7, "failed"), (9, "solved")])
def test_a_threshold_above_1_sets_another_scale(score, status):
    profile = replace(PROFILES["paper"], threshold=8)
    graph = create_reflexion(
        ScriptedChatModel(replies=[]), actor=lambda text: "Rome", evaluator=lambda result: score, profile=profile,
        max_trials=1,
    )  # fmt: skip
    assert graph.compile().invoke({"task": "Where?"})["status"] == status


@pytest.mark.parametrize("unverified", [True, np.True_])
def test_an_evaluator_that_could_check_nothing_says_so(unverified):
    graph = judged_by(lambda result: {"score": np.float32(0.5), "unverified": unverified}, "graph")
    final = graph.invoke({"task": "Where?"})
    assert (final["evaluation"]["score"], final["evaluation"]["unverified"]) == (0.5, True)
