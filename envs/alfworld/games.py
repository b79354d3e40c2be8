"""Games in files: the official splits, and any folder of games.

A game file (`game.tw-pddl`) is JSON with a PDDL domain, a text grammar and a PDDL problem.
"""

import json
import os
import re
from collections.abc import Collection, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from langgraph_reflexion.envs.alfworld.engine import Game, Kind
from langgraph_reflexion.envs.alfworld.grammar import parse_grammar, render_literal
from langgraph_reflexion.envs.alfworld.instructions import LAMP, goal, instruction
from langgraph_reflexion.envs.alfworld.pddl import Problem, Tree, UnreadableError, read_domain
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable, ReflexionError

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

_PREFIX = "Your task is to: "
_LAYOUTS = ("json_2.1.2", "json_2.1.1", "")
"""The folders of a download that may hold the splits: `alfworld-download` unpacks json_2.1.2 into `json_2.1.1`."""
_DOWNLOAD = "fetch the games with `alfworld-download` and set ALFWORLD_DATA to their folder"


def official_games(root: str | Path, split: str) -> Iterator[Game]:
    """Yield the games of an official split, in the order of their paths.

    Files are read lazily. As in ALFWorld, tasks with sliced things or movable receptacles, other task types, and
    games not marked solvable are left out. Unlike in ALFWorld, a game needs no `traj_data.json` beside it: the name
    of its folder or its goal gives its type.

    Args:
        root: The folder of the download, which holds `json_2.1.1`, `json_2.1.2` or the splits.
        split: One of `OFFICIAL_SPLITS`.

    Raises:
        ConfigurationError: There is no such split.
        EnvironmentUnavailable: There are no games in the folder, or a file is broken (when its game is read).
    """
    if split not in OFFICIAL_SPLITS:
        raise ConfigurationError(f"no official split {split!r}: choose one of {', '.join(OFFICIAL_SPLITS)}")
    folder = official_folder(root, split)
    if not folder.is_dir():
        raise EnvironmentUnavailable(f"no ALFWorld games of {split} in {expanded(root)}: {_DOWNLOAD}")
    none = EnvironmentUnavailable(f"{folder} holds no game that can be played: {_DOWNLOAD}")
    return _some(_official(folder, split), none)


def official_folder(root: str | Path, split: str) -> Path:
    """Return the folder where the games of an official split are, or should be."""
    folders = [expanded(root) / layout / split for layout in _LAYOUTS]
    there = [folder for folder in folders if folder.is_dir()]
    full = (folder for folder in there if any("game.tw-pddl" in files for _, _, files in os.walk(folder)))
    return next(full, (there or folders[-1:])[0])


def shortfall(root: str | Path, split: str, selected: Collection[str]) -> str:
    """Return what a whole split lacks of the benchmark; empty if it is complete, or if more games could be selected.

    Args:
        root: The folder of the download.
        split: One of `OFFICIAL_SPLITS`.
        selected: The ids of the selected games.
    """
    expected = OFFICIAL_SPLITS[split]
    folder = official_folder(root, split)
    if len(selected) == expected or _more(folder, split, selected):
        return ""
    without = [
        name
        for at, name, present in _folders(folder)
        if name != "."
        and "game.tw-pddl" not in present
        and not _left_out(name)
        and not any(map(Path.is_dir, at.iterdir()))
    ]
    said = f"not the benchmark of json_2.1.2: {folder} has {len(selected):,} of {expected:,} games"
    if not without:
        return said
    more = f", and {len(without) - 3:,} more" if len(without) > 3 else ""
    return f"{said}; without a game.tw-pddl: {', '.join(without[:3])}{more}"


def games_in(path: str | Path) -> Iterator[Game]:
    """Yield the games in a folder and below it, in the order of their paths.

    A folder holds a game if it has a `game.tw-pddl`, or an `initial_state.pddl` beside a `traj_data.json`; the latter
    has no text of its task and gets one of ours. Games that are not solvable, or of none of the six types, are left
    out. Files are read lazily.

    Raises:
        ConfigurationError: There is no such folder, or no game in it.
        EnvironmentUnavailable: A file is broken (when its game is read).
    """
    root = expanded(path)
    if not root.is_dir():
        raise ConfigurationError(f"{root} is not a folder: give one that holds game.tw-pddl files")
    wanted = "game.tw-pddl files, or initial_state.pddl files beside traj_data.json"
    return _some(_any(root), ConfigurationError(f"no games in {root}: it should hold {wanted}"))


def game_of(folder: Path, id_: str, kind: Kind | None) -> Game:
    """Return the game in a folder.

    Args:
        folder: The folder that holds its file.
        id_: The game's id.
        kind: The type of its task; by default that of its goal, or of the description beside it.

    Raises:
        EnvironmentUnavailable: There is no game, or its file is broken.
    """
    file = folder / "game.tw-pddl"
    if file.is_file():
        game = _game(id_, kind, _json(file), file)
    else:
        game = _state(id_, folder) if (folder / "initial_state.pddl").is_file() else None
    if game is None:
        raise EnvironmentUnavailable(f"the task's game is gone: no game of its kind is in {folder}")
    return game


def expanded(path: str | os.PathLike[str]) -> Path:
    """Return a path with `~` expanded.

    Raises:
        ConfigurationError: There is no such user.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise ConfigurationError(
            f"{path} is the home folder of an unknown user: give the full path of the games"
        ) from error


def _some(games: Iterator[Game], none: ReflexionError) -> Iterator[Game]:
    """Return the games, or raise at once if there are none."""
    first = next(games, None)
    if first is None:
        raise none
    return chain([first], games)


def _folders(root: Path) -> Iterator[tuple[Path, str, set[str]]]:
    """Yield each folder, its name relative to the root, and its files, sorted by path."""
    for folder, below, present in os.walk(root):
        below.sort()
        yield Path(folder), Path(folder).relative_to(root).as_posix(), set(present)


def _left_out(name: str) -> bool:
    return "movable" in name or "Sliced" in name


def _more(root: Path, split: str, selected: Collection[str]) -> bool:
    """Return whether a split has games that are not selected."""
    try:
        return next(_official(root, split, selected), None) is not None
    except EnvironmentUnavailable:
        return True  # a broken file, which is an error only if it is selected


def _official(root: Path, split: str, selected: Collection[str] = ()) -> Iterator[Game]:
    for folder, name, present in _folders(root):
        if "game.tw-pddl" not in present or _left_out(name) or f"{split}/{name}" in selected:
            continue
        kind = _kind_by_name(name)
        # Usually the folder's name gives the type, and this large file need not be read.
        if kind is None and "traj_data.json" in present:
            kind, _ = _described(folder / "traj_data.json")
            if kind is None:
                continue
        content = _json(folder / "game.tw-pddl")
        if content.get("solvable") and (game := _game(f"{split}/{name}", kind, content, folder / "game.tw-pddl")):
            yield game


def _any(root: Path) -> Iterator[Game]:
    base = root.resolve().name
    for folder, name, present in _folders(root):
        id_ = base if name == "." else f"{base}/{name}"
        if "game.tw-pddl" in present:
            content = _json(folder / "game.tw-pddl")
            if not content.get("solvable", True):
                continue
            if game := _game(id_, None, content, folder / "game.tw-pddl"):
                yield game
        elif {"initial_state.pddl", "traj_data.json"} <= present and (state := _state(id_, folder)):
            yield state


def _game(id_: str, kind: Kind | None, content: dict[str, Any], path: Path) -> Game | None:
    """Return a game from the content of its file; None for other task types."""
    for key in ("pddl_domain", "grammar", "pddl_problem"):
        if not isinstance(content.get(key), str):
            raise _broken(path, f"it has no {key!r}")
    walkthrough = content.get("walkthrough") or []
    if not isinstance(walkthrough, list) or not all(isinstance(command, str) for command in walkthrough):
        raise _broken(path, "its 'walkthrough' is not a list of commands")
    try:
        _, rules = parse_grammar(content["grammar"])
        domain, _ = read_domain(content["pddl_domain"])
    except UnreadableError as error:
        raise _broken(path, str(error)) from error
    if not rules.get("task"):
        raise _broken(path, "its grammar has no task")
    text = render_literal(rules["task"][0]["rhs"]).strip().removeprefix(_PREFIX)
    problem = _checked(content["pddl_problem"], path, domain)
    kind = kind or _kind_by_goal(problem.goal)
    if kind is None:
        return None
    return Game(
        id=id_,
        kind=kind,
        instruction=text.strip(),
        problem=content["pddl_problem"],
        domain=content["pddl_domain"],
        grammar=content["grammar"],
        walkthrough=tuple(walkthrough),
        source=str(path),
    )


def _state(id_: str, folder: Path) -> Game | None:
    """Return a game from an initial state and ALFRED's description of its task; None for other task types."""
    kind, described = _described(folder / "traj_data.json")
    asked = described.get("pddl_params")
    if kind is None:
        return None
    if not isinstance(asked, dict):
        raise _broken(folder / "traj_data.json", "it has no 'pddl_params'")
    place = "None" if kind == "look" else asked.get("parent_target")
    named = (asked.get("object_target"), place, asked.get("toggle_target") or LAMP)
    thing, target, lamp = (word if isinstance(word, str) else "" for word in named)
    if asked.get("object_sliced") or asked.get("mrecep_target"):
        return None
    if not all(re.fullmatch("[A-Za-z]+", word) for word in (thing, target, lamp)):
        raise _broken(folder / "traj_data.json", f"its 'pddl_params' name no thing or place: {asked}")
    problem = _read(folder / "initial_state.pddl")
    if not re.search(r"\(\s*:goal", problem, re.IGNORECASE) and problem.rstrip().endswith(")"):
        problem = f"{problem.rstrip()[:-1]}\n{goal(kind, thing, target, lamp)}\n)\n"
    _checked(problem, folder / "initial_state.pddl")
    return Game(
        id=id_,
        kind=kind,
        instruction=instruction(kind, thing, target, lamp),
        problem=problem,
        source=str(folder / "initial_state.pddl"),
    )


def _described(path: Path) -> tuple[Kind | None, dict[str, Any]]:
    """Return the type of task in a `traj_data.json`, None for other types, and the whole file."""
    described = _json(path)
    task_type = described.get("task_type", "")
    if not isinstance(task_type, str):
        raise _broken(path, "its 'task_type' is not a string")
    return KINDS.get(task_type), described


def _kind_by_name(name: str) -> Kind | None:
    return next((kind for part in name.split("/") if (kind := KINDS.get(part.partition("-")[0]))), None)


def _kind_by_goal(wanted: Tree) -> Kind | None:
    """Return the type of a goal; None if it has sliced things or movable receptacles."""
    words = set(_words(wanted))
    if words & {"issliced", "inreceptacleobject", "forall"}:
        return None
    signs: dict[str, Kind] = {"istoggled": "look", "isclean": "clean", "ishot": "heat", "iscool": "cool", "=": "two"}
    return next((kind for sign, kind in signs.items() if sign in words), "pick")


def _words(tree: Tree) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    else:
        for part in tree:
            yield from _words(part)


def _checked(text: str, path: Path, domain: str = "alfred") -> Problem:
    """Parse a file's problem, so that its errors are found before a run begins."""
    try:
        problem = Problem.parse(text)
    except UnreadableError as error:
        raise _broken(path, f"its PDDL is invalid: {error}") from error
    if problem.domain != domain:
        raise _broken(path, f"its problem is of the domain {problem.domain}, and not of {domain}")
    if list(problem.types.values()).count("agent") > 1:
        raise _broken(path, "it has several agents, and only games for one can be played")
    return problem


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(_read(path))
    except (ValueError, RecursionError) as error:
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
