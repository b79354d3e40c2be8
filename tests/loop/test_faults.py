"""Trouble outside the agent ends the task as a fault, and is never counted as a wrong answer."""

import json

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_reflexion import ModelFault, ModelOptions, create_reflexion
from langgraph_reflexion.graph.resume import resume_point
from langgraph_reflexion.retries import Retries
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import Breaking, Counter, CounterEpisode, count_to, counting_badly

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


def test_in_act_earlier_trials_are_kept():
    nodes, final = run(failing_at(9, DOWN))
    assert nodes[-2:] == ["act", "evaluate"]
    assert final["fault"] == "the model could not answer: ConnectionError: connection refused"
    assert final["evaluation"]["success"] is False, "of the trial before"
    assert [trial["verdict"] for trial in final["trials"]] == [False, None]
    assert [trial["stop_reason"] for trial in final["trials"]] == ["hallucination", "fault"]
    assert [lesson["text"] for lesson in final["reflections"]] == ["Lesson 1."]
    assert final["trials"][1]["usage"]["act"]["llm_calls"] == 2


def test_in_reflect_the_trial_stays_failed():
    nodes, final = run(failing_at(6, DOWN))
    assert nodes[-2:] == ["evaluate", "reflect"]
    assert (final["status"], final["reflections"]) == ("fault", [])
    assert "connection refused" in final["fault"]
    [trial] = final["trials"]
    assert (trial["verdict"], trial["stop_reason"], trial["fault"]) == (False, "hallucination", "")


def test_after_a_fault_in_reflect_the_reflection_can_be_tried_again():
    graph = create_reflexion(failing_at(6, DOWN), Counter(), **ONCE).compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    assert graph.invoke({"task": count_to(3)}, config)["status"] == "fault"
    again = graph.update_state(config, *resume_point(graph.get_state(config).values))
    final = graph.invoke(None, again)
    assert final["status"] == "solved"
    assert [lesson["trial"] for lesson in final["reflections"]] == [1, 2]


JUDGE = ScriptedChatModel(replies=["Verdict: no", "Lesson 1.", DOWN])


@pytest.mark.parametrize(
    ("replies", "environment", "options", "last", "fault", "trials", "actions"),
    [
        (counting_badly, None, {"reflection_model": JUDGE, "evaluator": "llm"}, "observe", "connection", 2, 5),
        (counting_badly, Breaking(1), {}, "reset", "counter failed: OSError: no counters left", 1, 0),
        (counting_badly, Breaking(2), {}, "reset", "counter failed: OSError: no counters left", 2, 0),
        (["Action: add 1", "Action: fail"], None, {}, "observe", "counter failed: OSError: the counter fell", 1, 1),
    ],
    ids=["judge", "first reset", "second reset", "observe"],
)
def test_elsewhere_the_trial_has_no_verdict(replies, environment, options, last, fault, trials, actions):
    nodes, final = run(ScriptedChatModel(replies=replies), environment, **options)
    assert [node for node in nodes if node != "heuristic_check"][-2:] == [last, "evaluate"]
    assert final["status"] == "fault"
    assert fault in final["fault"]
    assert [record["verdict"] for record in final["trials"]] == [False] * (trials - 1) + [None]
    assert len(final["reflections"]) == trials - 1
    record = final["trials"][-1]
    assert (record["stop_reason"], record["success"], record["actions"]) == ("fault", None, actions)


@pytest.mark.parametrize("call", [1, 6], ids=["act", "reflect"])
def test_what_asking_again_cannot_change_is_raised(call):
    with pytest.raises(ModelFault, match="Refused: the server said 403") as raised:
        run(failing_at(call, Refused(403)))
    assert raised.value.permanent


@pytest.mark.parametrize("error", [Refused(400), Refused(429), Refused(500), TimeoutError()], ids=repr)
def test_what_may_pass_is_a_fault_of_the_task(error):
    _, final = run(failing_at(2, error))
    assert final["status"] == "fault"


def test_a_bug_in_a_model_class_is_raised_as_it_is():
    with pytest.raises(ValueError, match="odd"):
        run(failing_at(2, ValueError("odd")))


@pytest.mark.parametrize("call", [1, 6], ids=["act", "reflect"])
@pytest.mark.parametrize("empty", ["", "  \n", AIMessage([{"type": "reasoning", "text": "hm"}])], ids=repr)
def test_an_empty_reply_is_a_fault(empty, call):
    _, final = run(failing_at(call, empty))
    assert (final["status"], final["fault"]) == ("fault", "the model answered with nothing")


@pytest.mark.parametrize("where", ["prepare", "start", "step"])
def test_a_bug_in_an_environment_is_raised_from_where_it_is(where):
    class Misspelt(CounterEpisode):
        def step(self, action):
            return undefined  # noqa: F821

    class Buggy(Counter):
        def prepare(self, task):
            return undefined if where == "prepare" else {}  # noqa: F821

        def start(self, task):
            return undefined if where == "start" else Misspelt(3, 5)  # noqa: F821

    with pytest.raises(NameError, match="undefined") as raised:
        run(ScriptedChatModel(replies=["Action: add 3"]), Buggy())
    assert raised.traceback[-1].name == where


def test_a_task_goes_on_from_before_a_bug_once_it_is_mended():
    bugs = [KeyError("typo")]

    def judge(instruction, trajectory):
        if bugs:
            raise bugs.pop()
        return True

    model = ScriptedChatModel(replies=["Action: add 3"])
    graph = create_reflexion(model, Counter(), evaluator=judge).compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    with pytest.raises(KeyError, match="typo"):
        graph.invoke({"task": count_to(3)}, config)
    assert graph.get_state(config).next == ("evaluate",)
    assert graph.invoke(None, config)["status"] == "solved"
    assert len(model.prompts) == 1


def test_a_faults_record_stays_small():
    _, final = run(ScriptedChatModel(replies=[]), Breaking(1, says="very long " * 1000))
    assert len(json.dumps(final["trials"][0])) <= 1024
    assert "very long" in final["trials"][0]["fault"]
