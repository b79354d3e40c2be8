"""The known solution of every official ALFWorld game, played on the native engine.

    python -m tests.support.official_games ~/.cache/alfworld

The folder holds `json_2.1.1` with the splits, as `alfworld-download` writes it. Every command of a solution has to be
admissible, and the last one, and none before it, has to win the game. The status is 1 if a game does otherwise.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

from langgraph_reflexion.envs.alfworld.games import Game, games_in
from langgraph_reflexion.envs.alfworld.native import NativeEngine
from langgraph_reflexion.envs.alfworld.world import World

SPLITS = ("train", "valid_train", "valid_seen", "valid_unseen")


@dataclass(frozen=True)
class Played:
    """What came of a game: how many commands were played, and what went wrong; nothing if it is empty."""

    commands: int
    wrong: str = ""


def play_solution(game: Game) -> Played:
    """Play a game's known solution."""
    engine = NativeEngine(World.of(game))
    for number, command in enumerate(game.walkthrough, 1):
        if engine.won:
            return Played(number, f"won before command {number}")
        if command not in engine.admissible():
            return Played(number, f"command {number}, {command!r}, is refused")
        engine.step(command)
    if not engine.won:
        return Played(len(game.walkthrough), "not won by its solution")
    return Played(len(game.walkthrough))


def play_split(folder: Path) -> bool:
    """Play a split, print what came of it, and return whether every game was won by its solution."""
    games = 0
    won = 0
    commands = 0
    for game in games_in(folder):
        played = play_solution(game)
        games += 1
        commands += played.commands
        if played.wrong:
            print(f"{game.id}: {played.wrong}")
        else:
            won += 1
    print(f"{folder.name}: {won:,} of {games:,} games won by their solutions, {commands:,} commands", flush=True)
    return won == games


def main() -> int:
    """Play all splits that the folder has."""
    parser = argparse.ArgumentParser(description="Play the known solution of every official ALFWorld game.")
    parser.add_argument("folder", type=Path, help="the folder of json_2.1.1")
    given = parser.parse_args()
    splits = [given.folder / "json_2.1.1" / name for name in SPLITS]
    found = [split for split in splits if split.is_dir()]
    if not found:
        print(f"{given.folder} has no folder json_2.1.1 with one of {', '.join(SPLITS)}", file=sys.stderr)
        return 2
    right = [play_split(split) for split in found]
    return int(not all(right))


if __name__ == "__main__":
    sys.exit(main())
