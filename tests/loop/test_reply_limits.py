"""The length of replies: what is sent to a server, what a cut reply becomes, and what is kept of a reflection."""

import pytest
from langchain_core.messages import AIMessage
from langchain_openai import ChatOpenAI

from langgraph_reflexion import ModelOptions, create_reflexion
from langgraph_reflexion.memory.reading import LONGEST, read_reflection
from langgraph_reflexion.models.limits import LIMITS, limiting
from langgraph_reflexion.retries import Retries
from langgraph_reflexion.testing import ModelServer, ScriptedChatModel
from tests.support.toys import Counter, asks_for, count_to

QUICK = Retries(attempts=2, first_wait=0.01)
CUT = AIMessage("", response_metadata={"finish_reason": "length"})
ENDLESS = "I took one step too many. " * 1000


def failing(messages):
    return ENDLESS if asks_for(messages) == "reflect" else "Action: read[]"


def run(server, replies_of=failing, **options):
    model = ChatOpenAI(model="any", base_url=server.url, api_key="none", **options.pop("settings", {}))
    options = {"options": ModelOptions(retries=QUICK), "max_trials": 2, **options}
    return create_reflexion(model, Counter(), **options).compile().invoke({"task": count_to(3)})


def test_each_kind_of_call_has_a_limit_in_the_form_that_compatible_servers_take():
    with ModelServer(ScriptedChatModel(replies=failing)) as server:
        final = run(server)
        limits = [request.body.get("max_tokens") for request in server.requests]
        assert not any("max_completion_tokens" in request.body for request in server.requests)
    steps = len(final["trajectory"])
    assert limits == [Counter.reply_tokens] * steps + [LIMITS["reflect"]] + [Counter.reply_tokens] * steps
    [reflection] = final["reflections"]
    assert len(reflection["text"]) <= LONGEST
    assert reflection["text"].endswith("too many.")
    assert "reflect: the reply was cut at its limit" in final["trials"][0]["notes"]


@pytest.mark.parametrize(
    ("given", "settings", "sent"),
    [
        ({"max_tokens": 99}, {}, 99),
        ({}, {"max_tokens": 77}, 77),
        ({"max_tokens": 99}, {"max_tokens": 77}, 99),
    ],
    ids=["options", "the model's own", "options before the model's own"],
)
def test_a_limit_that_is_given_holds_for_every_call(given, settings, sent):
    with ModelServer(ScriptedChatModel(replies=failing)) as server:
        run(server, options=ModelOptions(retries=QUICK, **given), settings=settings)
        bodies = [request.body for request in server.requests]
    limits = [{body.get("max_tokens"), body.get("max_completion_tokens")} - {None} for body in bodies]
    assert all(each == {sent} for each in limits)


@pytest.mark.parametrize("settings", [{}, {"base_url": "http://127.0.0.1/v1", "use_responses_api": True}])
def test_openai_itself_and_responses_get_the_limit_as_a_field_of_the_client(settings):
    # ChatOpenAI sends its field `max_tokens` as `max_completion_tokens`, or as `max_output_tokens`.
    model = ChatOpenAI(model="gpt-4o-mini", api_key="none", **settings)
    assert limiting(model, 512) == ({"max_tokens": 512}, {})


def test_a_limit_that_reasoning_uses_up_is_lifted():
    class Reasoning(ModelServer):
        """Spends 5,000 tokens on reasoning before it answers."""

        def _complete(self, request, fault):
            limited = request.body.get("max_tokens", 10_000) < 5_000
            self.model = ScriptedChatModel(replies=lambda _: CUT if limited else "Action: add 3")
            return super()._complete(request, fault)

    with Reasoning() as server:
        final = run(server)
        assert [request.body.get("max_tokens") for request in server.requests] == [4096, None]
    assert final["status"] == "solved"
    assert final["usage"]["act"]["llm_calls"] == 2, "both are paid for"


def test_a_blank_reply_that_is_cut_lifts_no_limit():
    blank = CUT.model_copy(update={"content": "\n \n"})
    with ModelServer(ScriptedChatModel(replies=[blank, "Action: add 3"])) as server:
        final = run(server)
        assert [request.body.get("max_tokens") for request in server.requests] == [4096, 4096]
    assert "act 0: the reply was cut at its limit" in final["trials"][0]["notes"]


def test_a_server_that_refuses_the_limit_gets_none():
    with ModelServer(ScriptedChatModel(replies=["Action: add 3"]), refuses=["max_tokens"]) as server:
        final = run(server)
        assert ["max_tokens" in request.body for request in server.requests] == [True, False]
    assert "the server refuses max_tokens, which is left out" in final["trials"][0]["notes"]


@pytest.mark.parametrize(
    ("reply", "kept"),
    [
        ("<think>It was the cup.</think>\nReflection: I took the cup.", "I took the cup."),
        ("- Trial 2: I answered tree.", "I answered tree."),
        ("**Reflection:** I went north.\n\nNext time I go south.", "I went north.\nNext time I go south."),
        ("I was wrong.\nObservation: Wrong.\nAction: look", "I was wrong."),
        ("I was late.\n\nThe trial that has just failed:\n\nA room.", "I was late."),
        (
            "It was oak.\nWhat you wrote down after earlier trials of this same task:\n- Trial 2: It was elm.",
            "It was oak.",
        ),
        ("Action: go north was wrong.", "Action: go north was wrong."),
        ("x" * 5000, "x" * LONGEST),
    ],
    ids=[
        "reasoning",
        "label",
        "two paragraphs",
        "observation",
        "next trial",
        "its notes",
        "begins like a step",
        "no sentence",
    ],
)
def test_a_reflection_is_what_the_reply_says_about_the_trial(reply, kept):
    assert read_reflection(reply).removesuffix(" ...") == kept
