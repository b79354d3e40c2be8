"""What models, servers and disks do when they fail: none of it takes for ever, or is taken for something else."""

import time

import pytest
from langchain_core.messages import AIMessage

from langgraph_reflexion import create_reflexion, load_environment
from langgraph_reflexion.envs.hotpotqa.corpus import Corpus
from langgraph_reflexion.envs.hotpotqa.pages import Page
from langgraph_reflexion.testing import ScriptedChatModel


@pytest.mark.parametrize(
    "action", ["search[" + " " * 19_000 + "Elm", "search[" + " " * 19_000 + "Elm] so", "finish[" + "\n" * 9_000 + "x"]
)
def test_an_action_with_a_long_run_of_blanks_is_read_at_once(action):
    environment = load_environment("hotpotqa")
    began = time.process_time()
    environment.parse(action)
    assert time.process_time() - began < 1


def test_a_page_of_one_long_line_is_read_at_once():
    began = time.process_time()
    Page.from_text("A", "=" * 20_000 + "x\n" + "J. K. " * 20_000 + "This Is A. " * 10_000)
    assert time.process_time() - began < 3


def test_a_number_is_an_answer_too():
    environment = load_environment("hotpotqa")
    task = environment.tasks()[0]
    task = {**task, "data": {**task["data"], "answer": "1969"}}
    call = {"name": "finish", "args": {"answer": 1969}, "id": "x", "type": "tool_call"}
    model = ScriptedChatModel(replies=[AIMessage("", tool_calls=[call])])
    final = create_reflexion(model, environment, actor="tools", max_trials=1).compile().invoke({"task": task})
    assert final["status"] == "solved"


def test_half_a_surrogate_in_a_call_is_no_fault():
    environment = load_environment("hotpotqa")
    calls = [
        {"name": "search", "args": {"entity": "\ud800"}, "id": "x", "type": "tool_call"},
        {"name": "finish", "args": {"answer": "\ud800 no"}, "id": "y", "type": "tool_call"},
    ]
    model = ScriptedChatModel(replies=[AIMessage("", tool_calls=[call]) for call in calls])
    graph = create_reflexion(model, environment, actor="tools", max_trials=1).compile()
    assert graph.invoke({"task": environment.tasks()[0]})["status"] == "failed"


@pytest.mark.parametrize("left", [b"", b"junk" * 500])
def test_a_corpus_that_was_damaged_is_built_anew(tmp_path, left):
    source = tmp_path / "pages.jsonl"
    source.write_text("{}")
    pages = [Page("Elm", ("A tree.",))]
    Corpus.cached(source, lambda: pages, tmp_path).close()
    [kept] = tmp_path.glob("corpus-*.db")
    kept.write_bytes(left)
    assert Corpus.cached(source, lambda: pages, tmp_path).find("Elm") == pages[0]
