"""Faults outside the agent end the task, and are no wrong answers."""

import json

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_reflexion import ModelFault, ModelOptions, Retries, resume_point
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import INPUT, THREAD, Counter, compiled, counting_badly, play


class Breaking(Counter):
    """A counter whose starts fail in these ways."""

    def __init__(self, *errors):
        super().__init__()
        self.errors = list(errors)

    def start(self, task):
        if error := self.errors.pop(0):
            raise error
        return super().start(task)


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

    return reply


def run(replies, environment=None, **options):
    final, _ = play(replies, environment, **ONCE | options)
    json.dumps(final)
    return final


def test_a_fault_while_acting_keeps_earlier_trials():
    final = run(failing_at(9, DOWN))
    assert final["fault"] == "the model could not answer: ConnectionError: connection refused"
    assert final["evaluation"]["success"] is False, "of the trial before"
    assert [trial["verdict"] for trial in final["trials"]] == [False, None]
    assert [trial["stop_reason"] for trial in final["trials"]] == ["hallucination", "fault"]
    assert [lesson["text"] for lesson in final["reflections"]] == ["Lesson 1."]
    assert final["trials"][1]["usage"]["act"]["llm_calls"] == 2


def test_a_fault_while_reflecting_leaves_the_trial_failed_and_can_be_retried():
    graph, _ = compiled(failing_at(6, DOWN), saver=InMemorySaver(), **ONCE)
    fault = graph.invoke(INPUT, THREAD)
    assert (fault["status"], fault["reflections"]) == ("fault", [])
    assert "connection refused" in fault["fault"]
    [trial] = fault["trials"]
    assert (trial["verdict"], trial["stop_reason"], trial["fault"]) == (False, "hallucination", "")
    final = graph.invoke(None, graph.update_state(THREAD, *resume_point(graph.get_state(THREAD).values)))
    assert final["status"] == "solved"
    assert [lesson["trial"] for lesson in final["reflections"]] == [1, 2]


def test_a_fault_while_judging_can_be_retried_without_another_action():
    judge = ScriptedChatModel(replies=["Verdict: no", "Lesson 1.", DOWN, "Verdict: no"])
    options = {"reflection_model": judge, "evaluator": "llm", "max_trials": 2}
    graph, _ = compiled(counting_badly, saver=InMemorySaver(), **ONCE | options)
    graph.update_state(THREAD, *resume_point(graph.invoke(INPUT, THREAD)))
    final = graph.invoke(None, THREAD)
    assert final["status"] == "failed"
    ends = [(trial["verdict"], trial["stop_reason"], trial["actions"]) for trial in final["trials"]]
    assert ends == [(False, "hallucination", 5)] * 2


JUDGE = ScriptedChatModel(replies=["Verdict: no", "Lesson 1.", DOWN])


@pytest.mark.parametrize(
    ("replies", "environment", "options", "fault", "trials", "actions"),
    [
        (counting_badly, None, {"reflection_model": JUDGE, "evaluator": "llm"}, "connection", 2, 5),
        (counting_badly, Breaking(None, OSError("gone")), {}, "counter failed: OSError: gone", 2, 0),
        (["Action: add 1", "Action: fail"], None, {}, "counter failed: OSError: the counter fell", 1, 1),
    ],
    ids=["judge", "second reset", "observe"],
)
def test_a_fault_before_the_verdict_leaves_no_verdict(replies, environment, options, fault, trials, actions):
    final = run(replies, environment, **options)
    assert final["status"] == "fault"
    assert fault in final["fault"]
    assert [record["verdict"] for record in final["trials"]] == [False] * (trials - 1) + [None]
    assert len(final["reflections"]) == trials - 1
    record = final["trials"][-1]
    assert (record["stop_reason"], record["success"], record["actions"]) == ("fault", None, actions)


@pytest.mark.parametrize(
    ("call", "error", "raised", "says"),
    [(6, Refused(403), ModelFault, "Refused: the server said 403"), (2, ValueError("odd"), ValueError, "odd")],
    ids=["permanent, while reflecting", "a bug in a model class"],
)
def test_other_errors_are_raised(call, error, raised, says):
    with pytest.raises(raised, match=says):
        run(failing_at(call, error))


@pytest.mark.parametrize(("call", "empty"), [(1, "  \n"), (6, AIMessage([{"type": "reasoning", "text": "hm"}]))])
def test_an_empty_reply_is_a_fault(call, empty):
    final = run(failing_at(call, empty))
    assert (final["status"], final["fault"]) == ("fault", "the model's reply is empty")


def test_the_record_of_a_fault_stays_small():
    final = run([], Breaking(OSError("very long " * 1000)))
    assert len(json.dumps(final["trials"][0])) <= 1024
    assert "very long" in final["trials"][0]["fault"]
