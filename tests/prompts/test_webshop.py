"""WebShop's examples are what its environment really says, over a catalogue that no run has unless it asks for it."""

import re
import tomllib
from pathlib import Path

import pytest

from langgraph_reflexion import prompts as package
from langgraph_reflexion.envs.webshop.catalogue import generate
from langgraph_reflexion.envs.webshop.environment import WebShop
from langgraph_reflexion.envs.webshop.episode import WebShopEpisode
from langgraph_reflexion.heuristic import Heuristic
from langgraph_reflexion.prompts import load_prompts

HERE = Path(package.__file__).parent / "webshop"
SEED = 7919
CODE = re.compile(r"\bW[A-Z0-9]{9}\b")
AMOUNT = re.compile(r"\b\d+(?:\.\d+)?\b")


def entries(name):
    return tomllib.loads((HERE / name).read_text(encoding="utf-8"))["example"]


SOLVED, FAILED = entries("examples.toml"), entries("reflections.toml")


def label(entry):
    return entry["goal"].rpartition("/")[2]


every_example = pytest.mark.parametrize("entry", [*SOLVED, *FAILED], ids=label)
failed_example = pytest.mark.parametrize("entry", FAILED, ids=label)


@pytest.fixture(scope="module")
def environment():
    environment = WebShop(seed=SEED)
    yield environment
    environment.close()


def task_of(environment, entry):
    return next(task for task in environment.tasks() if task["id"] == entry["goal"])


def goal_of(entry):
    return generate(SEED).goals[int(label(entry))]


@every_example
def test_the_environment_says_what_an_example_shows(entry, environment):
    episode = environment.start(task_of(environment, entry))
    assert entry["observation"] == episode.observation
    results = []
    for step in entry["step"]:
        action = environment.parse(step["action"])
        assert WebShopEpisode.actions()[action["name"]].render(action["args"]) == step["action"]
        results.append(episode.step(action))
        assert results[-1].observation == step["observation"]
    assert not any(result.terminated for result in results[:-1])
    assert results[-1].terminated
    assert (results[-1].reward == 1.0) == (entry in SOLVED)


@every_example
def test_examples_go_through_with_the_narrow_actions_of_the_original(entry):
    environment = WebShop(seed=SEED, strict=True)
    episode = environment.start(task_of(environment, entry))
    for step in entry["step"]:
        assert episode.step(environment.parse(step["action"])).observation == step["observation"]
    environment.close()


def test_two_solved_ones_and_two_failed_ones_of_four_goals():
    assert (len(SOLVED), len(FAILED)) == (2, 2)
    assert len({entry["goal"] for entry in [*SOLVED, *FAILED]}) == 4
    for entry in SOLVED:
        actions = [step["action"] for step in entry["step"]]
        assert "click[Features]" in actions
        assert actions.count("click[Buy Now]") == 1
        assert len(actions) <= 14, "as many as the original allows"


@every_example
def test_no_example_is_of_the_catalogue_that_runs_have_by_themselves(entry):
    assert entry["goal"].startswith(f"own/s{SEED}/")
    shop = generate(0)
    told = str(entry)
    assert not [product["asin"] for product in shop.products if product["asin"] in told]
    assert not [goal["instruction"] for goal in shop.goals if goal["instruction"] in told]


@every_example
def test_thoughts_and_actions_say_only_what_is_known_by_then(entry):
    known = entry["observation"]
    for step in entry["step"]:
        said = f"{step['thought']} {step['action']}"
        for name in [*CODE.findall(said), *AMOUNT.findall(said), *re.findall(r'"([^"]*)"', said)]:
            assert name in known, name
        known += step["observation"]


@failed_example
def test_reflections_look_back_and_ahead_and_do_not_know_the_answer(entry):
    reflection, goal = entry["reflection"], goal_of(entry)
    assert re.search(r"\bI\b.*\bNext time I will\b", reflection)
    assert "click[Buy Now]" in reflection, "the action that was to blame"
    seen = entry["observation"] + "".join(step["observation"] for step in entry["step"])
    assert all(code in seen for code in CODE.findall(reflection))
    assert goal["asin"] in seen or goal["asin"] not in reflection


def test_one_bought_without_reading_and_the_other_without_choosing(environment):
    unread, unchosen = FAILED
    assert not {"click[Description]", "click[Features]"} & {step["action"] for step in unread["step"]}
    assert generate(SEED).near_misses[int(label(unread))][unread["step"][1]["action"][6:-1]] == "attribute"
    goal = goal_of(unchosen)
    clicked = [step["action"][6:-1] for step in unchosen["step"] if step["action"].startswith("click[")]
    assert goal["asin"] in clicked
    assert not {option.partition(": ")[2] for option in goal["instruction_options"]} <= set(clicked)
    steps = [{**step, "action": environment.parse(step["action"])} for step in unchosen["step"]]
    assert Heuristic()(steps) is None


def test_the_prompts_render_with_every_example(environment):
    prompts = load_prompts("webshop")
    actions = environment.shown_actions(environment.tasks(limit=1)[0])
    assert [action.form for action in actions] == ["search[{query}]", "click[{element}]"]
    examples = prompts.examples(None, 2)
    text = prompts.render("act", in_text=True, actions=actions, examples=examples)
    assert "--- Example 2 ---" in text
    assert prompts.render("setting") in text
    assert "\n\n{}\n\nLeave the thought out".format("\n".join(f"- {action.form}" for action in actions)) in text
    assert all(step.thought in text and step.action in text for example in examples for step in example.steps)
    reflect = prompts.render("reflect", examples=prompts.reflections)
    assert reflect.count("Status: FAILED\n\nReflection: ") == 2
