"""WebShop (Yao et al. 2022): buy the product that an instruction asks for."""

import os
import threading
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from langgraph_reflexion.envs.actions import tidy
from langgraph_reflexion.envs.base import (
    Action,
    Environment,
    FinishedTrial,
    MemoryMap,
    Review,
    Seen,
    Task,
    choose_split,
)
from langgraph_reflexion.envs.webshop.catalogue import generate
from langgraph_reflexion.envs.webshop.episode import WebShopEpisode
from langgraph_reflexion.envs.webshop.files import Files, find_files
from langgraph_reflexion.envs.webshop.goals import SPLITS, Goal, human_goals, own_goals
from langgraph_reflexion.envs.webshop.memory_map import draw
from langgraph_reflexion.envs.webshop.nouns import by_rule, by_spacy
from langgraph_reflexion.envs.webshop.remote import Remote, RemoteShop
from langgraph_reflexion.envs.webshop.rendering import RENDERINGS
from langgraph_reflexion.envs.webshop.reward import PARTS
from langgraph_reflexion.envs.webshop.shop import OwnShop, Shop
from langgraph_reflexion.envs.webshop.state import State, fold
from langgraph_reflexion.envs.webshop.store import Store
from langgraph_reflexion.errors import ConfigurationError, EnvironmentFault, EnvironmentUnavailable


class WebShop(Environment):
    """Products to be found with `search` and `click`, and bought; solved where the reward is 1.0.

    Without a path or a server, the products and goals are the project's own.

    Args:
        path: The folder of the official files, or the file of products in it; its goals then are the splits `test`,
            `eval` and `train`. A large file is read once, for some minutes, and kept in
            `$XDG_CACHE_HOME/langgraph-reflexion`.
        seed: Which products and goals of the project's own, and which budgets and prices of the official ones.
        rendering: How pages are written: `bracketed` as in ReAct and Reflexion, `text` as in WebShop's text mode.
        base_url: The address of an original server, which then has products, goals and rewards.
        strict: Whether actions are taken as narrowly as in ReAct and Reflexion; see `WebShopEpisode`.
        show_attributes: Whether a product's attributes can be looked at, as with the original's `--attrs`.
        exact_types: Whether nouns are found with spaCy, as in the original, and not by rule.
        timeout: After how many seconds of silence a request to the server is given up.

    Raises:
        ConfigurationError: an option is not what it should be, or does not fit another.
        EnvironmentUnavailable: the files are not there, or spaCy is missing where it is wanted.
    """

    name = "webshop"
    splits: tuple[str, ...] = ("own",)
    episode = WebShopEpisode
    blocking = False

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
            # The text "False" would be taken for yes.
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
        self.types, self._nouns = by_spacy() if exact_types else ("rule", by_rule)
        self._remote = None if base_url is None else Remote(base_url, timeout)
        if self._remote:
            self.splits = tuple(SPLITS)
        elif path is not None:
            self.splits = (*SPLITS, *type(self).splits)
        self._catalogues: dict[tuple[str, int], tuple[Store, list[Goal]]] = {}
        # Episodes start in threads, and a large file is to be read, and its index built, once.
        self._lock = threading.RLock()
        self._told: dict[int, str] = {}

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        """The goals of a split as tasks; see `Environment.tasks`."""
        chosen = choose_split(self, split)
        if self._remote:
            return self._served(self._remote, chosen, limit)
        goals = self._catalogue(chosen, self.seed)[1]
        numbers = range(len(goals))[SPLITS.get(chosen, slice(None))]
        if not numbers:
            raise ConfigurationError(f"there are {len(goals)} goals for these products: none is left for {chosen}")
        return [self._task(chosen, number, goals[number].instruction) for number in numbers[:limit]]

    def start(self, task: Task) -> WebShopEpisode:
        """Start a fresh episode of a task; see `Environment.start`."""
        return WebShopEpisode(self._shop(task), self.rendering, self.strict)

    def restore(self, task: Task, snapshot: dict[str, Any]) -> WebShopEpisode:
        """Bring back an episode on a server, where its pages are; see `Environment.restore`."""
        state = State.from_json(snapshot["state"])
        return WebShopEpisode(self._shop(task), self.rendering, self.strict, state, snapshot["reward"])

    def blocks(self, task: Task) -> bool:
        """Whether its shop is on the disk or on a server, and not all in the memory; see `Environment.blocks`."""
        data = task.get("data") or {}
        return self.blocking or data.get("split") != "own" or ("own", data.get("seed")) not in self._catalogues

    def review(self, task: Task, trial: FinishedTrial) -> Review:
        """Measure the purchase: its reward, and where the goods are our own, the parts of the reward.

        All are 0 where nothing was bought.
        """
        if self._remote:
            return Review(measures={"reward": (trial["snapshot"] or {}).get("reward") or 0.0})
        shop = self._own_shop(task)
        episode = WebShopEpisode(shop, self.rendering, self.strict)
        for action in trial["actions"]:
            episode.step(action)
        bought = episode.state.page == "done"
        return Review(measures=shop.reward(episode.state).measures() if bought else dict.fromkeys(PARTS, 0.0))

    def same(self, one: Action, other: Action) -> bool:
        """Whether two actions come to the same, as they do but for capitals and blanks."""
        if one["name"] != other["name"]:
            return False
        values = [[fold(str(value)) for value in action["args"].values()] for action in (one, other)]
        return values[0] == values[1]

    def memory_map(self, task: Task, opening: str, steps: Sequence[Seen], known: Mapping[str, Any]) -> MemoryMap:
        """What was searched for, and the products that were opened; see `Environment.memory_map`."""
        return draw(steps, known)

    def parse(self, text: str) -> Action | None:
        """Read an action written as text, with blanks round the brackets or a full stop at the end, as models do."""
        return super().parse(tidy(text))

    def close(self) -> None:
        """Close stores and connections. New episodes open them again."""
        with self._lock:
            while self._catalogues:
                self._catalogues.popitem()[1][0].close()
        if self._remote:
            self._remote.close()

    def _served(self, remote: Remote, split: str, limit: int | None) -> list[Task]:
        """The goals that a server has, which it tells one by one."""
        places = SPLITS[split]
        last = places.stop if limit is None else min(places.start + limit, places.stop or places.start + limit)
        tasks = []
        for number in count(places.start) if last is None else range(places.start, last):
            try:
                if number not in self._told:
                    instruction = remote.instruction(number)
                    if instruction is None:
                        break
                    self._told[number] = instruction
            except EnvironmentFault as error:
                raise EnvironmentUnavailable(f"the tasks are not to be had: {error}") from error
            tasks.append(self._task(split, number, self._told[number]))
        if not tasks and last != places.start:
            raise ConfigurationError(f"the server has no {places.start} goals, after which {split} begins")
        return tasks

    def _task(self, split: str, number: int, instruction: str) -> Task:
        data: dict[str, Any] = {"split": split, "goal": number}
        if not self._remote:
            # Both decide what a purchase is worth.
            data |= {"seed": self.seed, "types": self.types}
        name = f"own/s{self.seed}/{number:03d}" if split == "own" else f"{split}/{number}"
        return Task(id=name, instruction=instruction, data=data)

    def _shop(self, task: Task) -> Shop:
        if self._remote:
            return RemoteShop(self._remote, _data(task)["goal"], task["instruction"])
        return self._own_shop(task)

    def _own_shop(self, task: Task) -> OwnShop:
        data = _data(task)
        if data.get("types") != self.types:
            raise ConfigurationError(
                f"{task['id']} was made with nouns by {data.get('types')}, and this environment finds them by "
                f"{self.types}: set exact_types= as it was"
            )
        store, goals = self._catalogue(data["split"], data["seed"])
        if data["goal"] not in range(len(goals)):
            raise ConfigurationError(f"there are {len(goals)} goals for these products, and none is {task['id']}")
        return OwnShop(store, goals[data["goal"]], data["seed"], self.show_attributes, self._nouns)

    def _catalogue(self, split: str, seed: int) -> tuple[Store, list[Goal]]:
        key = "own" if split == "own" else "path", seed
        # Who finds it there need not wait until another one is read.
        if found := self._catalogues.get(key):
            return found
        with self._lock:
            if key not in self._catalogues:
                self._catalogues[key] = self._drawn(seed) if split == "own" else self._read(self._files(), seed)
            return self._catalogues[key]

    def _drawn(self, seed: int) -> tuple[Store, list[Goal]]:
        own = generate(seed)
        return Store.in_memory(own.products, own.attributes), own_goals(own.goals)

    def _read(self, files: Files, seed: int) -> tuple[Store, list[Goal]]:
        store = Store.cached(files.products, files.attributes)
        return store, human_goals(files.goals, store.find, seed)

    def _files(self) -> Files:
        if self.files is None:
            raise ConfigurationError("this task is of the official files: give them as path=")
        return self.files


def _data(task: Task) -> dict[str, Any]:
    data = task.get("data") or {}
    if not {"split", "goal"} <= set(data):
        raise ConfigurationError(f"{task['id']} is no task of WebShop's")
    return data
