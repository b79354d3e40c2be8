"""Few-shot examples of every domain: the environment gives each observation, in tasks that no run contains."""

import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


@contextmanager
def alfworld(entry: Entry, folder: Path, agent: str) -> Iterator[tuple[Environment, Episode, str]]:
    game = generate(**entry["game"])
    yield ALFWorld(), ALFWorldEpisode(NativeEngine(World.of(game)), game.syntax), ""


@contextmanager
def hotpotqa(entry: Entry, folder: Path, agent: str) -> Iterator[tuple[Environment, Episode, str]]:
    environment = HotPotQA(seed=SEED)
    task = next(task for task in environment.tasks() if task["id"] == entry["question"])
    yield environment, environment.start(task), f"{environment.context(task)}\n\n" if agent == "cot-gt" else ""
    environment.close()


@contextmanager
def fever(entry: Entry, folder: Path, agent: str) -> Iterator[tuple[Environment, Episode, str]]:
    environment = FEVER(seed=SEED)
    yield environment, environment.start(environment.find_task(entry["claim"])), ""
    environment.close()


@contextmanager
def webshop(entry: Entry, folder: Path, agent: str) -> Iterator[tuple[Environment, Episode, str]]:
    need_extra("webshop")
    environment = WebShop(seed=SEED, strict=agent == "strict")
    yield environment, environment.start(next(t for t in environment.tasks() if t["id"] == entry["goal"])), ""
    environment.close()


@contextmanager
def workspace(entry: Entry, folder: Path, agent: str) -> Iterator[tuple[Environment, Episode, str]]:
    need("bubblewrap")
    for name, text in entry["files"].items():
        path = folder / entry["id"] / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    given = {"instruction": entry["instruction"], "verify": entry["verify"]}
    environment = Workspace(path=folder / entry["id"], store=folder / "store", **given)
    episode = environment.start(environment.tasks()[0])
    yield environment, episode, ""
    episode.close()
    environment.close()


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
    """The examples in one folder of prompts.

    Attributes:
        folder: The folder.
        counts: The numbers of solved and of failed examples.
        play: Starts the episode of an example; returns a prefix of its first observation, too.
        new: Whether an example is of no task that a run has by default.
    """

    folder: str
    counts: tuple[int, int]
    play: Callable[[Entry, Path, str], Any]
    new: Callable[[Entry], bool]

    def __post_init__(self) -> None:
        self.agent = self.folder.partition("/")[2]
        self.solved, self.failed = read(self.folder, "examples.toml"), read(self.folder, "reflections.toml")


ALFWORLD = Domain("alfworld", (12, 2), alfworld, nothing_of_a_split)
DOMAINS = [
    ALFWORLD,
    Domain("hotpotqa", (6, 2), hotpotqa, nothing_of_the_own_country),
    Domain("hotpotqa/cot", (6, 2), hotpotqa, nothing_of_the_own_country),
    Domain("hotpotqa/cot-gt", (6, 2), hotpotqa, nothing_of_the_own_country),
    Domain("fever", (3, 2), fever, nothing_of_the_own_country),
    Domain("webshop", (2, 2), webshop, nothing_of_the_own_shop),
    Domain("workspace", (3, 2), workspace, nothing_of_the_own_repositories),
]


@pytest.fixture(params=DOMAINS, ids=lambda domain: domain.folder)
def domain(request: pytest.FixtureRequest) -> Domain:
    return request.param  # type: ignore[no-any-return]


def replay(domain: Domain, entry: Entry, folder: Path, agent: str) -> None:
    with domain.play(entry, folder, agent) as (environment, episode, before):
        assert entry["observation"] == before + episode.observation
        results = []
        for step in entry["step"]:
            action = environment.parse(step["action"])
            assert type(episode).actions()[action["name"]].render(action["args"]) == step["action"]
            results.append(episode.step(action))
            assert results[-1].observation == step["observation"]
    assert not any(result.terminated or result.truncated for result in results[:-1])
    assert (results[-1].reward == 1.0) == (entry in domain.solved)


def test_environment_gives_every_observation(domain: Domain, tmp_path: Path) -> None:
    for entry in [*domain.solved, *domain.failed]:
        replay(domain, entry, tmp_path, domain.agent)


def test_webshop_examples_use_only_the_original_actions(tmp_path: Path) -> None:
    shop = next(domain for domain in DOMAINS if domain.folder == "webshop")
    for entry in [*shop.solved, *shop.failed]:
        replay(shop, entry, tmp_path, "strict")


def test_examples_are_original_and_cover_different_tasks(domain: Domain) -> None:
    entries = [*domain.solved, *domain.failed]
    assert (len(domain.solved), len(domain.failed)) == domain.counts
    assert len({entry["observation"] for entry in entries}) == len(entries)
    assert [entry["observation"] for entry in entries if not domain.new(entry)] == []
