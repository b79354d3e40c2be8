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
    environment = ALFWorld()
    tasks = environment.tasks()
    assert len(tasks) == 134
    assert {task["kind"] for task in tasks[:6]} == {"pick", "look", "clean", "heat", "cool", "two"}
    shared = ("shared-rooms-train", "shared-rooms-test")
    assert environment.splits == ("generated-134", *shared, "train", "valid_seen", "valid_unseen")
    # A task names its seed itself.
    assert ALFWorld(seed=7).game(tasks[0]) == environment.game(tasks[0])


def test_the_last_command_of_a_solution_ends_the_episode():
    environment = ALFWorld()
    task = environment.tasks(limit=1)[0]
    episode = environment.start(task)
    assert episode.observation.startswith("You are in the middle of a room.")
    assert episode.observation.endswith(f"\n\nYour task is to: {task['instruction']}")
    *results, last = (episode.step(action) for action in walkthrough(environment, task))
    assert {(each.reward, each.terminated, each.truncated) for each in results} == {(0.0, False, False)}
    after = episode.step(Action(name="look", args={}, text="look"))
    for each in (last, after):
        assert (each.reward, each.terminated, each.truncated) == (1.0, True, False)
    assert "over" in after.observation


def test_only_commands_count_towards_the_limit():
    environment = ALFWorld(max_steps=2)
    episode = environment.start(environment.tasks(limit=1)[0])
    look = Action(name="look", args={}, text="look")
    invalid = Action(name="fly", args={}, text="fly")
    results = [episode.step(action) for action in (invalid, look, invalid, invalid, look, look)]
    assert [result.truncated for result in results] == [False, False, False, False, True, True]
    assert (results[-1].reward, results[-1].terminated) == (0.0, False)


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("Go  to the Cabinet  1.", ("go_to", {"receptacle": "cabinet 1"})),
        ("take the mug 1 from the cabinet 2", ("take", {"object": "mug 1", "receptacle": "cabinet 2"})),
        ("move mug 1 to shelf 3", ("put", {"object": "mug 1", "receptacle": "shelf 3"})),
        ("put mug 1 in/on shelf 3", ("put", {"object": "mug 1", "receptacle": "shelf 3"})),
        ("examine mug 1", ("examine", {"target": "mug 1"})),
        ("inventory.", ("inventory", {})),
        *((text, None) for text in ("", "think: where is it?", "take mug 1", "help")),
    ],
)
def test_text_is_parsed(text, action):
    parsed = ALFWorld().parse(text)
    assert (parsed and (parsed["name"], parsed["args"])) == action
    assert parsed is None or parsed["text"] == " ".join(text.split())


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


def task(**data):
    return {"id": "x", "instruction": "y", "data": {"split": "generated-134", "seed": 0, "index": 0} | data}


@pytest.mark.parametrize(
    ("use", "says"),
    [
        (lambda: load_environment("alfworld", engine="inform7"), "native, textworld"),
        (lambda: load_environment("alfworld", max_steps=0), "max_steps"),
        (lambda: ALFWorld().start({"id": "x", "instruction": "y"}), "not a task"),
        (lambda: ALFWorld(path=".").start(task(index="first")), "x"),
        (lambda: ALFWorld(path=".").start(task(index=134)), "x"),
        (lambda: ALFWorld(path=".").start({**task(), "data": {"folder": "here"}}), "x"),
        (lambda: ALFWorld().action_forms(task(syntax="foo")), "x.*choose one of move, put"),
    ],
)
def test_invalid_settings_and_tasks_are_named(use, says):
    with pytest.raises(ConfigurationError, match=says):
        use()


def state_file(folder, game, goal=None):
    """Write a game without a domain and a grammar."""
    folder.mkdir(parents=True)
    problem = game.problem if goal is None else f"{game.problem[: game.problem.index('(:goal')]}(:goal {goal}))"
    (folder / "initial_state.pddl").write_text(problem)
    params = {"object_target": "Mug", "parent_target": "Cabinet"}
    (folder / "traj_data.json").write_text(json.dumps({"task_type": "pick_and_place_simple", "pddl_params": params}))


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
