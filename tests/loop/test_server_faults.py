"""A model's server over HTTP and with the real client: its errors, and the length of prompts and replies.

The counter reaches 3 in two actions. The server answers the first request, and fails at the second or from then on.
"""

import json
import re

import pytest
from langchain_core.messages import AIMessage
from langchain_openai import ChatOpenAI

from langgraph_reflexion import ModelOptions, ToolEnvironment, load_prompts
from langgraph_reflexion.envs.protocols import REPLY_TOKENS
from langgraph_reflexion.errors import ModelFault
from langgraph_reflexion.memory.episodic import LONGEST
from langgraph_reflexion.models.limits import LIMITS, limiting
from langgraph_reflexion.models.load import load_model
from langgraph_reflexion.support.retries import Retries
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.model_server import ModelServer
from tests.support.toys import INPUT, asks_for, compiled, play

pytestmark = pytest.mark.slow

KEY = "sk-very-secret-0123456789"
QUICK = Retries(attempts=3, first_wait=0.01)


def adding(messages):
    """Adds 1, and then 2."""
    return "Action: add 2" if "stands at 1" in messages[-1].text else "Action: add 1"


def run(server, environment=None, settings=(), **options):
    options = {"options": ModelOptions(retries=QUICK), "max_trials": 1} | options
    settings = {"temperature": 0.5, **dict(settings)}
    model = ChatOpenAI(model="any", base_url=server.url, api_key=KEY, **settings)
    final, _ = play(model, environment, **options)
    assert KEY not in json.dumps(final)
    return final


def server(faults=(), replies=adding):
    return ModelServer(ScriptedChatModel(replies=replies), faults=faults)


def later(fault):
    return lambda request: fault if request.number > 1 else None


def longer_than(characters):
    return lambda request: "context" if request.characters > characters else None


# Transient errors, and what the fault says when they last.
PASSING = {
    "429": "RateLimit.* 429",
    "500": "Error code: 500",
    "hang": "timed out",
    "reset": "Connection error",
    "truncated-stream": "could not answer",
    "invalid-json": "could not be read",
    "empty-choices": "could not",
}


@pytest.mark.parametrize("fault", PASSING)
def test_a_transient_error_is_retried(fault):
    with server([None, fault]) as asked:
        final = run(asked, settings={"timeout": 0.4 if fault == "hang" else 60})
        assert (final["status"], len(asked.requests)) == ("solved", 3)
    assert final["trials"][0]["usage"]["act"]["llm_calls"] == 2
    assert final["trials"][0]["fault"] == ""


def test_empty_replies_and_refusals_are_charged_and_retried():
    refusal = AIMessage("", additional_kwargs={"refusal": "I cannot help."})
    with server(replies=["", refusal, "Action: add 3"]) as asked:
        final = run(asked)
    assert final["trials"][0]["usage"]["act"]["llm_calls"] == 3
    with server(replies=["Action: add 1", *[refusal] * 3]) as asked:
        assert re.search("the model refused: I cannot", run(asked)["fault"])


@pytest.mark.parametrize("fault", ["429", "invalid-json"])
def test_a_lasting_error_is_a_fault_after_all_attempts(fault):
    with server(later(fault)) as asked:
        final = run(asked)
        assert len(asked.requests) == 1 + QUICK.attempts
    [record] = final["trials"]
    assert (final["status"], record["stop_reason"], record["verdict"]) == ("fault", "fault", None)
    assert (record["actions"], record["fault"]) == (1, final["fault"])
    assert re.fullmatch(f".*{PASSING[fault]}.*", record["fault"]), record["fault"]


def test_the_servers_waiting_time_is_kept_unless_it_is_too_long():
    with server([None, "429-retry-after:0.2"]) as asked:
        assert run(asked)["status"] == "solved"
        _, refused, again = (request.arrived for request in asked.requests)
    assert 0.2 <= again - refused < 2
    with server(later("429-retry-after:3600")) as asked:
        assert run(asked)["fault"].endswith("(retry after 3600 s)")
        assert len(asked.requests) == 2


@pytest.mark.parametrize(
    ("fault", "requests", "says"),
    [
        *((later(fault), 2, "the model ") for fault in ("wrong-key", "unknown-model", "quota")),
        (lambda request: "500", QUICK.attempts, "the model has never answered: "),
    ],
    ids=["wrong key", "unknown model", "quota", "never answered"],
)
def test_a_permanent_error_stops_the_run(fault, requests, says):
    with server(fault) as asked:
        with pytest.raises(ModelFault, match=says) as raised:
            run(asked)
        assert len(asked.requests) == requests
    assert raised.value.permanent
    assert KEY not in str(raised.value)


REFUSED = ["stop", "temperature", "max_tokens", "tools", "tool_choice"]


@pytest.mark.parametrize("option", REFUSED)
def test_a_refused_option_is_left_out_afterwards(option):
    with server(lambda request: f"refused:{option}" if option in request.body else None) as asked:
        final = run(asked, actor="tools" if "tool" in option else "react")
        assert [option in request.body for request in asked.requests] == [True, False, False]
        others = {"temperature", "seed"} - {option}
        assert all(others <= set(request.body) for request in asked.requests)
        assert "add {amount}" in asked.requests[1].body["messages"][0]["content"] or option == "tool_choice"
    assert final["status"] == "solved"
    assert f"the server refuses {option}, which is left out" in final["trials"][0]["notes"]


def test_a_tool_call_is_required_and_sent_back_with_content():
    calls = [{"name": "add", "args": {"amount": 1}, "id": "1", "type": "tool_call"}]
    with server(replies=[AIMessage("", tool_calls=calls), "Action: add 2"]) as asked:
        assert run(asked, actor="tools")["status"] == "solved"
        bodies = [request.body for request in asked.requests]
    assert [body["tool_choice"] for body in bodies] == ["required"] * 2
    [said] = [each for each in bodies[1]["messages"] if each.get("tool_calls")]
    assert said["content"] == " "


def look(number):
    """Look."""
    return f"{number}" + " bla" * 1000


def looking(messages):
    """Looks four times, and is done."""
    number = sum(message.type == "ai" for message in messages) + 1
    return f"Action: look[{number}]" if number < 5 else "Action: finish[done]"


@pytest.mark.parametrize("actor", ["react", "tools"])
def test_a_prompt_that_is_too_long_is_shortened_at_its_oldest_long_observations(actor):
    world = ToolEnvironment([look], ["Look."], lambda task, answer: True)
    with server(longer_than(11_000), looking) as asked:
        final = run(asked, world, actor=actor)
        bodies = [request.body["messages"] for request in asked.requests]
    assert final["status"] == "solved"
    assert any("prompt too long" in note for note in final["trials"][0]["notes"])
    assert len(final["trials"][0]["notes"]) < 4
    # What the environment said is kept; it is the prompt that is short, and its newest observation is the last to go.
    assert [len(step["observation"]) > 4000 for step in final["trajectory"]] == [True] * 4 + [False]
    shown = [len(message["content"]) for message in bodies[-1] if "bla" in str(message["content"])]
    assert shown[0] < 400 < 4000 < shown[-1]
    # Once it is known what fits, few requests are refused.
    assert len(bodies) <= len(final["trajectory"]) + 4


def test_a_first_prompt_that_cannot_fit_stops_the_run_and_a_later_one_is_a_fault():
    says = "the prompt is too long for the model's context"
    with server(longer_than(100)) as asked:
        with pytest.raises(ModelFault, match=says) as raised:
            run(asked)
        assert len(asked.requests) == 1
    assert raised.value.permanent
    with server(longer_than(2000), lambda messages: f"Thought: {'Hm. ' * 100}\nAction: read[]") as asked:
        final = run(asked)
    assert (final["status"], says in final["fault"]) == ("fault", True)


def test_examples_and_the_oldest_reflections_are_left_out_of_a_prompt_that_is_too_long(tmp_path):
    step = '[[example.step]]\nthought = ""\naction = "add 1"\nobservation = "The counter stands at 1."\n'
    for name in ("examples", "reflections"):
        each = f'[[example]]\nobservation = "{"Count to one. " * 40}"\nreflection = "I added one."\n{step}'
        each = each if name == "reflections" else each.replace('reflection = "I added one."\n', "")
        (tmp_path / f"{name}.toml").write_text(each * 2)
    told = [
        "I read the counter, which told me nothing new. ",
        "Nobody adds by looking: one is still missing. ",
        "Three is the goal, and reading leaves it at zero. ",
        "Steps were used up before anything was added. ",
    ]
    reflections = iter([sentence * 20 for sentence in told])

    def reply(messages):
        return next(reflections) if asks_for(messages) == "reflect" else "Action: read[]"

    with server(longer_than(4000), reply) as asked:
        final = run(asked, prompts=load_prompts(tmp_path), strategy="reflexion", max_trials=4)
        calls = sum(used["llm_calls"] for trial in final["trials"] for used in trial["usage"].values())
        assert len(asked.requests) - calls < 4, "what fits is remembered"
    notes = [note for trial in final["trials"] for note in trial["notes"]]
    assert final["status"] == "failed"
    assert "act 1: prompt too long, 2 examples or reflections left out" in notes
    assert any(note.startswith("reflect: prompt too long, ") and note.endswith("left out") for note in notes)


def test_a_broken_stream_is_retried():
    with server([None, "truncated-stream"]) as asked:
        model = ChatOpenAI(model="any", base_url=asked.url, api_key=KEY, timeout=1.5)
        graph, _ = compiled(model, options=ModelOptions(retries=QUICK))
        states = list(graph.stream(INPUT, stream_mode=["messages", "values"]))
        assert asked.requests[0].body["stream"] is True
        assert len(asked.requests) == 3
    assert states[-1][1]["status"] == "solved"


def test_the_clients_retries_are_off_and_the_users_model_is_unchanged():
    with server(later("500")) as asked:
        model = ChatOpenAI(model="any", base_url=asked.url, api_key=KEY, max_retries=4)
        assert play(model, options=ModelOptions(retries=QUICK))[0]["status"] == "fault"
        assert len(asked.requests) == 1 + 3
    assert model.max_retries == 4
    assert load_model("openai:any", base_url=asked.url).max_retries == 0


CUT = AIMessage("", response_metadata={"finish_reason": "length"})
ENDLESS = "I took one step too many. " * 1000


def failing(messages):
    return ENDLESS if asks_for(messages) == "reflect" else "Action: read[]"


def test_each_kind_of_call_has_a_limit_in_the_form_that_compatible_servers_take():
    with server(replies=failing) as asked:
        final = run(asked, max_trials=2)
        limits = [request.body.get("max_tokens") for request in asked.requests]
        assert not any("max_completion_tokens" in request.body for request in asked.requests)
    steps = len(final["trajectory"])
    assert limits == [REPLY_TOKENS] * steps + [LIMITS["reflect"]] + [REPLY_TOKENS] * steps
    [reflection] = final["reflections"]
    assert len(reflection["text"]) <= LONGEST
    assert reflection["text"].endswith("too many.")
    notes = {"reflect: the reply was cut at its limit", f"the reflection is cut to {LONGEST} characters"}
    assert notes <= {*final["trials"][0]["notes"]}


@pytest.mark.parametrize(
    ("given", "settings", "sent"),
    [({"max_tokens": 99}, {}, 99), ({}, {"max_tokens": 77}, 77), ({"max_tokens": 99}, {"max_tokens": 77}, 99)],
    ids=["options", "the model's own", "options before the model's own"],
)
def test_a_limit_that_is_given_holds_for_every_call(given, settings, sent):
    with server(replies=failing) as asked:
        run(asked, options=ModelOptions(retries=QUICK, **given), settings=settings, max_trials=2)
        bodies = [request.body for request in asked.requests]
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

    with Reasoning() as asked:
        final = run(asked)
        assert [request.body.get("max_tokens") for request in asked.requests] == [4096, None]
    assert final["status"] == "solved"
    assert final["usage"]["act"]["llm_calls"] == 2, "both are paid for"


def test_a_blank_reply_that_is_cut_lifts_no_limit():
    blank = CUT.model_copy(update={"content": "\n \n"})
    with server(replies=[blank, "Action: add 3"]) as asked:
        final = run(asked)
        assert [request.body.get("max_tokens") for request in asked.requests] == [4096, 4096]
    assert "act 0: the reply was cut at its limit" in final["trials"][0]["notes"]
