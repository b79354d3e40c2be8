"""Answering without tools: one turn, the paragraphs or nothing, and the same grading."""

import json

import pytest

from langgraph_reflexion.envs.base import Action
from langgraph_reflexion.envs.hotpotqa.environment import HotPotQA
from langgraph_reflexion.envs.hotpotqa.episode import HANDED_IN
from langgraph_reflexion.errors import EnvironmentFault
from langgraph_reflexion.prompts import load_prompts
from tests.support.hotpotqa import OFFICIAL


@pytest.fixture
def questions():
    environment = HotPotQA()
    yield environment
    environment.close()


def finish(answer):
    return Action(name="finish", args={"answer": answer}, text=f"finish[{answer}]")


@pytest.mark.parametrize("name", ["cot", "cot-gt"])
def test_the_tasks_stay_and_an_answer_is_the_only_action(name, questions):
    variant = questions.variant(name)
    assert (variant.name, variant.splits) == ("hotpotqa", questions.splits)
    assert variant.tasks(limit=5) == questions.tasks(limit=5)
    assert variant.action_forms(variant.tasks()[0]) == ["finish[{answer}]"]
    assert [tool["function"]["name"] for tool in variant.tools] == ["finish"]
    assert variant.parse("search[Rome]") is None
    assert variant.parse("Finish[ Rome ].")["args"] == {"answer": "Rome"}
    assert load_prompts(variant.prompts).render("setting") != load_prompts("hotpotqa").render("setting")


@pytest.mark.parametrize(
    ("action", "reward"),
    [
        (None, 1.0),
        (finish("nobody"), 0.0),
        (Action(name="search", args={"entity": "Rome"}, text="search[Rome]"), 0.0),
        (Action(name="", args={}, text="I do not know"), 0.0),
    ],
    ids=["right", "wrong", "a search", "nothing"],
)
def test_whatever_is_done_ends_the_trial_and_only_the_right_answer_is_right(action, reward, questions):
    task = questions.tasks()[0]
    episode = questions.variant("cot").start(task)
    result = episode.step(action or finish(task["data"]["answer"]))
    assert (result.terminated, result.reward) == (True, reward)
    assert (result.observation == HANDED_IN) == (action is None or action["args"].get("answer") == "nobody")
    assert result.observation == HANDED_IN or result.observation.startswith("Invalid action: ")
    again = episode.step(finish(task["data"]["answer"]))
    assert (again.terminated, again.reward) == (True, reward)


def test_paragraphs_that_did_not_come_with_a_question_end_that_task_alone_as_a_fault(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    missing = {**OFFICIAL[0], "supporting_facts": [["Nowhere", 0]]}
    (tmp_path / "questions.json").write_text(json.dumps([missing, *OFFICIAL[1:]]), encoding="utf-8")
    environment = HotPotQA(path=tmp_path / "questions.json")
    variant = environment.variant("cot-gt")
    with pytest.raises(EnvironmentFault, match="'Nowhere'"):
        variant.start(variant.tasks()[0])
    assert variant.start(variant.tasks()[1]).observation.endswith(variant.tasks()[1]["instruction"])
    assert environment.variant("cot").start(variant.tasks()[0]).observation == variant.tasks()[0]["instruction"]
    environment.close()
