"""A wrong argument is refused with its name."""

import inspect
import re

import pytest

from langgraph_reflexion import Approval, Budgets, ConfigurationError, Memory, ModelOptions, create_reflexion
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import Counter

WRONG = {
    "model": [5],
    "environment": [5],
    "actor": [5, "cott"],
    "evaluator": [5, "self-consistancy"],
    "heuristic": ["bored"],
    "reflection_model": [5],
    "memory": ["full", True, Memory(map=True)],
    "strategy": [5, "reflection"],
    "feedback": [5, True, "wordy"],
    "max_trials": ["5", 2.5, 0, -1],
    "profile": [[], "papers"],
    "prompts": ["alfworld"],
    "options": [{"seed": 1}],
    "budgets": [5],
    "approval": [["add"], Approval(actions="add"), Approval(actions=["fly"])],
    "state_schema": [dict],
}


@pytest.mark.parametrize(
    ("part", "given"),
    [
        (ModelOptions, {"seed": "1"}),
        (Memory, {"size": 3, "keep": "full"}),
        (Memory, {"lessons": "lessons.db"}),
        (Budgets, {"task": 5}),
    ],
)
def test_a_wrong_setting_is_refused_by_name(part, given):
    with pytest.raises(ConfigurationError, match=rf"{part.__name__}\.{next(iter(given))}"):
        part(**given)


@pytest.mark.parametrize("name", inspect.signature(create_reflexion).parameters)
def test_a_wrong_argument_is_refused_by_name(name):
    for value in WRONG[name]:
        arguments = {"model": ScriptedChatModel(replies=[]), "environment": Counter(), name: value}
        with pytest.raises(ConfigurationError, match=re.escape(name)):
            create_reflexion(**arguments)
