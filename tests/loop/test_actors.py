"""Both ways to act: what is sent, what is made of the reply, and that a prompt only grows at its end."""

from itertools import pairwise

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage
from langchain_core.messages.tool import invalid_tool_call

from langgraph_reflexion import ConfigurationError, create_reflexion
from langgraph_reflexion.actors import ACTORS
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import Counter, asks_for, count_to, counting_badly, text_of


def call(name, id="x", **args):
    return {"name": name, "args": args, "id": id, "type": "tool_call"}


def calls(*several, says=""):
    return AIMessage(says, tool_calls=list(several))


def played(replies, actor="tools", **options):
    model = ScriptedChatModel(replies=replies)
    options = {"strategy": "retry", "max_trials": 1, **options}
    graph = create_reflexion(model, Counter(), actor=actor, **options).compile()
    return graph.invoke({"task": count_to(3)}), model


def plain(messages):
    return [(type(m), m.text, getattr(m, "tool_calls", None), getattr(m, "tool_call_id", None)) for m in messages]


@pytest.mark.parametrize("actor", ACTORS)
def test_inside_a_trial_the_prompt_only_grows_at_its_end(actor):
    options = {"actor": actor, "strategy": "last_attempt_and_reflexion"}
    model = ScriptedChatModel(replies=counting_badly)
    create_reflexion(model, Counter(), **options).compile().invoke({"task": count_to(3)})
    acts = [plain(prompt) for prompt in model.prompts if asks_for(prompt) == "act"]
    assert [len(prompt) for prompt in acts] == [2, 4, 6, 8, 10, 2, 4, 6, 8, 10, 12, 2, 4]
    for before, prompt in pairwise(acts):
        assert len(prompt) == 2 or prompt[: len(before)] == before


def test_the_react_instruction_explains_each_action():
    _, model = played(["Action: add 3"], "react")
    assert (
        "\n\n- add {amount}\n  Add to the counter. {amount}: how much to add.\n"
        "- go {direction}\n  Go one step up or down. {direction}: which way (up or down).\n"
        "- read[]\n  Read the counter.\n"
        "- fail\n  Make the environment itself fail.\n\n"
    ) in model.prompts[0][0].text


def test_of_two_calls_in_one_reply_the_first_is_done_and_each_has_a_result():
    both = calls(call("add", "a", amount=1), call("add", "b", amount=2), says="One first.")
    final, model = played([both, calls(call("add", amount=2))])
    assert final["status"] == "solved"
    assert (final["trajectory"][0]["thought"], final["trajectory"][0]["action"]["args"]) == (
        "One first.",
        {"amount": 1},
    )
    assert [step["observation"][-2:] for step in final["trajectory"]] == ["1.", "3."]
    said, *results = model.prompts[1][2:]
    assert said.text == "One first."
    assert [each["id"] for each in said.tool_calls] == [each.tool_call_id for each in results] == ["a", "b"]
    assert [each.text.partition(":")[0] for each in results] == ["The counter stands at 1.", "Not done"]


BROKEN = invalid_tool_call(name="add", args='{"amount": ', id="1", error="bad")


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (calls(call("jump", height=2)), "there is no action 'jump(height=2)'"),
        (calls(call("add")), "add, amount"),
        (calls(call("add", amount="much")), "add, amount"),
        (calls(call("turn", direction="sideways")), "turn, direction"),
        (AIMessage("", invalid_tool_calls=[BROKEN]), "there is no action 'add({\"amount\": )'"),
        ("I would rather not.", "the reply contains no action"),
    ],
    ids=["unknown", "missing", "wrong type", "not allowed", "broken json", "text"],
)
def test_what_is_no_allowed_call_is_told_what_is(reply, why):
    final, model = played([reply, calls(call("add", amount=3))])
    observation = final["trajectory"][0]["observation"]
    assert observation.startswith(f"Invalid action: {why}")
    assert observation.endswith("Allowed actions: add {amount}; go {direction}; read[]; fail.")
    assert final["status"] == "solved"
    assert observation in text_of(model.prompts[1])
    assert not [m for m in model.prompts[1] if isinstance(m, AIMessage) and not (m.text or m.tool_calls)]


def test_a_model_without_tool_calls_is_told_apart_at_once():
    with pytest.raises(ConfigurationError, match=r"FakeListChatModel does not support tool calls.*actor='react'"):
        create_reflexion(FakeListChatModel(responses=["x"]), Counter(), actor="tools")


def test_prose_is_shown_as_a_thought_and_not_as_an_action():
    _, model = played(["I am in the room.", "Action: add 3"], "react")
    said, answer = model.prompts[1][-2:]
    assert said.text == "Thought: I am in the room.\nAction: (none)"
    assert "room" not in answer.text


@pytest.mark.parametrize("actor", ACTORS)
def test_a_thought_alone_costs_nothing_and_is_answered(actor):
    final, model = played(["Thought: first I think.", "Action: add 3"], actor)
    assert final["trajectory"][0] == {
        "number": 1, "thought": "first I think.", "action": None, "observation": "OK."
    }  # fmt: skip
    assert final["trials"][0]["actions"] == 1
    assert "first I think." in text_of(model.prompts[1])
    assert "OK." in text_of(model.prompts[1])


@pytest.mark.parametrize("actor", ACTORS)
def test_the_second_thought_in_a_row_is_an_invalid_action(actor):
    final, _ = played(["Thought: one", "Thought: two", "Thought: three", "Action: add 3"], actor)
    assert [step["action"] is None for step in final["trajectory"]] == [True, False, True, False]
    assert final["trajectory"][1]["thought"] == "two"
    assert final["trajectory"][1]["observation"].startswith("Invalid action")


@pytest.mark.parametrize("actor", ACTORS)
def test_a_model_that_only_thinks_comes_to_an_end(actor):
    made = iter(range(200))
    final, _ = played(lambda _: f"Thought: number {next(made)}", actor)
    assert final["trials"][0]["stop_reason"] == "hallucination"
    assert final["status"] == "failed"
