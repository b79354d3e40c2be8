"""Seeds, preparation of tasks, the state's schema, and the input."""

import json
from typing import get_type_hints

import pytest
from langgraph.store.memory import InMemoryStore

from langgraph_reflexion import ConfigurationError, Evaluator, Lessons, Memory, ModelOptions, ReflexionState, Score
from tests.support.toys import INPUT, Parrot, compiled, count_to, counting_badly, play, text_of


def seeds(task=None, seed=0):
    return play(counting_badly, task=task, options=ModelOptions(seed=seed))[1].seeds


def test_every_call_has_its_own_seed_which_only_run_and_task_determine():
    drawn = seeds()
    assert len(drawn) == len(set(drawn)) == 15
    assert all(isinstance(seed, int) and 0 <= seed < 2**31 for seed in drawn)
    assert drawn == seeds()
    assert not set(drawn) & set(seeds(seed=1))
    assert not set(drawn) & set(seeds({**count_to(3), "id": "another"}))


class Prepares(Evaluator):
    def __init__(self):
        self.prepared = 0

    async def prepare(self, task, config):
        self.prepared += 1
        return {"tests": ["assert True"], "by": "evaluator"}

    async def evaluate(self, state, config):
        assert state["task"]["prepared"]["tests"] == ["assert True"]
        return Score(0.0, prepared={"seen": state["trial"]})


def test_environment_and_evaluator_prepare_a_task_once():
    environment, evaluator = Parrot(), Prepares()
    graph, model = compiled(lambda _: "Action: say bye", environment, evaluator=evaluator, max_trials=3)
    task = environment.tasks()[0]
    final = graph.invoke({"task": task})
    assert len(final["trials"]) == 3
    assert (environment.prepared, evaluator.prepared) == (1, 1)
    assert final["task"]["prepared"] == {"cage": [1, 2], "by": "evaluator", "tests": ["assert True"], "seen": 3}
    assert "prepared" not in task, "the caller's task is left alone"
    json.dumps(final)
    assert not any("assert True" in text_of(prompt) for prompt in model.prompts)
    graph.invoke({"task": final["task"]})
    assert (environment.prepared, evaluator.prepared) == (2, 2)


class Tagged(ReflexionState, total=False):
    tag: str


def test_the_users_own_state_is_kept_and_shown_to_an_evaluator():
    class Reads(Evaluator):
        async def evaluate(self, state, config):
            return Score(float(state["tag"] == "mine"))

    graph, _ = compiled(["Action: add 3"], state_schema=Tagged, evaluator=Reads())
    final = graph.invoke(INPUT | {"tag": "mine"})
    assert (final["tag"], final["status"]) == ("mine", "solved")


def test_every_field_of_the_state_is_written():
    final, _ = play(counting_badly)
    without = set(get_type_hints(ReflexionState)) - {"memory_map"}  # only with a memory map
    assert set(final) == without - {"lessons", "lesson_key"}
    final, _ = play(counting_badly, store=InMemoryStore(), memory=Memory(lessons=Lessons()))
    assert set(final) == without


@pytest.mark.parametrize(
    "given", [{"task": ["Count."]}, {"task": {"id": 3, "instruction": "Count."}}, {"status": "running"}]
)
def test_an_input_without_a_valid_task_is_refused(given):
    with pytest.raises(ConfigurationError, match="the graph's input is"):
        compiled([])[0].invoke(given)
