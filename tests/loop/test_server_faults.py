"""Errors of a model's server, over HTTP and with the real client.

The counter reaches 3 in two actions. The server answers the first request, and fails at the second or from then on.
"""

import json
import re
from dataclasses import replace

import pytest
from langchain_core.messages import AIMessage
from langchain_openai import ChatOpenAI

from langgraph_reflexion import ModelFault, ModelOptions, create_reflexion, load_model, load_prompts
from langgraph_reflexion.models.client import ESTIMATED
from langgraph_reflexion.retries import Retries
from langgraph_reflexion.testing import ModelServer, ScriptedChatModel
from tests.support.toys import Counter, CounterEpisode, asks_for, count_to

KEY = "sk-very-secret-0123456789"
QUICK = Retries(attempts=3, first_wait=0.01)


def adding(messages):
    """Adds 1, and then 2."""
    return "Action: add 2" if "stands at 1" in messages[-1].text else "Action: add 1"


def run(server, **options):
    options = {"options": ModelOptions(retries=QUICK), "max_trials": 1, "strategy": "retry"} | options
    settings = {"temperature": 0.5} | options.pop("settings", {})
    model = ChatOpenAI(model="any", base_url=server.url, api_key=KEY, timeout=0.4, **settings)
    final = create_reflexion(model, Counter(), **options).compile().invoke({"task": count_to(3)})
    assert KEY not in json.dumps(final)
    return final


def server(faults=(), **options):
    return ModelServer(ScriptedChatModel(replies=adding), faults=faults, **options)


def later(fault):
    return lambda request: fault if request.number > 1 else None


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
        final = run(asked)
        assert (final["status"], len(asked.requests)) == ("solved", 3)
    assert final["trials"][0]["usage"]["act"]["llm_calls"] == 2
    assert final["trials"][0]["fault"] == ""


def test_empty_replies_and_refusals_are_charged_and_retried():
    refusal = AIMessage("", additional_kwargs={"refusal": "I cannot help."})
    with ModelServer(ScriptedChatModel(replies=["", refusal, "Action: add 3"])) as asked:
        final = run(asked)
    assert final["trials"][0]["usage"]["act"]["llm_calls"] == 3
    with ModelServer(ScriptedChatModel(replies=["Action: add 1", *[refusal] * 3])) as asked:
        assert re.search("the model refused: I cannot", run(asked)["fault"])


@pytest.mark.parametrize("fault", ["429", "invalid-json"])
def test_a_lasting_error_is_a_fault_after_all_attempts(fault):
    with server(later(fault)) as asked:
        final = run(asked)
        assert len(asked.requests) == 1 + QUICK.attempts
    [record] = final["trials"]
    assert (final["status"], record["stop_reason"], record["verdict"]) == ("fault", "fault", None)
    assert record["actions"] == 1
    assert record["fault"] == final["fault"]
    assert "\n" not in record["fault"]
    assert re.search(PASSING[fault], record["fault"]), record["fault"]


def test_the_servers_waiting_time_is_kept_unless_it_is_too_long():
    with server([None, "429-retry-after:0.2"]) as asked:
        assert run(asked)["status"] == "solved"
        _, refused, again = (request.arrived for request in asked.requests)
    assert 0.2 <= again - refused < 2
    with server(later("429-retry-after:3600")) as asked:
        assert run(asked)["fault"].endswith("(retry after 3600 s)")
        assert len(asked.requests) == 2


@pytest.mark.parametrize("fault", ["wrong-key", "unknown-model", "quota"])
def test_a_permanent_error_stops_the_run_at_once(fault):
    with server(later(fault)) as asked:
        with pytest.raises(ModelFault) as raised:
            run(asked)
        assert len(asked.requests) == 2
    assert raised.value.permanent
    assert KEY not in str(raised.value)


def test_a_server_that_never_answered_stops_the_run():
    with server(lambda request: "500") as asked:
        with pytest.raises(ModelFault, match="the model has never answered: ") as raised:
            run(asked)
        assert len(asked.requests) == QUICK.attempts
    assert raised.value.permanent


REFUSED = [("stop", "react"), ("temperature", "react"), ("tools", "tools")]


@pytest.mark.parametrize(("option", "actor"), REFUSED)
def test_a_refused_option_is_left_out_afterwards(option, actor):
    with server(refuses=[option]) as asked:
        final = run(asked, actor=actor)
        assert [option in request.body for request in asked.requests] == [True, False, False]
        others = {"temperature", "seed"} - {option}
        assert all(others <= set(request.body) for request in asked.requests)
        assert "add {amount}" in asked.requests[1].body["messages"][0]["content"], "actions are text"
    assert final["status"] == "solved"
    assert f"the server refuses {option}, which is left out" in final["trials"][0]["notes"]


def test_missing_usage_is_estimated_and_noted():
    with server() as asked:
        record = run(asked)["trials"][0]
        sent = [len(message["content"]) for message in asked.requests[0].body["messages"]]
    assert record["usage"]["act"]["input_tokens"] > 2 * sum(sent) // 4
    assert ESTIMATED in record["notes"]


def test_a_call_is_required_where_the_server_takes_that():
    calling = AIMessage("", tool_calls=[{"name": "add", "args": {"amount": 3}, "id": "1", "type": "tool_call"}])
    for refuses, sent in (((), ["required"]), (("tool_choice",), ["required", None])):
        with ModelServer(ScriptedChatModel(replies=[calling]), refuses=refuses) as asked:
            final = run(asked, actor="tools")
            assert [request.body.get("tool_choice") for request in asked.requests] == sent
            assert all("tools" in request.body for request in asked.requests)
        assert final["status"] == "solved"
    assert "the server refuses tool_choice, which is left out" in final["trials"][0]["notes"]


def test_a_tool_call_is_sent_back_with_content():
    calling = AIMessage("", tool_calls=[{"name": "add", "args": {"amount": 1}, "id": "1", "type": "tool_call"}])
    with ModelServer(ScriptedChatModel(replies=[calling, "Action: add 2"])) as asked:
        assert run(asked, actor="tools")["status"] == "solved"
        [said] = [each for each in asked.requests[1].body["messages"] if each.get("tool_calls")]
    assert said["content"] == "Calling add."


class TalkativeEpisode(CounterEpisode):
    """A counter whose observations are long."""

    def step(self, action):
        result = super().step(action)
        return replace(result, observation=result.observation + " bla" * 1000)


class Talkative(Counter):
    def start(self, task):
        return TalkativeEpisode(task["data"]["goal"], self.limit)


def reading_first(messages):
    """Reads 3 times, then adds."""
    said = [message.text for message in messages if message.type == "ai"]
    return "Action: read[]" if len(said) < 3 else adding(messages)


@pytest.mark.parametrize("actor", ["react", "tools"])
def test_a_prompt_that_is_too_long_is_shortened_at_its_oldest_long_observations(actor):
    with ModelServer(ScriptedChatModel(replies=reading_first), context_chars=11_000) as asked:
        model = ChatOpenAI(model="any", base_url=asked.url, api_key=KEY)
        graph = create_reflexion(
            model, Talkative(), options=ModelOptions(retries=QUICK), max_trials=1, actor=actor
        ).compile()
        final = graph.invoke({"task": count_to(3)})
        bodies = [request.body["messages"] for request in asked.requests]
    assert final["status"] == "solved"
    assert any("prompt too long" in note for note in final["trials"][0]["notes"])
    assert len(final["trials"][0]["notes"]) < 4
    # What the environment said is kept; it is the prompt that is short, and its newest observation is the last to go.
    assert all(len(step["observation"]) > 4000 for step in final["trajectory"])
    shown = [len(message["content"]) for message in bodies[-1] if "bla" in str(message["content"])]
    assert shown[0] < 400 < 4000 < shown[-1]
    # Once it is known what fits, few requests are refused.
    assert len(bodies) <= len(final["trajectory"]) + 4


def test_a_first_prompt_that_cannot_fit_stops_the_run():
    with server(context_chars=100) as asked:
        with pytest.raises(ModelFault, match="the prompt is too long for the model's context") as raised:
            run(asked)
        assert len(asked.requests) == 1
    assert raised.value.permanent


def test_a_later_prompt_that_cannot_be_shortened_enough_is_a_fault():
    model = ScriptedChatModel(replies=lambda messages: f"Thought: {'Hm. ' * 100}\nAction: read[]")
    with ModelServer(model, context_chars=2000) as asked:
        final = run(asked)
    assert final["status"] == "fault"
    assert final["fault"].startswith("the prompt is too long for the model's context")


def test_examples_and_the_oldest_reflections_are_left_out_of_a_prompt_that_is_too_long(tmp_path):
    step = '[[example.step]]\nthought = ""\naction = "add 1"\nobservation = "The counter stands at 1."\n'
    for name in ("examples", "reflections"):
        each = f'[[example]]\nobservation = "{"Count to one. " * 40}"\nreflection = "I added one."\n{step}'
        each = each if name == "reflections" else each.replace('reflection = "I added one."\n', "")
        (tmp_path / f"{name}.toml").write_text(each * 2)
    words = "I read the counter, which told me nothing new. " * 20

    def reply(messages):
        return words if asks_for(messages) == "reflect" else "Action: read[]"

    with ModelServer(ScriptedChatModel(replies=reply), context_chars=4000) as asked:
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
        graph = create_reflexion(model, Counter(), options=ModelOptions(retries=QUICK), max_trials=1).compile()
        states = list(graph.stream({"task": count_to(3)}, stream_mode=["messages", "values"]))
        assert asked.requests[0].body["stream"] is True
        assert len(asked.requests) == 3
    assert states[-1][1]["status"] == "solved"


def test_the_clients_retries_are_off_and_the_users_model_is_unchanged():
    with server(later("500")) as asked:
        model = ChatOpenAI(model="any", base_url=asked.url, api_key=KEY, max_retries=4)
        graph = create_reflexion(model, Counter(), options=ModelOptions(retries=QUICK)).compile()
        assert graph.invoke({"task": count_to(3)})["status"] == "fault"
        assert len(asked.requests) == 1 + 3
    assert model.max_retries == 4
    assert load_model("openai:any", base_url=asked.url).max_retries == 0
