"""Arguments and input, seeds, preparation of tasks, and the state's schema."""

import inspect
import json
import re

import pytest

import langgraph_reflexion as lr
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import Counter, Parrot, compiled, count_to, counting_badly, play, text_of

WRONG = {
    "model": [5],
    "environment": [5],
    "actor": [5, "cott"],
    "evaluator": [5, "self-consistancy"],
    "truth": [5, "exakt"],
    "heuristic": ["bored"],
    "reflection_model": [5],
    "memory": ["full", True, lr.Memory(map=True)],
    "strategy": [5, "reflection"],
    "feedback": [5, True, "wordy"],
    "max_trials": ["5", 2.5, 0, -1],
    "profile": [[], "papers"],
    "prompts": ["alfworld"],
    "options": [{"seed": 1}],
    "budgets": [5],
    "approval": [["add"], lr.Approval(actions="add"), lr.Approval(actions=["fly"])],
    "state_schema": [dict],
}


@pytest.mark.parametrize("name", inspect.signature(lr.create_reflexion).parameters)
def test_a_wrong_argument_is_refused_by_name(name):
    for value in WRONG[name]:
        arguments = {"model": ScriptedChatModel(replies=[]), "environment": Counter(), name: value}
        with pytest.raises(lr.ConfigurationError, match=re.escape(name)):
            lr.create_reflexion(**arguments)


def seeds(task=None, seed=0):
    return play(counting_badly, task=task, options=lr.ModelOptions(seed=seed))[1].seeds


@pytest.mark.slow
def test_every_call_has_its_own_seed_which_only_run_and_task_determine():
    drawn = seeds()
    assert len(drawn) == len(set(drawn)) == 15
    assert all(isinstance(seed, int) and 0 <= seed < 2**31 for seed in drawn)
    assert drawn == seeds()
    assert not set(drawn) & set(seeds(seed=1))
    assert not set(drawn) & set(seeds({**count_to(3), "id": "another"}))


class Tagged(lr.ReflexionState, total=False):
    tag: str


class Prepares(lr.Evaluator):
    def __init__(self):
        self.prepared = 0

    async def prepare(self, task, config):
        self.prepared += 1
        return {"tests": ["assert True"], "by": "evaluator"}

    async def evaluate(self, state, config):
        assert (state["task"]["prepared"]["tests"], state["tag"]) == (["assert True"], "mine")
        return lr.Score(0.0, prepared={"seen": state["trial"]})


def test_environment_and_evaluator_prepare_a_task_once_beside_the_users_own_state():
    environment, evaluator = Parrot(), Prepares()
    options = {"evaluator": evaluator, "max_trials": 3, "state_schema": Tagged}
    graph, model = compiled(lambda _: "Action: say bye", environment, **options)
    task = environment.tasks()[0]
    final = graph.invoke({"task": task, "tag": "mine"})
    assert (final["tag"], len(final["trials"])) == ("mine", 3)
    assert (environment.prepared, evaluator.prepared) == (1, 1)
    assert final["task"]["prepared"] == {"cage": [1, 2], "by": "evaluator", "tests": ["assert True"], "seen": 3}
    assert "prepared" not in task, "the caller's task is left alone"
    json.dumps(final)
    assert not any("assert True" in text_of(prompt) for prompt in model.prompts)
    graph.invoke({"task": final["task"], "tag": "mine"})
    assert (environment.prepared, evaluator.prepared) == (2, 2)


@pytest.mark.parametrize(
    "given", [{"task": ["Count."]}, {"task": {"id": 3, "instruction": "Count."}}, {"status": "running"}]
)
def test_an_input_without_a_valid_task_is_refused(given):
    with pytest.raises(lr.ConfigurationError, match="the graph's input is"):
        compiled([])[0].invoke(given)
