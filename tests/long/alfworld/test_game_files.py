"""Game files with the wheel's domain and grammar, played by the environment on both engines."""

import json
import shutil
import sys
from dataclasses import replace

import pytest

from langgraph_reflexion.envs.alfworld.environment import ALFWorld
from langgraph_reflexion.envs.alfworld.generate import generate
from langgraph_reflexion.envs.alfworld.textworld import installed_texts, to_tw_pddl, unavailable
from langgraph_reflexion.envs.pool import EpisodePool
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable
from langgraph_reflexion.testing.conformance import CHECKS, Case

pytestmark = pytest.mark.skipif(unavailable() is not None, reason=str(unavailable()))
ENGINES = ["native", "textworld"]


@pytest.fixture(scope="module")
def original():
    environment = ALFWorld(engine="textworld", max_steps=6)
    yield environment
    environment.close()


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_the_original_engine_conforms(check, original):
    task = next(task for task in original.tasks() if task["kind"] == "clean")
    solution = [original.parse(command) for command in original.game(task).walkthrough]
    check(Case.of(original, task=task, actions=[*solution[:2], "look", "go to nowhere 1"], limit=6))


def test_the_texts_of_the_wheel_are_read_without_importing_it(monkeypatch):
    before = set(sys.modules)
    domain, grammar = installed_texts()
    assert domain.count("(:action") > 10
    assert grammar.count("UNKNOWN GOAL") == 1
    assert not {name for name in set(sys.modules) - before if name.partition(".")[0] == "alfworld"}
    monkeypatch.setitem(sys.modules, "alfworld", None)
    with pytest.raises(EnvironmentUnavailable, match=r"\[alfworld\]"):
        installed_texts()


def write_game(folder, change=lambda grammar: grammar):
    domain, grammar = installed_texts()
    game = replace(generate("pick", seed=3, index=0), domain=domain, grammar=grammar)
    folder.mkdir(parents=True)
    content = to_tw_pddl(game, domain, change(grammar))
    (folder / "game.tw-pddl").write_text(json.dumps(content))
    (folder / "traj_data.json").write_text(json.dumps({"task_type": "pick_and_place_simple"}))
    return game


def old_syntax(grammar):
    """Return the wording of files from before ALFWorld 0.4."""
    grammar = grammar.replace("move {o} to {r}", "put {o} in/on {r}")
    return grammar.replace("You move the {o.name} to the {r.name}.", "You put the {o.name} in/on the {r.name}.")


def test_official_games(tmp_path, monkeypatch):
    name = "pick_and_place_simple-Mug-None-Shelf-1/trial_T1"
    game = write_game(tmp_path / "one" / "json_2.1.1" / "valid_unseen" / name)
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path / "one"))
    environment = ALFWorld()
    (task,) = environment.tasks("valid_unseen")
    assert (task["kind"], task["instruction"]) == ("pick", game.instruction)
    opening = environment.start(task).observation
    # The task goes with the data when they lie elsewhere, as on another machine.
    shutil.move(tmp_path / "one", tmp_path / "two")
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path / "two"))
    assert ALFWorld().start(json.loads(json.dumps(task))).observation == opening
    shutil.rmtree(tmp_path / "two" / "json_2.1.1" / "valid_unseen" / name)
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path / "three"))
    with pytest.raises(EnvironmentUnavailable, match="gone"):
        ALFWorld().start(task)


def test_a_folder_of_games_or_of_one(tmp_path):
    game = write_game(tmp_path / "games" / "one")
    for path in (tmp_path / "games", tmp_path / "games" / "one"):
        environment = ALFWorld(path=path)
        (task,) = environment.tasks()
        assert environment.splits[:2] == ("path", "generated-134")
        assert environment.start(task).observation.endswith(game.instruction)
    with pytest.raises(ConfigurationError, match="path="):
        ALFWorld().start(task)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("change", "own"), [(str, "move"), (old_syntax, "put")])
@pytest.mark.parametrize("said", ["move {} to {}", "put {} in/on {}"])
def test_both_ways_to_put_work_in_both_kinds_of_games(tmp_path, engine, change, own, said):
    game = write_game(tmp_path / "game", change)
    environment = ALFWorld(engine=engine, path=tmp_path)
    (task,) = environment.tasks()
    forms = {"move": "move {object} to {receptacle}", "put": "put {object} in/on {receptacle}"}
    assert forms.pop(own) in environment.action_forms(task)
    assert not set(forms.values()) & set(environment.action_forms(task))
    episode = environment.start(task)
    assert forms.popitem()[1] not in episode.invalid("no")
    for command in game.walkthrough[:-1]:
        episode.step(environment.parse(command))
    thing, _, place = game.walkthrough[-1].removeprefix("move ").partition(" to ")
    last = episode.step(environment.parse(said.format(thing, place)))
    assert last.terminated
    assert last.observation.startswith(f"You {own} the {thing}")
    environment.close()


async def test_the_original_plays_games_that_the_native_engine_does_not_know(tmp_path):
    game = write_game(tmp_path / "game", lambda grammar: grammar.replace("You open", "You pull open"))
    write_game(tmp_path / "plain")
    environment = ALFWorld(path=tmp_path)
    task, plain = environment.tasks()
    assert (environment.blocks(task), environment.blocks(plain)) == (True, False)
    assert environment.played_by([plain]) == "the native ALFWorld engine"
    said = environment.played_by([task, plain])
    assert "OpenObject.feedback" in said
    assert f"(1 of 2 games, the first in {tmp_path}/game/game.tw-pddl)" in said
    assert environment.played_by([task]).startswith("the original ALFWorld engine")
    pool = EpisodePool(environment)
    opening, _ = await pool.start(task)
    assert opening.endswith(game.instruction)
    action = environment.parse(game.walkthrough[0])
    assert (await pool.step(task, [], action)).result.observation.startswith("You arrive at")
    environment.close()


def test_an_unknown_game_without_the_original_is_an_error(tmp_path, monkeypatch):
    write_game(tmp_path / "game", lambda grammar: grammar.replace("You open", "You pull open"))
    environment = ALFWorld(path=tmp_path)
    (task,) = environment.tasks()
    monkeypatch.setitem(sys.modules, "textworld", None)
    for use in (environment.start, lambda task: environment.played_by([task])):
        with pytest.raises(EnvironmentUnavailable, match=r"game\.tw-pddl: .*\[alfworld\]"):
            use(task)


@pytest.mark.parametrize(
    ("goal", "why"),
    [
        ("(:goal (exists (?o - object) (isReceptacleObjectFull ?o)))", "never hold"),
        ("(:goal (exists (?o - object) (hovers ?o)))", "hovers"),
        ("(:goal (opened ?r))", r"\?r"),
        ("(:goal (and)) (:goal (and))", "more than one"),
    ],
)
def test_the_original_does_not_play_invalid_games(tmp_path, goal, why):
    game = write_game(tmp_path / "game")
    path = tmp_path / "game" / "game.tw-pddl"
    problem = game.problem[: game.problem.index("(:goal")] + f"{goal})"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"pddl_problem": problem}))
    environment = ALFWorld(path=tmp_path)
    with pytest.raises(EnvironmentUnavailable, match=rf"game/game\.tw-pddl.*{why}"):
        environment.start(*environment.tasks())


def test_the_folder_of_the_download_can_be_given(tmp_path, monkeypatch):
    name = "pick_and_place_simple-Mug-None-Shelf-1/trial_T1"
    write_game(tmp_path / "json_2.1.2" / "valid_unseen" / name)
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path / "elsewhere"))
    environment = ALFWorld(path=tmp_path)
    (task,) = environment.tasks("valid_unseen")
    assert task["id"] == f"valid_unseen/{name}"
    short = f"{tmp_path}/json_2.1.2/valid_unseen has 1 of 134 games"
    for engine in ("native", "textworld"):
        said = ALFWorld(engine=engine, path=tmp_path).played_by([task])
        assert said.endswith(f"; not the benchmark of json_2.1.2: {short}")
    assert environment.start(task).observation.endswith(task["instruction"])
    with pytest.raises(EnvironmentUnavailable, match=rf"no ALFWorld games of train in {tmp_path}"):
        environment.tasks("train")
