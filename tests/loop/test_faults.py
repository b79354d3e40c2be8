"""Faults outside the agent end the task, and are no wrong answers."""

import json

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_reflexion import ModelFault, ModelOptions, create_reflexion
from langgraph_reflexion.graph.resume import resume_point
from langgraph_reflexion.retries import Retries
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import Breaking, Counter, count_to, counting_badly

DOWN = ConnectionError("connection refused")
ONCE = {"options": ModelOptions(retries=Retries(attempts=1))}


class Refused(Exception):
    """What an HTTP client raises."""

    def __init__(self, status_code):
        super().__init__(f"the server said {status_code}")
        self.status_code = status_code


def failing_at(call, error):
    """The model plays badly, and fails at its n-th call, counted from 1."""
    made = iter(range(1, 1000))

    def reply(messages):
        return error if next(made) == call else counting_badly(messages)

    return ScriptedChatModel(replies=reply)


def run(model, environment=None, **options):
    """The nodes as they ran, and the final state."""
    graph = create_reflexion(model, environment or Counter(), **ONCE | options).compile()
    nodes, final = [], {}
    for mode, chunk in graph.stream({"task": count_to(3)}, stream_mode=["updates", "values"]):
        if mode == "updates":
            nodes += chunk
        else:
            final = chunk
    json.dumps(final)
    return nodes, final


def test_a_fault_while_acting_keeps_earlier_trials():
    nodes, final = run(failing_at(9, DOWN))
    assert nodes[-2:] == ["act", "evaluate"]
    assert final["fault"] == "the model could not answer: ConnectionError: connection refused"
    assert final["evaluation"]["success"] is False, "of the trial before"
    assert [trial["verdict"] for trial in final["trials"]] == [False, None]
    assert [trial["stop_reason"] for trial in final["trials"]] == ["hallucination", "fault"]
    assert [lesson["text"] for lesson in final["reflections"]] == ["Lesson 1."]
    assert final["trials"][1]["usage"]["act"]["llm_calls"] == 2


def test_a_fault_while_reflecting_leaves_the_trial_failed_and_can_be_retried():
    graph = create_reflexion(failing_at(6, DOWN), Counter(), **ONCE).compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    fault = graph.invoke({"task": count_to(3)}, config)
    assert (fault["status"], fault["reflections"]) == ("fault", [])
    assert "connection refused" in fault["fault"]
    [trial] = fault["trials"]
    assert (trial["verdict"], trial["stop_reason"], trial["fault"]) == (False, "hallucination", "")
    again = graph.update_state(config, *resume_point(graph.get_state(config).values))
    final = graph.invoke(None, again)
    assert final["status"] == "solved"
    assert [lesson["trial"] for lesson in final["reflections"]] == [1, 2]


JUDGE = ScriptedChatModel(replies=["Verdict: no", "Lesson 1.", DOWN])


@pytest.mark.parametrize(
    ("replies", "environment", "options", "last", "fault", "trials", "actions"),
    [
        (counting_badly, None, {"reflection_model": JUDGE, "evaluator": "llm"}, "observe", "connection", 2, 5),
        (counting_badly, Breaking(2), {}, "reset", "counter failed: OSError: no counters left", 2, 0),
        (["Action: add 1", "Action: fail"], None, {}, "observe", "counter failed: OSError: the counter fell", 1, 1),
    ],
    ids=["judge", "second reset", "observe"],
)
def test_a_fault_before_the_verdict_leaves_no_verdict(replies, environment, options, last, fault, trials, actions):
    nodes, final = run(ScriptedChatModel(replies=replies), environment, **options)
    assert [node for node in nodes if node != "heuristic_check"][-2:] == [last, "evaluate"]
    assert final["status"] == "fault"
    assert fault in final["fault"]
    assert [record["verdict"] for record in final["trials"]] == [False] * (trials - 1) + [None]
    assert len(final["reflections"]) == trials - 1
    record = final["trials"][-1]
    assert (record["stop_reason"], record["success"], record["actions"]) == ("fault", None, actions)


def test_a_permanent_error_while_reflecting_is_raised():
    with pytest.raises(ModelFault, match="Refused: the server said 403") as raised:
        run(failing_at(6, Refused(403)))
    assert raised.value.permanent


def test_a_bug_in_a_model_class_is_raised():
    with pytest.raises(ValueError, match="odd"):
        run(failing_at(2, ValueError("odd")))


@pytest.mark.parametrize(("call", "empty"), [(1, "  \n"), (6, AIMessage([{"type": "reasoning", "text": "hm"}]))])
def test_an_empty_reply_is_a_fault(call, empty):
    _, final = run(failing_at(call, empty))
    assert (final["status"], final["fault"]) == ("fault", "the model's reply is empty")


def test_the_record_of_a_fault_stays_small():
    _, final = run(ScriptedChatModel(replies=[]), Breaking(1, says="very long " * 1000))
    assert len(json.dumps(final["trials"][0])) <= 1024
    assert "very long" in final["trials"][0]["fault"]
