"""A person in the loop: what was shown is what happens, and approving repeats nothing."""

import asyncio

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


class Counted(Counter):
    """Knows what was done in its episodes."""

    def __init__(self):
        super().__init__()
        self.done = []

    def start(self, task):
        episode = super().start(task)
        step = episode.step

        def counted(action):
            self.done.append(action["text"])
            return step(action)

        episode.step = counted
        return episode


def build(replies, **options):
    environment = Counted()
    model = ScriptedChatModel(replies=replies)
    graph = create_reflexion(model, environment, **options).compile(checkpointer=InMemorySaver())
    return environment, model, graph, {"task": environment.tasks()[0]}


def shown(result):
    return result["__interrupt__"][0].value


def test_an_action_waits_for_approval_and_approving_repeats_no_call_and_no_step():
    environment, model, graph, task = build(WIN, approval=Approval(actions=["add"]))
    result = graph.invoke(task, CONFIG)
    for count in range(3):
        assert shown(result)["kind"] == "action"
        assert shown(result)["action"] == "add 1"
        assert environment.done == ["add 1"] * count
        assert len(model.prompts) == count + 1
        result = graph.invoke(Command(resume="approve"), CONFIG)
    assert result["status"] == "solved"
    assert environment.done == ["add 1"] * 3
    assert len(model.prompts) == 3


def test_only_the_named_actions_wait():
    _, _, graph, task = build(["Action: read[]", *WIN], approval=Approval(actions=["read"]))
    result = graph.invoke(task, CONFIG)
    assert shown(result)["action"] == "read[]"
    assert graph.invoke(Command(resume={"decision": "approve"}), CONFIG)["status"] == "solved"


def test_an_edited_action_is_done_and_recorded_instead():
    environment, _, graph, task = build(["Action: add 1"], approval=Approval(actions=["add"]))
    graph.invoke(task, CONFIG)
    final = graph.invoke(Command(resume={"decision": "edit", "edit": "add 3"}), CONFIG)
    assert final["status"] == "solved"
    assert environment.done == ["add 3"]
    assert final["trajectory"][0]["action"]["text"] == "add 3"


def test_a_rejected_action_is_not_done_and_the_actor_is_told_why():
    environment, model, graph, task = build(["Action: add 7", *WIN], approval=Approval(actions=["add"]))
    graph.invoke(task, CONFIG)
    graph.invoke(Command(resume={"decision": "reject", "reason": "That is too much."}), CONFIG)
    assert "add 7" not in [each for each in environment.done if environment.parse(each) is None]
    assert "That is too much." in model.prompts[1][-1].content
    for _ in range(3):
        final = graph.invoke(Command(resume="approve"), CONFIG)
    # Had the rejected action counted, 3 would not have been reached with three more.
    assert final["status"] == "solved"
    assert environment.started[0].count == 3


def test_a_rejected_action_is_not_done_in_a_rebuilt_episode_either():
    _, _, graph, task = build(["Action: add 7"], approval=Approval(actions=["add"]))
    saver = graph.checkpointer
    graph.invoke(task, CONFIG)
    graph.invoke(Command(resume="reject"), CONFIG, interrupt_before=["act"])
    fresh = Counted()
    again = create_reflexion(ScriptedChatModel(replies=["Action: add 3"]), fresh, approval=Approval(actions=["add"]))
    again = again.compile(checkpointer=saver)
    again.invoke(None, CONFIG)
    assert again.invoke(Command(resume="approve"), CONFIG)["status"] == "solved"
    assert fresh.started[0].count == 3


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("perhaps", "one of approve, edit and reject"),
        ({"decision": "edit", "edit": "fly away"}, "cannot be read"),
        ({"decision": "edit"}, "cannot be read"),
        (None, "one of approve"),
    ],
    ids=["word", "edit", "no edit", "nothing"],
)
def test_an_answer_that_cannot_be_read_is_asked_for_again(answer, problem):
    environment, model, graph, task = build(WIN, approval=Approval(actions=["add"]))
    graph.invoke(task, CONFIG)
    result = graph.invoke(Command(resume=answer if answer is not None else {"decision": None}), CONFIG)
    assert problem in shown(result)["error"]
    assert environment.done == []
    assert len(model.prompts) == 1
    assert "error" not in shown(graph.invoke(Command(resume="approve"), CONFIG))


def after_failure(answer):
    environment, model, graph, task = build([*FAIL, *WIN], approval=Approval(reflections=True))
    result = graph.invoke(task, CONFIG)
    assert shown(result)["kind"] == "reflection"
    assert shown(result)["reflection"] == FAIL[-1]
    assert len(environment.started) == 1
    final = graph.invoke(Command(resume=answer), CONFIG)
    assert final["status"] == "solved"
    assert len(model.prompts) == len(FAIL) + len(WIN)
    return final["reflections"], model.prompts[len(FAIL)][1].content


def test_an_approved_reflection_reaches_the_next_trial():
    reflections, prompt = after_failure("approve")
    assert reflections == [{"trial": 1, "text": FAIL[-1]}]
    assert FAIL[-1] in prompt


def test_an_edited_reflection_reaches_the_next_trial_instead():
    reflections, prompt = after_failure({"decision": "edit", "edit": "Add one, three times."})
    assert reflections == [{"trial": 1, "text": "Add one, three times."}]
    assert "Add one, three times." in prompt
    assert FAIL[-1] not in prompt


def test_a_rejected_reflection_is_forgotten():
    reflections, prompt = after_failure("reject")
    assert reflections == []
    assert FAIL[-1] not in prompt


async def test_pauses_work_from_coroutines_and_on_a_running_loop():
    environment, _, graph, task = build(WIN, approval=Approval(actions=["add"]))
    result = await graph.ainvoke(task, CONFIG)
    while "__interrupt__" in result:
        result = await graph.ainvoke(Command(resume="approve"), CONFIG)
        await asyncio.sleep(0)
    assert result["status"] == "solved"
    assert environment.done == ["add 1"] * 3


def test_without_a_checkpointer_pauses_are_refused_before_anything_happens():
    environment = Counted()
    model = ScriptedChatModel(replies=WIN)
    for approval in (Approval(actions=["add"]), Approval(reflections=True)):
        graph = create_reflexion(model, environment, approval=approval).compile()
        with pytest.raises(ConfigurationError, match="need a checkpointer"):
            graph.invoke({"task": environment.tasks()[0]}, CONFIG)
    assert model.prompts == []
    assert environment.started == []


def test_within_another_graph_its_checkpointer_serves():
    reflexion = create_reflexion(
        ScriptedChatModel(replies=WIN), Counted(), approval=Approval(actions=["add"])
    ).compile()
    parent = StateGraph(ReflexionState)
    parent.add_node("reflexion", reflexion)
    parent.add_edge(START, "reflexion")
    graph = parent.compile(checkpointer=InMemorySaver())
    result = graph.invoke({"task": Counted().tasks()[0]}, CONFIG)
    while "__interrupt__" in result:
        assert shown(result)["action"] == "add 1"
        result = graph.invoke(Command(resume="approve"), CONFIG)
    assert result["status"] == "solved"


def test_an_action_that_the_environment_does_not_have_cannot_be_approved():
    with pytest.raises(ConfigurationError, match="add, turn, read, break"):
        create_reflexion(ScriptedChatModel(replies=[]), Counter(), approval=Approval(actions=["fly"]))
