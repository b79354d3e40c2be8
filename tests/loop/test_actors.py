"""Both ways to act: what is sent, what is made of the reply, and that a prompt only grows at its end."""

from itertools import pairwise

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage
from langchain_core.messages.tool import invalid_tool_call

from langgraph_reflexion import ConfigurationError, create_reflexion
from langgraph_reflexion.actors import ACTORS
from tests.support.toys import Counter, asks_for, counting_badly, play, text_of


def call(name, id="x", **args):
    return {"name": name, "args": args, "id": id, "type": "tool_call"}


def calls(*several, says=""):
    return AIMessage(says, tool_calls=list(several))


def one_trial(replies, actor="tools"):
    return play(replies, actor=actor, max_trials=1)


def plain(messages):
    return [(type(m), m.text, getattr(m, "tool_calls", None), getattr(m, "tool_call_id", None)) for m in messages]


@pytest.mark.parametrize("actor", ACTORS)
def test_inside_a_trial_the_prompt_only_grows_at_its_end(actor):
    _, model = play(counting_badly, actor=actor, strategy="last_attempt_and_reflexion")
    acts = [plain(prompt) for prompt in model.prompts if asks_for(prompt) == "act"]
    assert "second paragraph" not in acts[0][0][1]
    assert [len(prompt) for prompt in acts] == [2, 4, 6, 8, 10, 2, 4, 6, 8, 10, 12, 2, 4]
    for before, prompt in pairwise(acts):
        assert len(prompt) == 2 or prompt[: len(before)] == before


def test_of_two_calls_in_one_reply_the_first_is_done_and_each_has_a_result():
    both = calls(call("add", "a", amount=1), call("add", "b", amount=2), says="One first.")
    final, model = one_trial([both, calls(call("add", amount=2))])
    assert [step["observation"][-2:] for step in final["trajectory"]] == ["1.", "3."]
    assert final["trajectory"][0]["thought"] == "One first."
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
def test_a_call_that_is_not_allowed_is_answered_with_the_allowed_ones(reply, why):
    final, model = one_trial([reply, calls(call("add", amount=3))])
    observation = final["trajectory"][0]["observation"]
    assert observation.startswith(f"Invalid action: {why}")
    assert observation.endswith("Allowed actions: add {amount}; go {direction}; read[]; fail.")
    assert final["status"] == "solved"
    assert observation in text_of(model.prompts[1])
    assert all(message.text or message.tool_calls for message in model.prompts[1] if message.type == "ai")


def test_a_model_without_tool_calls_is_refused_before_a_run():
    with pytest.raises(ConfigurationError, match=r"FakeListChatModel does not support tool calls.*actor='react'"):
        create_reflexion(FakeListChatModel(responses=["x"]), Counter(), actor="tools")


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        ("I am in the room.", "Thought: I am in the room.\nAction: (none)"),
        ("Observation: It shines.", "Action: (none)"),
    ],
)
def test_a_reply_without_an_action_is_shown_as_none(reply, shown):
    _, model = one_trial([reply, "Action: add 3"], "react")
    said, answer = model.prompts[1][-2:]
    assert said.text == shown
    assert "room" not in answer.text


@pytest.mark.parametrize("actor", ACTORS)
def test_one_thought_alone_costs_nothing_and_a_second_in_a_row_is_an_invalid_action(actor):
    thoughts = ["Thought: first I think.", "Thought: two", "Thought: three"]
    final, model = one_trial([*thoughts, "Action: add 3"], actor)
    first, second, *_ = final["trajectory"]
    assert first == {"number": 1, "thought": "first I think.", "action": None, "observation": "OK."}
    assert all(said in text_of(model.prompts[1]) for said in ("first I think.", "OK."))
    assert (second["thought"], second["observation"].partition(":")[0]) == ("two", "Invalid action")
    assert [step["action"] is None for step in final["trajectory"]] == [True, False, True, False]
    assert final["trials"][0]["actions"] == 2


@pytest.mark.parametrize("actor", ACTORS)
def test_a_model_that_only_thinks_comes_to_an_end(actor):
    made = iter(range(200))
    final, _ = one_trial(lambda _: f"Thought: number {next(made)}", actor)
    assert (final["status"], final["trials"][0]["stop_reason"]) == ("failed", "hallucination")
