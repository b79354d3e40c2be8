"""Whatever a model's server answers, once or for ever: no run ends without a reason in words, no answer is unpaid."""

import json
from itertools import chain, repeat

import pytest
from langchain_core.messages import AIMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_reflexion import ModelOptions, create_reflexion
from langgraph_reflexion.errors import ModelFault
from langgraph_reflexion.support.retries import Retries
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.model_server import ModelServer
from tests.support.server_faults import CALLS, FAULTS, REPLIES, STREAMS
from tests.support.toys import Counter, count_to

pytestmark = pytest.mark.long
OPTIONS = ModelOptions(retries=Retries(attempts=2, first_wait=0))
USED = {"input_tokens": 5, "output_tokens": 1, "total_tokens": 6}

UNREADABLE = {
    *("choices null", "choices missing", "message null", "message missing", "role missing", "another role"),
    *("usage a list", "content a number", "content an object"),
}
"""Replies that OpenAI's client cannot read, so that nobody knows what they have cost."""

TO_THE_ACTOR = {"react": FAULTS.keys() - CALLS.keys(), "tools": {*REPLIES, *CALLS, *STREAMS}}
"""Whatever has no reply in it meets the model's client, which both actors share."""

UNREADABLE_STREAMED = {*UNREADABLE, "content a list", "usage in words", "usage in parts", "an object as arguments"}


def replies(messages):
    """Counts to 3 in steps."""
    at = sum(message.type == "ai" for message in messages)
    return AIMessage("Action: add 1" if at < 4 else "Action: add 2", usage_metadata=USED)


@pytest.fixture(scope="module")
def server():
    with ModelServer(ScriptedChatModel(replies=replies)) as running:
        yield running


@pytest.mark.parametrize("actor", ["react", "tools"])
def test_every_fault_is_survived_in_words_and_paid_for(actor, server):
    wrong = []
    # However busy the machine is, only a server that hangs is left: a request that is repeated would count as unpaid.
    patient, hasty = (
        create_reflexion(
            ChatOpenAI(model="any", base_url=server.url, api_key="any", timeout=seconds),
            Counter(),
            actor=actor,
            options=OPTIONS,
            max_trials=1,
            strategy="retry",
        ).compile(checkpointer=InMemorySaver())
        for seconds in (120, 0.3)
    )
    for number, (name, fault) in enumerate(FAULTS.items()):
        if name not in TO_THE_ACTOR[actor]:
            continue
        graph = hasty if name == "hang" else patient
        # Once and for ever; one of them streamed, in turns.
        for faults, streamed in ((chain([None, fault], repeat(None)), number % 2), (chain([None], repeat(fault)), 1)):
            before, server.faults = len(server.requests), faults
            said, paid = play(graph, f"{name} {before}", streamed)
            readable = name in {*REPLIES, *CALLS} - (UNREADABLE_STREAMED if streamed else UNREADABLE)
            if said < 15 or (readable and paid not in (None, len(server.requests) - before)) or paid == 0:
                wrong.append((name, said, paid, len(server.requests) - before))
    assert not wrong


def play(graph, thread, streamed):
    """How much is said about the end, and the paid calls; None if the run was stopped."""
    thread = {"configurable": {"thread_id": thread}}
    try:
        if streamed:
            *_, (_, final) = graph.stream({"task": count_to(3)}, thread, stream_mode=["messages", "values"])
        else:
            final = graph.invoke({"task": count_to(3)}, thread)
    except ModelFault as error:
        return len(str(error)) * error.permanent, None
    json.dumps(final, ensure_ascii=False).encode()
    paid = sum(each["llm_calls"] for trial in final["trials"] for each in trial["usage"].values())
    return 99 if final["status"] in ("solved", "failed") else len(final["fault"]), paid
