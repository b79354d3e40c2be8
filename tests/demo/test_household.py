"""The demo model in a household: it learns from the reflections in its prompt, and from nothing else."""

import re
from functools import partial

import pytest
from langchain_core.messages import AIMessage

from langgraph_reflexion import ModelOptions, create_reflexion, load_environment
from langgraph_reflexion.demo import DemoChatModel
from langgraph_reflexion.envs.alfworld.rooms import rooms
from tests.demo.between import Between, confused, forgetful
from tests.demo.playing import curve_of, once, play_all
from tests.toys import Timeless, text_of

GAMES, TRIALS = 42, 5


def play(seed=0, tasks=GAMES, **options):
    return play_all(load_environment("alfworld", seed=seed), tasks, seed=seed, **{"max_trials": TRIALS, **options})


curve = partial(curve_of, trials=TRIALS)


@once
def played(strategy, seed=0):
    return play(strategy=strategy, seed=seed)


@pytest.mark.parametrize("seed", [0, pytest.param(7, marks=pytest.mark.long)])
def test_reflexion_gains_and_retry_hardly_does(seed):
    learned, retried = curve(played("reflexion", seed)), curve(played("retry", seed))
    assert learned[0] == retried[0], "the first trial is the same"
    assert 0.25 < learned[0] < 0.75
    assert learned[-1] >= 0.85
    assert learned[-1] - learned[0] > 0.25
    assert learned[-1] - retried[-1] > 0.15
    assert retried[-1] - retried[0] < 0.2


def test_it_fails_for_both_reasons():
    reasons = {record["stop_reason"] for final in played("reflexion") for record in final["trials"]}
    assert reasons == {"terminated", "hallucination", "inefficient planning"}


@pytest.mark.long
def test_without_the_reflections_in_its_prompt_the_gain_is_gone():
    model, removed = forgetful()
    finals = play(model=model)
    assert removed, "there were lessons to remove"
    assert curve(finals) == curve(played("retry"))
    assert curve(finals)[-1] < curve(played("reflexion"))[-1] - 0.15


@pytest.mark.long
def test_with_another_tasks_reflections_the_gain_is_gone():
    model, swapped = confused(lambda text: text.rpartition("Your task is to:")[2])
    finals = play(model=model)
    assert len(set(swapped)) > 10
    assert curve(finals)[-1] <= curve(played("retry"))[-1] + 0.15
    assert curve(finals)[-1] < curve(played("reflexion"))[-1] - 0.1


def class_names():
    """Every room's furniture and every thing that the generator knows, as the game writes them."""
    found: set[str] = set()
    environment = load_environment("alfworld")
    for task in environment.tasks():
        found |= {name.lower() for name in re.findall(r"[a-z]+(?= \d)", environment.start(task).observation)}
    for final in played("retry"):
        for step in final["trajectory"]:
            found |= set(re.findall(r"\b([a-z]+) \d+\b", step["observation"]))

    def walk(value):
        if isinstance(value, dict):
            for key, inner in value.items():
                found.add(str(key).lower())
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)
        elif isinstance(value, str) and re.fullmatch(r"[A-Za-z]+", value):
            found.add(value.lower())

    walk(rooms()["properties"])
    return {name for name in found if not name.startswith("is") and name not in ("look", "examine")}


def invented(count):
    syllables = ["ba", "do", "fi", "gu", "ke", "lo", "mi", "nu", "po", "ra", "su", "ti", "vo", "wa", "zu"]
    words = [a + b + c + "x" for a in syllables for b in syllables for c in syllables]
    return [words[index * 31 % len(words)] for index in range(count)]


def renaming():
    names = sorted(class_names())
    there = dict(zip(names, invented(len(names)), strict=True))
    back = {new: old for old, new in there.items()}
    assert len(back) == len(there)

    def renamed(text, table):
        pattern = rf"\b({'|'.join(sorted(table, key=len, reverse=True))})\b"
        return re.sub(pattern, lambda match: table[match[0].lower()], text, flags=re.IGNORECASE)

    def call_renamed(call, table):
        return {**call, "args": {key: renamed(str(value), table) for key, value in call["args"].items()}}

    def message_renamed(message, table):
        update = {"content": renamed(message.text, table)}
        if isinstance(message, AIMessage):
            update["tool_calls"] = [call_renamed(call, table) for call in message.tool_calls]
        return message.model_copy(update=update)

    return there, (lambda m: message_renamed(m, there)), (lambda m: message_renamed(m, back))


@pytest.mark.long
def test_with_rooms_and_objects_renamed_the_curve_stays():
    there, hide, reveal = renaming()
    assert {"cabinet", "sinkbasin", "microwave", "fridge", "desklamp", "mug", "apple"} <= set(there)
    seen = []

    def hears(messages):
        hidden = [hide(message) for message in messages]
        if len(seen) < 500:
            seen.append(text_of(hidden))
        return hidden

    expected, found = curve(played("reflexion")), curve(play(model=Between(hears=hears, says=reveal)))
    # The order of its search is a habit that goes by names, so the games that it solves at once are others.
    assert found[-1] >= 0.8
    assert abs(found[0] - expected[0]) < 0.2
    assert found[-1] - found[0] > 0.25
    left = {name for text in seen for name in re.findall(r"\b([a-z]+) \d+\b", text)}
    assert not left & set(there), "no name came through"


@pytest.mark.long
def test_acting_by_tool_calls_gives_the_same_curve():
    finals, expected = play(actor="tools"), played("reflexion")
    assert curve(finals) == curve(expected)
    assert [final["reflections"] for final in finals] == [final["reflections"] for final in expected]


def test_the_same_seed_gives_the_same_run_and_another_seed_another():
    expected = played("reflexion")[:12]
    assert play(tasks=12) == [Timeless(final) for final in expected]
    model = DemoChatModel()
    environment = load_environment("alfworld")
    other = create_reflexion(model, environment, options=ModelOptions(seed=1), max_trials=TRIALS).compile()
    assert [other.invoke({"task": task}) for task in environment.tasks(limit=12)] != [
        Timeless(final) for final in expected
    ]


@pytest.mark.long
def test_as_a_judge_it_mostly_agrees_with_the_truth():
    records = [record for final in play(evaluator="llm", max_trials=2) for record in final["trials"]]
    agreed = sum(record["verdict"] == record["success"] for record in records) / len(records)
    assert agreed > 0.9
    assert {record["verdict"] for record in records} == {True, False}


def test_it_counts_tokens():
    usage = played("reflexion")[0]["trials"][0]["usage"]["act"]
    assert usage["input_tokens"] > usage["output_tokens"] > usage["llm_calls"] > 0


def test_the_model_is_given_no_environment():
    assert set(DemoChatModel.model_fields) - set(DemoChatModel.__mro__[1].model_fields) == {"seed"}
