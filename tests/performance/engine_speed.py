"""How fast the native ALFWorld engine is beside the original, on the same games and actions in one run.

    python -m tests.performance.engine_speed [--games 6] [--steps 30] [--json]

The original runs as it is installed, without the speed-ups that this package gives it otherwise. It lists the
admissible commands at every step, wanted or not; the native engine does so on request, so its steps are timed
without and with the list. Times are wall time: compare the ratios of one run.
"""

import argparse
import json
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from random import Random

from langgraph_reflexion.envs.alfworld.engine import Engine, Game
from langgraph_reflexion.envs.alfworld.generate import generate
from langgraph_reflexion.envs.alfworld.native import NativeEngine
from langgraph_reflexion.envs.alfworld.textworld import TextWorldEngine, Workers
from tests.support.compare_engines import generated

LIVE = 200
"""How many live episodes the memory of one is averaged over."""


def walk(game: Game, steps: int) -> list[str]:
    """A random walk of admissible commands."""
    random, engine = Random(game.id), NativeEngine(game)
    commands = []
    for _ in range(steps):
        commands.append(random.choice(engine.admissible()))
        engine.step(commands[-1])
    return commands


def per_second(run: Callable[[], int], at_least: float = 0.5) -> float:
    """How many of what `run` counts are done in a second."""
    done, begin = 0, time.perf_counter()
    while (spent := time.perf_counter() - begin) < at_least:
        done += run()
    return done / spent


def steps(engine: Engine, commands: list[str], *, listing: bool) -> Callable[[], int]:
    """Walk once, with or without the list of admissible commands; the reset before it is part of it."""

    def run() -> int:
        engine.reset()
        for command in commands:
            engine.step(command)
            if listing:
                engine.admissible()
        return len(commands)

    return run


def reference_times(game: Game, commands: list[str], workers: Workers) -> tuple[float, float]:
    """Seconds for a walk and for a reset of the original."""
    engine = TextWorldEngine(game, workers)
    begin = time.perf_counter()
    engine.reset()
    reset = time.perf_counter()
    for command in commands:
        engine.step(command)
    walked = time.perf_counter()
    engine.close()
    return walked - reset, reset - begin


def largest_kitchen() -> Game:
    """The generated kitchen with the most receptacles."""
    candidates = [generate("cool", seed=seed, index=index) for seed in range(3) for index in range(40)]
    return max(candidates, key=lambda game: game.problem.count("(receptacleAtLocation"))


def load_and_reset(game: Game, repeats: int = 30) -> float:
    """Seconds to load a game that was never seen and begin it, at the median."""
    numbers, spent = count(), []
    for _ in range(repeats):
        fresh = replace(game, problem=f"{game.problem}\n; {next(numbers)}")
        begin = time.perf_counter()
        NativeEngine(fresh).reset()
        spent.append(time.perf_counter() - begin)
    return sorted(spent)[repeats // 2]


def bytes_per_episode(game: Game, commands: list[str]) -> float:
    """Memory of one live episode after a walk, its world excluded, which episodes of a game share."""
    NativeEngine(game)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    live = [NativeEngine(game) for _ in range(LIVE)]
    for engine in live:
        for command in commands:
            engine.step(command)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return (after - before) / LIVE


def measure(number: int, length: int) -> dict[str, float]:
    """Everything, by name."""
    workers = Workers(1, patches=False)
    plain, listed, resets, reference_steps, reference_resets = [], [], [], [], []
    try:
        for game in generated(number, seed=500):
            commands = walk(game, length)
            engine = NativeEngine(game)
            plain.append(per_second(steps(engine, commands, listing=False)))
            listed.append(per_second(steps(engine, commands, listing=True)))
            resets.append(per_second(lambda engine=engine: len(engine.reset()) and 1))  # type: ignore[misc]
            walked, reset = reference_times(game, commands, workers)
            reference_steps.append(walked / length)
            reference_resets.append(reset)
    finally:
        workers.close()

    def mean(rates: list[float]) -> float:
        return len(rates) / sum(1 / rate for rate in rates)

    kitchen = largest_kitchen()
    result = {
        "reference steps per second": number / sum(reference_steps),
        "native steps per second": mean(plain),
        "native steps per second with the list": mean(listed),
        "reference resets per second": number / sum(reference_resets),
        "native resets per second": mean(resets),
        "receptacles in the largest kitchen": float(kitchen.problem.count("(receptacleAtLocation")),
        "native load and reset of it, ms": load_and_reset(kitchen) * 1000,
        "native bytes per live episode": bytes_per_episode(kitchen, walk(kitchen, length)),
    }
    for name in ("steps per second", "steps per second with the list", "resets per second"):
        reference = result["reference " + name.removesuffix(" with the list")]
        result["ratio, " + name] = result[f"native {name}"] / reference
    return result


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=6)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result = measure(options.games, options.steps)
    if options.json:
        print(json.dumps(result))
        return
    for name, value in result.items():
        print(f"{name:<42}{value:>14,.{1 if value < 100 else 0}f}")


if __name__ == "__main__":
    main()
