"""ALFWorld: household tasks in words (Shridhar et al. 2021), on either of two engines."""

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, get_args

from langgraph_reflexion.envs.alfworld.engine import Engine, Game, Kind
from langgraph_reflexion.envs.alfworld.episode import PUT_FORMS, ALFWorldEpisode, game_forms, plain_name, tidy
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
from langgraph_reflexion.envs.alfworld.memory_map import draw
from langgraph_reflexion.envs.alfworld.native import NativeEngine, World, unknown_dialect
from langgraph_reflexion.envs.alfworld.shared_rooms import SHARED_SPLITS, SharedGames
from langgraph_reflexion.envs.alfworld.textworld import TextWorldEngine, Workers, unavailable
from langgraph_reflexion.envs.base import Action, Environment, MemoryMap, Seen, Task, choose_split
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable

ENGINES = ("native", "textworld")
"""The engines, the default one first."""


class ALFWorld(Environment):
    """Household tasks: find things, clean, heat or cool them, and put them where they belong.

    Args:
        engine: `native`, or `textworld` for the original (extra `alfworld`). They agree to the character; a
            game file with rules or wording that the native engine does not know is played by the original.
        seed: Which games are generated, for the splits whose names say so.
        path: A folder of games, which then is the split `path`, and the default one. For the official splits it is
            the folder that `alfworld-download` filled.
        max_steps: After how many commands an episode is truncated.

    Raises:
        ConfigurationError: no such engine, or no step allowed.
        EnvironmentUnavailable: the engine is not installed.
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
        """The tasks of a split, always in the same order; see `Environment.tasks`.

        Only as many games are read or made as tasks are asked for.
        """
        chosen = choose_split(self, split)
        return [self._task(chosen, index, game) for index, game in enumerate(islice(self._games(chosen), limit))]

    def start(self, task: Task) -> ALFWorldEpisode:
        """Start a fresh episode of a task; see `Environment.start`."""
        game = self.game(task)
        engine = self._engine(game)
        try:
            return ALFWorldEpisode(engine, game.syntax, self.max_steps)
        except BaseException:
            engine.close()
            raise

    def blocks(self, task: Task) -> bool:
        """Whether the task's engine is the original, which takes its time."""
        return self.blocking or unknown_dialect(self.game(task)) is not None

    def played_by(self, tasks: Sequence[Task]) -> str:
        """Say which engine plays the tasks, why where it is not the one asked for, and what a benchmark lacks.

        Raises:
            EnvironmentUnavailable: a game makes no sense, or needs the original engine, which is not installed.
        """
        taken: dict[str, set[str]] = {}
        for task in tasks:
            if (split := (task.get("data") or {}).get("split")) in OFFICIAL_SPLITS:
                taken.setdefault(split, set()).add(task["id"])
        short = [shortfall(self._official_root(), split, ids) for split, ids in taken.items()]
        return "; ".join([self._engines(tasks), *filter(None, short)])

    def _engines(self, tasks: Sequence[Task]) -> str:
        if self.engine == "textworld":
            return "the original ALFWorld engine, as engine=textworld asks"
        games: dict[str, list[str]] = {}
        for game in map(self.game, tasks):
            if reason := self._unknown(game):
                games.setdefault(reason, []).append(game.source or game.id)
            else:
                # What is wrong with a game is to be known before the first is played.
                World.of(game)
        if not games:
            return "the native ALFWorld engine"
        why = "; ".join(
            f"{reason} ({len(which)} of {len(tasks)} games, the first in {which[0]})"
            for reason, which in games.items()
        )
        if sum(map(len, games.values())) == len(tasks):
            return f"the original ALFWorld engine, which is thousands of times slower than the native one: {why}"
        return f"the native ALFWorld engine, and where it does not know the rules the slow original one: {why}"

    def forms(self, task: Task) -> list[str]:
        """How the allowed actions of a task are written: older games put things down in other words."""
        syntax = (task.get("data") or {}).get("syntax", "move")
        if syntax not in [*PUT_FORMS]:
            known = ", ".join(PUT_FORMS)
            raise ConfigurationError(f"the task {task['id']!r} has no syntax {syntax!r}: choose one of {known}")
        return game_forms(PUT_FORMS[syntax])

    def parse(self, text: str) -> Action | None:
        """Read an action written as text, however its words are capitalised and spaced."""
        parsed = super().parse(tidy(text))
        if parsed is None:
            return None
        args = {name: plain_name(value) for name, value in parsed["args"].items()}
        return Action(name=parsed["name"], args=args, text=" ".join(text.split()))

    def memory_map(self, task: Task, opening: str, steps: Sequence[Seen], known: Mapping[str, Any]) -> MemoryMap:
        """What lies where, what is closed, what is in hand; see `Environment.memory_map`.

        Of earlier trials it keeps what lay where at first, as a reset puts everything back.
        """
        return draw(opening, steps, known)

    def close(self) -> None:
        """End the engine's processes, and with them all live games. New episodes start new ones."""
        self._workers.close()

    def game(self, task: Task) -> Game:
        """The game of a task.

        Raises:
            ConfigurationError: this is no task of ALFWorld's, or `path` was not given.
            EnvironmentUnavailable: its file is not there.
        """
        match task.get("data"):
            case {"split": str(split), "seed": int(seed), "index": int(index)}:
                return _generated(split, seed, index)
            case {"split": str(split), "folder": str(folder)}:
                kind = task.get("kind")
                return _from_folder(self._root(split) / folder, kind if kind in get_args(Kind) else None)
        raise ConfigurationError(f"the task {task['id']!r} is none of ALFWorld's")

    def _engine(self, game: Game) -> Engine:
        if self.engine == "native" and self._unknown(game) is None:
            return NativeEngine(game)
        return TextWorldEngine(game, self._workers)

    def _unknown(self, game: Game) -> str | None:
        """Why the original engine has to play a game; None where the native one can."""
        reason = unknown_dialect(game)
        if reason and (missing := unavailable()):
            which = game.source or game.id
            raise EnvironmentUnavailable(
                f"the native engine cannot play {which}: {reason}. The original engine may, but {missing}"
            )
        return reason

    def _games(self, split: str) -> Iterator[Game]:
        if split in (*SPLITS, *SHARED_SPLITS):
            return iter(_made(split, self.seed))
        if split == "path":
            return games_in(self._root(split))
        return official_games(self._official_root(), split)

    def _task(self, split: str, index: int, game: Game) -> Task:
        data: dict[str, Any] = {"split": split, "syntax": game.syntax}
        if split in (*SPLITS, *SHARED_SPLITS):
            data |= {"seed": self.seed, "index": index}
        else:
            # Relative, so that a run can be resumed where the games lie elsewhere.
            data["folder"] = game.id.partition("/")[2]
        return Task(id=game.id, instruction=game.instruction, kind=game.kind, data=data)

    def _root(self, split: str) -> Path:
        if split != "path":
            return official_folder(self._official_root(), split)
        if self.path is None:
            raise ConfigurationError("this task's game lies in a folder of your own: give it as path=")
        return self.path

    def _official_root(self) -> str | Path:
        return self.path or os.environ.get("ALFWORLD_DATA") or "~/.cache/alfworld"


def _made(split: str, seed: int) -> Sequence[Game]:
    return SharedGames(split, seed) if split in SHARED_SPLITS else generated_games(split, seed)


@lru_cache(256)
def _generated(split: str, seed: int, index: int) -> Game:
    games = _made(split, seed)
    if index not in range(len(games)):
        raise ConfigurationError(f"{split} has {len(games)} games, and none with index {index}")
    return games[index]


@lru_cache(256)
def _from_folder(folder: Path, kind: Kind | None) -> Game:
    return game_of(folder, folder.name, kind)
