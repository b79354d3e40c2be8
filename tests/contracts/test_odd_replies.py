import json
import time

import pytest
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_reflexion import Memory, ModelOptions, create_reflexion
from langgraph_reflexion.memory.episodic import LONGEST
from langgraph_reflexion.models.replies import TOO_LONG
from langgraph_reflexion.retries import Retries
from langgraph_reflexion.testing import ModelServer, ScriptedChatModel
from tests.support.server_faults import CALLS, ERRORS, HALF, HUGE, REPLIES
from tests.support.toys import Counter, asks_for, count_to

THREAD = {"configurable": {"thread_id": "1"}}


def play(*faults, replies=lambda messages: "Action: add 3", timeout=5.0, attempts=2, **options):
    with ModelServer(ScriptedChatModel(replies=replies), faults=faults) as server:
        model = ChatOpenAI(model="any", base_url=server.url, api_key="any")
        calls = ModelOptions(retries=Retries(attempts, first_wait=0), timeout=timeout)
        graph = create_reflexion(model, Counter(), options=calls, **{"max_trials": 1} | options)
        final = graph.compile(checkpointer=InMemorySaver()).invoke({"task": count_to(3)}, THREAD)
        json.dumps(final, ensure_ascii=False).encode()
        return final, server.requests


@pytest.mark.parametrize(
    ("case", "args"),
    [
        ("an integer beyond 64 bits", {"amount": str(HUGE)}),
        ("half a pair in an argument", {"amount": ["?"]}),
        ("half a pair in a name", {"amount": {"?": 1}, "?": 2}),
    ],
)
def test_what_no_checkpoint_holds_is_replaced_in_a_call(case, args):
    final, requests = play(CALLS[case], actor="tools")
    assert final["trajectory"][0]["action"]["args"] == args
    assert len(requests) > 1


@pytest.mark.parametrize("case", [case for case in CALLS if "half a pair" in case])
def test_half_a_surrogate_pair_goes_nowhere(case):
    final, requests = play(CALLS[case], actor="tools")
    assert (final["status"], len(requests)) == ("solved", 2)
    assert HALF not in json.dumps(final, ensure_ascii=False)


@pytest.mark.parametrize(
    ("case", "text"),
    [
        ("a list of arguments", "([1])"),
        ("a text as arguments", "(x)"),
        ("an object as arguments", '({"amount": 1})'),
        ("endless arguments", f"add({TOO_LONG})"),
        ("an endless name", f"{'x' * 200}({TOO_LONG})"),
    ],
)
def test_arguments_that_are_no_object_are_an_invalid_action(case, text):
    final, requests = play(CALLS[case], actor="tools")
    assert final["trajectory"][0]["action"] == {"name": "", "args": {}, "text": text}
    assert (final["status"], len(requests)) == ("solved", 2)
    assert final["trials"][0]["usage"]["act"]["llm_calls"] == 2


@pytest.mark.parametrize("case", [case for case in REPLIES if "usage" in case])
def test_odd_counts_of_tokens_are_replaced_by_an_estimate(case):
    final, requests = play(REPLIES[case], replies=lambda messages: "Action: add 1")
    used = final["trials"][0]["usage"]["act"]
    assert 0 < used["input_tokens"] + used["output_tokens"] < 10_000
    assert used["llm_calls"] == len(requests) - (case == "usage a list")


def test_nuls_are_replaced_in_faults_and_replies():
    final, _ = play(None, *[ERRORS["NULs in an error"]] * 2, replies=lambda messages: "Thought: \0\nAction: add 1")
    assert "\ufffd" in final["fault"]
    assert final["trajectory"][0]["thought"] == "\ufffd"


def test_an_endless_reflection_is_cut_with_a_note():
    def replies(messages):
        return "Action: read[]" if asks_for(messages) == "act" else "Look closer. " * 1000

    final, _ = play(replies=replies, max_trials=3, memory=Memory(size=1))
    assert all(len(each["text"]) < LONGEST + 100 for each in final["reflections"])
    assert f"the reflection is cut to {LONGEST} characters" in final["trials"][0]["notes"]


def test_a_call_ends_in_time_even_while_its_server_drips():
    began = time.monotonic()
    final, requests = play(None, "drip", replies=lambda messages: "Action: add 1", timeout=0.3, attempts=1)
    assert final["fault"] == "no part of the model's reply arrived within 0.3 seconds"
    assert (len(requests), time.monotonic() - began < 4) == (2, True)
