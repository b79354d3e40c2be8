"""Reflexion in Inspect AI, in this process: settings and messages.

An evaluation would replace parts of asyncio for the tests that follow: tests/long/test_inspect.py has those.
"""

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from langgraph_reflexion.envs import ENVIRONMENTS, load_environment

pytestmark = pytest.mark.extra("inspect")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("model", "demo", "model is an option of inspect eval"),
        ("reflection_model", "demo", "reflection_model is an option of inspect eval"),
        ("cache", "replies.sqlite", "cache is an option of inspect eval"),
        ("trials", 2, "unknown setting 'trials'"),
        ("evaluator", "luck", "evaluator='luck': choose one of"),
    ],
)
def test_settings_are_checked_before_the_first_sample(name, value, words):
    from langgraph_reflexion import ConfigurationError
    from langgraph_reflexion.lab.inspect import reflexion_agent

    with pytest.raises(ConfigurationError, match=words):
        reflexion_agent("alfworld", **{name: value})


@pytest.mark.slow
@pytest.mark.extra("webshop")
@pytest.mark.needs("sandbox")
def test_every_environment_is_a_task_with_the_settings_of_a_run():
    from langgraph_reflexion.lab.inspect import registry

    for name in ENVIRONMENTS:
        ids = [each["id"] for each in load_environment(name).tasks()]
        assert [each.id for each in getattr(registry, name)(max_trials=2, strategy="retry").dataset] == ids


async def test_messages_keep_their_content_when_converted():
    from langgraph_reflexion.lab.inspect.chat_model import to_inspect

    call = {"name": "add", "args": {"amount": 3}, "id": "one"}
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}
    messages = [SystemMessage("Count."), HumanMessage(" to 3 <think>\n"), AIMessage("Well.", tool_calls=[call])]
    messages += [ToolMessage("3", tool_call_id="one", name="add"), HumanMessage(["a dot", image])]
    converted = await to_inspect(messages)
    assert [(each.role, each.text) for each in converted] == [
        *(("system", "Count."), ("user", " to 3 <think>\n"), ("assistant", "Well.")),
        *(("tool", "3"), ("user", "a dot")),
    ]
    assert (converted[2].tool_calls[0].function, converted[2].tool_calls[0].arguments) == ("add", {"amount": 3})
    assert converted[3].tool_call_id == converted[2].tool_calls[0].id
    assert [part.type for part in converted[4].content] == ["text", "image"]


async def test_provider_content_survives_a_round_trip():
    from inspect_ai.model import (
        ChatCompletionChoice,
        ChatMessageAssistant,
        ContentReasoning,
        ContentText,
        ModelOutput,
    )

    from langgraph_reflexion.lab.inspect.chat_model import to_inspect, to_langchain

    thought = ContentReasoning(reasoning="hm", signature="signed")
    message = ChatMessageAssistant(content=[thought, ContentText(text="Three.")])
    reply = to_langchain(ModelOutput(model="m", choices=[ChatCompletionChoice(message=message)]))
    assert reply.text == "Three."
    (again,) = await to_inspect([reply])
    assert again.content == message.content
