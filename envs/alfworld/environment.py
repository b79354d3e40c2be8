"""ALFWorld (Shridhar et al. 2021): household tasks in text, on either of two engines."""

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, get_args

from langgraph_reflexion.envs.alfworld.compatibility import unsupported
from langgraph_reflexion.envs.alfworld.engine import Engine, Game, Kind
from langgraph_reflexion.envs.alfworld.episode import PUT_ACTION_FORMS, ALFWorldEpisode, game_forms, plain_name, tidy
from langgraph_reflexion.envs.alfworld.games import (
    OFFICIAL_SPLITS,
    expanded,
    game_of,
    games_in,
    official_folder,
    official_games,
    shortfall,
)
from langgraph_reflexion.envs.alfworld.generate import SPLITS, generated_games
from langgraph_reflexion.envs.alfworld.memory_map import build_map
from langgraph_reflexion.envs.alfworld.native import NativeEngine
from langgraph_reflexion.envs.alfworld.shared_rooms import SHARED_SPLITS, SharedGames
from langgraph_reflexion.envs.alfworld.textworld import TextWorldEngine, Workers, unavailable
from langgraph_reflexion.envs.alfworld.world import World
from langgraph_reflexion.envs.base import Action, Environment, MemoryMap, ObservedStep, Task, choose_split
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable

ENGINES = ("native", "textworld")
"""The engines, the default one first."""


class ALFWorld(Environment):
    """Household tasks: find things, clean, heat or cool them, and put them where they belong.

    Args:
        engine: `native`, or `textworld` for the original (extra `alfworld`). Both behave the same to the character,
            but the native one leaves game files with unknown rules or wording to the original.
        seed: Seed of the games of the generated splits.
        path: A folder of games, which becomes the split `path` and the default. For the official splits, the folder
            that `alfworld-download` filled.
        max_steps: Number of commands after which an episode is truncated.

    Raises:
        ConfigurationError: There is no such engine, or `max_steps` is below 1.
        EnvironmentUnavailable: The engine is not installed.
    """

    name = "alfworld"
    splits = (*SPLITS, *SHARED_SPLITS, *OFFICIAL_SPLITS)
    episode = ALFWorldEpisode

    def __init__(
        self,
        engine: str = ENGINES[0],
        seed: int = 0,
        path: str | os.PathLike[str] | None = None,
        max_steps: int = 50,
    ) -> None:
        if engine not in ENGINES:
            raise ConfigurationError(f"ALFWorld has no engine {engine!r}: choose one of {', '.join(ENGINES)}")
        if max_steps < 1:
            raise ConfigurationError(f"max_steps is {max_steps}, but at least one step must be allowed")
        if engine == "textworld" and (reason := unavailable()):
            raise EnvironmentUnavailable(reason)
        self.engine = engine
        self.seed = seed
        self.path = None if path is None else expanded(path).resolve()
        self.max_steps = max_steps
        self.blocking = engine == "textworld"
        if path is not None:
            self.splits = ("path", *type(self).splits)
        self._workers = Workers()

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        """Return the tasks of a split; see `Environment.tasks`. Reads or generates no more games than `limit`."""
        chosen = choose_split(self, split)
        return [self._task(chosen, index, game) for index, game in enumerate(islice(self._games(chosen), limit))]

    def start(self, task: Task) -> ALFWorldEpisode:
        game = self.game(task)
        engine = self._engine(game)
        try:
            return ALFWorldEpisode(engine, game.syntax, self.max_steps)
        except BaseException:
            engine.close()
            raise

    def blocks(self, task: Task) -> bool:
        return self.blocking or unsupported(self.game(task)) is not None

    def played_by(self, tasks: Sequence[Task]) -> str:
        """Name the engine that plays the tasks, and what an official split lacks; see `Environment.played_by`.

        Raises:
            EnvironmentUnavailable: A game is invalid, or needs the original engine, which is not installed.
        """
        selected: dict[str, set[str]] = {}
        for task in tasks:
            if (split := (task.get("data") or {}).get("split")) in OFFICIAL_SPLITS:
                selected.setdefault(split, set()).add(task["id"])
        short = [shortfall(self._official_root(), split, ids) for split, ids in selected.items()]
        return "; ".join([self._engines(tasks), *filter(None, short)])

    def _engines(self, tasks: Sequence[Task]) -> str:
        if self.engine == "textworld":
            return "the original ALFWorld engine, chosen by engine=textworld"
        games: dict[str, list[str]] = {}
        for game in map(self.game, tasks):
            if reason := self._unsupported(game):
                games.setdefault(reason, []).append(game.source or game.id)
            else:
                # Report invalid games before the first one is played.
                World.of(game)
        if not games:
            return "the native ALFWorld engine"
        why = "; ".join(
            f"{reason} ({len(which)} of {len(tasks)} games, the first in {which[0]})"
            for reason, which in games.items()
        )
        if sum(map(len, games.values())) == len(tasks):
            return f"the original ALFWorld engine, which is thousands of times slower than the native one: {why}"
        return f"the native ALFWorld engine, and the slow original one for games it does not know: {why}"

    def action_forms(self, task: Task) -> list[str]:
        syntax = (task.get("data") or {}).get("syntax", "move")
        if syntax not in [*PUT_ACTION_FORMS]:
            known = ", ".join(PUT_ACTION_FORMS)
            raise ConfigurationError(f"the task {task['id']!r} has no syntax {syntax!r}: choose one of {known}")
        return game_forms(PUT_ACTION_FORMS[syntax])

    def parse(self, text: str) -> Action | None:
        """Parse an action, ignoring case and extra blanks; see `Environment.parse`."""
        parsed = super().parse(tidy(text))
        if parsed is None:
            return None
        args = {name: plain_name(value) for name, value in parsed["args"].items()}
        return Action(name=parsed["name"], args=args, text=" ".join(text.split()))

    def memory_map(
        self, task: Task, opening: str, steps: Sequence[ObservedStep], known: Mapping[str, Any]
    ) -> MemoryMap:
        return build_map(opening, steps, known)

    def close(self) -> None:
        """Kill the engine's processes and with them all live games. New episodes start new processes."""
        self._workers.close()

    def game(self, task: Task) -> Game:
        """Return the game of a task.

        Raises:
            ConfigurationError: This is not a task of ALFWorld, or `path` was not given.
            EnvironmentUnavailable: Its file is missing or invalid.
        """
        match task.get("data"):
            case {"split": str(split), "seed": int(seed), "index": int(index)}:
                return _generated(split, seed, index)
            case {"split": str(split), "folder": str(folder)}:
                kind = task.get("kind")
                return _from_folder(self._root(split) / folder, kind if kind in get_args(Kind) else None)
        raise ConfigurationError(f"the task {task['id']!r} is not a task of ALFWorld")

    def _engine(self, game: Game) -> Engine:
        if self.engine == "native" and self._unsupported(game) is None:
            return NativeEngine(game)
        return TextWorldEngine(game, self._workers)

    def _unsupported(self, game: Game) -> str | None:
        """Return why the original engine has to play a game, or None if the native one can."""
        reason = unsupported(game)
        if reason and (missing := unavailable()):
            which = game.source or game.id
            raise EnvironmentUnavailable(
                f"the native engine cannot play {which}: {reason}. The original engine may, but {missing}"
            )
        return reason

    def _games(self, split: str) -> Iterator[Game]:
        if split in (*SPLITS, *SHARED_SPLITS):
            return iter(_generated_games(split, self.seed))
        if split == "path":
            return games_in(self._root(split))
        return official_games(self._official_root(), split)

    def _task(self, split: str, index: int, game: Game) -> Task:
        data: dict[str, Any] = {"split": split, "syntax": game.syntax}
        if split in (*SPLITS, *SHARED_SPLITS):
            data |= {"seed": self.seed, "index": index}
        else:
            # Relative, so that a run can be resumed with the games in another folder.
            data["folder"] = game.id.partition("/")[2]
        return Task(id=game.id, instruction=game.instruction, kind=game.kind, data=data)

    def _root(self, split: str) -> Path:
        if split != "path":
            return official_folder(self._official_root(), split)
        if self.path is None:
            raise ConfigurationError("this task's game is in a folder of its own: give that folder as path=")
        return self.path

    def _official_root(self) -> str | Path:
        return self.path or os.environ.get("ALFWORLD_DATA") or "~/.cache/alfworld"


def _generated_games(split: str, seed: int) -> Sequence[Game]:
    return SharedGames(split, seed) if split in SHARED_SPLITS else generated_games(split, seed)


@lru_cache(256)
def _generated(split: str, seed: int, index: int) -> Game:
    games = _generated_games(split, seed)
    if index not in range(len(games)):
        raise ConfigurationError(f"{split} has {len(games)} games, none of them with index {index}")
    return games[index]


@lru_cache(256)
def _from_folder(folder: Path, kind: Kind | None) -> Game:
    return game_of(folder, folder.name, kind)
