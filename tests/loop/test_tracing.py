"""Traces: a span for each trial, actions as tool runs, verdicts as LangSmith feedback."""

import os
import subprocess
import sys

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langchain_core.tracers.run_collector import RunCollectorCallbackHandler
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from langsmith import RunTree
from pydantic import PydanticUserError

from langgraph_reflexion import Approval, create_reflexion
from langgraph_reflexion.graph.reflexion import NODES
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.langsmith_server import langsmith
from tests.support.toys import INPUT, THREAD, Counter, compiled

pytestmark = pytest.mark.slow

try:
    RunTree(name="any", run_type="chain")
except PydanticUserError as error:  # with pydantic 2.9
    pytest.skip(f"LangSmith cannot trace here: {error}", allow_module_level=True)

REPLIES = ["Action: add 1", "Action: add 9", "Add less.", "Action: add 3"]


def counting(replies=REPLIES, **options):
    return compiled(replies, Counter(limit=2), **options)[0]


def around(agent, evaluator=lambda task, result: True):
    return create_reflexion(ScriptedChatModel(replies=[]), actor=agent, evaluator=evaluator).compile()


def tree(run):
    """The run and those below it, by name; without those of nodes, which LangGraph makes."""
    below = [tree(each) for each in sorted(run.child_runs, key=lambda each: each.dotted_order)]
    kept = [each for each in below if each[0] not in NODES or each[2]]
    return run.name, run.run_type, kept


def trials_in(root):
    return [run for run in root.child_runs if run.name.startswith("trial ")]


def below(run):
    """The runs at any depth below this one."""
    return [each for child in run.child_runs for each in (child, *below(child))]


@pytest.fixture
def collected():
    return RunCollectorCallbackHandler()


MODEL = ("ScriptedChatModel", "llm", [])
ADD = ("add", "tool", [])
TRIALS = [
    ("trial 1", "chain", [MODEL, ADD, MODEL, ADD]),
    ("reflect", "chain", [MODEL]),
    ("trial 2", "chain", [MODEL, ADD]),
]
TWO_TRIALS = ("Reflexion", "chain", TRIALS)


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_model_calls_and_actions_lie_below_their_trial_with_its_record(how, collected):
    ran = getattr(counting(), how)(INPUT, {"callbacks": [collected]})
    if how == "ainvoke":
        await ran
    [root] = collected.traced_runs
    assert tree(root) == TWO_TRIALS
    first, second = trials_in(root)
    assert [(run.outputs["trial"], run.outputs["verdict"]) for run in (first, second)] == [(1, False), (2, True)]
    assert second.inputs["reflections"] == ["Add less."]
    action = second.child_runs[-1]
    assert (action.inputs, action.outputs) == ({"amount": "3"}, {"output": "The counter stands at 3."})


def test_a_wrapped_agents_calls_lie_below_the_trial_and_know_it(collected):
    @tool
    def look() -> str:
        """Look."""
        return "It is 42."

    asking = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "1"}])
    agent = create_agent(ScriptedChatModel(replies=[asking, "42"]), [look])
    around(agent).invoke({"task": "Look."}, {"callbacks": [collected]})
    [trial] = trials_in(collected.traced_runs[0])
    found = [run for run in below(trial) if run.run_type in ("llm", "tool")]
    assert sorted(run.run_type for run in found) == ["llm", "llm", "tool"]
    assert {run.extra["metadata"]["reflexion_trial"] for run in found} == {1}


def test_a_paused_run_ends_its_trial_and_a_resumed_one_begins_it_again(collected):
    graph = counting(["Action: add 3"], approval=Approval(actions=["add"]), saver=InMemorySaver())
    for given in (INPUT, Command(resume="approve")):
        graph.invoke(given, THREAD | {"callbacks": [collected]})
    [paused], [resumed] = map(trials_in, collected.traced_runs)
    assert paused.outputs == {"status": "interrupted"}
    assert (resumed.name, resumed.outputs["verdict"]) == ("trial 1", True)


def test_a_bug_ends_the_trial_with_its_error(collected):
    def buggy(task, result):
        raise ZeroDivisionError("a bug")

    with pytest.raises(ZeroDivisionError):
        around(RunnableLambda(lambda messages: "42"), buggy).invoke({"task": "Look."}, {"callbacks": [collected]})
    [trial] = trials_in(collected.traced_runs[0])
    assert "a bug" in trial.error


def test_a_graph_within_an_agent_has_trials_of_its_own(collected):
    inner = counting()
    agent = RunnableLambda(lambda messages: inner.invoke(INPUT)["status"])
    around(agent).invoke({"task": "Count."}, {"callbacks": [collected]})
    [trial] = trials_in(collected.traced_runs[0])
    assert TWO_TRIALS in map(tree, below(trial))


def test_langsmith_gets_verdict_and_score_as_feedback_on_the_trial_and_the_outcome_on_the_run():
    with langsmith() as (tracer, got, last):
        counting().invoke(INPUT, {"callbacks": [tracer]})
        assert last.wait(20)
        tracer.client.flush()
    runs = got["runs"]
    given = {name: {} for name in ("trial 1", "trial 2", "Reflexion")}
    for each in got["feedback"]:
        given[runs[each["run_id"]]["name"]][each["key"]] = each["score"]
    assert given == {
        "trial 1": {"verdict": 0, "score": 0.0},
        "trial 2": {"verdict": 1, "score": 1.0},
        "Reflexion": {"solved": 1, "trials": 2},
    }
    parents = {(run["name"], runs[run["parent_run_id"]]["name"]) for run in runs.values() if run.get("parent_run_id")}
    trials = {("trial 1", "Reflexion"), ("trial 2", "Reflexion"), ("add", "trial 1"), ("add", "trial 2")}
    assert {each for each in parents if each[0] in ("trial 1", "trial 2", "add")} == trials


ENVIRONMENT_ONLY = """
from langchain_core.tracers.langchain import wait_for_all_tracers
from langgraph_reflexion import create_reflexion
from langgraph_reflexion.testing import ScriptedChatModel

model = ScriptedChatModel(replies=[])
create_reflexion(model, actor=lambda text: "29", evaluator=lambda result: True).compile().invoke({"task": "q"})
wait_for_all_tracers()
"""


def test_the_environment_variables_of_langsmith_are_enough():
    """With the real SDK in a process of its own; the server is a stand-in on loopback."""
    with langsmith() as (tracer, got, last):
        settings = {"LANGSMITH_TRACING": "true", "LANGSMITH_API_KEY": "none", "LANGSMITH_PROJECT": "test"}
        settings["LANGSMITH_ENDPOINT"] = tracer.client.api_url
        subprocess.run(
            [sys.executable, "-c", ENVIRONMENT_ONLY], env={**os.environ, **settings}, check=True, timeout=120
        )
        assert last.wait(20)
    assert {each["key"]: each["score"] for each in got["feedback"]} == {
        "verdict": 1,
        "score": 1.0,
        "solved": 1,
        "trials": 1,
    }
    assert {each["run_id"] for each in got["feedback"]} <= got["runs"].keys()


def test_feedback_that_langsmith_refuses_costs_no_run():
    with langsmith(broken=True) as (tracer, _, last):
        assert counting().invoke(INPUT, {"callbacks": [tracer]})["status"] == "solved"
        assert last.wait(20)
