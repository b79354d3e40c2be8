"""HotPotQA's examples are what its environment really says, over a world that no run has unless it asks for it."""

import re
import tomllib
from pathlib import Path

import pytest

from langgraph_reflexion import prompts as package
from langgraph_reflexion.envs.hotpotqa.asking import own_world
from langgraph_reflexion.envs.hotpotqa.drawing import draw_country
from langgraph_reflexion.envs.hotpotqa.environment import HotPotQA
from langgraph_reflexion.envs.hotpotqa.episode import HotPotQAEpisode
from langgraph_reflexion.heuristic import Heuristic
from langgraph_reflexion.prompts import load_prompts

HERE = Path(package.__file__).parent / "hotpotqa"
FOLDERS = {"react": HERE, "cot": HERE / "cot", "cot-gt": HERE / "cot-gt"}
SEED = 7919
NAME = re.compile(r"\b(?!I\b)[A-Z]\w+|\d+")


def entries(agent, name):
    return tomllib.loads((FOLDERS[agent] / name).read_text(encoding="utf-8"))["example"]


SOLVED = [(agent, entry) for agent in FOLDERS for entry in entries(agent, "examples.toml")]
FAILED = [(agent, entry) for agent in FOLDERS for entry in entries(agent, "reflections.toml")]


def label(value):
    return value if isinstance(value, str) else value["question"].rpartition("/")[2]


solved_example = pytest.mark.parametrize(("agent", "entry"), SOLVED, ids=label)
failed_example = pytest.mark.parametrize(("agent", "entry"), FAILED, ids=label)
every_example = pytest.mark.parametrize(("agent", "entry"), [*SOLVED, *FAILED], ids=label)
every_agent = pytest.mark.parametrize("agent", FOLDERS)


@pytest.fixture(scope="module")
def environment():
    environment = HotPotQA(seed=SEED)
    yield environment
    environment.close()


def task_of(environment, entry):
    return next(task for task in environment.tasks() if task["id"] == entry["question"])


@every_example
def test_the_environment_says_what_an_example_shows(agent, entry, environment):
    task = task_of(environment, entry)
    episode = environment.start(task)
    given = f"{environment.context(task)}\n\n" if agent == "cot-gt" else ""
    assert entry["observation"] == given + episode.observation
    results = []
    for step in entry["step"]:
        action = environment.parse(step["action"])
        assert HotPotQAEpisode.actions()[action["name"]].render(action["args"]) == step["action"]
        results.append(episode.step(action))
        assert results[-1].observation == step["observation"]
    assert [result.reward for result in results[:-1]] == [0.0] * (len(results) - 1)
    assert not any(result.terminated for result in results[:-1])
    assert results[-1].reward == ((agent, entry) in SOLVED)


@every_agent
def test_six_solved_ones_and_two_failed_ones(agent):
    solved, failed = entries(agent, "examples.toml"), entries(agent, "reflections.toml")
    assert (len(solved), len(failed)) == (6, 2)
    assert len({entry["question"] for entry in [*solved, *failed]}) == 8
    types = {question.id: question.type for question in own_world(SEED).questions}
    # However few are shown, they are of both types.
    assert [types[entry["question"]] for entry in solved] == ["bridge", "comparison"] * 3
    assert any(entry["step"][-1]["action"] in ("finish[yes]", "finish[no]") for entry in solved)


@every_example
def test_no_example_is_of_the_world_that_runs_have_by_themselves(agent, entry):
    names = {thing.name for thing in draw_country(0).things} | {page.title for page in own_world(0).pages}
    told = str(entry)
    assert not [name for name in names if name in told]
    assert entry["question"].startswith(f"own/s{SEED}/")


@solved_example
def test_thoughts_and_actions_say_only_what_is_known_by_then(agent, entry, environment):
    known = entry["observation"]
    if agent == "cot":
        # From memory: what is remembered is true.
        known += environment.context(task_of(environment, entry))
    own_words = {"It", "The", "There", "These", "This", "Now", "First", "So", "No", "As", "In"}
    for step in entry["step"]:
        for name in NAME.findall(f"{step['thought']} {re.sub('^finish.(yes|no).', '', step['action'])}"):
            assert name in known or name in own_words, name
        known += step["observation"]


@pytest.mark.parametrize("agent", ["cot", "cot-gt"])
def test_agents_without_tools_think_once_and_answer(agent):
    for name in ("examples.toml", "reflections.toml"):
        for entry in entries(agent, name):
            (step,) = entry["step"]
            assert step["thought"]
            assert step["action"].startswith("finish[")


def test_agents_with_tools_search_look_up_and_choose_among_similar_titles():
    actions = [step["action"] for entry in entries("react", "examples.toml") for step in entry["step"]]
    assert any(action.startswith("lookup[") for action in actions)
    observations = [step["observation"] for entry in entries("react", "examples.toml") for step in entry["step"]]
    assert sum("Similar: [" in observation for observation in observations) >= 3
    assert all(3 <= len(entry["step"]) <= 6 for entry in entries("react", "examples.toml"))


@failed_example
def test_reflections_look_back_and_ahead_and_do_not_know_the_answer(agent, entry, environment):
    reflection, answer = entry["reflection"], task_of(environment, entry)["data"]["answer"]
    assert re.search(r"\bI\b.*\bNext time I will\b", reflection)
    seen = entry["observation"] + "".join(step["observation"] for step in entry["step"])
    assert answer in ("yes", "no") or answer in seen or answer not in reflection
    last = entry["step"][-1]["action"]
    assert last in reflection or re.sub(r"^finish\[|\]$", "", last) in reflection


def test_one_failure_repeats_itself_and_the_other_answers_wrongly(environment):
    wrong, repeats = (
        [
            {"thought": s["thought"], "action": environment.parse(s["action"]), "observation": s["observation"]}
            for s in e
        ]
        for e in (entry["step"] for entry in entries("react", "reflections.toml"))
    )
    assert Heuristic()(repeats) == "hallucination"
    assert Heuristic()(repeats[:-1]) is None
    assert Heuristic()(wrong) is None
    assert wrong[-1]["action"]["name"] == "finish"


@every_agent
def test_the_prompts_render_with_every_example(agent):
    prompts = load_prompts(FOLDERS[agent]) if agent != "react" else load_prompts("hotpotqa")
    examples = prompts.examples(None, 6)
    environment = HotPotQA() if agent == "react" else HotPotQA().variant(agent)
    actions = environment.shown_actions(environment.tasks(limit=1)[0])
    text = prompts.render("act", in_text=True, actions=actions, examples=examples)
    assert "--- Example 6 ---" in text
    assert prompts.render("setting") in text
    assert "\n\n{}\n\nLeave the thought out".format("\n".join(f"- {action.form}" for action in actions)) in text
    assert all(step.thought in text and step.action in text for example in examples for step in example.steps)
    reflect = prompts.render("reflect", examples=prompts.reflections)
    assert reflect.count("Status: FAILED\n\nReflection: ") == 2
    assert "\n\n\n" not in text + reflect
