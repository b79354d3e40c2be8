"""An environment's graph in a conversation: a message names the task, and the outcome is the answer."""

import json

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command

from langgraph_reflexion import Approval, ConfigurationError, ModelOptions, Retries, create_reflexion
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import Counter, Parrot

THREAD = {"configurable": {"thread_id": "1"}}


def said(text):
    return {"messages": [{"role": "user", "content": text}]}


def compiled(*replies, environment=None, checkpointer=None, **options):
    model = ScriptedChatModel(replies=list(replies))
    graph = create_reflexion(model, environment or Counter(limit=1), **options)
    return graph.compile(checkpointer=checkpointer, name="counter")


def spoken(state):
    return [(message.type, message.text) for message in state["messages"]]


@pytest.mark.parametrize("named", ["c4", " c4\n", "Count to 4.", "  count   TO 4.  "])
def test_a_message_names_the_task_by_its_id_or_its_instruction(named):
    final = compiled("Action: add 4").invoke(said(named))
    assert (final["task"]["id"], final["status"]) == ("c4", "solved")


def test_a_label_before_the_instruction_may_be_left_out():
    class Labelled(Counter):
        def tasks(self, split=None, limit=None):
            return [{**task, "instruction": f"Task: {task['instruction']}"} for task in super().tasks(split, limit)]

    assert compiled("Action: add 5", environment=Labelled()).invoke(said("Count to 5."))["task"]["id"] == "c5"


def test_a_task_may_be_given_by_its_id_without_a_conversation():
    final = compiled("Action: add 3").invoke({"task": "c3"})
    assert (final["status"], final["messages"]) == ("solved", [])
    assert json.loads(json.dumps(final)) == final


def test_the_answer_is_the_last_action_and_the_outcome():
    final = compiled("Action: add 1", "Add more.", "Action: add 3").invoke(said("c3"))
    answer = final["messages"][-1]
    assert answer.text == "add 3\nThe counter stands at 3.\n\nSolved after 2 trials."
    assert answer.name == "counter"
    assert answer.response_metadata["reflexion"] == {
        "status": "solved",
        "trials": 2,
        "best": 2,
        "score": 1.0,
        "fault": "",
    }


def test_after_failures_the_answer_is_the_best_trial_and_the_reason():
    parrot = Parrot(**{"bye good": 0.5, "bye bad": 0.1})
    replies = ["Action: say bye good", "Action: say bye bad"]
    final = compiled(*replies, environment=parrot, max_trials=2, strategy="retry").invoke(said("polly"))
    ended = "Not solved after 2 trials. The trial came to its end without success."
    assert final["messages"][-1].text == f"say bye good\nThe parrot says: bye good.\n\n{ended}"
    assert final["messages"][-1].response_metadata["reflexion"]["status"] == "failed"


def test_a_fault_is_the_answer():
    final = compiled("Action: fail", options=ModelOptions(retries=Retries(attempts=1))).invoke(said("c3"))
    assert final["messages"][-1].text.startswith("Stopped in trial 1: ")
    assert "fell off the wall" in final["messages"][-1].text


@pytest.mark.parametrize(("named", "words"), [("Count to 99.", r"no task.*'c3', 'c4', 'c5'"), ("", "no task")])
def test_a_message_that_names_no_task_is_refused(named, words):
    with pytest.raises(ConfigurationError, match=words):
        compiled().invoke(said(named))


def test_an_instruction_of_two_tasks_is_refused():
    class Twins(Counter):
        def tasks(self, split=None, limit=None):
            return [{**task, "instruction": "Count."} for task in super().tasks(split, limit)[:2]]

    with pytest.raises(ConfigurationError, match=r"2 tasks.*'c3', 'c4'"):
        compiled(environment=Twins()).invoke(said("count."))


def test_only_the_answer_is_streamed_as_a_message():
    graph = compiled("Action: add 1", "Add more.", "Action: add 3")
    [(message, metadata)] = list(graph.stream(said("c3"), stream_mode="messages"))
    assert message.text.endswith("Solved after 2 trials.")
    assert metadata["langgraph_node"] == "evaluate"


def test_a_message_on_a_used_thread_begins_the_next_task():
    graph = compiled("Action: add 3", "Action: add 4", "Action: add 3", checkpointer=InMemorySaver())
    graph.invoke(said("c3"), THREAD)
    final = graph.invoke(said("c4"), THREAD)
    assert [kind for kind, _ in spoken(final)] == ["human", "ai", "human", "ai"]
    assert (final["task"]["id"], len(final["trials"])) == ("c4", 1)
    again = graph.invoke({"task": "c3"}, THREAD)  # beside the conversation
    assert (again["task"]["id"], [kind for kind, _ in spoken(again)][-2:]) == ("c3", ["ai", "ai"])


def test_the_same_message_again_is_a_new_task():
    graph = compiled("Action: add 3", "Action: add 3", checkpointer=InMemorySaver())
    for _ in range(2):
        final = graph.invoke(said("c3"), THREAD)
    assert ([record["trial"] for record in final["trials"]], len(final["messages"])) == ([1], 4)


def test_an_edited_message_is_a_new_task():
    graph = compiled("Action: add 3", "Action: add 4", checkpointer=InMemorySaver())
    for text in ("c3", "c4"):
        final = graph.invoke({"messages": [{"role": "user", "content": text, "id": "1"}]}, THREAD)
    assert (final["task"]["id"], final["status"]) == ("c4", "solved")


def test_a_pause_is_answered_and_a_new_message_begins_anew():
    approval = Approval(actions=["add"])
    graph = compiled(*["Action: add 3"] * 2, checkpointer=InMemorySaver(), approval=approval)
    assert graph.invoke(said("c3"), THREAD)["__interrupt__"]
    final = graph.invoke(Command(resume={"decisions": [{"type": "approve"}]}), THREAD)
    assert spoken(final)[-1][1].endswith("Solved after 1 trial.")
    graph = compiled(*["Action: add 4"] * 2, checkpointer=InMemorySaver(), approval=approval)
    graph.invoke(said("c3"), THREAD)
    graph.invoke(said("c4"), THREAD)
    final = graph.invoke(Command(resume="approve"), THREAD)
    assert (final["task"]["id"], final["status"], final["trial"]) == ("c4", "solved", 1)
    assert [kind for kind, _ in spoken(final)] == ["human", "human", "ai"]


def test_it_is_a_node_of_a_conversation():
    parent = StateGraph(MessagesState).add_node("count", compiled("Action: add 3")).add_edge(START, "count")
    final = parent.compile().invoke(said("c3"))
    assert final.keys() == {"messages"}
    assert spoken(final) == [("human", "c3"), ("ai", "add 3\nThe counter stands at 3.\n\nSolved after 1 trial.")]
    assert isinstance(final["messages"][-1], AIMessage)


def test_after_a_fault_before_the_first_trial_the_next_message_is_the_next_task():
    class Unprepared(Counter):
        def prepare(self, task):
            if task["id"] == "c3":
                raise OSError("no paper")
            return {}

    options = ModelOptions(retries=Retries(attempts=1))
    graph = compiled("Action: add 4", environment=Unprepared(), checkpointer=InMemorySaver(), options=options)
    assert graph.invoke({"task": "c3"}, THREAD)["status"] == "fault"
    final = graph.invoke(said("c4"), THREAD)
    assert (final["task"]["id"], final["status"]) == ("c4", "solved")
