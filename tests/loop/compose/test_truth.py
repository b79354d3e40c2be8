"""truth=: whether a trial has truly solved its task is recorded, acted on by nobody, and seen by no model."""

import pytest
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from langgraph_reflexion import (
    Approval,
    Budget,
    Budgets,
    ConfigurationError,
    Evaluator,
    ReflexionMiddleware,
    Score,
    WrappedAgent,
    create_reflexion,
)
from langgraph_reflexion.evaluators.rubric import Rubric
from langgraph_reflexion.models.calls import charge
from langgraph_reflexion.models.usage import Usage
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.composing import TASK, THREAD, Guessing
from tests.support.toys import AT_ONCE

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
    asked = []

    def down(task, result):
        asked.append(result)
        raise ConnectionError("no route")

    final = Guessing().graph(truth=down, options=AT_ONCE).compile().invoke({"task": TASK})
    assert final["status"] == "solved"
    assert verdict_and_truth(final) == [(False, None), (False, None), (True, None)]
    for trial in final["trials"]:
        [note] = trial["notes"]
        assert note.startswith("truth: unknown, ")
        assert "no route" in note
    # Twice in the first trial, as it is told to, and then once: nobody waits for it again and again.
    assert len(asked) == 4


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
        assert not [key for key in prepared if "truth" in key]
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


class Broken(Evaluator):
    """Cannot prepare a task, as what it needs is down."""

    async def prepare(self, task, config):
        raise ConnectionError("no route")

    async def evaluate(self, state, config):
        raise AssertionError("it is not asked about a task that it could not prepare")


def test_truth_that_cannot_be_prepared_is_a_note_and_ends_nothing():
    final = Guessing().graph(truth=Broken(), options=AT_ONCE).compile().invoke({"task": TASK})
    assert final["status"] == "solved"
    assert verdict_and_truth(final) == [(False, None), (False, None), (True, None)]
    [note] = final["trials"][0]["notes"]
    assert note.startswith("truth: unknown, the truth failed")


def test_truth_spends_nothing_of_a_budget():
    class Paid(Evaluator):
        async def evaluate(self, state, config):
            charge(Usage(llm_calls=10**6, cached_calls=0, input_tokens=0, output_tokens=0, cost=0.0))
            return Score(1.0)

    budgets = Budgets(task=Budget(llm_calls=10_000))
    final = Guessing().graph(truth=Paid(), budgets=budgets).compile().invoke({"task": TASK})
    assert (final["status"], len(final["trials"])) == ("solved", 3)
    assert all("evaluate" not in trial["usage"] for trial in final["trials"])


def test_the_evaluator_does_not_see_what_the_truth_has_prepared():
    class Sees(Evaluator):
        async def evaluate(self, state, config):
            return Score(float(SECRET in str(state)))

    final = Guessing().graph(evaluator=Sees(), truth=Prepared(), max_trials=1).compile().invoke({"task": TASK})
    assert final["trials"][0]["verdict"] is False


def test_truth_cannot_ask_a_person():
    def asks(task, result):
        return interrupt("Is it right?")

    graph = Guessing().graph(truth=asks).compile(checkpointer=InMemorySaver())
    with pytest.raises(ConfigurationError, match=r"truth= cannot ask a person"):
        graph.invoke({"task": TASK}, THREAD)


def test_a_rubric_is_no_truth():
    with pytest.raises(ConfigurationError, match="was given a Rubric"):
        Guessing().graph(truth=Rubric("It is right."))


def test_an_environment_has_its_own():
    with pytest.raises(ConfigurationError, match=r"truth= is for agents of your own: alfworld knows itself"):
        create_reflexion("demo", "alfworld", truth=knows)


@pytest.mark.parametrize("name", ["llm", "environment", "openevals:correctness", "exakt"])
def test_what_a_model_says_is_no_truth(name):
    with pytest.raises(ConfigurationError, match="choose exact, or give a function"):
        Guessing().graph(truth=name)
