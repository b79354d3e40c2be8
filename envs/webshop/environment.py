"""WebShop (Yao et al. 2022): buy the product that an instruction describes."""

import copy
import os
import re
import threading
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, ClassVar

from langgraph_reflexion.envs.actions import normalize_action
from langgraph_reflexion.envs.base import (
    Action,
    Environment,
    FinishedTrial,
    Review,
    Task,
)
from langgraph_reflexion.envs.webshop.catalogue import generate
from langgraph_reflexion.envs.webshop.episode import WebShopEpisode
from langgraph_reflexion.envs.webshop.files import find_files
from langgraph_reflexion.envs.webshop.goals import SPLITS, Goal, official_goals
from langgraph_reflexion.envs.webshop.reward import Reward
from langgraph_reflexion.envs.webshop.shop import Shop, normalize_element
from langgraph_reflexion.envs.webshop.store import Store
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable, the_extra
from langgraph_reflexion.support.choices import UNLIMITED

_SHOWN = re.compile(r"\[([^\[\]]+)\]")
"""A button or link as pages show it."""


class WebShop(Environment):
    """Shopping with `search` and `click`, solved with a reward of 1.0 (extra `webshop`).

    Without a path, products and goals are generated.

    Args:
        path: The folder of the official files, or the file of products in it, with the splits `test`, `eval` and
            `train`. A file is read once, which takes long if it is large, and cached in
            `$XDG_CACHE_HOME/langgraph-reflexion`.
        seed: Seed of the generated products and goals, and of the budgets and prices of the official ones.
        strict: Whether actions are as strict as in ReAct and Reflexion; see `WebShopEpisode`. Under the profile
            `upstream` they are unless given.

    Raises:
        ConfigurationError: `strict` is not a bool.
        EnvironmentUnavailable: The extra `webshop` or the files are missing.
    """

    name = "webshop"
    reply_tokens = 1024
    splits: tuple[str, ...] = ("own",)
    episode = WebShopEpisode
    blocking = False
    profile_overrides: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        # Appendix B.1: WebShop was ended after four trials.
        "paper": {"max_trials": 4},
        "preprint": {"max_trials": 4},
        # The original code: fifteen turns, the reset among them, and no rule against repeating; one example. Its
        # actor never sees the reflections that it writes, as its prompt is built without them. A reply below five
        # characters is asked for again, at rising temperatures, and the last trial is reflected on, too.
        "upstream": {
            "heuristic": {"max_actions": 13, "max_cycles": UNLIMITED, "count_thoughts": True},
            "examples": 1,
            "shows_reflections": False,
            "temperatures": (0.2, 0.4, 0.6, 0.8, 1.0),
            "reflects_at_end": True,
        },
    }

    def __init__(self, path: str | os.PathLike[str] | None = None, seed: int = 0, strict: bool | None = None) -> None:
        if not all(map(find_spec, ("ijson", "rapidfuzz", "Stemmer"))):
            raise EnvironmentUnavailable(f"WebShop needs {the_extra('webshop')}")
        if not isinstance(strict, bool | None):  # the string "False" would be true
            raise ConfigurationError(f"strict is {strict!r}: give true or false")
        self.seed, self.strict = seed, strict
        self.files = None if path is None else find_files(path)
        if path is not None:
            self.splits = (*SPLITS, *type(self).splits)
        self._catalogues: dict[tuple[bool, int], tuple[Store, Sequence[Goal]]] = {}
        # Episodes start in threads, but a large file is read and indexed once.
        self._lock = threading.RLock()

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        chosen = self.choose_split(split)
        goals = self._catalogue(chosen == "own", self.seed)[1]
        numbers = range(len(goals))[SPLITS.get(chosen, slice(None))]
        if not numbers:
            raise ConfigurationError(f"there are {len(goals)} goals for these products: none is left for {chosen}")
        return [self._task(chosen, number, goals[number].instruction) for number in numbers[:limit]]

    def start(self, task: Task) -> WebShopEpisode:
        return WebShopEpisode(self._shop(task), bool(self.strict))

    def strictly(self) -> "WebShop":
        """Return the shop with strict actions, unless `strict` was given; see `Strict`. Both share their products."""
        if self.strict is not None:
            return self
        shop = copy.copy(self)
        shop.strict = True
        return shop

    def blocks(self, task: Task) -> bool:
        """Return whether the shop is on disk or still to be made; see `Environment.blocks`."""
        data = task.get("data") or {}
        return self.blocking or data.get("split") != "own" or (True, data.get("seed")) not in self._catalogues

    def review(self, task: Task, trial: FinishedTrial) -> Review:
        """Measure the purchase by its reward and the parts of it; 0 without a purchase."""
        episode = self.start(task)
        for action in trial["actions"]:
            episode.step(action)
        if episode.state.page != "done":
            return Review(measures=dict.fromkeys(Reward._fields, 0.0))
        return Review(measures=self._shop(task).reward(episode.state)._asdict())

    def answer(self, task: Task) -> str:
        """Return the product that the goal was made from."""
        return self._shop(task).answer

    def equivalent(self, one: Action, other: Action) -> bool:
        """Compare two actions, ignoring case and extra blanks."""
        values = [[normalize_element(str(value)) for value in action["args"].values()] for action in (one, other)]
        return one["name"] == other["name"] and values[0] == values[1]

    def parse(self, text: str) -> Action | None:
        """Parse an action, ignoring blanks at brackets and a full stop at the end; `[< Prev]` clicks it.

        See `Environment.parse`.
        """
        shown = _SHOWN.fullmatch(text.strip())
        return super().parse(f"click[{shown[1].strip()}]" if shown else normalize_action(text))

    def close(self) -> None:
        """Close stores, which new episodes open again."""
        with self._lock:
            while self._catalogues:
                self._catalogues.popitem()[1][0].close()

    def _task(self, split: str, number: int, instruction: str) -> Task:
        name = f"own/s{self.seed}/{number:03d}" if split == "own" else f"{split}/{number}"
        return Task(id=name, instruction=instruction, data={"split": split, "goal": number, "seed": self.seed})

    def _shop(self, task: Task) -> Shop:
        data = _data(task)
        store, goals = self._catalogue(data["split"] == "own", data["seed"])
        if data["goal"] not in range(len(goals)):
            raise ConfigurationError(f"there are {len(goals)} goals for these products, and none is {task['id']}")
        return Shop(store, goals[data["goal"]], data["seed"])

    def _catalogue(self, own: bool, seed: int) -> tuple[Store, Sequence[Goal]]:
        with self._lock:
            if (own, seed) in self._catalogues:
                return self._catalogues[own, seed]
            if own:
                made = generate(seed)
                store, goals = Store.in_memory(made.products), made.goals
            elif self.files is None:
                raise ConfigurationError("this task is of the official files: give them as path=")
            else:
                store = Store.cached(self.files.products, self.files.attributes)
                goals = official_goals(self.files.goals, store.find, seed)
            self._catalogues[own, seed] = store, goals
            return store, goals


def _data(task: Task) -> dict[str, Any]:
    match data := task.get("data") or {}:
        case {"split": str(), "goal": int(), "seed": int()}:
            return data
    raise ConfigurationError(f"{task['id']} is not a task of WebShop")
