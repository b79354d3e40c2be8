"""The few-shot examples of every domain: the environment gives each observation, in tasks that no run has."""

import re
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from langgraph_reflexion import Environment, Episode
from langgraph_reflexion import prompts as package
from langgraph_reflexion.envs.actions import shown_actions
from langgraph_reflexion.envs.alfworld.environment import ALFWorld
from langgraph_reflexion.envs.alfworld.episode import ALFWorldEpisode
from langgraph_reflexion.envs.alfworld.generate import SPLITS, generate
from langgraph_reflexion.envs.alfworld.native import NativeEngine, World
from langgraph_reflexion.envs.alfworld.textworld import TextWorldEngine, Workers, unavailable
from langgraph_reflexion.envs.hotpotqa.environment import HotPotQA
from langgraph_reflexion.envs.hotpotqa.world.generator import draw_country
from langgraph_reflexion.envs.hotpotqa.world.questions import own_world
from langgraph_reflexion.envs.webshop import catalogue
from langgraph_reflexion.envs.webshop.environment import WebShop
from langgraph_reflexion.envs.workspace.environment import Workspace
from langgraph_reflexion.envs.workspace.repositories import own_repositories
from langgraph_reflexion.heuristic import Heuristic
from langgraph_reflexion.prompts import load_prompts
from tests.support.tools import need

ROOT = Path(package.__file__).parent
SEED = 7919
"""The seed of the worlds that examples are from."""
Entry = dict[str, Any]
OWN_WORDS = {*("It", "The", "There", "These", "This", "Now", "First", "So", "No", "As", "In", "I", "That", "Once")}


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
def webshop(entry: Entry, folder: Path, agent: str) -> Iterator[tuple[Environment, Episode, str]]:
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
    """No seed gives this game: a game depends on its kind, seed and index alone."""
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
        name: The pattern of names that thoughts and actions use only after an observation has; matches nothing for
            agents that answer from memory.
        repeats: The failed example that ends by repeating itself.
    """

    folder: str
    counts: tuple[int, int]
    play: Callable[[Entry, Path, str], Any]
    new: Callable[[Entry], bool]
    name: str
    repeats: int | None = None

    def __post_init__(self) -> None:
        self.agent = self.folder.partition("/")[2]
        self.solved, self.failed = read(self.folder, "examples.toml"), read(self.folder, "reflections.toml")


ALFWORLD = Domain("alfworld", (12, 2), alfworld, nothing_of_a_split, r"[a-z]+ \d+", 0)
_CAPITALISED = r"\b[A-Z]\w+|\d+"
_SHOP = r"\bW[A-Z0-9]{9}\b|\b\d+(?:\.\d+)?\b"
DOMAINS = [
    ALFWORLD,
    Domain("hotpotqa", (6, 2), hotpotqa, nothing_of_the_own_country, _CAPITALISED, 1),
    Domain("hotpotqa/cot", (6, 2), hotpotqa, nothing_of_the_own_country, r"(?!)"),
    Domain("hotpotqa/cot-gt", (6, 2), hotpotqa, nothing_of_the_own_country, _CAPITALISED),
    Domain("webshop", (2, 2), webshop, nothing_of_the_own_shop, _SHOP),
    Domain("workspace", (3, 2), workspace, nothing_of_the_own_repositories, r"[\w/]+\.py\b", 1),
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


def test_the_environment_gives_every_observation(domain: Domain, tmp_path: Path) -> None:
    for entry in [*domain.solved, *domain.failed]:
        replay(domain, entry, tmp_path, domain.agent)


def test_webshops_examples_need_only_the_originals_actions(tmp_path: Path) -> None:
    shop = next(domain for domain in DOMAINS if domain.folder == "webshop")
    for entry in [*shop.solved, *shop.failed]:
        replay(shop, entry, tmp_path, "strict")


@pytest.mark.long
@pytest.mark.skipif(unavailable() is not None, reason=str(unavailable()))
def test_the_reference_engine_of_alfworld_gives_the_same() -> None:
    workers, environment = Workers(), ALFWorld()
    try:
        for entry in [*ALFWORLD.solved, *ALFWORLD.failed]:
            game = generate(**entry["game"])
            episode = ALFWorldEpisode(TextWorldEngine(game, workers), game.syntax)
            assert episode.observation == entry["observation"]
            for step in entry["step"]:
                action = environment.parse(step["action"])
                assert action is not None
                assert episode.step(action).observation == step["observation"]
            episode.close()
    finally:
        workers.close()


def test_examples_are_new_and_of_different_tasks(domain: Domain) -> None:
    entries = [*domain.solved, *domain.failed]
    assert (len(domain.solved), len(domain.failed)) == domain.counts
    assert len({entry["observation"] for entry in entries}) == len(entries)
    assert [entry["observation"] for entry in entries if not domain.new(entry)] == []


def test_thoughts_and_actions_name_only_what_was_observed(domain: Domain) -> None:
    for entry in [*domain.solved, *domain.failed]:
        known = entry["observation"]
        for step in entry["step"]:
            said = f"{step['thought']}\n{step['action'].splitlines()[0]}"
            said = re.sub(r"finish\[(yes|no)\]", "", said)
            said = said.lower() if domain is ALFWORLD else said
            assert [
                name for name in re.findall(domain.name, said) if name not in known and name not in OWN_WORDS
            ] == []
            known += step["observation"]


def test_reflections_look_back_and_ahead(domain: Domain) -> None:
    for entry in domain.failed:
        reflection = entry["reflection"]
        assert re.search(r"\bI\b.*\bNext time I will\b", reflection)
        actions = [re.sub(r"^finish\[|\]$", "", step["action"]) for step in entry["step"]]
        assert any(action in reflection for action in actions), "the action that was to blame"


def test_a_failure_may_end_by_repeating_itself(domain: Domain) -> None:
    for number, entry in enumerate(domain.failed):
        steps: list[Any] = [
            {**step, "action": {"name": "", "args": {}, "text": step["action"]}} for step in entry["step"]
        ]
        stopped = "hallucination" if number == domain.repeats else None
        assert (Heuristic()(steps), Heuristic()(steps[:-1])) == (stopped, None)


def test_the_prompts_render_with_every_example(domain: Domain) -> None:
    prompts = load_prompts(ROOT / domain.folder) if domain.agent else load_prompts(domain.folder)
    specs = [*ALFWorldEpisode.actions().values()]
    actions = shown_actions([spec.forms[0] for spec in specs], specs)
    kinds = sorted({example.kind for example in prompts.examples(None, 100)}) if domain is ALFWORLD else [None]
    for kind in kinds:
        examples = prompts.examples(kind, 100)
        text = prompts.render("act", in_text=True, actions=actions, examples=examples)
        assert f"--- Example {len(examples)} ---" in text
        assert prompts.render("setting") in text
        assert all(step.thought in text and step.action in text for example in examples for step in example.steps)
        assert "\n\n\n" not in text or domain.folder == "workspace"
    reflect = prompts.render("reflect", examples=prompts.reflections)
    assert reflect.count("Status: FAILED\n\nReflection: ") == 2


def test_alfworlds_examples_are_two_of_each_kind() -> None:
    kinds = ["pick", "look", "clean", "heat", "cool", "two"]
    assert [entry["kind"] for entry in ALFWORLD.solved] == [kind for kind in kinds for _ in range(2)]
    assert all(entry["kind"] == entry["game"]["kind"] for entry in ALFWORLD.solved)


def test_hotpotqas_examples_are_of_both_types() -> None:
    types = {question.id: question.type for question in own_world(SEED).questions}
    for domain in (domain for domain in DOMAINS if domain.play is hotpotqa):
        assert [types[entry["question"]] for entry in domain.solved] == ["bridge", "comparison"] * 3
        assert all(len(entry["step"]) == 1 for entry in domain.solved) == bool(domain.agent)
