"""A wrong argument is refused with its name."""

import inspect
import re

import pytest

from langgraph_reflexion import Approval, ConfigurationError, Memory, create_reflexion
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


@pytest.mark.parametrize("name", inspect.signature(create_reflexion).parameters)
def test_a_wrong_argument_is_refused_by_name(name):
    for value in WRONG[name]:
        arguments = {"model": ScriptedChatModel(replies=[]), "environment": Counter(), name: value}
        with pytest.raises(ConfigurationError, match=re.escape(name)):
            create_reflexion(**arguments)
