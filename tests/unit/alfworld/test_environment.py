import json
from dataclasses import replace

import pytest

from langgraph_reflexion.envs import load_environment
from langgraph_reflexion.envs.alfworld.environment import ALFWorld
from langgraph_reflexion.envs.alfworld.generate import generate
from langgraph_reflexion.envs.alfworld.textworld import to_tw_pddl
from langgraph_reflexion.envs.base import Action
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable

ARGUMENTS = {
    "go_to": ["receptacle"],
    "take": ["object", "receptacle"],
    "put": ["object", "receptacle"],
    "open": ["receptacle"],
    "close": ["receptacle"],
    "use": ["object"],
    "clean": ["object", "receptacle"],
    "heat": ["object", "receptacle"],
    "cool": ["object", "receptacle"],
    "slice": ["object", "knife"],
    "examine": ["target"],
    "look": [],
    "inventory": [],
}


def walkthrough(environment, task):
    return [environment.parse(command) for command in environment.game(task).walkthrough]


def of_kind(environment, kind):
    return next(task for task in environment.tasks() if task["kind"] == kind)


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


def test_the_tools_are_the_verbs():
    tools = {tool["function"]["name"]: tool["function"]["parameters"] for tool in ALFWorld().tools}
    assert list(tools) == list(ARGUMENTS)
    assert {name: list(parameters["properties"]) for name, parameters in tools.items()} == ARGUMENTS
    assert all(p["required"] == list(p["properties"]) for p in tools.values())


@pytest.mark.parametrize("kind", ["pick", "look", "clean", "heat", "cool", "two"])
def test_the_last_command_of_a_solution_ends_the_episode(kind):
    environment = ALFWorld()
    task = of_kind(environment, kind)
    episode = environment.start(task)
    assert episode.observation.startswith("You are in the middle of a room.")
    assert episode.observation.endswith(f"\n\nYour task is to: {task['instruction']}")
    results = [episode.step(action) for action in walkthrough(environment, task)]
    assert [result.reward for result in results] == [0.0] * (len(results) - 1) + [1.0]
    assert [result.terminated for result in results] == [False] * (len(results) - 1) + [True]
    assert not any(result.truncated or result.observation == "Nothing happens." for result in results)


def test_after_the_end_nothing_more_happens():
    environment = ALFWorld()
    task = environment.tasks(limit=1)[0]
    episode = environment.start(task)
    for action in walkthrough(environment, task):
        last = episode.step(action)
    after = episode.step(Action(name="look", args={}, text="look"))
    assert (after.reward, after.terminated, after.truncated) == (1.0, True, False)
    assert "over" in after.observation
    assert last.observation != after.observation


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
        ("go to cabinet 1", "go_to", {"receptacle": "cabinet 1"}),
        ("Go  to the Cabinet  1.", "go_to", {"receptacle": "cabinet 1"}),
        ("take the mug 1 from the cabinet 2", "take", {"object": "mug 1", "receptacle": "cabinet 2"}),
        ("move mug 1 to shelf 3", "put", {"object": "mug 1", "receptacle": "shelf 3"}),
        ("put mug 1 in/on shelf 3", "put", {"object": "mug 1", "receptacle": "shelf 3"}),
        ("put mug 1 in shelf 3", "put", {"object": "mug 1", "receptacle": "shelf 3"}),
        ("put mug 1 on shelf 3", "put", {"object": "mug 1", "receptacle": "shelf 3"}),
        ("slice bread 1 with knife 1", "slice", {"object": "bread 1", "knife": "knife 1"}),
        ("examine mug 1", "examine", {"target": "mug 1"}),
        ("LOOK", "look", {}),
        ("inventory.", "inventory", {}),
    ],
)
def test_text_is_parsed(text, name, args):
    parsed = ALFWorld().parse(text)
    assert (parsed["name"], parsed["args"]) == (name, args)
    assert parsed["text"] == " ".join(text.split())


@pytest.mark.parametrize("text", ["", "think: where is it?", "go cabinet 1", "take mug 1", "help", "look around"])
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


def test_the_native_engine_needs_no_thread():
    environment = ALFWorld()
    assert not environment.blocking
    assert not environment.blocks(environment.tasks(limit=1)[0])


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
        {"seed": 0},
        {"split": "generated-134", "seed": 0, "index": "first"},
        {"split": "generated-134", "seed": 0, "index": 134},
        {"split": "generated-134", "seed": 0, "index": -1},
        {"split": "generated-135", "seed": 0, "index": 0},
        {"split": "generated-134", "seed": [0], "index": 0},
        {"split": "path", "folder": 5},
        {"folder": "here"},
    ],
)
def test_a_task_without_a_game(data):
    with pytest.raises(ConfigurationError):
        ALFWorld(path=".").start({"id": "x", "instruction": "y", "data": data})


@pytest.mark.parametrize("syntax", ["foo", ["move"], None])
def test_a_task_of_unknown_syntax(syntax):
    environment = ALFWorld()
    (task,) = environment.tasks(limit=1)
    task["data"]["syntax"] = syntax
    with pytest.raises(ConfigurationError, match=f"{task['id']}.*choose one of move, put"):
        environment.action_forms(task)


def test_missing_official_games(tmp_path, monkeypatch):
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    with pytest.raises(EnvironmentUnavailable, match="alfworld-download"):
        load_environment("alfworld").tasks("valid_unseen")


@pytest.mark.parametrize("split", [None, "valid_unseen"])
def test_an_unknown_home_folder(monkeypatch, split):
    monkeypatch.setenv("ALFWORLD_DATA", "~nosuchuser/x")
    with pytest.raises(ConfigurationError, match="~nosuchuser/x"):
        ALFWorld(path=None if split else "~nosuchuser/x").tasks(split)


DOMAIN_AND_GRAMMAR = (
    "(define (domain alfred))",
    'grammar :: """{ "task": [ { "rhs": "Your task is to: UNKNOWN GOAL." } ] }""";',
)


def state_file(folder, game, goal=None):
    """Write a game without a domain and a grammar."""
    folder.mkdir(parents=True)
    problem = game.problem if goal is None else f"{game.problem[: game.problem.index('(:goal')]}(:goal {goal}))"
    (folder / "initial_state.pddl").write_text(problem)
    params = {"object_target": "Mug", "parent_target": "Cabinet"}
    described = {"task_type": "pick_and_place_simple", "pddl_params": params}
    (folder / "traj_data.json").write_text(json.dumps(described))


def test_invalid_games_are_found_before_the_first_one_is_played(tmp_path):
    for number in range(5):
        game = generate("pick", seed=3, index=number)
        state_file(tmp_path / str(number), game, "(opened agent1)" if number == 3 else None)
    environment = ALFWorld(path=tmp_path)
    tasks = environment.tasks()
    assert environment.played_by(tasks[:3]) == "the native ALFWorld engine"
    with pytest.raises(EnvironmentUnavailable, match=r"3/initial_state\.pddl.*never hold"):
        environment.played_by(tasks)


def test_an_official_game_has_the_kind_of_its_folder(tmp_path):
    game = generate("two", seed=3, index=0)
    name = "pick_two_obj_and_place-Mug-None-Shelf-1/trial_T1"
    folder = tmp_path / "valid_unseen" / name
    folder.mkdir(parents=True)
    # By its goal alone it would be left out.
    problem = game.problem.replace("(:goal", "(:goal (and (forall (?a - agent) (not (opened ?a)))").rstrip() + ")"
    content = to_tw_pddl(replace(game, problem=problem), *DOMAIN_AND_GRAMMAR)
    (folder / "game.tw-pddl").write_text(json.dumps(content))
    environment = ALFWorld(path=tmp_path)
    (task,) = environment.tasks("valid_unseen")
    assert task["kind"] == "two"
    assert environment.game(task).kind == "two"
    (folder / "game.tw-pddl").unlink()
    with pytest.raises(EnvironmentUnavailable, match="gone"):
        ALFWorld(path=tmp_path).game({**task, "kind": "pick"})
