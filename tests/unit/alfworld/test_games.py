import json
from dataclasses import replace

import pytest

from langgraph_reflexion.envs.alfworld.environment import ALFWorld
from langgraph_reflexion.envs.alfworld.game_builder import goal
from langgraph_reflexion.envs.alfworld.games import KINDS, games_in
from langgraph_reflexion.envs.alfworld.generate import generated_game
from langgraph_reflexion.envs.alfworld.textworld import to_tw_pddl
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable

GAMES = [generated_game("generated-134", 3, index) for index in range(12)]
TYPES = {kind: name for name, kind in KINDS.items()}
DOMAIN = "(define (domain alfred))"
GRAMMAR = 'grammar :: """{ "task": [ { "rhs": "Your task is to: UNKNOWN GOAL." } ] }""";'


def put(folder, game, **changes):
    folder.mkdir(parents=True)
    content = to_tw_pddl(game, DOMAIN, GRAMMAR) | changes
    (folder / "game.tw-pddl").write_text(json.dumps({k: v for k, v in content.items() if v != "absent"}))
    return folder


def state(folder, game, **changes):
    """Write an initial state without a goal, and ALFRED's description of the task."""
    folder.mkdir(parents=True)
    (folder / "initial_state.pddl").write_text(game.problem[: game.problem.index("(:goal")] + ")\n")
    params = {"object_target": "Mug", "parent_target": "Cabinet", "toggle_target": "", "mrecep_target": ""}
    described = {"task_type": TYPES[game.kind], "pddl_params": params | {"object_sliced": False} | changes}
    (folder / "traj_data.json").write_text(json.dumps(described))


def test_a_written_game_reads_the_same(tmp_path):
    folders = [put(tmp_path / f"{index:02d}", game) for index, game in enumerate(GAMES)]
    for folder, before, after in zip(folders, GAMES, games_in(tmp_path), strict=True):
        grammar = GRAMMAR.replace("UNKNOWN GOAL", before.instruction[:-1])
        place = {"id": f"{tmp_path.name}/{folder.name}", "source": str(folder / "game.tw-pddl")}
        assert after == replace(before, domain=DOMAIN, grammar=grammar, **place)


@pytest.mark.parametrize("above", ["json_2.1.1/", ""])
def test_official_games_come_in_the_order_of_their_paths(tmp_path, above):
    # An empty layout does not hide another.
    (tmp_path / "json_2.1.2" / "valid_unseen" / "some" / "trial").mkdir(parents=True)
    for game in reversed(GAMES):
        put(tmp_path / f"{above}valid_unseen/{TYPES[game.kind]}-X-None-Y-{game.id[17:20]}/trial_1", game)
    environment = ALFWorld(path=tmp_path)
    tasks = environment.tasks("valid_unseen")
    assert [task["id"] for task in tasks] == sorted(task["id"] for task in tasks)
    assert tasks[0]["id"].startswith("valid_unseen/look_at_obj_in_light-X-None-Y-")
    assert {environment.game(t).problem: t["kind"] for t in tasks} == {game.problem: game.kind for game in GAMES}


def test_what_alfworld_leaves_out_is_left_out(tmp_path):
    game = GAMES[0]
    for name in ("a_movable_thing", "pick_and_place_simple-AppleSliced-None-Desk-1", "kept"):
        put(tmp_path / name / "trial", game)
    put(tmp_path / "unsolved" / "trial", game, solvable=False)
    put(tmp_path / "unmarked" / "trial", game, solvable="absent")
    for name, sign in (("sliced", "(isSliced ?o)"), ("inside", "(inReceptacleObject ?o ?o)")):
        changed = game.problem.replace("(objectType ?o", f"{sign} (objectType ?o")
        put(tmp_path / name, game, pddl_problem=changed)
    assert [each.id for each in games_in(tmp_path)] == [f"{tmp_path.name}/kept/trial"]


def test_no_games(tmp_path):
    with pytest.raises(ConfigurationError, match="not a folder"):
        ALFWorld(path=tmp_path / "nowhere").tasks()
    with pytest.raises(ConfigurationError, match=r"no games in .*game\.tw-pddl"):
        ALFWorld(path=tmp_path).tasks()
    with pytest.raises(EnvironmentUnavailable, match="alfworld-download"):
        ALFWorld(path=tmp_path).tasks("train")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"grammar": "absent"}, "grammar"),
        ({"pddl_problem": 7}, "pddl_problem"),
        ({"grammar": 'grammar :: """{"task": []}""";'}, "no task"),
        ({"pddl_problem": GAMES[0].problem[:-200]}, "never closed"),
        (b"[]", ""),
        (b"\xff\xfe", ""),
    ],
)
def test_a_broken_file_is_named(tmp_path, changes, why):
    folder = put(tmp_path / "broken", GAMES[0], **changes if isinstance(changes, dict) else {})
    if isinstance(changes, bytes):
        (folder / "game.tw-pddl").write_bytes(changes)
    with pytest.raises(EnvironmentUnavailable, match=rf"broken/game\.tw-pddl .*{why}"):
        list(games_in(tmp_path))


def test_a_state_without_a_goal_gets_one(tmp_path):
    heat, look = (next(game for game in GAMES if game.kind == kind) for kind in ("heat", "look"))
    state(tmp_path / "0", heat)
    state(tmp_path / "1", look, object_target="Pen", toggle_target="FloorLamp")
    state(tmp_path / "2", look, object_target="Pen", parent_target=None)
    first, second, third = games_in(tmp_path)
    assert (first.kind, first.instruction) == ("heat", "put a hot mug in the cabinet.")
    assert first.problem.count("(:goal") == 1
    assert goal("heat", "Mug", "Cabinet") in first.problem
    assert (first.domain, first.grammar) == (None, None)
    assert (second.kind, second.instruction) == ("look", "look at a pen under the floorlamp.")
    assert "FloorLampType" in second.problem
    assert third.instruction == "look at a pen under the desklamp."
    with pytest.raises(ConfigurationError, match="no games"):
        list(games_in(tmp_path, "valid_unseen"))
