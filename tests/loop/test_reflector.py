"""Reflections by code: a function, or any object with `generate_reflection`."""

import pytest

import langgraph_reflexion as lr
from tests.support.toys import Counter, asks_for, play


class SelfReflectionModel:
    """A class that knows nothing of this project."""

    def __init__(self):
        self.called = []

    def generate_reflection(self, feedback: str, trajectory: str, memory: list) -> str:
        self.called.append((feedback, trajectory, list(memory)))
        return f"Failed. Need to re-evaluate approach, for the time {len(memory) + 1}."


def guess(prompt):
    assert asks_for(prompt) == "act", "no model is asked for a reflection"
    return "Thought: I guess.\nAction: add 1000"


def test_an_object_of_any_class_reflects_on_feedback_trajectory_and_memory():
    mine = SelfReflectionModel()
    final, model = play(guess, Counter(limit=1), reflection_model=mine, feedback="words", max_trials=3)
    texts = [f"Failed. Need to re-evaluate approach, for the time {number}." for number in (1, 2)]
    assert [each["text"] for each in final["reflections"]] == texts
    feedback, trajectory, memory = mine.called[1]
    assert feedback == "The trial was ended by a limit of the environment."
    assert "Thought 1: I guess.\nAction 1: add 1000\nObservation 1: The counter stands at 1000." in trajectory
    assert memory == texts[:1]
    assert texts[0] in model.prompts[1][1].text


async def later(task, trajectory, score):
    return f"{task} took {len(trajectory)} step and gave {score:g}."


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (later, "took 1 step and gave 0."),
        (lambda trajectory: f"I did {trajectory[0]['action']['text']}.", "I did add 1000."),
        (lambda feedback: feedback, "Not accepted; no reason was given."),
    ],
    ids=["asynchronous", "steps", "hidden feedback"],
)
def test_a_function_reflects_on_what_its_parameters_name(function, said):
    final, _ = play(guess, Counter(limit=1), reflection_model=function, max_trials=2)
    assert final["reflections"][0]["text"].endswith(said)


def test_around_an_agent_with_checks_of_code_no_model_is_needed():
    notes = []

    def agent(task):
        return "12"

    def reflect(task, result, memory):
        notes.append((task, result))
        return f"It is not {result}."

    graph = lr.create_reflexion(
        actor=agent, evaluator=lambda result: result == "13", reflection_model=reflect, max_trials=2
    ).compile()
    final = graph.invoke({"messages": [("user", "How many?")]})
    assert notes == [("How many?", "12")]
    assert final["reflections"] == [{"trial": 1, "text": "It is not 12."}]


def test_a_bug_in_the_function_is_raised_and_a_wrong_one_is_named():
    def broken(task):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        play(guess, Counter(limit=1), reflection_model=broken, max_trials=2)
    with pytest.raises(lr.ConfigurationError, match="must return a text; got None"):
        play(guess, Counter(limit=1), reflection_model=lambda task: None, max_trials=2)
    with pytest.raises(lr.ConfigurationError, match=r"the reflecting function needs weather: .* task, trajectory"):
        play(guess, Counter(limit=1), reflection_model=lambda weather: "", max_trials=2)
    with pytest.raises(lr.ConfigurationError, match="reflection_model"):
        play(guess, Counter(limit=1), reflection_model=3, max_trials=2)
