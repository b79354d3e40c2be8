import re
from functools import cache
from pathlib import Path

import pytest

from langgraph_reflexion import load_environment
from langgraph_reflexion.envs.hotpotqa.world.country import words
from langgraph_reflexion.lab import demo as package
from langgraph_reflexion.lab.demo import DemoChatModel
from tests.support.demo import confused, curve_of, forgetful, play_all

ALFWORLD, HOTPOTQA, GIVEN, FEVER = "alfworld", "hotpotqa", "hotpotqa cot-gt", "fever"
TASKS = {ALFWORLD: 24, HOTPOTQA: 24, GIVEN: 24, FEVER: 48}
TRIALS = {ALFWORLD: 4, HOTPOTQA: 6, GIVEN: 6, FEVER: 6}
FEW, HALF = 8, 12
"""The tasks, the first ones, whose outcomes are compared one by one, and as a share."""
QUESTION = {ALFWORLD: "Your task is to:", HOTPOTQA: "Question: "}
SOURCES = Path(package.__file__).parent


def play(name, tasks=None, **options):
    environment, _, actor = name.partition(" ")
    options = {"max_trials": TRIALS[name]} | ({"actor": actor} if actor else {}) | options
    return play_all(load_environment(environment, seed=0), tasks or TASKS[name], **options)


@cache
def played(name, strategy):
    return play(name, strategy=strategy)


def curve(name, finals):
    return curve_of(finals, TRIALS[name])


@pytest.mark.parametrize("name", TASKS)
def test_demo_model_learns_only_from_reflections_in_its_prompt(name):
    learned, retried = (curve(name, played(name, strategy)) for strategy in ("reflexion", "retry"))
    assert learned[0] == retried[0], "the first trial is the same"
    assert 0.3 <= learned[0] <= (0.7 if name == FEVER else 0.65)  # a label may be right by chance
    assert learned[-1] >= 0.8
    assert learned[-1] - learned[0] > 0.25
    assert retried[-1] - retried[0] < (0.2 if name == ALFWORLD else 0.12)
    model, removed = forgetful()
    assert curve(name, play(name, FEW, model=model)) == curve(name, played(name, "retry")[:FEW])
    assert removed


@pytest.mark.parametrize("name", QUESTION)
def test_reflections_of_another_task_give_no_gain(name):
    model, swapped = confused(lambda text: text.rpartition(QUESTION[name])[2])
    finals = play(name, HALF, model=model)
    assert len(set(swapped)) > 5
    assert curve(name, finals)[-1] <= curve(name, played(name, "retry")[:HALF])[-1] + 0.15


@pytest.mark.parametrize("name", QUESTION)
def test_tool_calls_give_the_same_run(name):
    finals, expected = play(name, FEW, actor="tools"), played(name, "reflexion")[:FEW]
    assert curve(name, finals) == curve(name, expected)
    assert [final["reflections"] for final in finals] == [final["reflections"] for final in expected]


@pytest.mark.parametrize(("name", "agreement"), [(ALFWORLD, 0.9), (HOTPOTQA, 0.85)])
def test_judge_mostly_agrees_with_the_truth(name, agreement):
    records = [record for final in play(name, evaluator="llm", max_trials=2) for record in final["trials"]]
    assert sum(record["verdict"] == record["success"] for record in records) / len(records) > agreement
    assert {record["verdict"] for record in records} == {True, False}


def test_original_layout_is_understood():
    first, *_, last = curve_of(play(HOTPOTQA, profile="upstream", max_trials=5), 5)
    assert first == pytest.approx(curve(HOTPOTQA, played(HOTPOTQA, "reflexion"))[0], abs=0.1)
    assert last >= 0.8


def test_cot_actor_guesses_and_learns_from_wrong_guesses():
    finals = play(HOTPOTQA, actor="cot")
    learned = curve(HOTPOTQA, finals)
    assert learned[0] < 0.3
    right = {final["task"]["id"].rpartition("-")[2] for final in finals if final["status"] == "solved"}
    assert right <= {*words()["comparison"]}, "only they can be guessed"
    judged = play(HOTPOTQA, actor="cot", evaluator="llm", max_trials=1)
    assert {record["verdict"] for final in judged for record in final["trials"]} == {False}


def test_demo_model_contains_no_world():
    assert set(DemoChatModel.model_fields) - set(DemoChatModel.__mro__[1].model_fields) == {"seed"}
    source = {path: path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py")}
    assert not [
        path for path, text in source.items() if re.search(r"langgraph_reflexion\.(?!lab\.demo|errors)", text)
    ]
    world = words()
    invented = {part for parts in world["names"].values() for part in parts if len(part) > 4}
    chosen = world["choices"]
    invented |= {*chosen["trades"], *chosen["fields"], *chosen["others"], *chosen["things"], *chosen["makers"]}
    invented |= {*chosen["makers"].values()} - {"play"}
    known = set(re.findall(r"[\w ]+?(?=\W)", "".join(t for p, t in source.items() if "alfworld" not in p.parts)))
    assert not invented & known
