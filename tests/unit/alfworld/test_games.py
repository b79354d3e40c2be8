import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from langgraph_reflexion.envs.alfworld.engine import Game
from langgraph_reflexion.envs.alfworld.games import (
    KINDS,
    games_in,
    official_games,
    shortfall,
)
from langgraph_reflexion.envs.alfworld.generate import generated_games
from langgraph_reflexion.envs.alfworld.instructions import goal
from langgraph_reflexion.envs.alfworld.native import NativeEngine
from langgraph_reflexion.envs.alfworld.textworld import to_tw_pddl
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable

GAMES = generated_games("generated-134", seed=3)[:12]
TYPES = {kind: name for name, kind in KINDS.items()}
DOMAIN = "(define (domain alfred))"
GRAMMAR = 'grammar :: """{ "task": [ { "rhs": "Your task is to: UNKNOWN GOAL." } ] }""";'


def put(folder: Path, game: Game, **changes: Any) -> Path:
    """Write a game in the layout of ALFWorld's files."""
    folder.mkdir(parents=True)
    (folder / "traj_data.json").write_text(json.dumps({"task_type": TYPES[game.kind]}))
    content = to_tw_pddl(game, DOMAIN, GRAMMAR) | changes
    (folder / "game.tw-pddl").write_text(json.dumps({k: v for k, v in content.items() if v != "absent"}))
    return folder


def state(folder: Path, game: Game, **described: Any) -> Path:
    """Write an initial state without a goal, and ALFRED's description of the task."""
    folder.mkdir(parents=True)
    problem = game.problem[: game.problem.index("(:goal")] + ")\n"
    (folder / "initial_state.pddl").write_text(problem)
    params = {"object_target": "Mug", "parent_target": "Cabinet", "toggle_target": "", "mrecep_target": ""}
    params = {**params, "object_sliced": False} | described.pop("pddl_params", {})
    (folder / "traj_data.json").write_text(
        json.dumps({"task_type": TYPES[game.kind], "pddl_params": params} | described)
    )
    return folder


def nested_goal(depth: int) -> str:
    """Return a problem with its goal nested in `depth` conditions."""
    start, mark, goal_ = GAMES[0].problem.partition("(:goal")
    condition = goal_.rstrip().removesuffix(")").rstrip().removesuffix(")")
    return f"{start}{mark} {'(and ' * depth}{condition}{')' * depth}))"


def test_a_written_game_reads_the_same(tmp_path: Path) -> None:
    for index, game in enumerate(GAMES):
        put(tmp_path / f"{index:02d}", game)
    read = list(games_in(tmp_path))
    assert len(read) == len(GAMES)
    for index, (before, after) in enumerate(zip(GAMES, read, strict=True)):
        assert after.id == f"{tmp_path.name}/{index:02d}"
        assert (after.kind, after.instruction) == (before.kind, before.instruction)
        assert (after.problem, after.walkthrough) == (before.problem, before.walkthrough)
        assert after.domain == DOMAIN
        assert after.grammar == GRAMMAR.replace("UNKNOWN GOAL", before.instruction[:-1])
        assert to_tw_pddl(after, DOMAIN, after.grammar) == to_tw_pddl(before, DOMAIN, GRAMMAR)


@pytest.mark.parametrize("character", list(';|<>[]#{}"\\\n'))
def test_a_task_with_characters_of_grammars_is_not_exported(character: str) -> None:
    game = Game("odd", "pick", f"put a mug{character} on the desk.", GAMES[0].problem)
    with pytest.raises(ConfigurationError, match="odd"):
        to_tw_pddl(game, DOMAIN, GRAMMAR)


@pytest.mark.parametrize("above", ["json_2.1.2/", "json_2.1.1/", ""])
def test_official_games_come_in_the_order_of_their_paths(tmp_path: Path, above: str) -> None:
    for game in reversed(GAMES):
        put(tmp_path / f"{above}valid_unseen/{TYPES[game.kind]}-X-None-Y-{game.id[17:20]}/trial_1", game)
    found = list(official_games(tmp_path, "valid_unseen"))
    assert len(found) == len(GAMES)
    assert [game.id for game in found] == sorted(game.id for game in found)
    assert found[0].id.startswith("valid_unseen/look_at_obj_in_light-X-None-Y-")
    assert {game.problem: game.kind for game in found} == {game.problem: game.kind for game in GAMES}


def test_what_alfworld_leaves_out_is_left_out(tmp_path: Path) -> None:
    split = tmp_path / "movable" / "valid_seen"
    game = GAMES[0]
    put(split / "a_movable_thing" / "trial", game)
    put(split / "pick_and_place_simple-AppleSliced-None-Desk-1" / "trial", game)
    put(split / "unsolved" / "trial", game, solvable=False)
    put(split / "unmarked" / "trial", game, solvable="absent")
    other = put(split / "other" / "trial", game)
    (other / "traj_data.json").write_text('{"task_type": "something_else"}')
    put(split / "kept" / "trial", game)
    (only,) = official_games(tmp_path / "movable", "valid_seen")
    assert only.id == "valid_seen/kept/trial"


@pytest.mark.parametrize(("mark", "plays"), [(1, True), ("true", True), (0, False), (None, False), ("", False)])
def test_games_are_marked_solvable_as_in_alfworld(tmp_path: Path, mark: Any, plays: bool) -> None:
    split = tmp_path / "valid_seen"
    put(split / "a" / "trial", GAMES[0])
    put(split / "b" / "trial", GAMES[0], solvable=mark)
    for games in (official_games(tmp_path, "valid_seen"), games_in(split)):
        assert len(list(games)) == 1 + plays


def test_an_empty_layout_does_not_hide_another(tmp_path: Path) -> None:
    (tmp_path / "json_2.1.2" / "valid_unseen" / "some" / "trial").mkdir(parents=True)
    put(tmp_path / "json_2.1.1" / "valid_unseen" / "some" / "trial", GAMES[0])
    (game,) = official_games(tmp_path, "valid_unseen")
    assert "/json_2.1.1/valid_unseen/" in game.source


def test_a_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    file = put(tmp_path / "one", GAMES[0]) / "game.tw-pddl"
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    (game,) = games_in(tmp_path)
    assert game.problem == GAMES[0].problem


def test_the_instruction_is_what_the_engine_prints(tmp_path: Path) -> None:
    other = GRAMMAR.replace("UNKNOWN GOAL", "look")
    twice = '{ "task": [ { "rhs": "first" } ], "task": [ { "rhs": "Your task is to: put \\"it\\" down; or" } ] }'
    put(tmp_path / "a", GAMES[0], grammar=GRAMMAR + other)
    put(tmp_path / "b", GAMES[0], grammar=other + f'grammar :: """{twice}""";')
    assert [game.instruction for game in games_in(tmp_path)] == ["look.", "put it down"]


def test_shortfall_names_missing_games(tmp_path: Path) -> None:
    split = tmp_path / "valid_unseen"
    for number in range(3):
        put(split / f"{TYPES[GAMES[0].kind]}-{number}" / "trial", GAMES[0])
    put(split / "unsolved" / "trial", GAMES[0], solvable=False)
    for name in ("pick_a", "pick_b", "pick_c", "pick_d", "a_movable_thing", "AppleSliced"):
        (split / name / "trial").mkdir(parents=True)
    ids = [game.id for game in official_games(tmp_path, "valid_unseen")]
    assert shortfall(tmp_path, "valid_unseen", ids) == (
        f"not the benchmark of json_2.1.2: {split} has 3 of 134 games;"
        " without a game.tw-pddl: pick_a/trial, pick_b/trial, pick_c/trial, and 1 more"
    )
    # A selection of games is no shortfall, nor is a broken file outside the selection.
    assert shortfall(tmp_path, "valid_unseen", ids[:2]) == ""
    (split / f"{TYPES[GAMES[0].kind]}-2" / "trial" / "game.tw-pddl").write_text("{")
    assert shortfall(tmp_path, "valid_unseen", ids[:2]) == ""
    assert shortfall(tmp_path, "valid_unseen", [f"valid_unseen/{n}/trial" for n in range(134)]) == ""


def test_official_games_need_no_description_beside_them(tmp_path: Path) -> None:
    clean, two = (next(game for game in GAMES if game.kind == kind) for kind in ("clean", "two"))
    # Type by the folder's name, by the goal, and left out by the goal.
    named = put(tmp_path / "train" / f"{TYPES['clean']}-Mug-None-Shelf-1" / "trial", clean)
    unnamed = put(tmp_path / "train" / "some" / "trial", two)
    problem = two.problem.replace("(objectType ?o", "(isSliced ?o) (objectType ?o")
    sliced = put(tmp_path / "train" / "some" / "other", two, pddl_problem=problem)
    for folder in (named, unnamed, sliced):
        (folder / "traj_data.json").unlink()
    found = {game.id: game.kind for game in official_games(tmp_path, "train")}
    assert found == {f"train/{TYPES['clean']}-Mug-None-Shelf-1/trial": "clean", "train/some/trial": "two"}


def test_files_are_read_lazily(tmp_path: Path) -> None:
    for index in range(3):
        put(tmp_path / "train" / f"{TYPES[GAMES[0].kind]}-{index}" / "trial", GAMES[0])
    last = tmp_path / "train" / f"{TYPES[GAMES[0].kind]}-2" / "trial" / "game.tw-pddl"
    last.write_text('{"pddl_domain": "(def')
    for games in (official_games(tmp_path, "train"), games_in(tmp_path)):
        next(games)
        next(games)
        with pytest.raises(EnvironmentUnavailable, match=r"-2/trial/game\.tw-pddl"):
            next(games)


def test_no_official_games(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentUnavailable, match="alfworld-download"):
        official_games(tmp_path / "nowhere", "train")
    (tmp_path / "json_2.1.1" / "train").mkdir(parents=True)
    with pytest.raises(EnvironmentUnavailable, match="alfworld-download"):
        official_games(tmp_path, "train")
    with pytest.raises(ConfigurationError, match="valid_unseen"):
        official_games(tmp_path, "test")


def test_no_games_in_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="not a folder"):
        games_in(tmp_path / "nowhere")
    with pytest.raises(ConfigurationError, match=r"no games in .*game\.tw-pddl"):
        games_in(tmp_path)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"grammar": "absent"}, "grammar"),
        ({"pddl_problem": 7}, "pddl_problem"),
        ({"grammar": 'action look { template :: "look"; feedback :: "x"; }'}, "no task"),
        ({"grammar": 'grammar :: """{"task": []}""";'}, "no task"),
        ({"grammar": GRAMMAR[:-20]}, "grammar"),
        ({"pddl_domain": "(define (domain alfrec))"}, "alfrec"),
        ({"pddl_domain": "(define (domain alfred)"}, "domain"),
        ({"pddl_domain": "(define domain alfred)"}, "domain"),
        ({"pddl_problem": GAMES[0].problem[:-200]}, "never closed"),
        ({"walkthrough": "look"}, "walkthrough"),
        ({"walkthrough": ["look", 5]}, "walkthrough"),
        ({"pddl_problem": nested_goal(900)}, "deep"),
        ({"pddl_problem": GAMES[0].problem.replace("agent1 - agent", "agent1 bob - agent")}, "several agents"),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, changes: dict[str, Any], why: str) -> None:
    put(tmp_path / "broken", GAMES[0], **changes)
    with pytest.raises(EnvironmentUnavailable, match=rf"broken/game\.tw-pddl .*{why}"):
        games_in(tmp_path)


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff\xfe", b'{"a":' * 200_000, b"[" * 200_000])
def test_other_content_is_an_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "game.tw-pddl").write_bytes(content)
    with pytest.raises(EnvironmentUnavailable, match=r"game\.tw-pddl"):
        games_in(tmp_path)


def test_a_nested_goal_is_played(tmp_path: Path) -> None:
    put(tmp_path / "nested", GAMES[0], pddl_problem=nested_goal(40))
    (game,) = games_in(tmp_path)
    engine = NativeEngine(replace(game, domain=None, grammar=None))
    engine.reset()
    for command in GAMES[0].walkthrough:
        assert not engine.won
        engine.step(command)
    assert engine.won


def test_sliced_and_movable_goals_are_left_out(tmp_path: Path) -> None:
    problem = GAMES[0].problem
    put(
        tmp_path / "0",
        GAMES[0],
        pddl_problem=problem.replace("(objectType ?o", "(isSliced ?o) (objectType ?o"),
    )
    put(
        tmp_path / "1",
        GAMES[0],
        pddl_problem=problem.replace("(objectType ?o", "(inReceptacleObject ?o ?o) (objectType ?o"),
    )
    put(tmp_path / "2", GAMES[0])
    assert [game.id for game in games_in(tmp_path)] == [f"{tmp_path.name}/2"]


def test_a_state_without_a_goal_gets_one(tmp_path: Path) -> None:
    heat = next(game for game in GAMES if game.kind == "heat")
    look = next(game for game in GAMES if game.kind == "look")
    state(tmp_path / "0", heat)
    state(tmp_path / "1", look, pddl_params={"object_target": "Pen", "toggle_target": "FloorLamp"})
    first, second = games_in(tmp_path)
    assert (first.kind, first.instruction) == ("heat", "put a hot mug in the cabinet.")
    assert first.problem.count("(:goal") == 1
    assert goal("heat", "Mug", "Cabinet") in first.problem
    assert (first.domain, first.grammar) == (None, None)
    assert (second.kind, second.instruction) == ("look", "look at a pen under the floorlamp.")
    assert "FloorLampType" in second.problem


def test_states_of_other_types_are_left_out(tmp_path: Path) -> None:
    state(tmp_path / "0", GAMES[0], pddl_params={"object_sliced": True})
    state(tmp_path / "1", GAMES[0], pddl_params={"mrecep_target": "Bowl"})
    state(tmp_path / "2", GAMES[0], task_type="other")
    with pytest.raises(ConfigurationError, match="no games in"):
        games_in(tmp_path)


def test_a_truncated_state_is_named(tmp_path: Path) -> None:
    folder = state(tmp_path / "0", GAMES[0])
    text = (folder / "initial_state.pddl").read_text()
    (folder / "initial_state.pddl").write_text(text[: len(text) // 2])
    with pytest.raises(EnvironmentUnavailable, match=r"initial_state\.pddl"):
        games_in(tmp_path)


@pytest.mark.parametrize(
    "described",
    [
        {"pddl_params": {"object_target": ""}},
        {"pddl_params": {"object_target": None}},
        {"pddl_params": {"object_target": 5}},
        {"pddl_params": {"parent_target": ["Cabinet"]}},
        {"pddl_params": {"toggle_target": [1]}},
        {"task_type": []},
        {"task_type": {"a": "b"}},
    ],
)
def test_an_invalid_description_is_named(tmp_path: Path, described: dict[str, Any]) -> None:
    state(tmp_path / "0", GAMES[0], **described)
    with pytest.raises(EnvironmentUnavailable, match=r"traj_data\.json"):
        games_in(tmp_path)


def test_a_look_task_needs_no_target(tmp_path: Path) -> None:
    look = next(game for game in GAMES if game.kind == "look")
    state(tmp_path / "0", look, pddl_params={"object_target": "Pen", "parent_target": None})
    (game,) = games_in(tmp_path)
    assert game.instruction == "look at a pen under the desklamp."
