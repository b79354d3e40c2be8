"""Few-shot examples of every domain: the environment gives each observation, in tasks that no run contains."""

import tomllib
from pathlib import Path

import pytest

from langgraph_reflexion import prompts as package
from langgraph_reflexion.envs.alfworld.environment import ALFWorld
from langgraph_reflexion.envs.alfworld.episode import ALFWorldEpisode
from langgraph_reflexion.envs.alfworld.generate import GENERATED, generate
from langgraph_reflexion.envs.alfworld.native import NativeEngine, World
from langgraph_reflexion.envs.fever.environment import FEVER
from langgraph_reflexion.envs.grammar import parse_action
from langgraph_reflexion.envs.hotpotqa.environment import HotPotQA
from langgraph_reflexion.envs.hotpotqa.world.generator import draw_country
from langgraph_reflexion.envs.hotpotqa.world.questions import own_world
from langgraph_reflexion.envs.webshop import catalogue
from langgraph_reflexion.envs.webshop.environment import WebShop
from langgraph_reflexion.envs.workspace.environment import Workspace
from langgraph_reflexion.envs.workspace.repositories import own_repositories
from tests.support.tools import need, need_extra

ROOT = Path(package.__file__).parent
SEED = 7919
"""The seed of the worlds that examples are from."""


def alfworld(entry, folder):
    game = generate(**entry["game"])
    return ALFWorld(), ALFWorldEpisode(NativeEngine(World.of(game)), game.syntax)


def hotpotqa(entry, folder):
    environment = HotPotQA(seed=SEED)
    return environment, environment.start(next(t for t in environment.tasks() if t["id"] == entry["question"]))


def hotpotqa_with_context(entry, folder):
    environment, episode = hotpotqa(entry, folder)
    task = next(t for t in environment.tasks() if t["id"] == entry["question"])
    episode.observation = f"{environment.context(task)}\n\n{episode.observation}"
    return environment, episode


def fever(entry, folder):
    environment = FEVER(seed=SEED)
    return environment, environment.start(environment.find_task(entry["claim"]))


def webshop(entry, folder):
    need_extra("webshop")
    environment = WebShop(seed=SEED, strict=True)  # the original's actions alone
    return environment, environment.start(next(t for t in environment.tasks() if t["id"] == entry["goal"]))


def workspace(entry, folder):
    need("bubblewrap")
    for name, text in entry["files"].items():
        path = folder / entry["id"] / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    given = {"path": folder / entry["id"], "instruction": entry["instruction"], "verify": entry["verify"]}
    environment = Workspace(given, store=folder / "store")
    return environment, environment.start(environment.tasks()[0])


def of_a_split(entry):
    """A game depends only on its kind, seed and index."""
    return entry["game"]["index"] < GENERATED["generated-134"]


def of_the_own_country(entry):
    names = {thing.name for thing in draw_country(0).things} | {page.title for page in own_world(0).pages}
    return any(name in str(entry) for name in names)


def of_the_own_shop(entry):
    shop = catalogue.generate(0)
    texts = [product.asin for product in shop.products] + [goal.instruction for goal in shop.goals]
    return any(text in str(entry) for text in texts)


def of_the_own_repositories(entry):
    return {name for each in own_repositories() for name in each.files} & {*entry["files"]}


# By folder of prompts: the numbers of solved and failed examples, what plays one, and what a run would contain.
DOMAINS = {
    "alfworld": (12, 2, alfworld, of_a_split),
    "hotpotqa": (6, 2, hotpotqa, of_the_own_country),
    "hotpotqa/cot": (6, 2, hotpotqa, of_the_own_country),
    "hotpotqa/cot-gt": (6, 2, hotpotqa_with_context, of_the_own_country),
    "fever": (3, 2, fever, of_the_own_country),
    "webshop": (2, 2, webshop, of_the_own_shop),
    "workspace": (3, 2, workspace, of_the_own_repositories),
}


def examples(folder):
    """The solved and the failed examples in a folder of prompts."""
    texts = [(ROOT / folder / name).read_text(encoding="utf-8") for name in ("examples.toml", "reflections.toml")]
    return [tomllib.loads(text)["example"] for text in texts]


@pytest.mark.slow
@pytest.mark.parametrize("folder", DOMAINS)
def test_environment_gives_every_observation(folder, tmp_path):
    solved, failed = examples(folder)
    for entry in [*solved, *failed]:
        environment, episode = DOMAINS[folder][2](entry, tmp_path)
        assert entry["observation"] == episode.observation
        results = []
        for step in entry["step"]:
            action = parse_action(environment, step["action"])
            assert type(episode).actions()[action["name"]].render(action["args"]) == step["action"]
            results.append(episode.step(action))
            assert results[-1].observation == step["observation"]
        assert not any(result.terminated or result.truncated for result in results[:-1])
        assert (results[-1].reward == 1.0) == (entry in solved)
        episode.close()
        environment.close()


@pytest.mark.parametrize("folder", DOMAINS)
def test_examples_are_original_and_cover_different_tasks(folder):
    (solved, failed), (*counts, _, in_a_run) = examples(folder), DOMAINS[folder]
    entries = [*solved, *failed]
    assert [len(solved), len(failed)] == counts
    assert len({entry["observation"] for entry in entries}) == len(entries)
    assert [entry["observation"] for entry in entries if in_a_run(entry)] == []
