"""Few-shot examples of every domain: the environment gives each observation, in tasks that no run contains."""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from langgraph_reflexion import Environment, Episode
from langgraph_reflexion import prompts as package
from langgraph_reflexion.envs.alfworld.environment import ALFWorld
from langgraph_reflexion.envs.alfworld.episode import ALFWorldEpisode
from langgraph_reflexion.envs.alfworld.generate import SPLITS, generate
from langgraph_reflexion.envs.alfworld.native import NativeEngine, World
from langgraph_reflexion.envs.fever.environment import FEVER
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
Entry = dict[str, Any]


def read(folder: str, name: str) -> list[Entry]:
    return list(tomllib.loads((ROOT / folder / name).read_text(encoding="utf-8"))["example"])


Started = tuple[Environment, Episode]


def alfworld(entry: Entry, folder: Path, agent: str) -> Started:
    game = generate(**entry["game"])
    return ALFWorld(), ALFWorldEpisode(NativeEngine(World.of(game)), game.syntax)


def hotpotqa(entry: Entry, folder: Path, agent: str) -> Started:
    environment = HotPotQA(seed=SEED)
    task = next(task for task in environment.tasks() if task["id"] == entry["question"])
    episode = environment.start(task)
    if agent == "cot-gt":
        episode.observation = f"{environment.context(task)}\n\n{episode.observation}"
    return environment, episode


def fever(entry: Entry, folder: Path, agent: str) -> Started:
    environment = FEVER(seed=SEED)
    return environment, environment.start(environment.find_task(entry["claim"]))


def webshop(entry: Entry, folder: Path, agent: str) -> Started:
    need_extra("webshop")
    environment = WebShop(seed=SEED, strict=True)  # the original's actions alone
    return environment, environment.start(next(t for t in environment.tasks() if t["id"] == entry["goal"]))


def workspace(entry: Entry, folder: Path, agent: str) -> Started:
    need("bubblewrap")
    for name, text in entry["files"].items():
        path = folder / entry["id"] / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    given = {"path": folder / entry["id"], "instruction": entry["instruction"], "verify": entry["verify"]}
    environment = Workspace(given, store=folder / "store")
    return environment, environment.start(environment.tasks()[0])


def nothing_of_a_split(entry: Entry) -> bool:
    """No run contains this game: a game depends only on its kind, seed and index."""
    return all(entry["game"]["index"] >= sum(kinds.values()) for kinds in SPLITS.values())


def nothing_of_the_own_country(entry: Entry) -> bool:
    names = {thing.name for thing in draw_country(0).things} | {page.title for page in own_world(0).pages}
    return not any(name in str(entry) for name in names)


def nothing_of_the_own_shop(entry: Entry) -> bool:
    shop = catalogue.generate(0)
    texts = [product["asin"] for product in shop.products] + [goal.instruction for goal in shop.goals]
    return not any(text in str(entry) for text in texts)


def nothing_of_the_own_repositories(entry: Entry) -> bool:
    return not {name for each in own_repositories() for name in each.files} & {*entry["files"]}


@dataclass
class Domain:
    """The examples in one folder of prompts: numbers of solved and failed ones, whose tasks no run has by default."""

    folder: str
    counts: tuple[int, int]
    play: Callable[[Entry, Path, str], Started]
    new: Callable[[Entry], bool]

    def __post_init__(self) -> None:
        self.agent = self.folder.partition("/")[2]
        self.solved, self.failed = read(self.folder, "examples.toml"), read(self.folder, "reflections.toml")


DOMAINS = [
    Domain("alfworld", (12, 2), alfworld, nothing_of_a_split),
    Domain("hotpotqa", (6, 2), hotpotqa, nothing_of_the_own_country),
    Domain("hotpotqa/cot", (6, 2), hotpotqa, nothing_of_the_own_country),
    Domain("hotpotqa/cot-gt", (6, 2), hotpotqa, nothing_of_the_own_country),
    Domain("fever", (3, 2), fever, nothing_of_the_own_country),
    Domain("webshop", (2, 2), webshop, nothing_of_the_own_shop),
    Domain("workspace", (3, 2), workspace, nothing_of_the_own_repositories),
]
every_domain = pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: domain.folder)


@every_domain
def test_environment_gives_every_observation(domain: Domain, tmp_path: Path) -> None:
    for entry in [*domain.solved, *domain.failed]:
        environment, episode = domain.play(entry, tmp_path, domain.agent)
        assert entry["observation"] == episode.observation
        results = []
        for step in entry["step"]:
            action = environment.parse(step["action"])
            assert type(episode).actions()[action["name"]].render(action["args"]) == step["action"]
            results.append(episode.step(action))
            assert results[-1].observation == step["observation"]
        assert not any(result.terminated or result.truncated for result in results[:-1])
        assert (results[-1].reward == 1.0) == (entry in domain.solved)
        episode.close()
        environment.close()


@every_domain
def test_examples_are_original_and_cover_different_tasks(domain: Domain) -> None:
    entries = [*domain.solved, *domain.failed]
    assert (len(domain.solved), len(domain.failed)) == domain.counts
    assert len({entry["observation"] for entry in entries}) == len(entries)
    assert [entry["observation"] for entry in entries if not domain.new(entry)] == []
