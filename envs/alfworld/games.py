"""Games in files: the official splits, and any folder of games.

A game file (`game.tw-pddl`) is JSON with a PDDL domain, a text grammar and a PDDL problem.
"""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from langgraph_reflexion.envs.alfworld.engine import Game, Kind
from langgraph_reflexion.envs.alfworld.game_builder import LAMP, goal, instruction
from langgraph_reflexion.envs.alfworld.pddl import UnreadableError, read
from langgraph_reflexion.envs.alfworld.releases import PREFIX, task_text
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable

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
    has no task text and gets a generated one. As in ALFWorld, tasks with sliced things or movable receptacles,
    other task types, and games not marked solvable are left out. Unlike in ALFWorld, a `game.tw-pddl` needs no
    `traj_data.json` beside it: the name of its folder or its goal gives its type.

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
        if game := _game_in(Path(at), f"{name or root.resolve().name}/{path}".removesuffix("/.")):
            empty = False
            yield game
    if empty:
        raise ConfigurationError(f"no games in {root}: it should hold game.tw-pddl files")


def game_of(folder: Path, id_: str) -> Game:
    """Return the game in a folder, under this id.

    Raises:
        EnvironmentUnavailable: There is no game, or its file is broken.
    """
    if game := _game_in(folder, id_):
        return game
    raise EnvironmentUnavailable(f"the task's game is missing: there is none in {folder}")


def _game_in(folder: Path, id_: str) -> Game | None:
    if "movable" in id_ or "Sliced" in id_:
        return None
    if (file := folder / "game.tw-pddl").is_file():
        return _game(id_, _json(file), file)
    if (file := folder / "initial_state.pddl").is_file() and (folder / "traj_data.json").is_file():
        return _state(id_, _json(folder / "traj_data.json"), file)
    return None


def _game(id_: str, content: dict[str, Any], path: Path) -> Game | None:
    """Return a game from the content of its file; None for other task types, and unsolvable ones."""
    if not content.get("solvable"):
        return None
    for key in ("pddl_domain", "grammar", "pddl_problem"):
        if not isinstance(content.get(key), str):
            raise _broken(path, f"it has no {key!r}")
    text = task_text(content["grammar"])
    if not text:
        raise _broken(path, "its grammar has no task")
    named = [KINDS[type_] for part in id_.split("/") if (type_ := part.partition("-")[0]) in KINDS]
    kind = named[0] if named else _kind_by_goal(content["pddl_problem"], path)
    if kind is None:
        return None
    return Game(
        id=id_,
        kind=kind,
        instruction=text.removeprefix(PREFIX),
        problem=content["pddl_problem"],
        domain=content["pddl_domain"],
        grammar=content["grammar"],
        walkthrough=tuple(content.get("walkthrough") or ()),
        source=str(path),
    )


def _state(id_: str, described: dict[str, Any], path: Path) -> Game | None:
    """Return a game from an initial state and ALFRED's description of its task; None for other task types."""
    kind = KINDS.get(described.get("task_type", ""))
    asked = described.get("pddl_params", {})
    if kind is None or asked.get("object_sliced") or asked.get("mrecep_target"):
        return None
    place = "" if kind == "look" else asked.get("parent_target")
    words = (asked.get("object_target"), place, asked.get("toggle_target") or LAMP)
    thing, target, lamp = (str(word) for word in words)
    problem = _read(path)
    if not re.search(r"\(\s*:goal", problem, re.IGNORECASE):
        problem = f"{problem.rstrip().removesuffix(')')}\n{goal(kind, thing, target, lamp)}\n)\n"
    return Game(id_, kind, instruction(kind, thing, target, lamp), problem, source=str(path))


def _kind_by_goal(problem: str, path: Path) -> Kind | None:
    """Return the type of a problem's goal; None if it has sliced things or movable receptacles."""
    try:
        goal_ = next((part for part in read(problem) if part[:1] == [":goal"]), [])
    except UnreadableError as error:
        raise _broken(path, f"its PDDL is invalid: {error}") from error
    words = set(re.findall(r"[\w=]+", str(goal_)))
    if words & {"issliced", "inreceptacleobject", "forall"}:
        return None
    signs: dict[str, Kind] = {"istoggled": "look", "isclean": "clean", "ishot": "heat", "iscool": "cool", "=": "two"}
    return next((kind for sign, kind in signs.items() if sign in words), "pick")


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(_read(path))
    except ValueError as error:
        raise _broken(path, f"it cannot be read as JSON ({error})") from error
    if not isinstance(content, dict):
        raise _broken(path, "it is JSON, but not an object")
    return content


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise _broken(path, f"it cannot be read ({error})") from error


def _broken(path: Path, why: str) -> EnvironmentUnavailable:
    return EnvironmentUnavailable(
        f"{path} cannot be used: {why}. Remove it, or fetch it again (the official games: `alfworld-download -f`)"
    )
