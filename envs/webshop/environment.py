"""WebShop (Yao et al. 2022): buy the product that an instruction describes."""

import copy
import os
import re
import threading
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, ClassVar

from langgraph_reflexion.envs.actions import normalize_action
from langgraph_reflexion.envs.base import Action, Environment, FinishedTrial, Review, Task
from langgraph_reflexion.envs.grammar import parse_forms
from langgraph_reflexion.envs.webshop.catalogue import generate
from langgraph_reflexion.envs.webshop.episode import WebShopEpisode
from langgraph_reflexion.envs.webshop.files import Files, find_files
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
        self.seed = seed
        self.strict = strict
        self.files: Files | None = None
        if path is not None:
            self.files = find_files(path)
            self.splits = (*SPLITS, *type(self).splits)
        self._catalogues: dict[tuple[bool, int], tuple[Store, Sequence[Goal]]] = {}
        # Episodes start in threads, but a large file is read and indexed once.
        self._lock = threading.RLock()

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        chosen = self.choose_split(split)
        _, goals = self._catalogue(chosen == "own", self.seed)
        # An official split is a part of the goals, and `own` all of them.
        part = SPLITS.get(chosen, slice(None))
        numbers = range(len(goals))[part]
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
        """Return whether the shop is on disk or still to be made."""
        if self.blocking:
            return True
        data = task.get("data") or {}
        if data.get("split") != "own":
            return True
        return (True, data.get("seed")) not in self._catalogues

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
        return one["name"] == other["name"] and _values(one) == _values(other)

    def parse(self, text: str) -> Action | None:
        """Read an action, ignoring blanks at brackets and a full stop at the end; `[< Prev]` clicks it."""
        written = normalize_action(text)
        shown = _SHOWN.fullmatch(text.strip())
        if shown:
            written = f"click[{shown[1].strip()}]"
        return parse_forms(self.actions(), written)

    def close(self) -> None:
        """Close stores, which new episodes open again."""
        with self._lock:
            while self._catalogues:
                _, (store, _) = self._catalogues.popitem()
                store.close()

    def _task(self, split: str, number: int, instruction: str) -> Task:
        name = f"{split}/{number}"
        if split == "own":
            name = f"own/s{self.seed}/{number:03d}"
        return Task(id=name, instruction=instruction, data={"split": split, "goal": number, "seed": self.seed})

    def _shop(self, task: Task) -> Shop:
        data = _data(task)
        store, goals = self._catalogue(data["split"] == "own", data["seed"])
        if data["goal"] not in range(len(goals)):
            raise ConfigurationError(f"there are {len(goals)} goals for these products, and none is {task['id']}")
        return Shop(store, goals[data["goal"]], data["seed"])

    def _catalogue(self, own: bool, seed: int) -> tuple[Store, Sequence[Goal]]:
        """Return the products and goals of a seed: generated ones, or those of the files."""
        with self._lock:
            if (own, seed) not in self._catalogues:
                self._catalogues[own, seed] = self._opened(own, seed)
            return self._catalogues[own, seed]

    def _opened(self, own: bool, seed: int) -> tuple[Store, Sequence[Goal]]:
        if own:
            made = generate(seed)
            return Store.in_memory(made.products), made.goals
        if self.files is None:
            raise ConfigurationError("this task is of the official files: give them as path=")
        store = Store.cached(self.files.products, self.files.attributes)
        return store, official_goals(self.files.goals, store.find, seed)


def _values(action: Action) -> list[str]:
    """Return the arguments of an action as the shop compares them."""
    return [normalize_element(str(value)) for value in action["args"].values()]


def _data(task: Task) -> dict[str, Any]:
    match data := task.get("data") or {}:
        case {"split": str(), "goal": int(), "seed": int()}:
            return data
    raise ConfigurationError(f"{task['id']} is not a task of WebShop")
