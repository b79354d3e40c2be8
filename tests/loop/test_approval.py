"""A person in the loop: what was shown is what happens, and approving repeats nothing."""

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command

from langgraph_reflexion import Approval, ConfigurationError, ReflexionState, create_reflexion
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import Counter

CONFIG = {"configurable": {"thread_id": "1"}}
WIN = ["Action: add 1", "Action: add 1", "Action: add 1"]
FAIL = ["Action: read[]", "Action: read[]", "Action: read[]", "Action: read[]", "I only read. Next time I will add."]


def build(replies, saver=InMemorySaver, **options):
    environment, model = Counter(), ScriptedChatModel(replies=replies)
    graph = create_reflexion(model, environment, **options).compile(checkpointer=saver and saver())
    return environment, model, graph, {"task": environment.tasks()[0]}


def asked(result):
    request = result["__interrupt__"][0].value
    [config] = request["review_configs"]
    assert config["allowed_decisions"] == ["approve", "edit", "reject"]
    [action] = request["action_requests"]
    assert action["name"] == config["action_name"]
    return action


def decide(kind, **rest):
    return Command(resume={"decisions": [{"type": kind, **rest}]})


def edit(name, **args):
    return decide("edit", edited_action={"name": name, "args": args})


def test_an_action_waits_for_approval_and_approving_repeats_no_call_and_no_step():
    environment, model, graph, task = build(WIN, approval=Approval(actions=["add"]))
    result = graph.invoke(task, CONFIG)
    for count in range(3):
        assert (asked(result)["name"], asked(result)["args"]) == ("add", {"amount": "1"})
        assert "Task: Count to 3.\nTrial 1" in asked(result)["description"]
        assert environment.started[0].count == count
        assert len(model.prompts) == count + 1
        result = graph.invoke(decide("approve"), CONFIG)
    assert result["status"] == "solved"
    assert environment.started[0].count == 3
    assert len(model.prompts) == 3


def test_an_edited_action_is_done_and_recorded_instead():
    environment, _, graph, task = build(["Action: add 1"], approval=Approval(actions=["add"]))
    graph.invoke(task, CONFIG)
    final = graph.invoke(edit("add", amount=3), CONFIG)
    assert final["status"] == "solved"
    assert environment.started[0].count == 3
    assert final["trajectory"][0]["action"]["text"] == "add 3"


def test_a_rejected_action_is_not_done_and_the_actor_is_told_why():
    environment, model, graph, task = build(["Action: add 7", *WIN], approval=Approval(actions=["add"]))
    graph.invoke(task, CONFIG)
    graph.invoke(decide("reject", message="That is too much."), CONFIG)
    assert "That is too much." in model.prompts[1][-1].content
    for _ in range(3):
        final = graph.invoke(Command(resume="approve"), CONFIG)
    # Had the rejected action counted, 3 would not have been reached with three more.
    assert final["status"] == "solved"
    assert environment.started[0].count == 3


def test_a_rejected_action_is_not_done_in_a_rebuilt_episode_either():
    _, _, graph, task = build(["Action: add 7"], approval=Approval(actions=["add"]))
    graph.invoke(task, CONFIG)
    graph.invoke(Command(resume="reject"), CONFIG, interrupt_before=["act"])
    fresh, _, again, _ = build(
        ["Action: add 3"], saver=lambda: graph.checkpointer, approval=Approval(actions=["add"])
    )
    again.invoke(None, CONFIG)
    assert again.invoke(Command(resume="approve"), CONFIG)["status"] == "solved"
    assert fresh.started[0].count == 3


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (Command(resume="perhaps"), "approve, edit or reject"),
        (Command(resume={"decisions": [{"type": "approve"}] * 2}), "one decision"),
        (decide("edit"), "approve, edit or reject"),
        (edit("fly", to="away"), "cannot be read"),
        (edit("add", amount="much"), "cannot be read"),
    ],
    ids=["word", "two", "no edit", "unknown action", "wrong argument"],
)
def test_an_answer_that_cannot_be_read_is_asked_for_again(answer, problem):
    environment, model, graph, task = build(WIN, approval=Approval(actions=["add"]))
    first = asked(graph.invoke(task, CONFIG))
    again = asked(graph.invoke(answer, CONFIG))
    assert problem in again["description"]
    assert again["description"].endswith(first["description"])
    assert environment.started[0].count == 0
    assert len(model.prompts) == 1
    assert asked(graph.invoke(decide("approve"), CONFIG))["description"].startswith("Task:")


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        (decide("approve"), FAIL[-1]),
        (edit("reflection", text="Add one, three times."), "Add one, three times."),
        (Command(resume="reject"), None),
    ],
    ids=["approve", "edit", "reject"],
)
async def test_a_reflection_waits_for_approval(answer, kept):
    environment, model, graph, task = build([*FAIL, *WIN], approval=Approval(reflections=True))
    result = await graph.ainvoke(task, CONFIG)
    assert (asked(result)["name"], asked(result)["args"]) == ("reflection", {"text": FAIL[-1]})
    assert len(environment.started) == 1
    final = await graph.ainvoke(answer, CONFIG)
    assert final["status"] == "solved"
    assert final["reflections"] == ([{"trial": 1, "text": kept}] if kept else [])
    prompt = model.prompts[len(FAIL)][1].content
    assert [text in prompt for text in (FAIL[-1], kept or "Trial 1")] == [kept == FAIL[-1], bool(kept)]


def test_without_a_checkpointer_pauses_are_refused_before_anything_happens():
    environment, model, graph, task = build(WIN, saver=None, approval=Approval(reflections=True))
    with pytest.raises(ConfigurationError, match="checkpointer"):
        graph.invoke(task, CONFIG)
    assert (model.prompts, environment.started) == ([], [])


def test_within_another_graph_its_checkpointer_serves():
    _, _, inner, task = build(WIN, saver=None, approval=Approval(actions=["add"]))
    parent = StateGraph(ReflexionState)
    parent.add_node("reflexion", inner)
    parent.add_edge(START, "reflexion")
    graph = parent.compile(checkpointer=InMemorySaver())
    result = graph.invoke(task, CONFIG)
    while "__interrupt__" in result:
        assert asked(result)["args"] == {"amount": "1"}
        result = graph.invoke(Command(resume="approve"), CONFIG)
    assert result["evaluation"]["success"]
