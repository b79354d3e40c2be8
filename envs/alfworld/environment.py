"""ALFWorld (Shridhar et al. 2021): household tasks in text, on either of two engines."""

import copy
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from langgraph_reflexion.envs.alfworld.engine import PUT_FORMS, Engine, Game
from langgraph_reflexion.envs.alfworld.episode import ALFWorldEpisode, game_forms, plain_name, tidy
from langgraph_reflexion.envs.alfworld.facts import facts_of, missed_in
from langgraph_reflexion.envs.alfworld.games import OFFICIAL_SPLITS, game_of, games_in, official_folder
from langgraph_reflexion.envs.alfworld.generate import GENERATED, generated_game
from langgraph_reflexion.envs.alfworld.memory_map import build_map
from langgraph_reflexion.envs.alfworld.native import NativeEngine
from langgraph_reflexion.envs.alfworld.releases import UNKNOWN, release_of
from langgraph_reflexion.envs.alfworld.textworld import TextWorldEngine, Workers, unavailable
from langgraph_reflexion.envs.alfworld.world import World
from langgraph_reflexion.envs.base import Action, Environment, MemoryMap, ObservedStep, Task
from langgraph_reflexion.envs.grammar import parse_forms
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable, one_of

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
        strict: Whether text that is not a command is answered with "Nothing happens.", as by the original engine, and
            not with the allowed actions. Under the profile `upstream` it is unless given.

    Raises:
        ConfigurationError: There is no such engine, `max_steps` is below 1, or `strict` is not a bool.
        EnvironmentUnavailable: The engine is not installed.
    """

    name = "alfworld"
    reply_tokens = 1024
    splits = (*GENERATED, *OFFICIAL_SPLITS)
    episode = ALFWorldEpisode
    # The original code asks again for a reply below five characters, at rising temperatures, and reflects on the last
    # trial, too.
    profile_overrides: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "upstream": {"temperatures": (0.2, 0.4, 0.6, 0.8, 1.0), "reflects_at_end": True}
    }

    def __init__(
        self,
        engine: str = ENGINES[0],
        seed: int = 0,
        path: str | os.PathLike[str] | None = None,
        max_steps: int = 50,
        strict: bool | None = None,
    ) -> None:
        self.engine = one_of("engine", engine, ENGINES)
        if max_steps < 1:
            raise ConfigurationError(f"max_steps is {max_steps}, but at least one step must be allowed")
        if not isinstance(strict, bool | None):  # the string "False" would be true
            raise ConfigurationError(f"strict is {strict!r}: give true or false")
        if engine == "textworld":
            missing = unavailable()
            if missing:
                raise EnvironmentUnavailable(missing)
        self.seed = seed
        self.path: Path | None = None
        if path is not None:
            self.path = Path(path).expanduser().resolve()
            self.splits = ("path", *type(self).splits)
        self.max_steps = max_steps
        self.strict = strict
        self.blocking = engine == "textworld"
        self._workers = Workers()

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        """Return the tasks of a split; see `Environment.tasks`. Reads or generates no more games than `limit`."""
        chosen = self.choose_split(split)
        games = islice(self._games(chosen), limit)
        return [self._task(chosen, index, game) for index, game in enumerate(games)]

    def start(self, task: Task) -> ALFWorldEpisode:
        game = self.game(task)
        engine = self._engine(game)
        try:
            return ALFWorldEpisode(engine, game.syntax, self.max_steps, strict=bool(self.strict))
        except BaseException:
            engine.close()
            raise

    def _engine(self, game: Game) -> Engine:
        world = self._world(game)
        if world is None:
            return TextWorldEngine(game, self._workers)
        return NativeEngine(world)

    def strictly(self) -> "ALFWorld":
        """Return the games with strict actions, unless `strict` was given; see `Strict`. Both share the engines."""
        if self.strict is not None:
            return self
        household = copy.copy(self)
        household.strict = True
        return household

    def blocks(self, task: Task) -> bool:
        """Return whether the original engine plays the game: its process takes its time."""
        if self.blocking:
            return True
        return release_of(self.game(task)) is None

    def played_by(self, tasks: Sequence[Task]) -> str:
        """Name the engine that plays the tasks, and what they lack of an official split; see `SupportsPlayedBy`.

        Raises:
            EnvironmentUnavailable: A game is invalid, or needs the original engine, which is not installed.
        """
        return "; ".join([self._engines_of(tasks), *_parts_of_splits(tasks)])

    def _engines_of(self, tasks: Sequence[Task]) -> str:
        if self.engine == "textworld":
            return "the original ALFWorld engine"
        said = "the native ALFWorld engine"
        others = []
        for task in tasks:
            game = self.game(task)
            if self._world(game) is None:
                others.append(game)
        if not others:
            return said
        share = f"{len(others)} of {len(tasks)} games, the first in {others[0].source}"
        return f"{said}, except for {share}, which the slow original one plays: {UNKNOWN}"

    def answer(self, task: Task) -> str:
        """Return commands that solve the game, if its file has them."""
        return "\n".join(self.game(task).walkthrough)

    def action_forms(self, task: Task) -> list[str]:
        """Return the forms, of which that of `put` differs by the release of the games."""
        syntax = (task.get("data") or {}).get("syntax", "move")
        # A task may be anybody's: its syntax may be a value that no dict takes.
        if syntax not in list(PUT_FORMS):
            known = ", ".join(PUT_FORMS)
            raise ConfigurationError(f"the task {task['id']!r} has no syntax {syntax!r}: choose one of {known}")
        return game_forms(PUT_FORMS[syntax])

    def parse(self, text: str) -> Action | None:
        """Read an action, ignoring case and extra blanks. Several lines are not one, though they may begin as one."""
        if "\n" in text.strip():
            return None
        read = parse_forms(self.actions(), tidy(text))
        if read is None:
            return None
        args = {name: plain_name(value) for name, value in read["args"].items()}
        return Action(name=read["name"], args=args, text=" ".join(text.split()))

    def memory_map(
        self, task: Task, opening: str, steps: Sequence[ObservedStep], known: Mapping[str, Any]
    ) -> MemoryMap:
        return build_map(opening, steps, known)

    def facts(self, task: Task, steps: Sequence[ObservedStep]) -> list[str]:
        return facts_of(task["instruction"], steps)

    def trial_facts(self, task: Task, opening: str, steps: Sequence[ObservedStep]) -> list[str]:
        return missed_in(opening, steps)

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
            case {"split": str(split), "seed": int(seed), "index": int(index)} if _is_generated(split, index):
                return generated_game(split, seed, index)
            case {"split": str(split), "folder": str(folder)}:
                if not _below(folder):
                    raise ConfigurationError(
                        f"the task {task['id']!r}: folder: {folder!r:.200} does not lie below the folder of the "
                        f"split {split!r:.100}"
                    )
                return game_of(self._root(split) / folder, task["id"])
        raise ConfigurationError(f"the task {task['id']!r} is not a task of ALFWorld")

    def _world(self, game: Game) -> World | None:
        """Return what the native engine plays; None if the original engine plays the game.

        Raises:
            EnvironmentUnavailable: The game is invalid, or needs the original engine, which is not installed.
        """
        if self.engine == "textworld":
            return None
        if release_of(game):
            return World.of(game)
        if missing := unavailable():
            raise EnvironmentUnavailable(
                f"the native engine cannot play {game.source}: {UNKNOWN}. The original engine may, but {missing}"
            )
        return None

    def _games(self, split: str) -> Iterator[Game]:
        if split in GENERATED:
            return (generated_game(split, self.seed, index) for index in range(GENERATED[split]))
        if split == "path":
            return games_in(self._root(split))
        folder = self._root(split)
        if not folder.is_dir():
            raise EnvironmentUnavailable(
                f"no ALFWorld games of {split} in {self._download()}: "
                "fetch them with `alfworld-download` (pip install alfworld) and set ALFWORLD_DATA to their folder"
            )
        return games_in(folder, split)

    def _task(self, split: str, index: int, game: Game) -> Task:
        data: dict[str, Any] = {"split": split, "syntax": game.syntax}
        if split in GENERATED:
            data |= {"seed": self.seed, "index": index}
        else:
            # Relative, so that a run can be resumed with the games in another folder.
            data["folder"] = game.id.partition("/")[2]
        return Task(id=game.id, instruction=game.instruction, kind=game.kind, data=data)

    def _root(self, split: str) -> Path:
        if split in OFFICIAL_SPLITS:
            return official_folder(self._download(), split)
        if self.path is None:
            raise ConfigurationError("this task's game is not in an official split: give its folder as path=")
        return self.path

    def _download(self) -> Path:
        return Path(self.path or os.environ.get("ALFWORLD_DATA") or "~/.cache/alfworld")


def _is_generated(split: str, index: int) -> bool:
    """Return whether there is a game with this number in a split that is generated."""
    return index in range(GENERATED.get(split, 0))


def _parts_of_splits(tasks: Sequence[Task]) -> list[str]:
    """Say for each official split of which some games are played, and not all, how many these are."""
    splits = Counter((task.get("data") or {}).get("split") for task in tasks)
    parts = []
    for split, whole in OFFICIAL_SPLITS.items():
        played = splits[split]
        if 0 < played != whole:
            parts.append(f"{played:,} of the {whole:,} games of {split}")
    return parts


def _below(folder: str) -> bool:
    """Return whether a path from a task, which anybody may have written, stays below the folder that it starts at."""
    return "\0" not in folder and not os.path.isabs(folder) and ".." not in Path(folder).parts
