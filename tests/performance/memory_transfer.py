"""Whether lessons help with tasks that were never seen, in rooms (or on topics) that were.

    python -m tests.performance.memory_transfer [--environments alfworld hotpotqa] [--seeds 5] [--json]

In every world, that is for every seed, a store is filled on the training tasks, with reflexion and without recalling
anything. Then the test tasks get one trial each, with a store that stays as it is:

* `without`: no lessons.
* `with`: the lessons of this world.
* `swapped`: recalled for the same tasks, but in the words of the next world's lessons. Whatever is won by being told
  something at all is won here, too.

Training and test tasks are others; the rooms and topics are the same. Needs the extra `bench`.
"""

import argparse
import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from langgraph_reflexion.envs import load_environment
from langgraph_reflexion.envs.base import Environment
from langgraph_reflexion.experiments.provenance import NO_LLM
from langgraph_reflexion.experiments.statistics import CONFIDENCE, Interval, sign_test
from langgraph_reflexion.graph.reflexion import create_reflexion
from langgraph_reflexion.memory.episodic import Memory
from langgraph_reflexion.memory.lessons import Lessons
from langgraph_reflexion.memory.store import LessonStore
from langgraph_reflexion.models.load import DEMO
from langgraph_reflexion.models.options import ModelOptions

SPLITS = {"alfworld": ("shared-rooms-train", "shared-rooms-test"), "hotpotqa": ("topics-train", "topics-test")}
"""The splits whose tasks share rooms or topics: to learn on, and to be tested on."""

ARMS = ("without", "with", "swapped")
PAIRS = (("with", "without"), ("with", "swapped"), ("swapped", "without"))
"""Which of them are held against which."""


@dataclass(frozen=True)
class Settings:
    """What is measured.

    Attributes:
        environment: One of `SPLITS`.
        model: Acts, reflects, and writes lessons.
        seeds: How many worlds.
        trials: At most so many trials for each training task.
        count: At most so many lessons are recalled.
        limit: At most so many tasks of each split.
    """

    environment: str
    model: str = DEMO
    seeds: int = 5
    trials: int = 5
    count: int = 3
    limit: int | None = None


class Paired(NamedTuple):
    """Two arms on the same tasks."""

    only_first: int
    """Tasks that only the first one solves at once."""
    only_second: int
    p: float | None
    """Of the exact sign test, which for one answer each is McNemar's."""
    gain: float
    """By how much the first one's share is larger."""
    interval: Interval
    """Of that: exact 95 % bounds, on the safe side; see `difference`."""
    worlds: tuple[int, int]
    """In how many worlds the first one solves more, and in how many fewer."""


@dataclass(frozen=True)
class Transfer:
    """What came of it.

    Attributes:
        settings: What was measured.
        solved: Whether the first trial solved each test task, by arm and by the task's id.
        world: The seed of each task.
        lessons: How many lessons the stores hold together.
    """

    settings: Settings
    solved: Mapping[str, Mapping[str, bool]]
    world: Mapping[str, int]
    lessons: int

    def share(self, arm: str) -> tuple[int, int, Interval]:
        """How many tasks an arm solves at once, of how many, and the exact 95 % interval of the share."""
        answers = self.solved[arm].values()
        return sum(answers), len(answers), exact(sum(answers), len(answers))

    def pair(self, first: str, second: str) -> Paired:
        """Hold two arms against each other, task by task."""
        differences = {task: one - self.solved[second][task] for task, one in self.solved[first].items()}
        test = sign_test(differences.values())
        by_world = [
            sum(each for task, each in differences.items() if self.world[task] == seed)
            for seed in set(self.world.values())
        ]
        tasks = len(differences)
        return Paired(
            test.wins,
            test.losses,
            test.p,
            (test.wins - test.losses) / tasks,
            difference(test.wins, test.losses, tasks),
            (sum(each > 0 for each in by_world), sum(each < 0 for each in by_world)),
        )


def difference(wins: int, losses: int, tasks: int) -> Interval:
    """Exact 95 % bounds of the difference of two paired shares.

    Each of the two ways to differ has a share of the tasks, with an exact interval at half the error. However the two
    depend on each other, both intervals hold at once in 95 % of all cases.
    """
    won, lost = (exact(count, tasks, (1 + CONFIDENCE) / 2) for count in (wins, losses))
    return Interval(won.low - lost.high, won.high - lost.low)


def exact(successes: int, of: int, confidence: float = CONFIDENCE) -> Interval:
    """The exact interval of a share (Clopper and Pearson)."""
    from scipy.stats import binomtest  # it takes a second to import

    at = binomtest(successes, of).proportion_ci(confidence, method="exact")
    return Interval(float(at.low), float(at.high))


async def measure(settings: Settings) -> Transfer:
    """Fill the stores of all worlds, then play the test tasks of each under every arm."""
    train, test = SPLITS[settings.environment]
    solved: dict[str, dict[str, bool]] = {arm: {} for arm in ARMS}
    world: dict[str, int] = {}
    environments = [load_environment(settings.environment, seed=seed) for seed in range(settings.seeds)]
    stores = [InMemoryStore() for _ in environments]
    try:
        for seed, environment in enumerate(environments):
            filling = Lessons(count=settings.count, recall=False)
            await _play(settings, environment, seed, train, settings.trials, filling, stores[seed])
        for seed, environment in enumerate(environments):
            # The last world's are swapped with the first one's.
            other = stores[(seed + 1) % len(stores)]
            frozen = Lessons(count=settings.count, learn=False)
            arms: dict[str, tuple[Lessons | None, BaseStore]] = {
                "without": (None, stores[seed]),
                "with": (frozen, stores[seed]),
                "swapped": (frozen, await swapped(environment.name, stores[seed], other)),
            }
            for arm, (lessons, store) in arms.items():
                found = await _play(settings, environment, seed, test, 1, lessons, store)
                solved[arm] |= found
                world |= dict.fromkeys(found, seed)
        books = [await LessonStore(store, settings.environment).snapshot() for store in stores]
    finally:
        for environment in environments:
            environment.close()
    return Transfer(settings, solved, world, sum(len(book.lessons) for book in books))


async def swapped(name: str, store: BaseStore, other: BaseStore) -> InMemoryStore:
    """A store with the lessons of one, each in the words of a lesson of the other: found as ever, and out of place.

    Args:
        name: The environment's.
        store: Where the lessons are from.
        other: Where their words are from; another one, or nothing is out of place.
    """
    bank = LessonStore(mixed := InMemoryStore(), name)
    lessons = [each for _, each in sorted((await LessonStore(store, name).snapshot()).lessons.items())]
    texts = [each.text for _, each in sorted((await LessonStore(other, name).snapshot()).lessons.items())]
    for number, lesson in enumerate(lessons):
        for key, source in lesson.sources:
            await bank.learn(source.model_copy(update={"text": texts[number % len(texts)]}), key)
    return mixed


async def _play(
    settings: Settings,
    environment: Environment,
    seed: int,
    split: str,
    trials: int,
    lessons: Lessons | None,
    store: BaseStore,
) -> dict[str, bool]:
    """Whether the first trial solved each task, by its id."""
    graph = create_reflexion(
        settings.model,
        environment,
        memory=Memory(lessons=lessons),
        max_trials=trials,
        options=ModelOptions(seed=seed),
    )
    compiled, solved = graph.compile(store=store), {}
    # One after the other, as which lesson repeats which depends on their order.
    for task in environment.tasks(split, settings.limit):
        final = await compiled.ainvoke({"task": task})
        solved[task["id"]] = bool(final["trials"][0]["success"])
    return solved


def table(result: Transfer) -> str:
    """The result in words."""
    lines = [
        f"{result.settings.environment}, {result.settings.model}: first trials of unseen tasks, "
        f"{result.settings.seeds} worlds, {result.lessons} lessons, {result.settings.count} recalled at most"
    ]
    for arm in ARMS:
        solved, tasks, at = result.share(arm)
        lines.append(f"  {arm:<8} {solved:>4} of {tasks}  {solved / tasks:>6.1%}  ({at.low:.1%} to {at.high:.1%})")
    for first, second in PAIRS:
        pair = result.pair(first, second)
        chance = "" if pair.p is None else f", p = {pair.p:.2g}"
        lines.append(
            f"  {first} - {second}: {pair.gain:+.1%} ({pair.interval.low:+.1%} to {pair.interval.high:+.1%}); "
            f"only {first} {pair.only_first}, only {second} {pair.only_second}{chance}; "
            f"more in {pair.worlds[0]} worlds, fewer in {pair.worlds[1]}"
        )
    return "\n".join(lines)


def as_json(result: Transfer) -> dict[str, object]:
    """The result as plain JSON."""
    return {
        "settings": asdict(result.settings),
        "lessons": result.lessons,
        "arms": {arm: dict(zip(("solved", "tasks", "interval"), result.share(arm), strict=True)) for arm in ARMS},
        "pairs": {f"{first} - {second}": result.pair(first, second)._asdict() for first, second in PAIRS},
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environments", nargs="+", choices=list(SPLITS), default=list(SPLITS))
    parser.add_argument("--model", default=DEMO)
    parser.add_argument("--seeds", type=int, default=5, help="how many worlds, two or more")
    parser.add_argument("--trials", type=int, default=5, help="trials of a training task")
    parser.add_argument("--count", type=int, default=3, help="so many lessons are recalled at most")
    parser.add_argument("--limit", type=int, default=None, help="so many tasks of each split")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    if given.seeds < 2:
        parser.error("--seeds: at least two worlds are needed, to swap their lessons")
    for name in given.environments:
        settings = Settings(name, given.model, given.seeds, given.trials, given.count, given.limit)
        result = asyncio.run(measure(settings))
        print(json.dumps(as_json(result)) if given.json else table(result), flush=True)
    if given.model == DEMO and not given.json:
        print(NO_LLM)


if __name__ == "__main__":
    main()
