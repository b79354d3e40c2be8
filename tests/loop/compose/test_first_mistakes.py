"""The mistakes that people make first: what they are told, or that it is none."""

import math
from dataclasses import replace

import numpy as np
import pytest
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from langgraph_reflexion import (
    Budget,
    Budgets,
    ConfigurationError,
    Lessons,
    Memory,
    ReflexionMiddleware,
    WrappedAgent,
    create_reflexion,
)
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


def test_an_agent_and_its_check_without_names_are_told_theirs():
    with pytest.raises(ConfigurationError, match=r"not function: .*actor=AGENT, .*evaluator=FUNCTION"):
        create_reflexion(lambda text: "Rome", lambda result: True)  # type: ignore[arg-type]


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


def test_beside_a_function_the_reflection_model_is_model_enough():
    lesson = "The next attempt must say that it is Rome."
    writes = ScriptedChatModel(replies=[lesson])

    def agent(text: str) -> str:
        if lesson in text:
            return "Rome"
        return "Paris"

    def check(result):
        return result == "Rome", "wanted: Rome"

    graph = create_reflexion(actor=agent, evaluator=check, reflection_model=writes).compile()
    final = graph.invoke({"task": "Where?"})
    assert (final["status"], final["trial"]) == ("solved", 2)
    assert len(writes.prompts) == 1


def test_beside_a_function_the_reflection_model_judges():
    judge = ScriptedChatModel(replies=["Verdict: yes"])
    graph = create_reflexion(actor=lambda text: "Rome", evaluator="llm", reflection_model=judge).compile()
    assert graph.invoke({"task": "Where?"})["status"] == "solved"


def test_a_budget_of_money_needs_no_price_of_a_model_that_is_never_asked():
    budgets = Budgets(task=Budget(cost=1))
    graph = create_reflexion(
        actor=lambda text: "Rome", evaluator=lambda result: True, strategy="retry", budgets=budgets
    ).compile()
    assert graph.invoke({"task": "Where?"})["status"] == "solved"


def by_code(feedback):
    """Reflect without a model."""
    return "Say Rome."


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            {"strategy": "last_attempt_and_reflexion"},
            "strategy='last_attempt_and_reflexion'.*'retry' or 'feedback' needs none",
        ),
        ({"strategy": "retry", "evaluator": "llm"}, "evaluator='llm' asks"),
        ({"strategy": "retry", "memory": Lessons()}, r"lessons.*Lessons\(learn=False\) needs none"),
        ({"reflection_model": by_code, "memory": Lessons()}, "lessons"),
        ({"reflection_model": by_code, "memory": Memory(keep="summary")}, "keep='window' needs none"),
    ],
    ids=["reflections", "a judge", "lessons", "lessons beside a function", "a summary beside a function"],
)
def test_what_a_model_writes_needs_one_and_the_error_says_what(options, says):
    given = {"actor": lambda text: "Paris", "evaluator": lambda result: False} | options
    with pytest.raises(ConfigurationError, match=f"create_reflexion needs model=.*{says}"):
        create_reflexion(**given)


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
