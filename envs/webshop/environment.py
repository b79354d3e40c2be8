"""WebShop (Yao et al. 2022): buy the product that an instruction describes."""

import os
import threading
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, ClassVar

from langgraph_reflexion.choices import UNLIMITED
from langgraph_reflexion.envs.actions import normalize_action
from langgraph_reflexion.envs.base import (
    Action,
    Environment,
    FinishedTrial,
    MemoryMap,
    ObservedStep,
    Review,
    Task,
    choose_split,
)
from langgraph_reflexion.envs.webshop.catalogue import generate
from langgraph_reflexion.envs.webshop.episode import WebShopEpisode
from langgraph_reflexion.envs.webshop.files import Files, find_files
from langgraph_reflexion.envs.webshop.goals import SPLITS, Goal, generated_goals, official_goals
from langgraph_reflexion.envs.webshop.memory_map import build_map
from langgraph_reflexion.envs.webshop.noun_phrases import rule_nouns, spacy_nouns
from langgraph_reflexion.envs.webshop.remote import Remote, RemoteShop
from langgraph_reflexion.envs.webshop.rendering import RENDERINGS
from langgraph_reflexion.envs.webshop.reward import PARTS
from langgraph_reflexion.envs.webshop.shop import LocalShop, Shop
from langgraph_reflexion.envs.webshop.state import State, normalize_element
from langgraph_reflexion.envs.webshop.store import Store
from langgraph_reflexion.errors import ConfigurationError, EnvironmentFault, EnvironmentUnavailable


class WebShop(Environment):
    """Shopping with `search` and `click`, solved with a reward of 1.0.

    Without a path or a server, products and goals are generated.

    Args:
        path: The folder of the official files, or the file of products in it, with the splits `test`, `eval` and
            `train` (extra `webshop`). A large file is read once, which takes minutes, and cached in
            `$XDG_CACHE_HOME/langgraph-reflexion`.
        seed: Seed of the generated products and goals, and of the budgets and prices of the official ones.
        rendering: `bracketed` as in ReAct and Reflexion, or `text` as in WebShop's text mode.
        base_url: The URL of an original server, which then has products, goals and rewards.
        strict: Whether actions are as strict as in ReAct and Reflexion; see `WebShopEpisode`.
        show_attributes: Whether products have a page of attributes, as with the original's `--attrs`.
        exact_types: Whether spaCy finds nouns, as in the original, instead of a rule.
        timeout: Seconds to wait for the server's response.

    Raises:
        ConfigurationError: An option is invalid, or conflicts with another.
        EnvironmentUnavailable: The files, or spaCy for `exact_types`, are missing.
    """

    name = "webshop"
    splits: tuple[str, ...] = ("own",)
    episode = WebShopEpisode
    blocking = False
    profile_overrides: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        # Appendix B.1: WebShop was ended after four trials.
        "paper": {"max_trials": 4},
        "preprint": {"max_trials": 4},
        # The original code: fifteen turns, the reset among them, and no rule against repeating; one example. Its
        # actor never sees the reflections that it writes, as its prompt is built without them.
        "upstream": {
            "heuristic": {"max_actions": 13, "max_cycles": UNLIMITED, "count_thoughts": True},
            "examples": 1,
            "shows_reflections": False,
        },
    }

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        seed: int = 0,
        rendering: str = next(iter(RENDERINGS)),
        base_url: str | None = None,
        strict: bool = False,
        show_attributes: bool = False,
        exact_types: bool = False,
        timeout: float = 20.0,
    ) -> None:
        if rendering not in RENDERINGS:
            raise ConfigurationError(f"WebShop has no rendering {rendering!r}: choose one of {', '.join(RENDERINGS)}")
        switches = {"strict": strict, "show_attributes": show_attributes, "exact_types": exact_types}
        for name, value in switches.items():
            # The string "False" would be true.
            if not isinstance(value, bool):
                raise ConfigurationError(f"{name} is {value!r}: give true or false")
        served = {"path": path, "show_attributes": show_attributes, "exact_types": exact_types}
        if base_url is not None and any(served.values()):
            given = next(name for name, value in served.items() if value)
            raise ConfigurationError(f"{given}= does not go with base_url=: there the server decides")
        self.seed = seed
        self.files = None if path is None else find_files(path)
        self.rendering = RENDERINGS[rendering]
        self.strict = strict
        self.show_attributes = show_attributes
        self.types, self._nouns = spacy_nouns() if exact_types else ("rule", rule_nouns)
        self._remote = None if base_url is None else Remote(base_url, timeout)
        if self._remote:
            self.splits = tuple(SPLITS)
        elif path is not None:
            self.splits = (*SPLITS, *type(self).splits)
        self._catalogues: dict[tuple[str, int], tuple[Store, list[Goal]]] = {}
        # Episodes start in threads, but a large file is read and indexed once.
        self._lock = threading.RLock()
        self._instructions: dict[int, str] = {}

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        chosen = choose_split(self, split)
        if self._remote:
            return self._served(self._remote, chosen, limit)
        goals = self._catalogue(chosen, self.seed)[1]
        numbers = range(len(goals))[SPLITS.get(chosen, slice(None))]
        if not numbers:
            raise ConfigurationError(f"there are {len(goals)} goals for these products: none is left for {chosen}")
        return [self._task(chosen, number, goals[number].instruction) for number in numbers[:limit]]

    def start(self, task: Task) -> WebShopEpisode:
        return WebShopEpisode(self._shop(task), self.rendering, self.strict)

    def restore(self, task: Task, snapshot: dict[str, Any]) -> WebShopEpisode:
        """Restore an episode on a server; see `Environment.restore`."""
        state = State.from_json(snapshot["state"])
        return WebShopEpisode(self._shop(task), self.rendering, self.strict, state, snapshot["reward"])

    def blocks(self, task: Task) -> bool:
        """Return whether the shop is on disk or on a server; see `Environment.blocks`."""
        data = task.get("data") or {}
        return self.blocking or data.get("split") != "own" or ("own", data.get("seed")) not in self._catalogues

    def review(self, task: Task, trial: FinishedTrial) -> Review:
        """Measure the purchase: its reward and, without a server, the parts of the reward; 0 without a purchase."""
        if self._remote:
            return Review(measures={"reward": (trial["snapshot"] or {}).get("reward") or 0.0})
        shop = self._own_shop(task)
        episode = WebShopEpisode(shop, self.rendering, self.strict)
        for action in trial["actions"]:
            episode.step(action)
        bought = episode.state.page == "done"
        return Review(measures=shop.reward(episode.state).measures() if bought else dict.fromkeys(PARTS, 0.0))

    def equivalent(self, one: Action, other: Action) -> bool:
        """Compare two actions, ignoring case and extra blanks."""
        if one["name"] != other["name"]:
            return False
        values = [[normalize_element(str(value)) for value in action["args"].values()] for action in (one, other)]
        return values[0] == values[1]

    def memory_map(
        self, task: Task, opening: str, steps: Sequence[ObservedStep], known: Mapping[str, Any]
    ) -> MemoryMap:
        return build_map(steps, known)

    def parse(self, text: str) -> Action | None:
        """Parse an action, ignoring blanks at brackets and a full stop at the end; see `Environment.parse`."""
        return super().parse(normalize_action(text))

    def close(self) -> None:
        """Close stores and connections, which new episodes open again."""
        with self._lock:
            while self._catalogues:
                self._catalogues.popitem()[1][0].close()
        if self._remote:
            self._remote.close()

    def _served(self, remote: Remote, split: str, limit: int | None) -> list[Task]:
        """Return the goals of a server, which serves them one by one."""
        places = SPLITS[split]
        last = places.stop if limit is None else min(places.start + limit, places.stop or places.start + limit)
        tasks = []
        for number in count(places.start) if last is None else range(places.start, last):
            try:
                if number not in self._instructions:
                    instruction = remote.instruction(number)
                    if instruction is None:
                        break
                    self._instructions[number] = instruction
            except EnvironmentFault as error:
                raise EnvironmentUnavailable(f"the tasks cannot be fetched: {error}") from error
            tasks.append(self._task(split, number, self._instructions[number]))
        if not tasks and last != places.start:
            raise ConfigurationError(f"the server has no {places.start} goals, after which {split} begins")
        return tasks

    def _task(self, split: str, number: int, instruction: str) -> Task:
        data: dict[str, Any] = {"split": split, "goal": number}
        if not self._remote:
            # Both affect the reward of a purchase.
            data |= {"seed": self.seed, "types": self.types}
        name = f"own/s{self.seed}/{number:03d}" if split == "own" else f"{split}/{number}"
        return Task(id=name, instruction=instruction, data=data)

    def _shop(self, task: Task) -> Shop:
        if self._remote:
            return RemoteShop(self._remote, _data(task)["goal"], task["instruction"])
        return self._own_shop(task)

    def _own_shop(self, task: Task) -> LocalShop:
        data = _data(task)
        if data.get("types") != self.types:
            raise ConfigurationError(
                f"{task['id']} was made with nouns by {data.get('types')}, and this environment finds them by "
                f"{self.types}: set exact_types= as it was"
            )
        store, goals = self._catalogue(data["split"], data["seed"])
        if data["goal"] not in range(len(goals)):
            raise ConfigurationError(f"there are {len(goals)} goals for these products, and none is {task['id']}")
        return LocalShop(store, goals[data["goal"]], data["seed"], self.show_attributes, self._nouns)

    def _catalogue(self, split: str, seed: int) -> tuple[Store, list[Goal]]:
        key = "own" if split == "own" else "path", seed
        # Without the lock, so that no task waits while another catalogue is read.
        if found := self._catalogues.get(key):
            return found
        with self._lock:
            if key not in self._catalogues:
                self._catalogues[key] = self._generate(seed) if split == "own" else self._read(self._files(), seed)
            return self._catalogues[key]

    def _generate(self, seed: int) -> tuple[Store, list[Goal]]:
        own = generate(seed)
        return Store.in_memory(own.products, own.attributes), generated_goals(own.goals)

    def _read(self, files: Files, seed: int) -> tuple[Store, list[Goal]]:
        store = Store.cached(files.products, files.attributes)
        return store, official_goals(files.goals, store.find, seed)

    def _files(self) -> Files:
        if self.files is None:
            raise ConfigurationError("this task is of the official files: give them as path=")
        return self.files


def _data(task: Task) -> dict[str, Any]:
    data = task.get("data") or {}
    if not {"split", "goal"} <= set(data):
        raise ConfigurationError(f"{task['id']} is not a task of WebShop")
    return data
