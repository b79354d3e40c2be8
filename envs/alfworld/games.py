"""Games in files: the official splits, and any folder of games.

A game file (`game.tw-pddl`) is JSON with a PDDL domain, a text grammar and a PDDL problem.
"""

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from pydantic import BaseModel, ValidationError

from langgraph_reflexion.envs.alfworld.engine import Game, Kind
from langgraph_reflexion.envs.alfworld.game_builder import LAMP, goal, instruction
from langgraph_reflexion.envs.alfworld.pddl import UnreadableError, read
from langgraph_reflexion.envs.alfworld.releases import PREFIX, task_text
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable, explain

OFFICIAL_SPLITS = {"train": 3553, "valid_seen": 140, "valid_unseen": 134}
"""Number of games by official split; the papers report `valid_unseen`."""

KINDS: dict[str, Kind] = {
    "pick_and_place_simple": "pick",
    "look_at_obj_in_light": "look",
    "pick_clean_then_place_in_recep": "clean",
    "pick_heat_then_place_in_recep": "heat",
    "pick_cool_then_place_in_recep": "cool",
    "pick_two_obj_and_place": "two",
}
"""ALFWorld's six task types by their names in ALFRED."""

_LAYOUTS = ("json_2.1.2", "json_2.1.1", "")
"""The folders of a download that may hold the splits: `alfworld-download` unpacks json_2.1.2 into `json_2.1.1`."""


def official_folder(root: str | Path, split: str) -> Path:
    """Return the folder of an official split below that of a download, where its games are or should be."""
    folders = [Path(root).expanduser() / layout / split for layout in _LAYOUTS]
    return next((folder for folder in folders if any(folder.rglob("game.tw-pddl"))), folders[-1])


def games_in(folder: str | Path, name: str = "") -> Iterator[Game]:
    """Yield the games in a folder and below it, in the order of their paths. Files are read lazily.

    A folder holds a game if it has a `game.tw-pddl`, or an `initial_state.pddl` beside a `traj_data.json`; the latter
    has no task text and gets a generated one, and is left out of official splits (`name`). As in ALFWorld, tasks with
    sliced things or movable receptacles, other task types, and games not marked solvable are left out. Unlike in
    ALFWorld, a `game.tw-pddl` needs no `traj_data.json` beside it: the name of its folder or its goal gives its type.

    Raises:
        ConfigurationError: There is no such folder, or no game in it.
        EnvironmentUnavailable: A file is broken (when its game is read).
    """
    root = Path(folder).expanduser()
    if not root.is_dir():
        raise ConfigurationError(f"{root} is not a folder: give one that holds game.tw-pddl files")
    empty = True
    for at, below, _ in os.walk(root):
        below.sort()
        path = Path(at).relative_to(root).as_posix()
        id_ = f"{name or root.resolve().name}/{path}".removesuffix("/.")
        if game := _game_in(Path(at), id_, states=not name):
            empty = False
            yield game
    if empty:
        raise ConfigurationError(f"no games in {root}: it should hold game.tw-pddl files")


@lru_cache(256)
def game_of(folder: Path, id_: str) -> Game:
    """Return the game in a folder, under this id.

    Raises:
        EnvironmentUnavailable: There is no game, or its file is broken.
    """
    if game := _game_in(folder, id_):
        return game
    raise EnvironmentUnavailable(f"the task's game is missing: there is none in {folder}")


class _Parameters(BaseModel):
    object_target: str
    parent_target: str | None = None
    toggle_target: str | None = None
    mrecep_target: str | None = None
    object_sliced: bool = False


class _Description(BaseModel):
    """ALFRED's description of a task."""

    task_type: str
    pddl_params: _Parameters


class _File(BaseModel):
    pddl_domain: str
    grammar: str
    pddl_problem: str
    solvable: bool | None = False
    walkthrough: tuple[str, ...] | None = ()


def _game_in(folder: Path, id_: str, *, states: bool = True) -> Game | None:
    """Return the game in a folder; None if there is none, or one that is left out."""
    if "movable" in id_ or "Sliced" in id_:
        return None
    path, state, described = (folder / name for name in ("game.tw-pddl", "initial_state.pddl", "traj_data.json"))
    try:
        if not path.is_file():
            path = described
            return _state(id_, state, described) if states and state.is_file() and described.is_file() else None
        file = _File.model_validate_json(path.read_text(encoding="utf-8-sig"))
        if not file.solvable:
            return None
        named = [KINDS[type_] for part in id_.split("/") if (type_ := part.partition("-")[0]) in KINDS]
        kind = named[0] if named else _kind_by_goal(file.pddl_problem)
        if not (text := task_text(file.grammar)):
            raise UnreadableError("its grammar has no task")
    except (OSError, ValueError) as error:
        why = explain(error, "key") if isinstance(error, ValidationError) else str(error)
        raise EnvironmentUnavailable(
            f"{path} cannot be used: {why}. Remove it, or fetch it again (the official games: `alfworld-download -f`)"
        ) from error
    return kind and Game(
        id=id_,
        kind=kind,
        instruction=text.removeprefix(PREFIX),
        problem=file.pddl_problem,
        domain=file.pddl_domain,
        grammar=file.grammar,
        walkthrough=file.walkthrough or (),
        source=str(path),
    )


def _state(id_: str, path: Path, described: Path) -> Game | None:
    """Return a game from an initial state and ALFRED's description of its task; None for other task types."""
    description = _Description.model_validate_json(described.read_text(encoding="utf-8-sig"))
    kind, asked = KINDS.get(description.task_type), description.pddl_params
    if kind is None or asked.object_sliced or asked.mrecep_target:
        return None
    place = "" if kind == "look" else asked.parent_target or ""
    words = (asked.object_target, place, asked.toggle_target or LAMP)
    problem = path.read_text(encoding="utf-8-sig")
    if not re.search(r"\(\s*:goal", problem, re.IGNORECASE):
        problem = f"{problem.rstrip().removesuffix(')')}\n{goal(kind, *words)}\n)\n"
    return Game(id_, kind, instruction(kind, *words), problem, source=str(path))


def _kind_by_goal(problem: str) -> Kind | None:
    """Return the type of a problem's goal; None if it has sliced things or movable receptacles."""
    goal = next((part for part in read(problem) if part[:1] == [":goal"]), [])
    words = set(re.findall(r"[\w=]+", str(goal)))
    if words & {"issliced", "inreceptacleobject", "forall"}:
        return None
    signs: dict[str, Kind] = {"istoggled": "look", "isclean": "clean", "ishot": "heat", "iscool": "cool", "=": "two"}
    return next((kind for sign, kind in signs.items() if sign in words), "pick")
