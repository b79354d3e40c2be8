"""Games in files: the official ones, those in any folder, and how a game is written as a file.

A game file (`game.tw-pddl`) is JSON with a PDDL domain, a text grammar, and a PDDL problem. ALFWorld's domain
and grammar come from its wheel, or from the game file; neither is ours to ship.
"""

import json
import os
import re
from collections.abc import Collection, Iterator
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

from langgraph_reflexion.envs.alfworld.asking import LAMP, goal, instruction
from langgraph_reflexion.envs.alfworld.dialect import domain_name, printed, take_apart
from langgraph_reflexion.envs.alfworld.engine import Game, Kind
from langgraph_reflexion.envs.alfworld.pddl import Problem, Tree, UnreadableError
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable, ReflexionError, the_extra

OFFICIAL_SPLITS = {"train": 3553, "valid_seen": 140, "valid_unseen": 134}
"""The splits of ALFWorld's own games, and how many games each has; those of the papers are `valid_unseen`."""

KINDS: dict[str, Kind] = {
    "pick_and_place_simple": "pick",
    "look_at_obj_in_light": "look",
    "pick_clean_then_place_in_recep": "clean",
    "pick_heat_then_place_in_recep": "heat",
    "pick_cool_then_place_in_recep": "cool",
    "pick_two_obj_and_place": "two",
}
"""ALFRED's names of the six task types that ALFWorld plays."""

_PLACEHOLDER = "UNKNOWN GOAL"
_PREFIX = "Your task is to: "
_LAYOUTS = ("json_2.1.2", "json_2.1.1", "")
"""The folders of a download that hold the splits: `alfworld-download` unpacks json_2.1.2 into `json_2.1.1`."""
_DOWNLOAD = "fetch the games with `alfworld-download` and set ALFWORLD_DATA to the folder that they went to"


def official_games(root: str | Path, split: str) -> Iterator[Game]:
    """ALFWorld's own games, in the order of their paths.

    Files are read one by one as games are asked for. Left out, as in ALFWorld: tasks with sliced things or
    movable receptacles, task types other than the six, and games that are not marked solvable. Other than in
    ALFWorld, a game needs no `traj_data.json` beside it: the name of its folder or its goal tells its type.

    Args:
        root: The folder of the download, which holds `json_2.1.1`, or `json_2.1.2`, or the splits.
        split: One of `OFFICIAL_SPLITS`.

    Raises:
        ConfigurationError: there is no such split.
        EnvironmentUnavailable: there are no games there, or a file is broken (when its game is asked for).
    """
    if split not in OFFICIAL_SPLITS:
        raise ConfigurationError(f"no official split {split!r}: choose one of {', '.join(OFFICIAL_SPLITS)}")
    folder = official_folder(root, split)
    if not folder.is_dir():
        raise EnvironmentUnavailable(f"no ALFWorld games of {split} in {expanded(root)}: {_DOWNLOAD}")
    none = EnvironmentUnavailable(f"{folder} holds no game that can be played: {_DOWNLOAD}")
    return _some(_official(folder, split), none)


def official_folder(root: str | Path, split: str) -> Path:
    """Where the games of an official split are, or should be; the arguments are those of `official_games`."""
    folders = [expanded(root) / layout / split for layout in _LAYOUTS]
    there = [folder for folder in folders if folder.is_dir()]
    full = (folder for folder in there if any("game.tw-pddl" in files for _, _, files in os.walk(folder)))
    return next(full, (there or folders[-1:])[0])


def shortfall(root: str | Path, split: str, taken: Collection[str]) -> str:
    """Say that a split which is taken whole is not the benchmark; empty where it is, or where only some are taken.

    Args:
        root: The folder of the download.
        split: One of `OFFICIAL_SPLITS`.
        taken: The ids of the games that are taken.
    """
    expected = OFFICIAL_SPLITS[split]
    folder = official_folder(root, split)
    if len(taken) == expected or _more(folder, split, taken):
        return ""
    without = [
        name
        for at, name, present in _folders(folder)
        if name != "."
        and "game.tw-pddl" not in present
        and not _left_out(name)
        and not any(map(Path.is_dir, at.iterdir()))
    ]
    said = f"not the benchmark of json_2.1.2: {folder} has {len(taken):,} of {expected:,} games"
    if not without:
        return said
    more = f", and {len(without) - 3:,} more" if len(without) > 3 else ""
    return f"{said}; without a game.tw-pddl: {', '.join(without[:3])}{more}"


def games_in(path: str | Path) -> Iterator[Game]:
    """The games in a folder and the folders below it, in the order of their paths.

    A folder holds a game if it has a `game.tw-pddl`, or an `initial_state.pddl` beside a `traj_data.json`;
    the latter has no task text of its own, and gets one in our words. Games that cannot be solved, or are not
    of one of the six types, are left out. Files are read one by one as games are asked for.

    Args:
        path: The folder.

    Raises:
        ConfigurationError: there is no such folder, or no game in it.
        EnvironmentUnavailable: a file is broken (when its game is asked for).
    """
    root = expanded(path)
    if not root.is_dir():
        raise ConfigurationError(f"{root} is not a folder: give one that holds game.tw-pddl files")
    wanted = "game.tw-pddl files, or initial_state.pddl files beside traj_data.json"
    return _some(_any(root), ConfigurationError(f"no games in {root}: it should hold {wanted}"))


def game_of(folder: Path, id_: str, kind: Kind | None) -> Game:
    """The game of one folder.

    Args:
        folder: The folder that holds its file.
        id_: How it is called.
        kind: The type of its task; read from the goal, or from the description beside it, unless given.

    Raises:
        EnvironmentUnavailable: there is no game, or its file is broken.
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
    """A path with the home folder in the place of `~`.

    Raises:
        ConfigurationError: it is the home folder of nobody.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise ConfigurationError(f"{path} is in nobody's home folder: write out where the games lie") from error


def installed_texts() -> tuple[str, str]:
    """The PDDL domain and the text grammar of the installed ALFWorld, read without importing it.

    Raises:
        EnvironmentUnavailable: it is not installed.
    """
    spec = find_spec("alfworld")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        domain, grammar = Path(folder, "data", "alfred.pddl"), Path(folder, "data", "alfred.twl2")
        if domain.is_file() and grammar.is_file():
            return domain.read_text(encoding="utf-8"), grammar.read_text(encoding="utf-8")
    raise EnvironmentUnavailable(f"the original ALFWorld engine is missing; it comes with {the_extra('alfworld')}")


def to_tw_pddl(game: Game, domain: str, grammar: str) -> dict[str, Any]:
    """A game as the content of a `game.tw-pddl`.

    Args:
        game: Any game.
        domain: The PDDL domain.
        grammar: The text grammar, with "UNKNOWN GOAL" where the task goes, or with the task in it.

    Raises:
        ConfigurationError: the task's text has a character that the original engine gives another meaning.
    """
    if _PLACEHOLDER in grammar and (odd := sorted(set(re.findall(r'[;|<>\[\]#{}"\\\n]', game.instruction)))):
        raise ConfigurationError(f"the task of {game.id} cannot be exported with {' '.join(map(repr, odd))} in it")
    return {
        "pddl_domain": domain,
        "grammar": grammar.replace(_PLACEHOLDER, game.instruction.removesuffix(".")),
        "pddl_problem": game.problem,
        "solvable": True,
        "walkthrough": list(game.walkthrough) or None,
    }


def _some(games: Iterator[Game], none: ReflexionError) -> Iterator[Game]:
    """The games; it is an error where there is none, and known at once, not when the first is asked for."""
    first = next(games, None)
    if first is None:
        raise none
    return chain([first], games)


def _folders(root: Path) -> Iterator[tuple[Path, str, set[str]]]:
    """Every folder, its name relative to the root, and its files, in an order that no file system decides."""
    for folder, below, present in os.walk(root):
        below.sort()
        yield Path(folder), Path(folder).relative_to(root).as_posix(), set(present)


def _left_out(name: str) -> bool:
    """Whether ALFWorld leaves out a game by the name of its folder."""
    return "movable" in name or "Sliced" in name


def _more(root: Path, split: str, taken: Collection[str]) -> bool:
    """Whether a split has other games than those that are taken."""
    try:
        return next(_official(root, split, taken), None) is not None
    except EnvironmentUnavailable:
        return True  # a broken file, which would have been an error if it had been asked for


def _official(root: Path, split: str, taken: Collection[str] = ()) -> Iterator[Game]:
    for folder, name, present in _folders(root):
        if "game.tw-pddl" not in present or _left_out(name) or f"{split}/{name}" in taken:
            continue
        kind = _kind_by_name(name)
        # Only a few of these large files need reading: the folder's name says the same.
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
    """A game from its file, its kind by its goal unless given; None for types not among the six."""
    for key in ("pddl_domain", "grammar", "pddl_problem"):
        if not isinstance(content.get(key), str):
            raise _broken(path, f"it has no {key!r}")
    walkthrough = content.get("walkthrough") or []
    if not isinstance(walkthrough, list) or not all(isinstance(command, str) for command in walkthrough):
        raise _broken(path, "its 'walkthrough' is no list of commands")
    try:
        _, rules = take_apart(content["grammar"])
        domain = domain_name(content["pddl_domain"])
    except UnreadableError as error:
        raise _broken(path, str(error)) from error
    if not rules.get("task"):
        raise _broken(path, "its grammar has no task")
    text = printed(rules["task"][0]["rhs"]).strip().removeprefix(_PREFIX)
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
    """A game from an initial state and ALFRED's description of its task; None for types not among the six."""
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
    """What kind of task a `traj_data.json` describes, None for types not among the six; and all that it says."""
    described = _json(path)
    task_type = described.get("task_type", "")
    if not isinstance(task_type, str):
        raise _broken(path, "its 'task_type' is no text")
    return KINDS.get(task_type), described


def _kind_by_name(name: str) -> Kind | None:
    return next((kind for part in name.split("/") if (kind := KINDS.get(part.partition("-")[0]))), None)


def _kind_by_goal(wanted: Tree) -> Kind | None:
    """What sets the six types' goals apart; None for those with sliced things or movable receptacles."""
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
    """A file's problem, read. What the engine finds wrong with it later would stop a run that has begun."""
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
        raise _broken(path, "it is JSON, but no object")
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
