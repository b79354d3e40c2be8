"""The graph on HotPotQA: a fault is told from what was not found, and from a wrong answer."""

import json
import os
from itertools import repeat
from pathlib import Path

import pytest

from langgraph_reflexion import create_reflexion
from langgraph_reflexion.envs.hotpotqa.environment import HotPotQA
from langgraph_reflexion.testing import MediaWikiServer, ScriptedChatModel
from tests.envs.hotpotqa.small import OFFICIAL


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def play(environment, task, *actions, **options):
    model = ScriptedChatModel(replies=[f"Thought: Hm.\nAction: {action}" for action in actions])
    graph = create_reflexion(model, environment, strategy="retry", max_trials=1, **options).compile()
    return graph.invoke({"task": task}), model


def test_a_question_of_our_own_is_answered_from_its_pages():
    environment = HotPotQA()
    task = environment.tasks()[0]
    titles, answer = task["data"]["supporting"], task["data"]["answer"]
    final, model = play(environment, task, *(f"search[{title}]" for title in titles), f"finish[{answer}]")
    assert (final["status"], final["trials"][0]["success"]) == ("solved", True)
    told = [message.text for message in model.prompts[0]]
    assert any(task["instruction"] in text for text in told)
    assert not any(answer in text for text in told)
    final, _ = play(environment, task, "finish[nobody knows]")
    assert (final["status"], final["trials"][0]["success"], final["fault"]) == ("failed", False, "")


def test_a_trial_without_an_answer_is_known_to_have_failed():
    environment = HotPotQA()
    final, _ = play(environment, environment.tasks()[0], *["search[Nothing]"] * 9)
    assert final["trials"][0]["stop_reason"] == "hallucination"
    assert final["trials"][0]["success"] is False


@pytest.mark.parametrize(
    ("faults", "cause"),
    [
        (repeat("403"), "said 403 (forbidden); it blocks this client"),
        (repeat("429"), "said 429 (too many requests); Retry-After 30 s"),
        (repeat("hang"), "timed out after 0.2 s"),
        (repeat("garbage"), "answered with garbage"),
        (repeat("error"), "answered with an error"),
    ],
    ids=["403", "429", "hang", "garbage", "error"],
)
def test_the_record_of_a_run_tells_a_fault_from_not_found(faults, cause):
    with MediaWikiServer({"Elm": "The elm is a tree."}) as server:
        environment = HotPotQA(pages="wikipedia", api=server.api, timeout=0.2)
        task = environment.tasks()[0]
        missed, _ = play(environment, task, "search[Oak]", "finish[no]")
        server.faults = faults
        faulty, _ = play(environment, task, "search[Oak]", "finish[no]")
        environment.close()
    assert missed["status"] == "failed"
    assert missed["trajectory"][0]["observation"] == "Could not find Oak. Similar: []."
    assert (missed["trials"][0]["fault"], missed["trials"][0]["success"]) == ("", False)
    assert faulty["status"] == "fault"
    assert cause in faulty["trials"][0]["fault"]
    assert (faulty["trials"][0]["success"], faulty["trials"][0]["verdict"]) == (None, None)
    assert not any("Could not find" in step["observation"] for step in faulty["trajectory"])


def answer_all(environment, entries):
    statuses = []
    for task, entry in zip(environment.tasks(), entries, strict=True):
        titles = task["data"]["supporting"]
        final, _ = play(environment, task, *(f"search[{title}]" for title in titles), f"finish[{entry['answer']}]")
        statuses.append(final["status"])
    environment.close()
    return statuses


def test_questions_from_a_file_run_end_to_end(tmp_path):
    path = tmp_path / "questions.json"
    path.write_text(json.dumps(OFFICIAL), encoding="utf-8")
    assert answer_all(HotPotQA(path=path), OFFICIAL) == ["solved", "solved"]


SAMPLE = os.environ.get("HOTPOTQA_SAMPLE", "")


@pytest.mark.skipif(not SAMPLE or not Path(SAMPLE).is_dir(), reason="HOTPOTQA_SAMPLE names no folder")
def test_real_questions_run_end_to_end():
    for path in sorted(Path(SAMPLE).glob("hotpot*.json")):
        entries = json.loads(path.read_text(encoding="utf-8"))
        assert set(answer_all(HotPotQA(path=path), entries)) == {"solved"}
