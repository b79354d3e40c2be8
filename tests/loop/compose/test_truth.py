"""truth=: whether a trial has truly solved its task is recorded, acted on by nobody, and seen by no model."""

import pytest
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from langgraph_reflexion import (
    Approval,
    ConfigurationError,
    Evaluator,
    ReflexionMiddleware,
    Score,
    WrappedAgent,
    create_reflexion,
)
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.composing import TASK, THREAD, Guessing

SECRET = "the solution is forty-two"


def knows(task, result):
    """The truth: only the second guess is right; its words must not get about."""
    return (result == "It is 2.", SECRET)


def verdict_and_truth(final):
    return [(trial["verdict"], trial["success"]) for trial in final["trials"]]


def test_planted_errors_of_the_evaluator_are_recorded():
    """It rejects the right second guess, and accepts the wrong third one."""
    final = Guessing().graph(truth=knows).compile().invoke({"task": TASK})
    assert verdict_and_truth(final) == [(False, False), (False, True), (True, False)]
    assert final["status"] == "solved"
    assert final["best"] == 3, "the verdict decides, not the truth"


def test_without_truth_nothing_is_known():
    final = Guessing().graph().compile().invoke({"task": TASK})
    assert verdict_and_truth(final) == [(False, None), (False, None), (True, None)]


def test_no_model_sees_the_truth():
    def reply(messages):
        if "Verdict: yes" in messages[0].text:
            return "Verdict: no\nWrong."
        return f"A note on {len(messages)} messages."

    answers = ScriptedChatModel(replies=["It is 1.", "It is 2.", "It is 3."])
    judge = ScriptedChatModel(replies=reply)
    graph = create_reflexion(judge, actor=create_agent(answers, []), evaluator="llm", truth=knows, max_trials=3)
    final = graph.compile().invoke({"task": TASK})
    assert verdict_and_truth(final) == [(False, False), (False, True), (False, False)]
    prompts = [*answers.prompts, *judge.prompts]
    assert len(prompts) >= 3 + 3 + 2
    for prompt in prompts:
        said = "\n".join(message.text for message in prompt)
        assert SECRET not in said


def test_the_middleware_records_the_truth():
    guessing = Guessing()
    middleware = ReflexionMiddleware(guessing.reflects, evaluator=guessing.is_three, truth=knows)
    agent = create_agent(guessing.guesses, [guessing.tool], middleware=[middleware], checkpointer=InMemorySaver())
    agent.invoke({"messages": [("user", TASK)]}, THREAD)
    kept = agent.get_state(THREAD).values["reflexion"]["trials"]
    assert verdict_and_truth(kept) == [(False, False), (False, True), (True, False)]


def test_truth_that_is_down_is_a_note_and_ends_nothing():
    def down(task, result):
        raise ConnectionError("no route")

    final = Guessing().graph(truth=down).compile().invoke({"task": TASK})
    assert final["status"] == "solved"
    assert verdict_and_truth(final) == [(False, None), (False, None), (True, None)]
    for trial in final["trials"]:
        [note] = trial["notes"]
        assert note.startswith("truth: unknown, ")
        assert "no route" in note


def test_a_bug_in_the_truth_is_raised():
    def broken(task, result):
        return 1 / 0

    with pytest.raises(ZeroDivisionError):
        Guessing().graph(truth=broken).compile().invoke({"task": TASK})


class Prepared(Evaluator):
    """Makes something for a task, which nobody else finds."""

    async def prepare(self, task, config):
        return {"solution": SECRET}

    async def evaluate(self, state, config):
        prepared = state["task"]["prepared"]
        assert prepared["solution"] == SECRET, "its own, as if it were the evaluator"
        assert "truth" not in prepared
        return Score(0.0, unverified=True)


def test_truth_is_prepared_once_and_may_be_unknown():
    final = Guessing().graph(truth=Prepared()).compile().invoke({"task": TASK})
    assert verdict_and_truth(final) == [(False, None), (False, None), (True, None)]


def test_a_reference_answer_that_is_missing_is_noticed_before_anything_is_played():
    guessing = Guessing()
    with pytest.raises(ConfigurationError, match="'exact' needs a reference answer"):
        guessing.graph(truth="exact").compile().invoke({"task": TASK})
    assert guessing.guesses.prompts == []
    task = {"id": "1", "instruction": TASK, "data": {"reference": "It is 2."}}
    final = Guessing().graph(truth="exact").compile().invoke({"task": task})
    assert verdict_and_truth(final) == [(False, False), (False, True), (True, False)]


def test_truth_of_a_world_is_asked_while_the_world_is_there():
    worlds = []

    def make(task):
        worlds.append({"guesses": []})

        def agent(task: str) -> str:
            worlds[-1]["guesses"].append("done")
            return "It is done."

        return agent, worlds[-1]

    graph = create_reflexion(
        actor=WrappedAgent(make=make),
        evaluator=lambda task, result: False,
        truth=lambda world: world["guesses"] == ["done"],
        strategy="retry",
        max_trials=2,
    )
    final = graph.compile().invoke({"task": TASK})
    assert verdict_and_truth(final) == [(False, True), (False, True)]


def test_a_verdict_that_a_person_decides_is_recorded_beside_the_truth():
    graph = Guessing().graph(truth=knows, approval=Approval(verdicts=True), max_trials=1)
    compiled = graph.compile(checkpointer=InMemorySaver())
    paused = compiled.invoke({"task": TASK}, THREAD)
    assert "__interrupt__" in paused
    final = compiled.invoke(Command(resume="approve"), THREAD)
    assert verdict_and_truth(final) == [(False, False)]


def test_an_environment_has_its_own():
    with pytest.raises(ConfigurationError, match=r"truth= is for agents of your own: alfworld knows itself"):
        create_reflexion("demo", "alfworld", truth=knows)


@pytest.mark.parametrize("name", ["llm", "environment", "openevals:correctness", "exakt"])
def test_what_a_model_says_is_no_truth(name):
    with pytest.raises(ConfigurationError, match="choose exact, or give a function"):
        Guessing().graph(truth=name)
