"""An environment's graph in a conversation: a message names the task, and the outcome is the answer."""

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_reflexion import ConfigurationError, ModelOptions
from langgraph_reflexion.support.retries import Retries
from tests.support import toys
from tests.support.toys import THREAD, Counter, Parrot, count_to, text_of

ONCE = ModelOptions(retries=Retries(attempts=1))


def said(text, **fields):
    return {"messages": [{"role": "user", "content": text, **fields}]}


def adding(messages):
    """Adds the goal at once."""
    return f"Action: add {text_of(messages).rpartition('Bring it to ')[2][0]}"


def compiled(replies=adding, environment=None, saved=False, **options):
    saver = InMemorySaver() if saved else None
    return toys.compiled(replies, environment or Counter(limit=1), saver, **options)[0]


def spoken(state):
    return [(message.type, message.text) for message in state["messages"]]


class Labelled(Counter):
    """Its instructions begin with a label; two of them are the same."""

    def tasks(self, split=None, limit=None):
        instructions = {"c3": "Task: Count to 3.", "c4": "Count.", "c5": "Count."}
        return [count_to(int(name[1:])) | {"instruction": text} for name, text in instructions.items()]


@pytest.mark.parametrize("named", ["c3", " c3\n", "Task: Count to 3.", "  count   TO 3.  "])
def test_a_message_names_the_task_by_its_id_or_its_instruction_with_or_without_a_label(named):
    final = compiled(environment=Labelled()).invoke(said(named))
    assert (final["task"]["id"], final["status"]) == ("c3", "solved")


@pytest.mark.parametrize(
    ("named", "words"),
    [("Count to 99.", r"no task.*'c3', 'c4', 'c5'"), ("", "no task"), ("count.", r"2 tasks.*'c4', 'c5'")],
)
def test_a_message_that_names_no_task_or_two_is_refused(named, words):
    with pytest.raises(ConfigurationError, match=words):
        compiled(environment=Labelled()).invoke(said(named))


def test_the_answer_is_the_last_action_and_the_outcome_and_is_streamed_alone():
    graph = compiled(["Action: add 1", "Add more.", "Action: add 3"])
    chunks = list(graph.stream(said("c3"), stream_mode=["messages", "values"]))
    [(streamed, metadata)] = [chunk for mode, chunk in chunks if mode == "messages"]
    answer = chunks[-1][1]["messages"][-1]
    assert answer.text == streamed.text == "add 3\nThe counter stands at 3.\n\nSolved after 2 trials."
    assert metadata["langgraph_node"] == "evaluate"
    outcome = {"status": "solved", "trials": 2, "best": 2, "score": 1.0, "fault": ""}
    assert answer.response_metadata["reflexion"] == outcome


def test_after_failures_the_answer_is_the_best_trial_and_the_reason():
    parrot = Parrot(**{"bye good": 0.5, "bye bad": 0.1})
    replies = ["Action: say bye good", "Action: say bye bad"]
    final = compiled(replies, parrot, max_trials=2, strategy="retry").invoke(said("polly"))
    ended = "Not solved after 2 trials. The trial came to its end without success."
    assert final["messages"][-1].text == f"say bye good\nThe parrot says: bye good.\n\n{ended}"
    assert final["messages"][-1].response_metadata["reflexion"]["status"] == "failed"


def test_a_fault_is_the_answer():
    final = compiled(["Action: fail"], options=ONCE).invoke(said("c3"))
    assert final["messages"][-1].text.startswith("Stopped in trial 1: ")
    assert "fell off the wall" in final["messages"][-1].text


@pytest.mark.parametrize(
    ("first", "second", "pauses", "kinds"),
    [
        (said("c3"), said("c4"), [], ["human", "ai", "human", "ai"]),
        (said("c4"), said("c4"), [], ["human", "ai", "human", "ai"]),
        (said("c4"), said("c4"), ["act"], ["human", "human", "ai"]),
        (said("c3", id="1"), said("c4", id="1"), [], ["human", "ai", "ai"]),
    ],
    ids=["another", "the same again", "the same while paused", "edited"],
)
def test_a_message_on_a_used_thread_begins_a_new_task(first, second, pauses, kinds):
    graph = compiled(saved=True)
    graph.invoke(first, THREAD, interrupt_after=pauses)
    final = graph.invoke(second, THREAD)
    assert [kind for kind, _ in spoken(final)] == kinds
    assert (final["task"]["id"], final["status"], final["trial"], len(final["trials"])) == ("c4", "solved", 1, 1)
    beside = graph.invoke({"task": "c3"}, THREAD)  # the conversation
    assert (beside["task"]["id"], [kind for kind, _ in spoken(beside)][-2:]) == ("c3", ["ai", "ai"])


def test_after_a_fault_before_the_first_trial_the_next_message_is_the_next_task():
    class Unprepared(Counter):
        def prepare(self, task):
            if task["id"] == "c3":
                raise OSError("no paper")
            return {}

    graph = compiled(environment=Unprepared(), saved=True, options=ONCE)
    assert graph.invoke({"task": "c3"}, THREAD)["status"] == "fault"
    final = graph.invoke(said("c4"), THREAD)
    assert (final["task"]["id"], final["status"]) == ("c4", "solved")
