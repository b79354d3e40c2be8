"""A person in the loop: what was shown is what happens, and approving repeats nothing."""

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command

from langgraph_reflexion import (
    Approval,
    ConfigurationError,
    ModelOptions,
    ReflexionState,
    WrappedAgent,
    create_reflexion,
    resume_point,
)
from langgraph_reflexion.support.retries import Retries
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import INPUT, THREAD, Counter, compiled

WIN = ["Action: add 1", "Action: add 1", "Action: add 1"]
FAIL = ["Action: read[]", "Action: read[]", "Action: read[]", "Action: read[]", "I only read. Next time I will add."]
ADDING = Approval(actions=["add"])


def build(replies, saver=InMemorySaver, approval=ADDING):
    environment = Counter()
    graph, model = compiled(replies, environment, saver and saver(), approval=approval)
    return environment, model, graph


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
    environment, model, graph = build(WIN)
    result = graph.invoke(INPUT, THREAD)
    for count in range(3):
        action = asked(result)
        assert (action["name"], action["args"]) == ("add", {"amount": "1"})
        assert "Task: Count to 3.\nTrial 1" in action["description"]
        assert environment.started[0].count == count
        assert len(model.prompts) == count + 1
        result = graph.invoke(decide("approve"), THREAD)
    assert result["status"] == "solved"
    assert environment.started[0].count == 3
    assert len(model.prompts) == 3


def test_an_edited_action_is_done_and_recorded_instead():
    environment, _, graph = build(["Action: add 1"])
    graph.invoke(INPUT, THREAD)
    final = graph.invoke(edit("add", amount=3), THREAD)
    assert final["status"] == "solved"
    assert environment.started[0].count == 3
    assert final["trajectory"][0]["action"]["text"] == "add 3"


@pytest.mark.slow
def test_a_rejected_action_is_not_done_in_a_rebuilt_episode_either_and_the_actor_is_told_why():
    environment, model, graph = build(["Action: add 7", *WIN])
    graph.invoke(INPUT, THREAD)
    graph.invoke(decide("reject", message="That is too much."), THREAD)
    assert "That is too much." in model.prompts[1][-1].content
    assert environment.started[0].count == 0
    fresh, _, again = build(WIN[1:], saver=lambda: graph.checkpointer)
    for _ in WIN:
        final = again.invoke(Command(resume="approve"), THREAD)
    assert final["status"] == "solved"
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
    environment, model, graph = build(WIN)
    first = asked(graph.invoke(INPUT, THREAD))
    again = asked(graph.invoke(answer, THREAD))
    assert problem in again["description"]
    assert again["description"].endswith(first["description"])
    assert environment.started[0].count == 0
    assert len(model.prompts) == 1
    assert asked(graph.invoke(decide("approve"), THREAD))["description"].startswith("Task:")


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
    environment, model, graph = build([*FAIL, *WIN], approval=Approval(reflections=True))
    result = await graph.ainvoke(INPUT, THREAD)
    assert (asked(result)["name"], asked(result)["args"]) == ("reflection", {"text": FAIL[-1]})
    assert len(environment.started) == 1
    final = await graph.ainvoke(answer, THREAD)
    assert final["status"] == "solved"
    assert final["reflections"] == ([{"trial": 1, "text": kept}] if kept else [])
    prompt = model.prompts[len(FAIL)][1].content
    assert [text in prompt for text in (FAIL[-1], kept or "Trial 1")] == [kept == FAIL[-1], bool(kept)]


def test_a_person_who_has_decided_is_not_asked_again_after_a_fault():
    resets = []

    def reset(task):
        resets.append(task)
        if len(resets) == 2:
            raise ConnectionError("down")

    model = ScriptedChatModel(replies=lambda messages: "The next attempt must count the words.")
    graph = create_reflexion(
        model,
        actor=WrappedAgent(lambda task: "x", reset=reset),
        evaluator=lambda result: (False, "no"),
        max_trials=2,
        approval=Approval(reflections=True),
        options=ModelOptions(retries=Retries(attempts=1)),
    ).compile(checkpointer=InMemorySaver())
    assert asked(graph.invoke({"task": "Count."}, THREAD))["name"] == "reflection"
    faulted = graph.invoke(edit("reflection", text="Edited by a person."), THREAD)
    assert faulted["status"] == "fault"
    graph.update_state(THREAD, *resume_point(graph.get_state(THREAD).values))
    final = graph.invoke(None, THREAD)
    assert "__interrupt__" not in final
    assert (final["status"], final["trial"]) == ("failed", 2)
    assert [each["text"] for each in final["reflections"]] == ["Edited by a person."]
    # Another task on the thread is another matter.
    assert asked(graph.invoke({"task": "Count once more."}, THREAD))["name"] == "reflection"


def test_without_a_checkpointer_pauses_are_refused_before_anything_happens():
    environment, model, graph = build(WIN, saver=None, approval=Approval(reflections=True))
    with pytest.raises(ConfigurationError, match="checkpointer"):
        graph.invoke(INPUT, THREAD)
    assert (model.prompts, environment.started) == ([], [])


def test_within_another_graph_its_checkpointer_serves():
    _, _, inner = build(WIN, saver=None)
    parent = StateGraph(ReflexionState).add_node("reflexion", inner).add_edge(START, "reflexion")
    graph = parent.compile(checkpointer=InMemorySaver())
    result = graph.invoke(INPUT, THREAD)
    while "__interrupt__" in result:
        assert asked(result)["args"] == {"amount": "1"}
        result = graph.invoke(Command(resume="approve"), THREAD)
    assert result["evaluation"]["success"]
