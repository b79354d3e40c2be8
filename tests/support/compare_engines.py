"""Comparison of the two ALFWorld engines, step by step on the same games.

    python -m tests.support.compare_engines --games 300 --steps 60 --seed 1
    python -m tests.support.compare_engines --data ~/.cache/alfworld/json_2.1.1/valid_unseen --steps 50

Each game is played twice: its known solution, then a random walk. After every command the observation, the
whole list of admissible commands and whether the game is won have to be the same to the character.

A difference is reported with the game and the commands that lead to it, and the program then ends with
status 1.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from itertools import chain, islice
from random import Random
from typing import Any, get_args

from langgraph_reflexion.envs.alfworld.engine import Game, Kind
from langgraph_reflexion.envs.alfworld.games import games_in
from langgraph_reflexion.envs.alfworld.generate import generate
from langgraph_reflexion.envs.alfworld.native import NativeEngine
from langgraph_reflexion.envs.alfworld.textworld import TextWorldEngine, Workers, unavailable

NONSENSE = (
    "",
    " ",
    "\n",
    "dance",
    "look around",
    "go",
    "go to",
    "go to the moon",
    "take",
    "move  to ",
    "open door 1",
)

IDLE = ("help", "inventory", "look")


@dataclass(frozen=True, slots=True)
class Difference:
    """Where the engines disagreed, and how to get there."""

    game: str
    commands: tuple[str, ...]
    what: str
    native: Any
    reference: Any


@dataclass(slots=True)
class Tally:
    """What was compared."""

    games: int = 0
    steps: int = 0
    won: int = 0
    verbs: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Take in what another game gave."""
        self.games += other.games
        self.steps += other.steps
        self.won += other.won
        self.verbs += other.verbs
        self.differences += other.differences


class Pair:
    """Both engines on one game, in step."""

    def __init__(self, game: Game, workers: Workers, tally: Tally) -> None:
        self.game = game
        self.native = NativeEngine(game)
        self.reference = TextWorldEngine(game, workers)
        self.tally = tally
        self.commands: list[str] = []
        self.admissible: list[str] = []

    def reset(self) -> bool:
        """Start again; whether the engines agree."""
        self.commands = []
        return self._agree(self.native.reset(), self.reference.reset())

    def step(self, command: str) -> bool:
        """Give both the same command; whether they agree."""
        self.commands.append(command)
        text = self.native.step(command)
        agree = self._agree(text, self.reference.step(command))
        self.tally.steps += 1
        self.tally.verbs["refused" if text == "Nothing happens." else command.split()[0]] += 1
        return agree

    def _agree(self, native: str, reference: str) -> bool:
        self.admissible = self.reference.admissible()
        for what, ours, theirs in (
            ("observation", native, reference),
            ("admissible commands", self.native.admissible(), self.admissible),
            ("won", self.native.won, self.reference.won),
        ):
            if ours != theirs:
                self.tally.differences.append(Difference(self.game.id, tuple(self.commands), what, ours, theirs))
                return False
        return True


def play(game: Game, steps: int, seed: int, workers: Workers) -> Tally:
    """Play one game on both engines: its solution, then a random walk.

    Args:
        game: What is played.
        steps: How long the walk is.
        seed: Makes the walk another one.
        workers: Where the reference engine runs.
    """
    tally = Tally(games=1)
    random = Random(f"{seed} {game.id}")
    pair = Pair(game, workers, tally)
    try:
        if not pair.reset():
            return tally
        for command in game.walkthrough:
            if not pair.step(command):
                return tally
        tally.won += pair.native.won
        seen: list[str] = []
        agree = pair.reset()
        for _ in range(steps):
            if not agree:
                break
            seen += random.sample(pair.admissible, min(3, len(pair.admissible)))
            agree = pair.step(next_command(pair.admissible, seen, random))
    finally:
        pair.reference.close()
    return tally


def next_command(admissible: Sequence[str], seen: Sequence[str], random: Random) -> str:
    """A command for a random walk: mostly a possible one, sometimes nearly one, sometimes nonsense.

    Args:
        admissible: What is possible now.
        seen: What was possible earlier, and may no longer be.
        random: Where chance comes from.
    """
    chance = random.random()
    # First the verb and then the command, as otherwise nine in ten would be "go to".
    verbs = sorted({command.split()[0] for command in admissible})
    verb = random.choices(verbs, [1 if verb in IDLE else 4 for verb in verbs])[0]
    possible = random.choice([command for command in admissible if command.split()[0] == verb])
    if chance < 0.8:
        return possible
    if chance < 0.9:
        return _nearly(possible, seen, random)
    return random.choice([random.choice(NONSENSE), random.choice(seen), random.choice(seen).swapcase()])


def _nearly(command: str, seen: Sequence[str], random: Random) -> str:
    words = command.split(" ")
    other = random.choice(seen).split(" ")
    match random.randrange(7):
        case 0:
            return command + random.choice([".", " 1", "\n", "  ", "0"])
        case 1:
            return random.choice([" ", "\t", "  "]) + command.replace(" ", "  ", 1)
        case 2:
            return command.upper()
        case 3:
            return " ".join([*words[:-1], other[-1]])
        case 4:
            return " ".join([other[0], *words[1:]])
        case 5:
            return " ".join([*words[:-2], *other[-2:]])
        case _:
            swapped = {" to ": " in/on ", " from ": " in ", " with ": " using "}
            for word, instead in swapped.items():
                command = command.replace(word, instead)
            return command


def compare(games: Iterable[Game], steps: int, seed: int, workers: int = 1, patches: bool = True) -> Tally:
    """Play games on both engines.

    Args:
        games: What is played.
        steps: The length of the random walk in each game.
        seed: Makes the walks other ones.
        workers: How many games are played at once, each in a process of the reference engine.
        patches: Whether the reference engine may remember what it translated and parsed. Without it is four
            times slower, and the same.

    Raises:
        EnvironmentUnavailable: the reference engine is not installed.
    """
    total = Tally()
    pool = Workers(workers, patches=patches)
    try:
        with ThreadPoolExecutor(workers) as threads:
            for tally in threads.map(lambda game: play(game, steps, seed, pool), games):
                total.add(tally)
    finally:
        pool.close()
    return total


def generated(number: int, seed: int) -> list[Game]:
    """Generated games, all types in turn."""
    kinds: tuple[Kind, ...] = get_args(Kind)
    return [generate(kinds[index % len(kinds)], seed=seed, index=index) for index in range(number)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison and print what it gave.

    Args:
        arguments: The command line; this process's own unless given.

    Returns:
        0 where the engines agree, 1 where they do not, 2 where the reference engine cannot be used.
    """
    parser = argparse.ArgumentParser(prog="differential", description="Compare the two ALFWorld engines.")
    parser.add_argument(
        "--games", type=int, help="how many games are played (default: 12, or with --data each of its games once)"
    )
    parser.add_argument("--steps", type=int, default=40, help="length of the walk in each (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other games and walks")
    parser.add_argument(
        "--data", metavar="PATH", help="play the games of this folder, such as an official split, not generated ones"
    )
    parser.add_argument("--workers", type=int, default=1, help="how many games at once (default: %(default)s)")
    parser.add_argument("--unpatched", action="store_true", help="the reference as installed, without its memory")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    if reason := unavailable():
        print(reason, file=sys.stderr)
        return 2
    games: Iterable[Game]
    if options.data:
        files = list(games_in(options.data))
        number = len(files) if options.games is None else options.games
        # More games than files: the same files again, under another name so that the walk is another one.
        games = islice(chain.from_iterable(_again(files, turn) for turn in range(number)), number)
    else:
        games = generated(12 if options.games is None else options.games, options.seed)
    began = time.perf_counter()
    tally = compare(games, options.steps, options.seed, options.workers, not options.unpatched)
    seconds = time.perf_counter() - began
    if options.json:
        found = {
            "games": tally.games,
            "steps": tally.steps,
            "solved": tally.won,
            "verbs": dict(tally.verbs.most_common()),
            "differences": [asdict(difference) for difference in tally.differences],
            "seconds": round(seconds, 1),
        }
        print(json.dumps(found, indent=2))
    else:
        _print(tally, seconds)
    return 1 if tally.differences else 0


def _again(games: Sequence[Game], turn: int) -> list[Game]:
    if not turn:
        return list(games)
    return [replace(game, id=f"{game.id} ({turn + 1})") for game in games]


def _print(tally: Tally, seconds: float) -> None:
    for difference in tally.differences:
        print(f"{difference.game}: {difference.what} differ after {list(difference.commands)}")
        print(f"  native:    {difference.native!r}\n  reference: {difference.reference!r}")
    verbs = ", ".join(f"{verb} {count}" for verb, count in tally.verbs.most_common())
    print(f"{tally.games} games, {tally.steps} steps, {tally.won} solved, {seconds:.0f} s: {verbs}")
    print(f"{len(tally.differences)} differences")


if __name__ == "__main__":
    sys.exit(main())
