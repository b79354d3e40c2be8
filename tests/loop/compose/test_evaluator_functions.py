"""Evaluators that are functions: what they are called with, and what they may return."""

import json
from functools import partial
from typing import Any

import pytest
from agentevals.trajectory.llm import create_trajectory_llm_as_judge
from agentevals.trajectory.match import create_trajectory_match_evaluator
from langchain_core.messages import AIMessage, ToolMessage
from langchain_openai import ChatOpenAI
from langsmith.evaluation import EvaluationResult, EvaluationResults
from openevals import create_async_llm_as_judge, create_llm_as_judge
from openevals.exact import exact_match
from pydantic import BaseModel, SecretStr

from langgraph_reflexion import ConfigurationError, ModelOptions, create_reflexion
from langgraph_reflexion.evaluators.judges import JUDGES
from langgraph_reflexion.support.retries import Retries
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.composing import TASK, Guessing, call
from tests.support.model_server import ModelServer


def run(evaluator, max_trials=1):
    graph = Guessing().graph(evaluator=evaluator, max_trials=max_trials)
    return graph.compile().invoke({"task": TASK})


def test_it_is_called_with_what_it_names():
    seen = {}

    def named(*, state: Any, messages: Any, trajectory: Any, result: str, task: str, strict: bool = True) -> bool:
        seen.update(locals())
        return strict

    run(named)
    assert (seen["task"], seen["result"]) == (TASK, "It is 1.")
    assert [message.type for message in seen["messages"]] == ["human", "ai", "tool", "ai"]
    assert [step["action"] and step["action"]["name"] for step in seen["trajectory"]] == ["look_up", None]
    assert [message.type for message in seen["state"]["messages"]] == ["ai", "tool", "ai"]


def test_an_argument_may_be_bound():
    assert run(partial(lambda result, state: f"It is {state}." == result, state="1"))["status"] == "solved"


class Grade(BaseModel):
    score: float
    feedback: str


@pytest.mark.parametrize(
    ("returned", "score", "words"),
    [
        ({"key": "k", "score": 0.5, "comment": "Half.", "metadata": None}, 0.5, "Half."),
        ({"key": "k", "score": True, "comment": None}, 1.0, ""),
        (EvaluationResult(key="k", score=0.25, comment="A quarter."), 0.25, "A quarter."),
        (Grade(score=0.3, feedback="A third, nearly."), 0.3, "A third, nearly."),
        ((0.5, None), 0.5, ""),
        ([{"key": "a", "score": 1.0, "comment": "A"}, {"key": "b", "score": 0.5, "comment": "B"}], 0.5, "A\nB"),
        (EvaluationResults(results=[EvaluationResult(key="k", score=0.75)]), 0.75, ""),
    ],
    ids=["openevals", "without comment", "langsmith", "a model", "no words", "several", "langsmith's several"],
)
def test_results_of_evaluation_libraries_count_as_they_are(returned, score, words):
    evaluation = run(lambda task, result: returned)["evaluation"]
    assert (evaluation["score"], evaluation["feedback"]) == (score, words)


@pytest.mark.slow
@pytest.mark.parametrize("create", [create_llm_as_judge, create_async_llm_as_judge, create_trajectory_llm_as_judge])
def test_judges_of_openevals_and_agentevals_are_evaluators(create):
    verdicts = [json.dumps({"reasoning": "Too small.", "score": score}) for score in (False, True)]
    with ModelServer(ScriptedChatModel(replies=verdicts)) as server:
        judge = ChatOpenAI(model="judge", base_url=server.url, api_key=SecretStr("any"))
        final = run(create(prompt="{outputs}", judge=judge), 3)
    assert [trial["verdict"] for trial in final["trials"]] == [False, True]
    asked = server.requests[0].body
    assert "score" in asked["response_format"]["json_schema"]["schema"]["properties"]
    assert "It is 1." in str(asked["messages"])
    assert ("look_up" in str(asked["messages"])) == ("trajectory" in create.__name__)


def test_a_trajectory_is_matched_by_agentevals():
    matches = create_trajectory_match_evaluator(trajectory_match_mode="strict")
    looked_up = ToolMessage("2 is a number.", tool_call_id="call-look_up")
    reference = [{"role": "user", "content": TASK}, call("look_up", number=2), looked_up, AIMessage("It is 2.")]
    final = run(lambda messages: matches(outputs=messages, reference_outputs=reference), 3)
    assert (final["status"], final["trial"]) == ("solved", 2)


def by_name(name, replies):
    model, options = ScriptedChatModel(replies=replies), ModelOptions(retries=Retries(2, first_wait=0))
    return create_reflexion(model, actor=Guessing().agent(), evaluator=name, options=options).compile(), model


KNOWN = {"task": {"id": "n", "instruction": TASK, "data": {"reference": {"number": "It is 2."}}}}


@pytest.mark.parametrize("name", JUDGES)
def test_a_judge_of_openevals_by_name_asks_the_model_that_reflects(name):
    def reply(messages):
        if len(messages) > 1:
            return AIMessage("It was not 1.")
        right = "It is 2." in messages[0].text.replace('{"number": "It is 2."}', "")
        return call("score", score=right, reasoning="Hm.")

    graph, model = by_name(name, reply)
    final = graph.invoke(KNOWN)
    assert (final["status"], [trial["verdict"] for trial in final["trials"]]) == ("solved", [False, True])
    judged, reflected, _ = model.prompts
    assert ("It is 1." in judged[0].text, TASK in judged[0].text) == (True, True)
    assert ('{"number": "It is 2."}' in judged[0].text) == (name == "openevals:correctness")
    assert "Hm." in reflected[-1].text, "its reasons reach the reflection"
    assert (final["usage"]["evaluate"]["llm_calls"], final["usage"]["evaluate"]["input_tokens"]) == (1, 10)


def test_a_judge_without_a_score_is_a_fault():
    graph, model = by_name("openevals:conciseness", lambda messages: call("score", reasoning="I like it."))
    final = graph.invoke(KNOWN)
    assert (final["status"], len(model.prompts)) == ("fault", 2)
    assert "gave no score" in final["fault"]


@pytest.mark.parametrize(
    ("evaluator", "message"),
    [
        (lambda task, answer, key: True, "the evaluator needs answer, key"),
        (lambda result, key: True, "the evaluator needs key"),
        (exact_match, "needs a reference answer"),
        ("openevals:correctness", "needs a reference answer"),
    ],
    ids=["three things", "the result first", "a reference", "correctness"],
)
def test_an_evaluator_that_needs_more_than_there_is_is_refused(evaluator, message):
    with pytest.raises(ConfigurationError, match=message):
        run(evaluator)


@pytest.mark.parametrize("name", ["llm:strict", "none:x"])
def test_a_name_with_something_behind_it_is_unknown(name):
    with pytest.raises(ConfigurationError, match=f"evaluator='{name}': for an agent, choose one of exact"):
        create_reflexion(actor=lambda text: "29", model=ScriptedChatModel(replies=[]), evaluator=name)


def test_an_environments_trial_has_no_messages():
    with pytest.raises(ConfigurationError, match="needs messages, which only a wrapped agent"):
        create_reflexion("demo", "alfworld", evaluator=lambda task, messages: True)


def test_nothing_is_a_failure_unless_the_evaluator_looks_further():
    model = ScriptedChatModel(replies=[])
    graph = create_reflexion(model, actor=lambda messages: "", evaluator=lambda state: True, max_trials=1)
    assert graph.compile().invoke({"task": TASK})["status"] == "solved"


@pytest.mark.parametrize(("reference", "status"), [("Rome", "solved"), ("Milan", "failed")])
def test_an_answer_is_compared_with_the_reference_by_name(reference, status):
    silent = ScriptedChatModel(replies=[])
    graph = create_reflexion(silent, actor=lambda text: " Rome\n", evaluator="exact", max_trials=1).compile()
    task = {"id": "1", "instruction": "Capital of Italy?", "data": {"reference": reference}}
    assert graph.invoke({"task": task})["status"] == status
