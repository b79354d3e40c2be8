import json

import pytest

from langgraph_reflexion.envs import load_environment
from langgraph_reflexion.envs.alfworld.environment import ALFWorld
from langgraph_reflexion.envs.alfworld.generate import generate
from langgraph_reflexion.envs.base import Action
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable


def walkthrough(environment, task):
    return [environment.parse(command) for command in environment.game(task).walkthrough]


def test_tasks_of_the_default_split():
    environment = load_environment("alfworld")
    tasks = environment.tasks()
    assert len(tasks) == 134
    assert {task["kind"] for task in tasks[:6]} == {"pick", "look", "clean", "heat", "cool", "two"}
    assert environment.tasks("generated-134", 3) == tasks[:3]
    shared = ("shared-rooms-train", "shared-rooms-test")
    assert environment.splits == ("generated-134", *shared, "train", "valid_seen", "valid_unseen")
    other = load_environment("alfworld", seed=7)
    assert other.tasks()[0] != tasks[0]
    # A task names its seed itself.
    assert other.game(tasks[0]) == environment.game(tasks[0])


def test_the_last_command_of_a_solution_ends_the_episode():
    environment = ALFWorld()
    task = environment.tasks(limit=1)[0]
    episode = environment.start(task)
    assert episode.observation.startswith("You are in the middle of a room.")
    assert episode.observation.endswith(f"\n\nYour task is to: {task['instruction']}")
    results = [episode.step(action) for action in walkthrough(environment, task)]
    assert [result.reward for result in results] == [0.0] * (len(results) - 1) + [1.0]
    assert [result.terminated for result in results] == [False] * (len(results) - 1) + [True]
    assert not any(result.truncated or result.observation == "Nothing happens." for result in results)
    after = episode.step(Action(name="look", args={}, text="look"))
    assert (after.reward, after.terminated, after.truncated) == (1.0, True, False)
    assert "over" in after.observation


def test_only_commands_count_towards_the_limit():
    environment = ALFWorld(max_steps=2)
    episode = environment.start(environment.tasks(limit=1)[0])
    look = Action(name="look", args={}, text="look")
    invalid = Action(name="fly", args={}, text="fly")
    flags = [episode.step(action).truncated for action in (invalid, look, invalid, invalid, look, look)]
    assert flags == [False, False, False, False, True, True]
    assert episode.step(look).reward == 0.0
    assert not episode.step(look).terminated


@pytest.mark.parametrize(
    ("text", "name", "args"),
    [
        ("Go  to the Cabinet  1.", "go_to", {"receptacle": "cabinet 1"}),
        ("take the mug 1 from the cabinet 2", "take", {"object": "mug 1", "receptacle": "cabinet 2"}),
        ("move mug 1 to shelf 3", "put", {"object": "mug 1", "receptacle": "shelf 3"}),
        ("put mug 1 in/on shelf 3", "put", {"object": "mug 1", "receptacle": "shelf 3"}),
        ("examine mug 1", "examine", {"target": "mug 1"}),
        ("inventory.", "inventory", {}),
    ],
)
def test_text_is_parsed(text, name, args):
    parsed = ALFWorld().parse(text)
    assert (parsed["name"], parsed["args"]) == (name, args)
    assert parsed["text"] == " ".join(text.split())


@pytest.mark.parametrize("text", ["", "think: where is it?", "take mug 1", "help"])
def test_other_text_is_not_an_action(text):
    assert ALFWorld().parse(text) is None


def test_names_in_tool_calls_are_normalized():
    environment = ALFWorld()
    task = environment.tasks(limit=1)[0]
    first = walkthrough(environment, task)[0]
    args = {name: f" The {value.upper()}. " for name, value in first["args"].items()}
    tidy, untidy = environment.start(task), environment.start(task)
    assert untidy.step(Action(name=first["name"], args=args, text="")) == tidy.step(first)
    bad = untidy.step(Action(name="go_to", args={"receptacle": ["desk 1"]}, text=""))
    assert bad.observation.startswith("Invalid action: go_to, receptacle")
    assert bad.reward == 0.0


def test_invalid_settings():
    with pytest.raises(ConfigurationError, match="native, textworld"):
        load_environment("alfworld", engine="inform7")
    with pytest.raises(ConfigurationError, match="max_steps"):
        load_environment("alfworld", max_steps=0)
    with pytest.raises(ConfigurationError, match="split"):
        load_environment("alfworld").tasks("test")
    with pytest.raises(ConfigurationError, match="not a task"):
        load_environment("alfworld").start({"id": "x", "instruction": "y"})


@pytest.mark.parametrize(
    "data",
    [
        {"split": "generated-134", "seed": 0, "index": "first"},
        {"split": "generated-134", "seed": 0, "index": 134},
        {"folder": "here"},
    ],
)
def test_a_task_without_a_game(data):
    with pytest.raises(ConfigurationError):
        ALFWorld(path=".").start({"id": "x", "instruction": "y", "data": data})


def test_a_task_of_unknown_syntax():
    environment = ALFWorld()
    (task,) = environment.tasks(limit=1)
    task["data"]["syntax"] = "foo"
    with pytest.raises(ConfigurationError, match=f"{task['id']}.*choose one of move, put"):
        environment.action_forms(task)


def state_file(folder, game, goal=None):
    """Write a game without a domain and a grammar."""
    folder.mkdir(parents=True)
    problem = game.problem if goal is None else f"{game.problem[: game.problem.index('(:goal')]}(:goal {goal}))"
    (folder / "initial_state.pddl").write_text(problem)
    params = {"object_target": "Mug", "parent_target": "Cabinet"}
    described = {"task_type": "pick_and_place_simple", "pddl_params": params}
    (folder / "traj_data.json").write_text(json.dumps(described))


def test_invalid_games_are_found_before_the_first_one_is_played(tmp_path):
    for number in range(3):
        state_file(tmp_path / str(number), generate("pick", seed=3, index=number), "(or)" if number == 2 else None)
    environment = ALFWorld(path=tmp_path)
    tasks = environment.tasks()
    assert environment.played_by(tasks[:2]) == "the native ALFWorld engine"
    with pytest.raises(EnvironmentUnavailable, match=r"2/initial_state\.pddl.*never hold"):
        environment.played_by(tasks)


def test_a_task_is_found_with_the_games_in_another_folder(tmp_path):
    state_file(tmp_path / "one" / "games" / "a", generate("pick", seed=3, index=0))
    (task,) = ALFWorld(path=tmp_path / "one" / "games").tasks()
    (tmp_path / "one").rename(tmp_path / "two")
    assert ALFWorld(path=tmp_path / "two" / "games").start(task).observation.endswith(task["instruction"])
    with pytest.raises(EnvironmentUnavailable, match="missing"):
        ALFWorld(path=tmp_path / "two").start(task)
    with pytest.raises(ConfigurationError, match="path="):
        ALFWorld().start(task)
