"""The model's own messages in the state: kept for the running trial, and handed back as they came."""

import json

import pytest
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.messages.tool import invalid_tool_call
from langgraph.checkpoint.memory import InMemorySaver

from tests.support.toys import INPUT, THREAD, Counter, Parrot, add, compiled, counting_badly, play


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
