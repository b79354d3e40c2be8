"""Replies that are kept: a cache of calls, and scripts."""

import sqlite3

import pytest
from langchain_core.caches import InMemoryCache as LangChainCache
from langchain_openai import ChatOpenAI
from langgraph.cache.memory import InMemoryCache

from langgraph_reflexion import ConfigurationError, ModelOptions, Price, ReflexionError
from langgraph_reflexion.testing import ModelServer, ScriptedChatModel, ScriptExhausted
from tests.support.toys import counting_badly, play


def played(cache, seed=0):
    options = ModelOptions(cache=cache, prices={"scripted": Price(1, 1)}, seed=seed)
    final, model = play(counting_badly, options=options)
    return final, len(model.prompts)


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


def test_a_script_without_replies_left_ends_the_run_and_is_no_fault():
    with pytest.raises(ScriptExhausted, match="no reply left: it has 1,"):
        play(["Action: add 1"])
    assert issubclass(ScriptExhausted, ReflexionError)
