"""The demo model in a shop: it learns from the reflections in its prompt, and from nothing else."""

import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from langgraph_reflexion import ModelOptions, create_reflexion, load_environment
from langgraph_reflexion import demo as package
from langgraph_reflexion.demo import DemoChatModel
from langgraph_reflexion.demo.errand import read_errand
from langgraph_reflexion.envs.webshop.catalogue import generate
from langgraph_reflexion.envs.webshop.invented import words
from langgraph_reflexion.profiles import PROFILES
from tests.demo.between import confused, forgetful
from tests.demo.playing import curve_of, once, play_all
from tests.toys import Timeless

pytestmark = pytest.mark.long

TASKS, TRIALS = 36, 4


def play(seed=0, tasks=TASKS, rendering="bracketed", **options):
    environment = load_environment("webshop", seed=seed, rendering=rendering)
    return play_all(environment, tasks, seed=seed, **{"max_trials": TRIALS, **options})


@once
def played(strategy, seed=0):
    return play(strategy=strategy, seed=seed)


curve = partial(curve_of, trials=TRIALS)


@pytest.mark.parametrize("seed", [0, 11])
def test_reflexion_gains_and_retry_hardly_does_in_any_shop(seed):
    learned, retried = curve(played("reflexion", seed)), curve(played("retry", seed))
    assert learned[0] == retried[0], "the first trial is the same"
    assert 0.25 <= learned[0] <= 0.55
    assert learned[-1] >= 0.75
    assert learned[-1] - learned[0] > 0.25
    assert retried[-1] - retried[0] < 0.12


def test_it_fails_for_reasons_of_its_own_and_names_each():
    told = " ".join(r["text"] for final in played("reflexion") for r in final["reflections"])
    for lesson in (
        "without choosing",
        "look at the price",
        "make sure that it comes in",
        "read Description and Features",
        "search[",
        "was the wrong",
    ):
        assert lesson in told
    assert {r["stop_reason"] for f in played("reflexion") for r in f["trials"]} == {"terminated"}


def test_without_the_reflections_in_its_prompt_the_gain_is_gone():
    model, removed = forgetful()
    finals = play(model=model)
    assert removed, "there were lessons to remove"
    assert curve(finals) == curve(played("retry"))


def test_with_another_errands_reflections_the_gain_is_gone():
    model, swapped = confused(lambda text: text.rpartition("Instruction:")[2])
    finals = play(model=model)
    assert len(set(swapped)) > 10
    assert curve(finals)[-1] <= curve(played("retry"))[-1] + 0.1
    assert curve(finals)[-1] < curve(played("reflexion"))[-1] - 0.2


def test_where_the_memory_is_not_shown_reflexion_is_retry():
    unseen = replace(PROFILES["paper"], shows_reflections=False)
    finals = play(profile=unseen)
    assert any(final["reflections"] for final in finals)
    assert curve(finals) == curve(played("retry"))


def test_acting_by_tool_calls_gives_the_same_curve():
    finals = play(actor="tools")
    assert curve(finals) == curve(played("reflexion"))
    assert [final["reflections"] for final in finals] == [final["reflections"] for final in played("reflexion")]


def test_in_text_mode_it_sees_more_results_and_learns_as_well():
    learned = curve(play(rendering="text"))
    assert 0.25 <= learned[0] <= 0.55
    assert learned[-1] >= 0.85
    assert learned[-1] >= curve(played("reflexion"))[-1]


def test_the_same_seed_gives_the_same_run_and_another_seed_another():
    expected = played("reflexion")[:12]
    assert play(tasks=12) == [Timeless(final) for final in expected]
    environment = load_environment("webshop")
    other = create_reflexion(DemoChatModel(), environment, options=ModelOptions(seed=1), max_trials=TRIALS).compile()
    finals = [other.invoke({"task": task}) for task in environment.tasks(limit=12)]
    assert finals != [Timeless(final) for final in expected]


def test_as_a_judge_it_mostly_agrees_with_the_truth():
    records = [r for final in play(evaluator="llm", max_trials=2) for r in final["trials"]]
    assert sum(r["verdict"] == r["success"] for r in records) / len(records) > 0.8
    assert {r["verdict"] for r in records} == {True, False}


@pytest.mark.parametrize("seed", [0, 11])
def test_it_reads_every_errand_by_its_grammar(seed):
    for goal in generate(seed).goals:
        errand = read_errand(f"WebShop \nInstruction:  \n{goal['instruction']} \n[Search]")
        assert list(errand.attributes) == goal["instruction_attributes"]
        assert [f"{name}: {value}" for name, value in errand.options.items()] == goal["instruction_options"]
        assert errand.limit == goal["price_upper"]
        assert f" {errand.thing}" in goal["instruction"]


@pytest.mark.parametrize("text", ["", "buy", "Instruction: ", "Instruction: i need new shoes. [Search]"])
def test_what_it_cannot_read_it_searches_for_as_it_stands(text):
    errand = read_errand(text)
    assert errand.attributes == ()
    assert errand.options == {}
    assert errand.queries == [errand.thing]


def test_it_knows_no_word_of_the_invented_shop():
    invented = set()
    for category in words()["category"]:
        values = [value for values in category["options"].values() for value in values]
        invented |= {*category["attributes"], *category["things"], *category["options"], *values}
    for name in ("buying", "errand", "regret", "shop", "shopping"):
        text = (Path(package.__file__).parent / f"{name}.py").read_text(encoding="utf-8").lower()
        assert not [each for each in invented if re.search(rf"\b{each}\b", text)], name
