"""Cached replies: found again by the same call and no other, recorded and not charged."""

import sqlite3
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage
from langchain_openai import ChatOpenAI
from langgraph.cache.memory import InMemoryCache

from langgraph_reflexion import ConfigurationError, ModelOptions, Price, create_reflexion
from langgraph_reflexion.testing import ModelServer, ScriptedChatModel
from tests.support.toys import Counter, count_to, counting_badly

INPUT = {"task": count_to(3)}


def counted(messages):
    usage = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
    return AIMessage(counting_badly(messages), usage_metadata=usage)


def played(cache, seed=0):
    model = ScriptedChatModel(replies=counted)
    options = ModelOptions(cache=cache, prices={"scripted": Price(1, 1)}, seed=seed)
    final = create_reflexion(model, Counter(), options=options).compile().invoke(INPUT)
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
    model = ScriptedChatModel(replies=lambda messages: "Action: read[]")
    options = {"options": ModelOptions(cache=InMemoryCache()), "strategy": "retry", "max_trials": 3}
    create_reflexion(model, Counter(), **options).compile().invoke(INPUT)
    assert len(model.prompts) == 12


def test_a_cache_file_keeps_models_and_settings_apart_and_no_key(tmp_path: Path):
    path = tmp_path / "deep" / "answers.db"
    with ModelServer(ScriptedChatModel(replies=lambda messages: "Action: add 3")) as server:
        for name, asked, key in (("one", 1, "k" * 20), ("one", 1, "other" * 5), ("two", 2, "k" * 20)):
            model = ChatOpenAI(model=name, base_url=server.url, api_key=key, timeout=5 + asked)
            graph = create_reflexion(model, Counter(), options=ModelOptions(cache=path)).compile()
            assert graph.invoke(INPUT)["status"] == "solved"
            assert len(server.requests) == asked
        warmer = ChatOpenAI(model="one", base_url=server.url, api_key=key, temperature=1.0)
        create_reflexion(warmer, Counter(), options=ModelOptions(cache=path)).compile().invoke(INPUT)
        assert len(server.requests) == 3
    assert b"kkkkkkkk" not in path.read_bytes()


def test_a_file_that_is_no_cache_is_refused(tmp_path: Path):
    (tmp_path / "notes").write_text("not a database, and long enough to be read as one" * 10)
    with pytest.raises(ConfigurationError, match="cannot cache model replies"):
        played(tmp_path / "notes")


def test_replies_from_langchains_cache_are_not_charged():
    from langchain_core.caches import InMemoryCache as LangChainCache

    model = ScriptedChatModel(replies=counted, cache=LangChainCache(), seed=None)
    graph = create_reflexion(model, Counter(), strategy="retry", max_trials=1).compile()
    first = graph.invoke(INPUT)["trials"][0]["usage"]["act"]
    second = graph.invoke(INPUT)["trials"][0]["usage"]["act"]
    assert (first["llm_calls"], first["cached_calls"]) == (5, 0)
    assert (second["llm_calls"], second["cached_calls"], second["input_tokens"]) == (0, 5, 0)
