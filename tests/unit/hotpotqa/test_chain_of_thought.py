import json

import pytest

from langgraph_reflexion.envs.base import Action
from langgraph_reflexion.envs.grammar import action_forms, tool_schemas
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


@pytest.mark.parametrize("name", ["cot", "cot-gt"])
def test_the_tasks_stay_and_an_answer_is_the_only_action(name, questions):
    played = questions.for_actor(name)
    assert (played.name, played.splits) == ("hotpotqa", questions.splits)
    assert played.tasks(limit=5) == questions.tasks(limit=5)
    assert action_forms(played, played.tasks()[0]) == ["finish[{answer}]"]
    assert [tool["function"]["name"] for tool in tool_schemas(played)] == ["finish"]
    assert played.parse("search[Rome]") is None
    assert played.parse("Finish[ Rome ].")["args"] == {"answer": "Rome"}
    assert load_prompts(played.prompts).render("setting") != load_prompts("hotpotqa").render("setting")


@pytest.mark.parametrize(
    ("text", "reward", "said"),
    [
        ("finish[{answer}]", 1.0, HANDED_IN),
        ("finish[nobody]", 0.0, HANDED_IN),
        ("search[Rome]", 0.0, "Invalid action: "),
        ("I do not know", 0.0, "Invalid action: "),
    ],
)
def test_whatever_is_done_ends_the_trial_and_only_the_right_answer_is_right(text, reward, said, questions):
    task = questions.tasks()[0]
    right = f"finish[{task['data']['answer']}]"
    episode, text = questions.for_actor("cot").start(task), right if reward else text
    result = episode.step(questions.parse(text) or Action(name="", args={}, text=text))
    assert (result.terminated, result.reward) == (True, reward)
    assert result.observation.startswith(said)
    again = episode.step(questions.parse(right))
    assert (again.terminated, again.reward) == (True, reward)


def test_paragraphs_that_did_not_come_with_a_question_end_that_task_alone_as_a_fault(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    missing = {**OFFICIAL[0], "supporting_facts": [["Nowhere", 0]]}
    (tmp_path / "questions.json").write_text(json.dumps([missing, *OFFICIAL[1:]]), encoding="utf-8")
    environment = HotPotQA(path=tmp_path / "questions.json")
    first, second = environment.tasks()
    with pytest.raises(EnvironmentFault, match="'Nowhere'"):
        environment.for_actor("cot-gt").start(first)
    assert environment.for_actor("cot-gt").start(second).observation.endswith(second["instruction"])
    assert environment.for_actor("cot").start(first).observation == first["instruction"]
    environment.close()
