"""Answers that are kept: found again by the same call and no other, recorded and not charged."""

from pathlib import Path

import pytest
from langchain_core.messages import AIMessage
from langchain_openai import ChatOpenAI
from langgraph.cache.memory import InMemoryCache

from langgraph_reflexion import ConfigurationError, ModelOptions, Price, create_reflexion
from langgraph_reflexion.testing import ModelServer, ScriptedChatModel
from tests.support.toys import Counter, Timeless, count_to, counting_badly

INPUT = {"task": count_to(3)}


def counted(messages):
    usage = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
    return AIMessage(counting_badly(messages), usage_metadata=usage)


def played(cache, seed=0):
    model = ScriptedChatModel(replies=counted)
    options = ModelOptions(cache=cache, prices={"scripted": Price(1, 1)}, seed=seed)
    final = create_reflexion(model, Counter(), options=options).compile().invoke(INPUT)
    return final, len(model.prompts)


def test_the_same_run_is_answered_from_the_cache_and_costs_nothing():
    cache = InMemoryCache()
    first, asked = played(cache)
    again, asked_again = played(cache)
    assert (asked, asked_again) == (15, 0)
    spent = [usage for record in again["trials"] for usage in record["usage"].values()]
    assert sum(usage["cached_calls"] for usage in spent) == 15
    assert {(usage["llm_calls"], usage["input_tokens"], usage["cost"]) for usage in spent} == {(0, 0, 0.0)}
    for each in (first, again):
        each["usage"] = {}
        for record in each["trials"]:
            record["usage"] = {}
    assert again == Timeless(first)


def test_a_trial_is_never_answered_with_another_trials_answers():
    # Under `retry` every trial begins with the same prompt.
    cache = InMemoryCache()
    model = ScriptedChatModel(replies=lambda messages: "Action: read[]")
    options = ModelOptions(cache=cache)
    graph = create_reflexion(model, Counter(), options=options, strategy="retry", max_trials=3).compile()
    graph.invoke(INPUT)
    assert len(model.prompts) == 12
    assert played(cache, seed=1)[1] == 15, "nor is another seed's run"


def test_in_a_file_across_processes_and_models(tmp_path: Path):
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


@pytest.mark.parametrize("name", ["notes", "notes/deeper"])
def test_a_file_that_is_something_else_is_refused(tmp_path: Path, name: str):
    (tmp_path / "notes").write_text("not a database, and long enough to be read as one" * 10)
    with pytest.raises(ConfigurationError, match="cannot cache model replies"):
        played(tmp_path / name)


def test_langchains_own_cache_is_not_charged_either():
    from langchain_core.caches import InMemoryCache as LangChainCache

    model = ScriptedChatModel(replies=counted, cache=LangChainCache(), seed=None)
    graph = create_reflexion(model, Counter(), strategy="retry", max_trials=1).compile()
    first = graph.invoke(INPUT)["trials"][0]["usage"]["act"]
    second = graph.invoke(INPUT)["trials"][0]["usage"]["act"]
    assert (first["llm_calls"], first["cached_calls"]) == (5, 0)
    assert (second["llm_calls"], second["cached_calls"], second["input_tokens"]) == (0, 5, 0)
