"""Whether lessons help with tasks that were never seen, in rooms (or on topics) that were.

    python -m tests.performance.memory_transfer [--environments alfworld hotpotqa] [--seeds 5]

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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from scipy.stats import binomtest

from langgraph_reflexion.envs import load_environment
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
"""Which of them are compared."""

TRIALS = 5
"""Trials of a training task, at most."""


class Paired(NamedTuple):
    """Two arms on the same tasks: tasks that only one of them solves at once, and worlds in which it solves more."""

    only_first: int
    only_second: int
    p: float | None
    gain: float
    interval: Interval
    worlds: tuple[int, int]


@dataclass(frozen=True)
class Transfer:
    """The result for one environment."""

    solved: Mapping[str, Mapping[str, bool]]
    """Whether the first trial solved each test task, by arm and by the task's id."""
    world: Mapping[str, int]
    """The seed of each task."""
    lessons: int

    def pair(self, first: str, second: str) -> Paired:
        """Compare two arms task by task."""
        differences = {task: one - self.solved[second][task] for task, one in self.solved[first].items()}
        test = sign_test(differences.values())
        by_world = [
            sum(each for task, each in differences.items() if self.world[task] == seed)
            for seed in set(self.world.values())
        ]
        return Paired(
            test.wins,
            test.losses,
            test.p,
            (test.wins - test.losses) / len(differences),
            difference(test.wins, test.losses, len(differences)),
            (sum(each > 0 for each in by_world), sum(each < 0 for each in by_world)),
        )


def difference(wins: int, losses: int, tasks: int) -> Interval:
    """Return exact 95 % bounds of the difference of two paired shares.

    Each of the two ways to differ has a share of the tasks, with an exact interval at half the error. However the two
    depend on each other, both intervals hold at once in 95 % of all cases.
    """
    won, lost = (exact(count, tasks, (1 + CONFIDENCE) / 2) for count in (wins, losses))
    return Interval(won.low - lost.high, won.high - lost.low)


def exact(successes: int, of: int, confidence: float = CONFIDENCE) -> Interval:
    """Return the exact interval of a share (Clopper and Pearson)."""
    at = binomtest(successes, of).proportion_ci(confidence, method="exact")
    return Interval(float(at.low), float(at.high))


async def measure(name: str, model: str = DEMO, seeds: int = 5, limit: int | None = None) -> Transfer:
    """Fill the stores of all worlds, then play the test tasks of each under every arm."""
    train, test = SPLITS[name]
    solved: dict[str, dict[str, bool]] = {arm: {} for arm in ARMS}
    world: dict[str, int] = {}
    environments = [load_environment(name, seed=seed) for seed in range(seeds)]
    stores = [InMemoryStore() for _ in environments]

    async def play(seed: int, split: str, trials: int, lessons: Lessons | None, store: BaseStore) -> dict[str, bool]:
        graph = create_reflexion(
            model,
            environments[seed],
            memory=Memory(lessons=lessons),
            max_trials=trials,
            options=ModelOptions(seed=seed),
        )
        compiled = graph.compile(store=store)
        finals = [await compiled.ainvoke({"task": task}) for task in environments[seed].tasks(split, limit)]
        return {final["task"]["id"]: bool(final["trials"][0]["success"]) for final in finals}

    try:
        for seed in range(seeds):
            await play(seed, train, TRIALS, Lessons(recall=False), stores[seed])
        for seed in range(seeds):
            other = stores[(seed + 1) % seeds]  # the last world's lessons are swapped with the first one's
            frozen = Lessons(learn=False)
            arms: dict[str, tuple[Lessons | None, BaseStore]] = {
                "without": (None, stores[seed]),
                "with": (frozen, stores[seed]),
                "swapped": (frozen, await swapped(name, stores[seed], other)),
            }
            for arm, (lessons, store) in arms.items():
                found = await play(seed, test, 1, lessons, store)
                solved[arm] |= found
                world |= dict.fromkeys(found, seed)
        snapshots = [await LessonStore(store, name).snapshot() for store in stores]
    finally:
        for environment in environments:
            environment.close()
    return Transfer(solved, world, sum(len(snapshot.lessons) for snapshot in snapshots))


async def swapped(name: str, store: BaseStore, other: BaseStore) -> InMemoryStore:
    """Return a store with the lessons of one store, each in the words of a lesson of the other one."""
    mixed = InMemoryStore()
    lessons = [each for _, each in sorted((await LessonStore(store, name).snapshot()).lessons.items())]
    texts = [each.text for _, each in sorted((await LessonStore(other, name).snapshot()).lessons.items())]
    await LessonStore(mixed, name).add(
        source.model_copy(update={"text": texts[number % len(texts)]})
        for number, lesson in enumerate(lessons)
        for source in lesson.sources
    )
    return mixed


def table(name: str, result: Transfer) -> str:
    """Return the result in words."""
    worlds = len(set(result.world.values()))
    lines = [f"{name}: first trials of unseen tasks, {worlds} worlds, {result.lessons} lessons"]
    for arm in ARMS:
        solved, tasks = sum(result.solved[arm].values()), len(result.solved[arm])
        at = exact(solved, tasks)
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


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environments", nargs="+", choices=list(SPLITS), default=list(SPLITS))
    parser.add_argument("--model", default=DEMO)
    parser.add_argument("--seeds", type=int, default=5, help="how many worlds, two or more")
    parser.add_argument("--limit", type=int, help="tasks of each split, at most")
    given = parser.parse_args(arguments)
    if given.seeds < 2:
        parser.error("--seeds: at least two worlds are needed, to swap their lessons")
    for name in given.environments:
        result = asyncio.run(measure(name, given.model, given.seeds, given.limit))
        print(table(name, result), flush=True)
    if given.model == DEMO:
        print(NO_LLM)


if __name__ == "__main__":
    main()
