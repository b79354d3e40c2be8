"""Answering without tools: one turn, the paragraphs or nothing, and the same grading."""

import json

import pytest

from langgraph_reflexion import ConfigurationError, create_reflexion
from langgraph_reflexion.envs.base import Action, Task
from langgraph_reflexion.envs.hotpotqa.environment import HotPotQA
from langgraph_reflexion.envs.hotpotqa.episode import HANDED_IN
from langgraph_reflexion.errors import EnvironmentFault
from langgraph_reflexion.prompts import load_prompts
from langgraph_reflexion.testing import CHECKS, Case, ScriptedChatModel
from tests.envs.hotpotqa.small import OFFICIAL
from tests.toys import Counter, measured

VARIANTS = ("cot", "cot-gt")
both = pytest.mark.parametrize("name", VARIANTS)


@pytest.fixture
def questions():
    environment = HotPotQA()
    yield environment
    environment.close()


def finish(answer):
    return Action(name="finish", args={"answer": answer}, text=f"finish[{answer}]")


# With a single turn, what is no action ends the episode, too; what it says is tested below.
HOLDING = {name: check for name, check in CHECKS.items() if name != "invalid_actions_are_observations"}


@both
@pytest.mark.parametrize("check", HOLDING.values(), ids=HOLDING)
def test_conformance(check, name, questions):
    check(Case.of(questions.variant(name), actions=["finish[nobody]"]))


@both
def test_the_tasks_stay_and_an_answer_is_the_only_action(name, questions):
    variant = questions.variant(name)
    assert (variant.name, variant.splits) == ("hotpotqa", questions.splits)
    assert variant.tasks(limit=5) == questions.tasks(limit=5)
    assert variant.forms(variant.tasks()[0]) == ["finish[{answer}]"]
    assert [tool["function"]["name"] for tool in variant.tools] == ["finish"]
    assert variant.parse("search[Rome]") is None
    assert variant.parse("Finish[ Rome ].")["args"] == {"answer": "Rome"}
    assert load_prompts(variant.prompts).render("setting") != load_prompts("hotpotqa").render("setting")


def test_paragraphs_come_before_the_question_each_once_or_not_at_all(questions):
    task = questions.tasks()[0]
    plain, given = (questions.variant(name).start(task).observation for name in VARIANTS)
    assert plain == task["instruction"]
    assert given == f"{questions.context(task)}\n\n{task['instruction']}"
    assert all(given.count(f"{title}: ") == 1 for title in task["data"]["supporting"])


@both
@pytest.mark.parametrize(
    ("action", "reward"),
    [
        (None, 1.0),
        (finish("nobody"), 0.0),
        (finish("  "), 0.0),
        (Action(name="search", args={"entity": "Rome"}, text="search[Rome]"), 0.0),
        (Action(name="", args={}, text="I do not know"), 0.0),
    ],
    ids=["right", "wrong", "empty", "a search", "nothing"],
)
def test_whatever_is_done_ends_the_trial_and_only_the_right_answer_is_right(name, action, reward, questions):
    task = questions.tasks()[0]
    episode = questions.variant(name).start(task)
    result = episode.step(action or finish(task["data"]["answer"]))
    assert (result.terminated, result.reward) == (True, reward)
    assert (result.observation == HANDED_IN) == (action is None or action["args"].get("answer") == "nobody")
    assert result.observation == HANDED_IN or result.observation.startswith("Invalid action: ")
    again = episode.step(finish(task["data"]["answer"]))
    assert (again.terminated, again.reward) == (True, reward)


def test_measures_are_those_of_the_questions(questions):
    task = questions.tasks()[0]
    for variant in map(questions.variant, VARIANTS):
        assert measured(variant, task, [finish(task["data"]["answer"])])["f1"] == 1.0
        assert measured(variant, task, [])["f1"] == 0.0


@pytest.mark.parametrize(("said", "same"), [("the Rome!", True), ("Rome City", False)])
def test_answers_are_the_same_where_grading_sees_no_difference(said, same, questions):
    for environment in (questions, questions.variant("cot")):
        assert environment.same(finish("Rome"), finish(said)) == same


def test_other_actions_are_the_same_where_name_and_arguments_are(questions):
    search = Action(name="search", args={"entity": "Rome"}, text="search[Rome]")
    assert questions.same(search, {**search, "text": "Search[Rome]"})
    assert not questions.same(search, finish("Rome"))


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


@both
def test_a_task_of_another_environment_is_refused(name, questions):
    with pytest.raises(ConfigurationError, match="none of HotPotQA's"):
        questions.variant(name).start(Task(id="x", instruction="?"))


def test_an_unknown_variant_or_agent_is_answered_with_those_that_there_are(questions):
    with pytest.raises(ConfigurationError, match="choose one of cot, cot-gt"):
        questions.variant("tot")
    with pytest.raises(ConfigurationError, match="actor='tot': choose one of react, tools, cot, cot-gt"):
        create_reflexion(ScriptedChatModel(replies=[]), questions, actor="tot")
    with pytest.raises(ConfigurationError, match=r"actor='cot': choose one of react, tools$"):
        create_reflexion(ScriptedChatModel(replies=[]), Counter(), actor="cot")
    with pytest.raises(ConfigurationError, match="counter has no variant 'cot'"):
        Counter().variant("cot")


@both
def test_the_graph_plays_a_variant_with_its_own_prompts_and_six_examples(name, questions):
    model = ScriptedChatModel(replies=["I cannot say.", "I should have answered.", "Thought: Hm.\nAction: finish[x]"])
    graph = create_reflexion(model, questions, actor=name, max_trials=2).compile()
    final = graph.invoke({"task": questions.tasks()[0]})
    assert [record["stop_reason"] for record in final["trials"]] == ["terminated", "terminated"]
    assert [record["success"] for record in final["trials"]] == [False, False]
    setting = load_prompts(questions.variant(name).prompts).render("setting")
    assert model.prompts[0][0].text.startswith(setting)
    assert model.prompts[0][0].text.count("--- Example ") == 6
    assert "search[" not in model.prompts[0][0].text
    assert model.prompts[1][0].text.startswith(setting)
    assert "I should have answered." in model.prompts[2][1].text
