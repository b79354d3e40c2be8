"""The graph on HotPotQA: answers, faults, measures, variants."""

import json
import os
from itertools import repeat
from pathlib import Path

import pytest

from langgraph_reflexion import ModelOptions, create_reflexion
from langgraph_reflexion.envs.hotpotqa.environment import HotPotQA
from langgraph_reflexion.experiments.runner import run
from langgraph_reflexion.prompts import load_prompts
from langgraph_reflexion.retries import Retries
from langgraph_reflexion.settings import RunSettings
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.hotpotqa import as_on_the_hub
from tests.support.mediawiki import MediaWikiServer


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def play(environment, task, *actions, **options):
    model = ScriptedChatModel(replies=[f"Thought: Hm.\nAction: {action}" for action in actions])
    options = {"strategy": "retry", "max_trials": 1, "options": ModelOptions(retries=Retries(attempts=1)), **options}
    graph = create_reflexion(model, environment, **options).compile()
    return graph.invoke({"task": task}), model


def test_a_question_is_answered_from_its_pages():
    environment = HotPotQA()
    task = environment.tasks()[0]
    titles, answer = task["data"]["supporting"], task["data"]["answer"]
    final, model = play(environment, task, *(f"search[{title}]" for title in titles), f"finish[{answer}]")
    assert (final["status"], final["trials"][0]["success"]) == ("solved", True)
    assert any(task["instruction"] in message.text for message in model.prompts[0])


def test_a_fault_is_recorded_and_a_missing_page_is_not():
    with MediaWikiServer({"Elm": "The elm is a tree."}) as server:
        environment = HotPotQA(pages="wikipedia", api=server.api)
        task = environment.tasks()[0]
        missed, _ = play(environment, task, "search[Oak]", "finish[no]")
        server.faults = repeat("429")
        faulty, _ = play(environment, task, "search[Oak]", "finish[no]")
        environment.close()
    assert missed["trajectory"][0]["observation"] == "Could not find Oak. Similar: []."
    assert (missed["trials"][0]["fault"], missed["trials"][0]["success"]) == ("", False)
    assert faulty["status"] == "fault"
    assert "Retry-After 30 s" in faulty["trials"][0]["fault"]
    assert (faulty["trials"][0]["success"], faulty["trials"][0]["verdict"]) == (None, None)


def report_of(path, **settings):
    given = {"environment": "hotpotqa", "split": "own", "limit": 6, "max_trials": 2, **settings}
    return run(RunSettings(**given), path).report


def test_a_run_records_f1_and_reports_its_mean(tmp_path):
    report = report_of(tmp_path / "run", actor="cot-gt")
    rows = [json.loads(line) for line in (tmp_path / "run/trials.jsonl").read_text().splitlines()]
    assert {tuple(row["measures"]) for row in rows} == {("exact_match", "f1", "precision", "recall")}
    assert all(row["measures"]["exact_match"] == row["success"] for row in rows)
    assert [round(solved / 6, 4) for solved in report.solved] == report.measures["exact_match"]
    assert all(f1 >= em for f1, em in zip(report.measures["f1"], report.measures["exact_match"], strict=True))
    assert report.as_json()["measures"] == report.measures


SAMPLE = os.environ.get("HOTPOTQA_SAMPLE", "")


@pytest.mark.long
@pytest.mark.skipif(not SAMPLE or not Path(SAMPLE).is_dir(), reason="HOTPOTQA_SAMPLE names no folder")
def test_real_questions_run_end_to_end(tmp_path):
    for path in sorted(Path(SAMPLE).glob("hotpot*.json")):
        entries = json.loads(path.read_text(encoding="utf-8"))[:20]
        hub = tmp_path / "hub.jsonl"
        hub.write_text("".join(json.dumps(as_on_the_hub(entry)) + "\n" for entry in entries), encoding="utf-8")
        given = {"split": "path", "limit": None, "options": {"path": str(hub)}}
        for actor in ("react", "cot-gt"):
            report = report_of(tmp_path / f"{actor}-{path.stem}", actor=actor, **given)
            assert (report.tasks, report.costs["faults"]) == (len(entries), 0)


@pytest.mark.parametrize("name", ["cot", "cot-gt"])
def test_a_variant_is_played_with_its_own_prompts(name):
    questions = HotPotQA()
    model = ScriptedChatModel(replies=["I cannot say.", "I should have answered.", "Thought: Hm.\nAction: finish[x]"])
    graph = create_reflexion(model, questions, actor=name, max_trials=2).compile()
    final = graph.invoke({"task": questions.tasks()[0]})
    assert [(trial["stop_reason"], trial["success"]) for trial in final["trials"]] == [("terminated", False)] * 2
    setting = load_prompts(questions.variant(name).prompts).render("setting")
    assert all(prompt[0].text.startswith(setting) for prompt in model.prompts[:2])
    assert "search[" not in model.prompts[0][0].text
    assert "I should have answered." in model.prompts[2][-1].text
