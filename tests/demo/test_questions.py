"""The demo model at questions: it learns from the reflections in its prompt, and from nothing else."""

import re
from functools import partial
from pathlib import Path

import pytest

from langgraph_reflexion import ModelOptions, create_reflexion, load_environment
from langgraph_reflexion import demo as package
from langgraph_reflexion.demo import DemoChatModel
from langgraph_reflexion.envs.hotpotqa.country import words
from tests.demo.between import confused, forgetful
from tests.demo.playing import curve_of, once, play_all
from tests.toys import Timeless

pytestmark = pytest.mark.long

TASKS, TRIALS = 48, 6


def play(seed=0, tasks=TASKS, **options):
    return play_all(load_environment("hotpotqa", seed=seed), tasks, seed=seed, **{"max_trials": TRIALS, **options})


@once
def played(strategy, actor="react", seed=0):
    return play(strategy=strategy, actor=actor, seed=seed)


curve = partial(curve_of, trials=TRIALS)


@pytest.mark.parametrize("seed", [0, 11])
@pytest.mark.parametrize("actor", ["react", "cot-gt"])
def test_reflexion_gains_and_retry_hardly_does_in_any_world(actor, seed):
    learned, retried = curve(played("reflexion", actor, seed)), curve(played("retry", actor, seed))
    assert learned[0] == retried[0], "the first trial is the same"
    assert 0.3 <= learned[0] <= 0.65
    assert learned[-1] >= 0.85
    assert learned[-1] - learned[0] > 0.25
    assert retried[-1] - retried[0] < 0.12


def test_from_memory_it_can_only_guess_and_learns_which_guess_was_wrong():
    learned, retried = curve(played("reflexion", "cot")), curve(played("retry", "cot"))
    assert learned[0] == retried[0] < 0.3
    assert retried[-1] - retried[0] < 0.12
    right = [final["task"] for final in played("reflexion", "cot") if final["status"] == "solved"]
    assert len(right) > TASKS * learned[0]
    assert {task["data"]["type"] for task in right} == {"comparison"}, "only they can be guessed"


def test_it_fails_for_reasons_of_its_own_and_names_each():
    told = " ".join(r["text"] for final in played("reflexion") for r in final["reflections"])
    for lesson in ("on the way to the answer", "both", "go straight to", 'the word "', "and nothing else"):
        assert lesson in told
    assert {r["stop_reason"] for f in played("reflexion") for r in f["trials"]} == {"terminated", "hallucination"}


@pytest.mark.parametrize("actor", ["react", "cot-gt"])
def test_without_the_reflections_in_its_prompt_the_gain_is_gone(actor):
    model, removed = forgetful()
    finals = play(model=model, actor=actor)
    assert removed, "there were lessons to remove"
    assert curve(finals) == curve(played("retry", actor))


def test_with_another_questions_reflections_the_gain_is_gone():
    model, swapped = confused(lambda text: text.rpartition("Question: ")[2])
    finals = play(model=model)
    assert len(set(swapped)) > 10
    assert curve(finals)[-1] <= curve(played("retry"))[-1] + 0.1
    assert curve(finals)[-1] < curve(played("reflexion"))[-1] - 0.2


def test_acting_by_tool_calls_gives_the_same_curve():
    finals = play(actor="tools")
    assert curve(finals) == curve(played("reflexion"))
    assert [final["reflections"] for final in finals] == [final["reflections"] for final in played("reflexion")]


def test_it_reads_the_layout_of_two_calls_as_well():
    finals = play(profile="upstream", max_trials=5)
    first, *_, last = curve_of(finals, 5)
    assert first == pytest.approx(curve(played("reflexion"))[0], abs=0.1)
    assert last >= 0.8


def test_the_same_seed_gives_the_same_run_and_another_seed_another():
    expected = played("reflexion")[:12]
    assert play(tasks=12) == [Timeless(final) for final in expected]
    environment = load_environment("hotpotqa")
    other = create_reflexion(DemoChatModel(), environment, options=ModelOptions(seed=1), max_trials=TRIALS).compile()
    finals = [other.invoke({"task": task}) for task in environment.tasks(limit=12)]
    assert finals != [Timeless(final) for final in expected]


def test_as_a_judge_it_mostly_agrees_with_the_truth():
    records = [r for final in play(evaluator="llm", max_trials=2) for r in final["trials"]]
    assert sum(r["verdict"] == r["success"] for r in records) / len(records) > 0.85
    assert {r["verdict"] for r in records} == {True, False}


def test_its_answers_from_nothing_are_not_accepted_by_its_own_judgement():
    finals = play(actor="cot", evaluator="llm", max_trials=1)
    assert {record["verdict"] for final in finals for record in final["trials"]} == {False}


def test_a_mistake_that_is_made_every_time_passes_self_consistency():
    records = [r for final in play(evaluator="self-consistency", max_trials=1) for r in final["trials"]]
    said = {(r["verdict"], r["success"]) for r in records}
    assert {(True, True), (True, False)} <= said


def test_it_knows_no_word_of_the_invented_country():
    world = words()
    invented = {part for parts in world["names"].values() for part in parts if len(part) > 4}
    chosen = world["choices"]
    invented |= {*chosen["trades"], *chosen["fields"], *chosen["others"], *chosen["things"], *chosen["makers"]}
    invented |= {*chosen["makers"].values()} - {"play"}
    for path in Path(package.__file__).parent.glob("*.py"):
        if path.stem != "household":
            known = set(re.findall(r"[\w ]+?(?=\W)", path.read_text(encoding="utf-8")))
            assert not {word for word in invented if word in known}, path.name
