"""Comparison of the two ALFWorld engines, step by step on the same games.

    python -m tests.support.compare_engines --games 300 --steps 60 --seed 1
    python -m tests.support.compare_engines --data ~/.cache/alfworld/json_2.1.1/valid_unseen --steps 50

Each game is played twice: its known solution, then a random walk. After every command the observation, the whole list
of admissible commands and whether the game is won have to be the same to the character. A difference is printed with
the commands that lead to it, and the program then ends with status 1.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from random import Random
from typing import get_args

from langgraph_reflexion.envs.alfworld.engine import Kind
from langgraph_reflexion.envs.alfworld.games import games_in
from langgraph_reflexion.envs.alfworld.generate import generate
from langgraph_reflexion.envs.alfworld.native import NativeEngine
from langgraph_reflexion.envs.alfworld.textworld import TextWorldEngine, Workers
from langgraph_reflexion.envs.alfworld.world import World

NONSENSE = ("", " ", "\n", "dance", "look around", "go", "go to the moon", "take", "move  to ", "open door 1")


@dataclass(slots=True)
class Tally:
    """What was compared."""

    steps: int = 0
    solved: int = 0
    differences: list[str] = field(default_factory=list)


def shown(engine, text):
    return text, engine.admissible(), engine.won


def compare(game, steps, seed, workers):
    """Play a game on both engines: its solution, then a random walk of so many steps."""
    tally, random = Tally(), Random(f"{seed} {game.id}")
    native, reference = NativeEngine(World.of(game)), TextWorldEngine(game, workers)

    def agree(commands, ours, theirs):
        if (mine := shown(native, ours)) == (its := shown(reference, theirs)):
            return True
        tally.differences.append(f"{game.id} after {list(commands)}\n  native:    {mine}\n  reference: {its}")
        return False

    def step(commands, command):
        commands.append(command)
        tally.steps += 1
        return agree(commands, native.step(command), reference.step(command))

    try:
        done = []
        if not agree(done, native.reset(), reference.reset()):
            return tally
        if not all(step(done, command) for command in game.walkthrough):
            return tally
        tally.solved += native.won
        walk = []
        if agree(walk, native.reset(), reference.reset()):
            seen = native.admissible()
            while len(walk) < steps and step(walk, next_command(native.admissible(), seen, random)):
                seen += random.sample(native.admissible(), 3)
    finally:
        reference.close()
    return tally


def next_command(admissible, seen, random):
    """Return a command for a random walk: mostly a possible one, sometimes nearly one, sometimes nonsense."""
    # First the verb and then the command, as otherwise nine in ten would be "go to".
    verb = random.choice(sorted({command.split()[0] for command in admissible}))
    possible = random.choice([command for command in admissible if command.split()[0] == verb])
    if (chance := random.random()) < 0.8:
        return possible
    if chance > 0.9:
        return random.choice([*NONSENSE, *random.sample(seen, 3), random.choice(seen).swapcase()])
    words, other = possible.split(), random.choice(seen).split()
    nearly = (
        possible + random.choice([".", " 1", "\n", "  ", "0"]),
        " " + possible.replace(" ", "  ", 1),
        " ".join([*words[:-1], other[-1]]),
        " ".join([other[0], *words[1:]]),
        " ".join([*words[:-2], *other[-2:]]),
        possible.replace(" to ", " in/on ").replace(" from ", " in ").replace(" with ", " using "),
    )
    return random.choice(nearly)


def main():
    """Compare the engines on games, two at a time, and print what it gave; the status is 1 if they differ."""
    parser = argparse.ArgumentParser(description="Compare the two ALFWorld engines.")
    parser.add_argument("--games", type=int, default=12, help="number of generated games (default: %(default)s)")
    parser.add_argument("--data", metavar="PATH", help="play all games of this folder instead")
    parser.add_argument("--steps", type=int, default=40, help="length of the walk in each (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other games and walks")
    given = parser.parse_args()
    kinds = get_args(Kind)
    made = (generate(kinds[index % len(kinds)], seed=given.seed, index=index) for index in range(given.games))
    games = list(games_in(given.data) if given.data else made)
    workers = Workers()
    try:
        with ThreadPoolExecutor(2) as threads:
            tallies = list(threads.map(lambda game: compare(game, given.steps, given.seed, workers), games))
    finally:
        workers.close()
    differences = [each for tally in tallies for each in tally.differences]
    steps, solved = (sum(getattr(tally, name) for tally in tallies) for name in ("steps", "solved"))
    print(
        *differences, f"{len(games)} games, {steps} steps, {solved} solved, {len(differences)} differences", sep="\n"
    )
    sys.exit(bool(differences))


if __name__ == "__main__":
    main()
