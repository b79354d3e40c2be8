"""Both ways to act: what is sent and kept of the model's messages, and what is made of its replies."""

import json
from itertools import pairwise

import pytest
from langchain_core.exceptions import ContextOverflowError
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.messages.tool import invalid_tool_call
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_reflexion import ConfigurationError, create_reflexion
from langgraph_reflexion.actors import ACTORS
from tests.support.toys import INPUT, THREAD, Counter, Parrot, add, asks_for, compiled, counting_badly, play, text_of


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


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{\n  "name": "add",\n  "arguments": {\n    "amount": 2\n  }\n}\n```',
        '{{"name": "add", "arguments": {"amount": 2}}}',
        '<tool_call>\n{"name": "add", "arguments": {"amount": 2}}\n</tool_call>',
    ],
)
def test_a_call_that_is_written_as_json_is_done_and_goes_back_as_a_call(text):
    final, model = one_trial([AIMessage(text), calls(call("add", amount=1))])
    step = final["trajectory"][0]
    assert (step["action"]["name"], step["action"]["args"], step["thought"]) == ("add", {"amount": 2}, "")
    assert step["observation"] == "The counter stands at 2."
    assert model.prompts[1][2].tool_calls[0]["args"] == {"amount": 2}


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("<think>\nI could call\nadd(amount=9)\nbut two are enough.\n</think>\nadd(amount=2)", {"amount": 2}),
        ('<think><tool_call>{"name": "add", "arguments": {"amount": 9}}</tool_call></think>\nadd 2', {"amount": "2"}),
        ("<think>\nI could call\nadd(amount=9)\nor", {}),
        ('<think>\nI add.\n<tool_call>\n{"name": "add", "arguments": {"amount": 2}}\n</tool_call>\n', {"amount": 2}),
        ('<think>\n<tool_call>\n{"name": "add", "arguments": {"amount": 2}}\n</tool_call>\nor', {}),
        ("<think>\nI add.\n\nAction: add 2", {"amount": "2"}),
    ],
)
def test_a_call_that_the_reasoning_considers_is_not_done(text, args):
    left = 3 - int(args.get("amount", 0))
    final, _ = one_trial([AIMessage(text), calls(call("add", amount=left))])
    assert final["trajectory"][0]["action"]["args"] == args
    assert final["status"] == "solved"


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


@pytest.mark.parametrize("reply", ["I would rather not.", calls(call("jump", height=2))], ids=["text", "unknown"])
def test_after_a_reply_without_a_possible_call_one_is_asked_for(reply):
    _, model = one_trial([reply, calls(call("add", amount=3))])
    assert model.prompts[1][-1].text.endswith("\nReply with a call of one of the tools.")
    _, model = one_trial(["I would rather not.", "Action: add 3"], "react")
    assert "tools" not in text_of(model.prompts[1])


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


def thinks(number, *calls, broken=()):
    """A message with a thought that only its provider can read."""
    thought = {"type": "thinking", "thinking": "", "signature": f"signed {number}"}
    called = [{"name": name, "args": args, "id": f"id{number}{at}"} for at, (name, args) in enumerate(calls)]
    blocks = [{"type": "tool_use", "input": each["args"], **each} for each in called]
    return AIMessage(
        [thought, *blocks],
        tool_calls=called,
        invalid_tool_calls=list(broken),
        usage_metadata={"input_tokens": 5, "output_tokens": 1, "total_tokens": 6},
        response_metadata={"model_provider": "one", "logprobs": {"content": [1, 2, 3]}},
    )


def one(number, amount=1):
    return thinks(number, ("add", {"amount": amount}))


def build(replies):
    return compiled(replies, saver=InMemorySaver(), actor="tools", max_trials=1)


def signatures(messages):
    return [message.content[0]["signature"] for message in messages if isinstance(message, AIMessage)]


def test_a_message_goes_back_as_it_came_with_the_observation_as_its_result():
    final, model = play([one(1), one(2), one(3)], actor="tools")
    assert final["status"] == "solved"
    _, _, said, result, *_ = model.prompts[2]
    assert said.content == one(1).content
    assert said.response_metadata == {"model_provider": "one"}
    assert (result.tool_call_id, result.text) == ("id10", "The counter stands at 1.")
    assert "usage_metadata" not in json.dumps(final["replies"])


def test_the_state_keeps_the_messages_of_the_running_trial_only_and_none_of_actors_in_text():
    replies = [one(1), one(2), one(3), one(4, 2)]
    final, model = play(replies, Counter(limit=2), actor="tools", max_trials=2, strategy="retry")
    assert [signatures(prompt) for prompt in model.prompts] == [[], ["signed 1"], [], ["signed 3"]]
    assert list(final["replies"]) == ["1", "2"]
    assert "signed" not in json.dumps([final["trials"], final["trajectory"], final["last_attempt"]])
    assert play(counting_badly, actor="react")[0]["replies"] == {}


def test_messages_that_a_state_does_not_have_are_built_from_the_trajectory():
    graph, model = build([one(1), one(2), one(3)])
    graph.invoke(INPUT, THREAD, interrupt_after=["observe"])
    graph.update_state(THREAD, {"replies": {}})
    assert graph.invoke(None, THREAD)["status"] == "solved"
    _, _, said, result = model.prompts[1]
    assert said.tool_calls[0]["id"] == result.tool_call_id == "c00000100"


def test_an_edited_action_is_told_in_the_result():
    graph, model = build([one(1), one(2)])
    graph.invoke(INPUT, THREAD, interrupt_after=["act"])
    graph.update_state(THREAD, {"decision": {"thought": "", "action": add(2)}})
    assert graph.invoke(None, THREAD)["status"] == "solved"
    _, _, said, result = model.prompts[1]
    assert said.content == one(1).content
    assert result.text == "Another action was done instead: add 2\nThe counter stands at 2."


@pytest.mark.parametrize(
    "reply",
    [
        thinks(1, ("jump", {"height": 2})),
        thinks(1, broken=[invalid_tool_call(name="add", args='{"amount": ', id="id10", error="bad")]),
    ],
    ids=["unknown tool", "broken json"],
)
def test_with_reasoning_a_call_that_is_not_allowed_goes_back_too(reply):
    final, model = play([reply, one(2, 3)], actor="tools")
    assert final["status"] == "solved"
    _, _, said, result = model.prompts[1]
    assert said.content == reply.content
    assert result.tool_call_id == "id10"
    assert result.text.startswith("Invalid action")


def test_reasoning_without_a_call_is_answered_by_the_user():
    says = AIMessage([{"type": "thinking", "thinking": "", "signature": "signed"}, {"type": "text", "text": "Hm."}])
    _, model = play([says, one(2, 3)], actor="tools")
    _, _, said, answer = model.prompts[1]
    assert said.content == says.content
    assert isinstance(answer, HumanMessage)


def test_shortened_observations_stay_the_results_of_their_calls():
    long = [thinks(number, ("say", {"words": f"{number} " * 500})) for number in (1, 2)]
    replies = [*long, ContextOverflowError("too long"), thinks(3, ("say", {"words": "bye"}))]
    final, model = play(replies, Parrot(bye=1.0), actor="tools")
    assert final["status"] == "solved"
    before, after = model.prompts[2:]
    assert [message.content for message in after if isinstance(message, AIMessage)] == [each.content for each in long]
    results = [message for message in after if isinstance(message, ToolMessage)]
    assert [result.tool_call_id for result in results] == ["id10", "id20"]
    assert len("".join(message.text for message in after)) < len("".join(message.text for message in before))


def test_a_call_without_an_id_gets_one_and_half_a_character_is_replaced():
    call = {"name": "add", "args": {"amount": 1}, "id": None}
    final, model = play([AIMessage("a \ud83d", tool_calls=[call]), one(2, 2)], actor="tools")
    assert final["status"] == "solved"
    _, _, said, result = model.prompts[1]
    assert said.tool_calls[0]["id"] == result.tool_call_id == "c00000100"
    assert said.text == "a ?"
