"""A wrong kind of argument is refused with words that say what was expected."""

import inspect
import re

import pytest

from langgraph_reflexion import Budgets, ConfigurationError, Heuristic, Memory, ModelOptions, create_reflexion
from langgraph_reflexion.testing import ScriptedChatModel
from tests.toys import Counter

WRONG = {
    "model": (5, "model must be a chat model or its name; got int"),
    "environment": (5, "environment must be Environment or str; got int"),
    "actor": (5, "actor must be a name, a compiled graph or another Runnable; got int"),
    "evaluator": (5, "evaluator must be a name, an Evaluator or a function; got int"),
    "heuristic": ("bored", "heuristic must be Callable; got str"),
    "reflection_model": (5, "reflection_model must be a chat model or its name; got int"),
    "memory": ("full", "memory must be Memory or int; got str"),
    "strategy": (5, "strategy=5: choose one of retry, last_attempt, reflexion, last_attempt_and_reflexion"),
    "feedback": (5, "feedback=5: choose one of binary, scalar, words"),
    "max_trials": ("5", "max_trials must be int; got str"),
    "profile": ([], "profile must be Profile or str; got list"),
    "prompts": ("alfworld", "prompts must be Prompts; got str"),
    "options": ({"seed": 1}, "options must be ModelOptions; got dict"),
    "budgets": (5, "budgets must be Budgets; got int"),
    "approval": (["add"], "approval must be Approval; got list"),
    "state_schema": (dict, "state_schema must be a subclass of ReflexionState; got <class 'dict'>"),
}
WRONG_INSIDE = [
    ({"memory": True}, "memory must be Memory or int; got bool"),
    ({"max_trials": 2.5}, "max_trials must be int; got float"),
    ({"evaluator": "self-consistancy"}, "evaluator='self-consistancy': choose one of environment"),
]


PARTS = [
    (lambda: ModelOptions(retries=3), "ModelOptions.retries must be Retries; got int"),
    (lambda: ModelOptions(cache=3), "ModelOptions.cache must be BaseCache or Path or str; got int"),
    (lambda: ModelOptions(prices=[1]), "ModelOptions.prices must be Mapping; got list"),
    (lambda: ModelOptions(prices={"m": "1,2"}), "ModelOptions.prices['m'] must be Price; got str"),
    (lambda: ModelOptions(seed="1"), "ModelOptions.seed must be int; got str"),
    (lambda: Memory(size="3"), "Memory.size must be int; got str"),
    (lambda: Memory(size=0), "Memory.size=0: at least 1 is needed"),
    (lambda: Memory(size=3, keep="full"), "Memory.size=3 has no effect beside keep='full', which keeps all"),
    (lambda: Memory(keep="endless"), "Memory.keep='endless': choose one of window, full, summary"),
    (lambda: Memory(map="yes"), "Memory.map must be bool; got str"),
    (lambda: Memory(lessons="lessons.db"), "Memory.lessons must be Lessons; got str"),
    (lambda: Budgets(task=5), "Budgets.task must be Budget; got int"),
]


@pytest.mark.parametrize(("make", "says"), PARTS, ids=[says for _, says in PARTS])
def test_a_wrong_part_is_refused_where_it_is_made(make, says):
    with pytest.raises(ConfigurationError, match=re.escape(says)):
        make()


def test_the_graph_knows_what_was_given():
    heuristic = Heuristic(max_actions=5)
    model = ScriptedChatModel(replies=[])
    rules = create_reflexion(model, Counter(), heuristic=heuristic, evaluator="llm", max_trials=2).rules
    assert (rules.heuristic, rules.evaluator, rules.max_trials) == (heuristic, "llm", 2)


def test_the_table_has_every_parameter():
    assert list(WRONG) == list(inspect.signature(create_reflexion).parameters)


@pytest.mark.parametrize(
    ("given", "says"), [*(({name: value}, says) for name, (value, says) in WRONG.items()), *WRONG_INSIDE], ids=str
)
def test_a_wrong_argument_is_refused_with_what_was_expected(given, says):
    arguments = {"model": ScriptedChatModel(replies=[]), "environment": Counter()} | given
    with pytest.raises(ConfigurationError, match=re.escape(says)):
        create_reflexion(**arguments)
