"""Model calls of a library that a client lends its model to."""

from langchain_core.messages import AIMessage

from langgraph_reflexion.models.calls import CallId, open_account
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.models.options import ModelOptions
from langgraph_reflexion.models.usage import Price
from langgraph_reflexion.testing import ScriptedChatModel

USED = {"input_tokens": 1_000_000, "output_tokens": 100_000, "total_tokens": 1_100_000}


async def test_the_calls_of_a_library_are_charged_at_the_price_of_the_model():
    model = ScriptedChatModel(replies=[AIMessage("Yes.", usage_metadata=USED)])
    client = Client(model, ModelOptions(prices={"scripted": Price(2.0, 10.0)}))

    async def judge(model, config):
        return await model.ainvoke("Is it right?", config)

    with open_account() as account:
        await client.lend(judge, {}, CallId(0, "task", 1, "evaluate"))
    assert account.usage["cost"] == 3.0
