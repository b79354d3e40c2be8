"""WebShop (Yao et al. 2022): buy the product that an instruction describes."""

import os
import re
import threading
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from itertools import count, islice
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
)
from langgraph_reflexion.envs.webshop.catalogue import generate
from langgraph_reflexion.envs.webshop.episode import WebShopEpisode
from langgraph_reflexion.envs.webshop.files import find_files
from langgraph_reflexion.envs.webshop.goals import SPLITS, Goal, official_goals
from langgraph_reflexion.envs.webshop.memory_map import build_map
from langgraph_reflexion.envs.webshop.pages import RENDERINGS
from langgraph_reflexion.envs.webshop.remote import Remote, RemoteShop
from langgraph_reflexion.envs.webshop.reward import Reward, rule_nouns, spacy_nouns
from langgraph_reflexion.envs.webshop.shop import LocalShop
from langgraph_reflexion.envs.webshop.state import State, normalize_element
from langgraph_reflexion.envs.webshop.store import Store
from langgraph_reflexion.errors import ConfigurationError, EnvironmentFault, EnvironmentUnavailable, one_of, the_extra

_SHOWN = re.compile(r"\[([^\[\]]+)\]")
"""A button or link as pages show it."""


class WebShop(Environment):
    """Shopping with `search` and `click`, solved with a reward of 1.0 (extra `webshop`).

    Without a path or a server, products and goals are generated.

    Args:
        path: The folder of the official files, or the file of products in it, with the splits `test`, `eval` and
            `train`. A file is read once, which takes long if it is large, and cached in
            `$XDG_CACHE_HOME/langgraph-reflexion`.
        seed: Seed of the generated products and goals, and of the budgets and prices of the official ones.
        rendering: `bracketed` as in ReAct and Reflexion, or `text` as in WebShop's text mode.
        base_url: The URL of an original server, which then has products, goals and rewards.
        strict: Whether actions are as strict as in ReAct and Reflexion; see `WebShopEpisode`.
        exact_types: Whether spaCy finds nouns, as in the original, instead of a rule.
        timeout: Seconds to wait for the server's response.

    Raises:
        ConfigurationError: An option is invalid, or conflicts with another.
        EnvironmentUnavailable: The extra `webshop`, the files, or spaCy for `exact_types` are missing.
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

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        seed: int = 0,
        rendering: str = next(iter(RENDERINGS)),
        base_url: str | None = None,
        strict: bool = False,
        exact_types: bool = False,
        timeout: float = 20.0,
    ) -> None:
        if not all(map(find_spec, ("bs4", "ijson", "rapidfuzz", "Stemmer"))):
            raise EnvironmentUnavailable(f"WebShop needs {the_extra('webshop')}")
        for name, value in {"strict": strict, "exact_types": exact_types}.items():
            # The string "False" would be true.
            if not isinstance(value, bool):
                raise ConfigurationError(f"{name} is {value!r}: give true or false")
        if base_url is not None and (path is not None or exact_types):
            given = "path" if path is not None else "exact_types"
            raise ConfigurationError(f"{given}= does not go with base_url=: there the server decides")
        self.seed = seed
        self.files = None if path is None else find_files(path)
        self.rendering = RENDERINGS[one_of("rendering", rendering, RENDERINGS)]
        self.strict = strict
        self._nouns = spacy_nouns() if exact_types else rule_nouns
        self._remote = None if base_url is None else Remote(base_url, timeout)
        if self._remote:
            self.splits = tuple(SPLITS)
        elif path is not None:
            self.splits = (*SPLITS, *type(self).splits)
        self._catalogues: dict[tuple[bool, int], tuple[Store, Sequence[Goal]]] = {}
        # Episodes start in threads, but a large file is read and indexed once.
        self._lock = threading.RLock()
        self._instructions: dict[int, str] = {}

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        chosen = self.choose_split(split)
        if self._remote:
            return self._served(self._remote, chosen, limit)
        goals = self._catalogue(chosen == "own", self.seed)[1]
        numbers = range(len(goals))[SPLITS.get(chosen, slice(None))]
        if not numbers:
            raise ConfigurationError(f"there are {len(goals)} goals for these products: none is left for {chosen}")
        return [self._task(chosen, number, goals[number].instruction) for number in numbers[:limit]]

    def start(self, task: Task) -> WebShopEpisode:
        return self._episode(task)

    def restore(self, task: Task, snapshot: dict[str, Any]) -> WebShopEpisode:
        """Restore an episode on a server; see `Environment.restore`."""
        return self._episode(task, State.from_json(snapshot["state"]), snapshot["reward"])

    def blocks(self, task: Task) -> bool:
        """Return whether the shop is on disk or on a server; see `Environment.blocks`."""
        data = task.get("data") or {}
        return self.blocking or data.get("split") != "own" or (True, data.get("seed")) not in self._catalogues

    def review(self, task: Task, trial: FinishedTrial) -> Review:
        """Measure the purchase: its reward and, without a server, the parts of the reward; 0 without a purchase."""
        if self._remote:
            return Review(measures={"reward": (trial["snapshot"] or {}).get("reward") or 0.0})
        episode = self._episode(task)
        for action in trial["actions"]:
            episode.step(action)
        if episode.state.page != "done":
            return Review(measures=dict.fromkeys(Reward._fields, 0.0))
        return Review(measures=self._shop(task).reward(episode.state)._asdict())

    def answer(self, task: Task) -> str:
        """Return the product that the goal was made from; empty on a server, which hides it."""
        return "" if self._remote else self._shop(task).answer

    def equivalent(self, one: Action, other: Action) -> bool:
        """Compare two actions, ignoring case and extra blanks."""
        values = [[normalize_element(str(value)) for value in action["args"].values()] for action in (one, other)]
        return one["name"] == other["name"] and values[0] == values[1]

    def memory_map(
        self, task: Task, opening: str, steps: Sequence[ObservedStep], known: Mapping[str, Any]
    ) -> MemoryMap:
        return build_map(steps, known)

    def parse(self, text: str) -> Action | None:
        """Parse an action, ignoring blanks at brackets and a full stop at the end; `[< Prev]` clicks it.

        See `Environment.parse`.
        """
        shown = _SHOWN.fullmatch(text.strip())
        return super().parse(f"click[{shown[1].strip()}]" if shown else normalize_action(text))

    def close(self) -> None:
        """Close stores and connections, which new episodes open again."""
        with self._lock:
            while self._catalogues:
                self._catalogues.popitem()[1][0].close()
        if self._remote:
            self._remote.http.close()

    def _served(self, remote: Remote, split: str, limit: int | None) -> list[Task]:
        """Return the goals of a server, which serves them one by one."""
        places, tasks = SPLITS[split], list[Task]()
        for number in islice(range(places.start, places.stop) if places.stop else count(places.start), limit):
            try:
                instruction = self._instructions.get(number) or remote.instruction(number)
            except EnvironmentFault as error:
                raise EnvironmentUnavailable(f"the tasks cannot be fetched: {error}") from error
            if instruction is None:
                break
            self._instructions[number] = instruction
            tasks.append(self._task(split, number, instruction))
        if not tasks and limit != 0:
            raise ConfigurationError(f"the server has no {places.start} goals, after which {split} begins")
        return tasks

    def _task(self, split: str, number: int, instruction: str) -> Task:
        data: dict[str, Any] = {"split": split, "goal": number}
        if not self._remote:
            data["seed"] = self.seed
        name = f"own/s{self.seed}/{number:03d}" if split == "own" else f"{split}/{number}"
        return Task(id=name, instruction=instruction, data=data)

    def _episode(self, task: Task, state: State | None = None, reward: float | None = None) -> WebShopEpisode:
        if self._remote:
            shop = RemoteShop(self._remote, _data(task)["goal"], task["instruction"])
            return WebShopEpisode(shop, self.rendering, self.strict, state, reward)
        return WebShopEpisode(self._shop(task), self.rendering, self.strict)

    def _shop(self, task: Task) -> LocalShop:
        data = _data(task)
        store, goals = self._catalogue(data["split"] == "own", data["seed"])
        if data["goal"] not in range(len(goals)):
            raise ConfigurationError(f"there are {len(goals)} goals for these products, and none is {task['id']}")
        return LocalShop(store, goals[data["goal"]], data["seed"], self._nouns)

    def _catalogue(self, own: bool, seed: int) -> tuple[Store, Sequence[Goal]]:
        with self._lock:
            if (own, seed) in self._catalogues:
                return self._catalogues[own, seed]
            if own:
                made = generate(seed)
                store, goals = Store.in_memory(made.products, made.attributes), made.goals
            elif self.files is None:
                raise ConfigurationError("this task is of the official files: give them as path=")
            else:
                store = Store.cached(self.files.products, self.files.attributes)
                goals = official_goals(self.files.goals, store.find, seed)
            self._catalogues[own, seed] = store, goals
            return store, goals


def _data(task: Task) -> dict[str, Any]:
    data = task.get("data") or {}
    if not {"split", "goal"} <= set(data):
        raise ConfigurationError(f"{task['id']} is not a task of WebShop")
    return data
