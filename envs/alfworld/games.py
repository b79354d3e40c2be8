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

# The word of a goal that gives its type away.
_SIGNS: dict[str, Kind] = {
    "istoggled": "look",
    "isclean": "clean",
    "ishot": "heat",
    "iscool": "cool",
    "=": "two",
}

_LAYOUTS = ("json_2.1.2", "json_2.1.1", "")
"""The folders of a download that may hold the splits: `alfworld-download` unpacks json_2.1.2 into `json_2.1.1`."""


def official_folder(root: str | Path, split: str) -> Path:
    """Return the folder of an official split below that of a download, where its games are or should be."""
    for layout in _LAYOUTS:
        folder = Path(root).expanduser() / layout / split
        if any(folder.rglob("game.tw-pddl")):
            return folder
    return folder


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
        # In place, because `os.walk` continues with this list.
        below.sort()
        path = Path(at).relative_to(root).as_posix()
        id_ = f"{name or root.resolve().name}/{path}".removesuffix("/.")
        game = _game_in(Path(at), id_, states=not name)
        if game:
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
    game = _game_in(folder, id_)
    if game is None:
        raise EnvironmentUnavailable(f"the task's game is missing: there is none in {folder}")
    return game


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
    path = folder / "game.tw-pddl"
    state = folder / "initial_state.pddl"
    described = folder / "traj_data.json"
    # The file that an error is about.
    read_now = path
    try:
        if path.is_file():
            return _from_file(id_, path)
        read_now = described
        if states and state.is_file() and described.is_file():
            return _from_state(id_, state, described)
        return None
    except (OSError, ValueError) as error:
        why = str(error)
        if isinstance(error, ValidationError):
            why = explain(error, "key")
        raise EnvironmentUnavailable(
            f"{read_now} cannot be used: {why}. Remove it, or fetch it again (the official games: "
            "`alfworld-download -f`)"
        ) from error


def _from_file(id_: str, path: Path) -> Game | None:
    """Return the game in a `game.tw-pddl`; None if it is left out."""
    file = _File.model_validate_json(path.read_text(encoding="utf-8-sig"))
    if not file.solvable:
        return None
    kind = _kind_by_name(id_) or _kind_by_goal(file.pddl_problem)
    text = task_text(file.grammar)
    if not text:
        raise UnreadableError("its grammar has no task")
    if kind is None:
        return None
    return Game(
        id=id_,
        kind=kind,
        instruction=text.removeprefix(PREFIX),
        problem=file.pddl_problem,
        domain=file.pddl_domain,
        grammar=file.grammar,
        walkthrough=file.walkthrough or (),
        source=str(path),
    )


def _from_state(id_: str, path: Path, described: Path) -> Game | None:
    """Return a game from an initial state and ALFRED's description of its task; None for other task types."""
    description = _Description.model_validate_json(described.read_text(encoding="utf-8-sig"))
    kind = KINDS.get(description.task_type)
    asked = description.pddl_params
    if kind is None or asked.object_sliced or asked.mrecep_target:
        return None
    thing = asked.object_target
    lamp = asked.toggle_target or LAMP
    place = ""
    if kind != "look":
        place = asked.parent_target or ""
    problem = path.read_text(encoding="utf-8-sig")
    if not re.search(r"\(\s*:goal", problem, re.IGNORECASE):
        wanted = goal(kind, thing, place, lamp)
        problem = f"{problem.rstrip().removesuffix(')')}\n{wanted}\n)\n"
    return Game(id_, kind, instruction(kind, thing, place, lamp), problem, source=str(path))


def _kind_by_name(id_: str) -> Kind | None:
    """Return the type of a game in one of ALFRED's folders, whose names begin with it."""
    for part in id_.split("/"):
        type_, _, _ = part.partition("-")
        if type_ in KINDS:
            return KINDS[type_]
    return None


def _kind_by_goal(problem: str) -> Kind | None:
    """Return the type of a problem's goal; None if it has sliced things or movable receptacles."""
    words: set[str] = set()
    for part in read(problem):
        if part[:1] == [":goal"]:
            words = set(re.findall(r"[\w=]+", str(part)))
            break
    if words & {"issliced", "inreceptacleobject", "forall"}:
        return None
    for sign, kind in _SIGNS.items():
        if sign in words:
            return kind
    return "pick"
