"""Replies that are kept: a cache of calls, recorded runs that are replayed, and scripts."""

import json
import sqlite3

import pytest
from langchain_core.caches import InMemoryCache as LangChainCache
from langchain_core.messages import AIMessage
from langchain_openai import ChatOpenAI
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_reflexion import ConfigurationError, ModelOptions, ReflexionError, create_reflexion
from langgraph_reflexion.models.recorded import all_tokens
from langgraph_reflexion.models.usage import Price
from langgraph_reflexion.support.retries import Retries
from langgraph_reflexion.testing import MissingReply, RecordedChatModel, Recorder, ScriptedChatModel, ScriptExhausted
from tests.support.model_server import ModelServer
from tests.support.toys import THREAD, compiled, count_to, counting_badly, play


def played(cache, seed=0):
    options = ModelOptions(cache=cache, prices={"scripted": Price(1, 1)}, seed=seed)
    final, model = play(counting_badly, options=options)
    return final, len(model.prompts)


@pytest.mark.slow
def test_a_repeated_run_is_answered_from_the_cache_and_costs_nothing():
    cache = InMemoryCache()
    first, asked = played(cache)
    again, asked_again = played(cache)
    assert (asked, asked_again) == (15, 0)
    assert played(cache, seed=1)[1] == 15, "another seed is another run"
    spent = [usage for record in again["trials"] for usage in record["usage"].values()]
    assert sum(usage["cached_calls"] for usage in spent) == 15
    assert {(usage["llm_calls"], usage["input_tokens"], usage["cost"]) for usage in spent} == {(0, 0, 0.0)}
    assert again["trajectory"] == first["trajectory"]
    for paid, free in zip(first["trials"], again["trials"], strict=True):
        tokens = [all_tokens(usage) for usage in paid["usage"].values()]
        assert sum(tokens) > 0
        assert [all_tokens(usage) for usage in free["usage"].values()] == tokens


class AlteredCache(InMemoryCache):
    """Somebody else has written what its replies have cost."""

    def __init__(self, paid):
        super().__init__()
        self.paid = paid

    async def aset(self, pairs):
        await super().aset({key: (value | {"paid": self.paid}, ttl) for key, (value, ttl) in pairs.items()})


NOTHING_PAID = {"llm_calls": 1, "input_tokens": 0, "output_tokens": 0, "cost": 0.0}


@pytest.mark.parametrize(
    "paid", [None, {}, "none", NOTHING_PAID | {"input_tokens": -5}, NOTHING_PAID | {"cost": float("nan")}]
)
def test_a_cached_reply_without_a_proper_cost_is_refused(paid):
    cache = AlteredCache(paid)
    played(cache)
    with pytest.raises(ConfigurationError, match="a value that is not a reply"):
        played(cache)


def test_a_reply_out_of_two_caches_keeps_its_tokens():
    cache = InMemoryCache()
    both = {"options": ModelOptions(cache=cache), "max_trials": 1}
    of_langchain = LangChainCache()
    spent = []
    # The first reply is paid for, the second is LangChain's, the third ours.
    for options in ({}, both, both):
        model = ScriptedChatModel(replies=counting_badly, cache=of_langchain, seed=None)
        spent.append(play(model, **{"max_trials": 1, **options})[0]["usage"]["act"])
    assert [usage["cached_calls"] for usage in spent] == [0, 5, 5]
    assert len({all_tokens(usage) for usage in spent}) == 1


def test_a_reply_that_is_found_again_in_its_own_step_is_paid_once():
    tries = []

    def flaky(result):
        tries.append(result)
        if len(tries) < 3:
            raise ConnectionError("down")
        return True

    used = {"input_tokens": 90, "output_tokens": 10, "total_tokens": 100}
    model = ScriptedChatModel(replies=lambda messages: AIMessage("Verdict: yes", usage_metadata=used))
    options = ModelOptions(cache=InMemoryCache(), retries=Retries(attempts=3, first_wait=0.01))
    graph = create_reflexion(model, actor=lambda task: "a", evaluator=["llm", flaky], options=options).compile()
    usage = graph.invoke({"task": "Say a."})["trials"][0]["usage"]["evaluate"]
    assert len(model.prompts) == 1
    assert (usage["llm_calls"], usage["input_tokens"], usage["cached_calls"]) == (1, 90, 2)


class FullCache(InMemoryCache):
    async def aset(self, pairs):
        raise sqlite3.OperationalError("database or disk is full")


def test_a_reply_that_cannot_be_cached_is_used_and_noted():
    final, asked = played(FullCache())
    assert asked == 15
    assert "a reply could not be cached: database or disk is full" in final["trials"][0]["notes"]


def test_trials_with_the_same_prompt_do_not_share_replies():
    options = {"options": ModelOptions(cache=InMemoryCache()), "strategy": "retry", "max_trials": 3}
    _, model = play(lambda messages: "Action: read[]", **options)
    assert len(model.prompts) == 12


@pytest.mark.slow
def test_a_cache_file_keeps_models_and_settings_apart_and_no_key(tmp_path):
    path, key = tmp_path / "deep" / "answers.db", "k" * 20
    calls = [
        ({"model": "one", "api_key": key, "timeout": 5}, 1),
        ({"model": "one", "api_key": "other" * 5, "timeout": 6}, 1),
        ({"model": "two", "api_key": key}, 2),
        ({"model": "one", "api_key": key, "temperature": 1.0}, 3),
    ]
    with ModelServer(ScriptedChatModel(replies=lambda messages: "Action: add 3")) as server:
        for settings, asked in calls:
            final, _ = play(ChatOpenAI(base_url=server.url, **settings), options=ModelOptions(cache=path))
            assert (final["status"], len(server.requests)) == ("solved", asked)
    assert key.encode() not in path.read_bytes()


def test_a_file_that_is_no_cache_is_refused(tmp_path):
    (tmp_path / "notes").write_text("not a database, and long enough to be read as one" * 10)
    with pytest.raises(ConfigurationError, match="cannot cache model replies"):
        played(tmp_path / "notes")


def test_replies_from_langchains_cache_are_not_charged():
    model = ScriptedChatModel(replies=counting_badly, cache=LangChainCache(), seed=None)
    first, second = (play(model, max_trials=1)[0]["usage"]["act"] for _ in range(2))
    assert (first["llm_calls"], first["cached_calls"]) == (5, 0)
    assert (second["llm_calls"], second["cached_calls"], second["input_tokens"]) == (0, 5, 0)
    assert all_tokens(second) == all_tokens(first) > 0


USED = {"input_tokens": 90, "output_tokens": 10, "total_tokens": 100}
ONE = AIMessage("Thought: just one.\nAction: add 1", usage_metadata=USED)
SAYS = [ONE, "Action: add 5", "Count first: zoë said 2.", "Action: add 2"]
SHORT = {"heuristic": lambda steps: "enough" if len(steps) > 1 else None, "max_trials": 2}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "recording.jsonl"


def counted(model, goal=2, **options):
    """The part of a final state that a replay repeats."""
    final, _ = play(model, task=count_to(goal), **SHORT | options)
    return {key: final[key] for key in ("status", "trial", "trajectory", "reflections", "usage")}


def recorded(path):
    """Record a run that fails its first trial and solves the second."""
    return counted(ScriptedChatModel(replies=SAYS, callbacks=[Recorder(path)]))


def test_a_recorded_run_is_replayed_the_same_also_after_a_stop(path):
    final = recorded(path)
    assert (final["status"], final["trial"]) == ("solved", 2)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [(row["trial"], row["call"]) for row in rows] == [(1, "act 0"), (1, "act 1"), (1, "reflect"), (2, "act 0")]
    assert rows[0]["usage"] == {"input_tokens": 90, "output_tokens": 10}
    saver, given = InMemorySaver(), {"task": count_to(2)}
    stopped, _ = compiled(RecordedChatModel(recording=path), saver=saver, **SHORT)
    stopped.invoke(given, THREAD, interrupt_after=["reflect"])
    again = compiled(RecordedChatModel(recording=path), saver=saver, **SHORT)[0].invoke(None, THREAD)
    assert {key: again[key] for key in final} == final


def test_tool_calls_are_recorded(path):
    call = {"name": "add", "args": {"amount": 2}, "id": "one"}
    model = ScriptedChatModel(replies=[AIMessage("At once.", tool_calls=[call])], callbacks=[Recorder(path)])
    final = counted(model, actor="tools")
    assert final["status"] == "solved"
    assert json.loads(path.read_text(encoding="utf-8"))["tool_calls"] == [call]
    assert counted(RecordedChatModel(recording=str(path)), actor="tools") == final


def test_a_call_without_a_recorded_reply_ends_the_run_and_is_named(path):
    recorded(path)
    path.write_text("\n".join(path.read_text(encoding="utf-8").split("\n")[:2]), encoding="utf-8")
    with pytest.raises(MissingReply, match="no reply to the call 'reflect' of trial 1 of c2"):
        counted(RecordedChatModel(recording=path))
    assert issubclass(MissingReply, ReflexionError)


def test_a_call_from_outside_the_graph_gets_the_last_reply_recorded_for_its_place():
    with pytest.raises(MissingReply, match="nodes only"):
        RecordedChatModel(recording=[]).invoke("?")
    row = {"task": "t", "trial": 2, "call": "plan"}
    model = RecordedChatModel(recording=[{**row, "reply": "No."}, {**row, "reply": "Here."}])
    place = {"reflexion_task": "t", "reflexion_trial": 2, "reflexion_call": "plan"}
    assert [model.invoke("?", {"metadata": place}).text for _ in range(2)] == ["Here."] * 2


def test_failed_calls_and_calls_outside_the_graph_are_not_recorded(path):
    replies = [OSError("down"), "Half \ud800.\nAction: add 1", "Hello."]
    model = ScriptedChatModel(replies=replies, callbacks=[Recorder(path)])
    assert counted(model, 1, options=ModelOptions(Retries(2, first_wait=0)))["status"] == "solved"
    model.invoke("Hi.")
    assert len(path.read_text(encoding="utf-8").splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "why"),
    [(b"{", "line 1"), (b'\n{"task": "t"}\n', "line 2.*has `task`, `trial`"), (b"\xff", "is not UTF-8")],
)
def test_an_invalid_recording_is_refused(path, text, why):
    path.write_bytes(text)
    with pytest.raises(ConfigurationError, match=why):
        RecordedChatModel(recording=path)


def test_a_script_without_replies_left_ends_the_run_and_is_no_fault():
    with pytest.raises(ScriptExhausted, match="no reply left: it has 1,"):
        play(["Action: add 1"])
    assert issubclass(ScriptExhausted, ReflexionError)
