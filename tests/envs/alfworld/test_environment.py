import json
import shutil
import sys
from dataclasses import replace

import pytest

from langgraph_reflexion.envs import load_environment
from langgraph_reflexion.envs.alfworld.environment import ALFWorld
from langgraph_reflexion.envs.alfworld.games import installed_texts, to_tw_pddl
from langgraph_reflexion.envs.alfworld.generate import generate
from langgraph_reflexion.envs.alfworld.textworld import unavailable
from langgraph_reflexion.envs.base import Action
from langgraph_reflexion.envs.pool import EpisodePool
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable
from langgraph_reflexion.testing.conformance import CHECKS, Case

needs_engine = pytest.mark.skipif(unavailable() is not None, reason=str(unavailable()))
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
ENGINES = ["native", pytest.param("textworld", marks=needs_engine)]
NOTHING = "Nothing happens."


@pytest.fixture(scope="module")
def environments():
    made = {}

    def get(engine):
        if engine not in made:
            made[engine] = ALFWorld(engine=engine, max_steps=6)
        return made[engine]

    yield get
    for environment in made.values():
        environment.close()
        environment.close()


@pytest.fixture(params=ENGINES)
def environment(request, environments):
    return environments(request.param)


def walkthrough(environment, task):
    return [environment.parse(command) for command in environment.game(task).walkthrough]


def of_kind(environment, kind):
    return next(task for task in environment.tasks() if task["kind"] == kind)


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_it_conforms(check, environment):
    task = of_kind(environment, "clean")
    actions = [*walkthrough(environment, task)[:3], "look", "go to nowhere 1"][-4:]
    check(Case.of(environment, task=task, actions=actions, limit=6))


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
    # A task says itself which world it is of.
    assert other.game(tasks[0]) == environment.game(tasks[0])


def test_the_tools_are_the_verbs():
    tools = {tool["function"]["name"]: tool["function"]["parameters"] for tool in ALFWorld().tools}
    assert list(tools) == list(ARGUMENTS)
    assert {name: list(parameters["properties"]) for name, parameters in tools.items()} == ARGUMENTS
    assert all(p["required"] == list(p["properties"]) for p in tools.values())


@pytest.mark.parametrize("kind", ["pick", "look", "clean", "heat", "cool", "two"])
def test_a_solution_ends_the_episode_on_both_engines_alike(environments, kind):
    seen = []
    for engine in ["native"] if unavailable() else ["native", "textworld"]:
        environment = environments(engine)
        environment.max_steps = 20
        task = of_kind(environment, kind)
        episode = environment.start(task)
        assert episode.observation.startswith("You are in the middle of a room.")
        assert episode.observation.endswith(f"\n\nYour task is to: {task['instruction']}")
        results = [episode.step(action) for action in walkthrough(environment, task)]
        seen.append([episode.observation, *results])
        episode.close()
        environment.max_steps = 6
    assert [result.reward for result in results] == [0.0] * (len(results) - 1) + [1.0]
    assert [result.terminated for result in results] == [False] * (len(results) - 1) + [True]
    assert not any(result.truncated or result.observation == NOTHING for result in results)
    assert seen[1:] == seen[:-1]


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
def test_text_is_read_as_an_action(text, name, args):
    parsed = ALFWorld().parse(text)
    assert (parsed["name"], parsed["args"]) == (name, args)
    assert parsed["text"] == " ".join(text.split())


@pytest.mark.parametrize("text", ["", "think: where is it?", "go cabinet 1", "take mug 1", "help", "look around"])
def test_other_text_is_no_action(text):
    assert ALFWorld().parse(text) is None


def test_names_in_tool_calls_are_tidied_too():
    environment = ALFWorld()
    task = environment.tasks(limit=1)[0]
    first = walkthrough(environment, task)[0]
    args = {name: f" The {value.upper()}. " for name, value in first["args"].items()}
    tidy, untidy = environment.start(task), environment.start(task)
    assert untidy.step(Action(name=first["name"], args=args, text="")) == tidy.step(first)
    bad = untidy.step(Action(name="go_to", args={"receptacle": ["desk 1"]}, text=""))
    assert bad.observation.startswith("Invalid action: go_to, receptacle")
    assert bad.reward == 0.0


def test_a_task_can_be_started_in_another_process(environment):
    task = json.loads(json.dumps(environment.tasks(limit=2)[1]))
    with_other_seed = ALFWorld(engine=environment.engine, seed=99)
    here, there = environment.start(task), with_other_seed.start(task)
    assert here.observation == there.observation
    here.close()
    there.close()
    with_other_seed.close()


def test_only_the_original_engine_needs_a_thread():
    environment = ALFWorld()
    assert not environment.blocking
    assert not environment.blocks(environment.tasks(limit=1)[0])


def test_settings_that_cannot_be():
    with pytest.raises(ConfigurationError, match="native, textworld"):
        load_environment("alfworld", engine="inform7")
    with pytest.raises(ConfigurationError, match="max_steps"):
        load_environment("alfworld", max_steps=0)
    with pytest.raises(ConfigurationError, match="no split"):
        load_environment("alfworld").tasks("test")
    with pytest.raises(ConfigurationError, match="none of ALFWorld's"):
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
def test_a_task_that_names_no_game(data):
    with pytest.raises(ConfigurationError):
        ALFWorld(path=".").start({"id": "x", "instruction": "y", "data": data})


@pytest.mark.parametrize("syntax", ["foo", ["move"], None])
def test_a_task_in_no_known_syntax(syntax):
    environment = ALFWorld()
    (task,) = environment.tasks(limit=1)
    task["data"]["syntax"] = syntax
    with pytest.raises(ConfigurationError, match=f"{task['id']}.*choose one of move, put"):
        environment.forms(task)


def test_official_games_that_are_not_there(tmp_path, monkeypatch):
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    with pytest.raises(EnvironmentUnavailable, match="alfworld-download"):
        load_environment("alfworld").tasks("valid_unseen")


@pytest.mark.parametrize("split", [None, "valid_unseen"])
def test_a_home_folder_of_nobody(monkeypatch, split):
    monkeypatch.setenv("ALFWORLD_DATA", "~nosuchuser/x")
    with pytest.raises(ConfigurationError, match="~nosuchuser/x is in nobody's home folder"):
        ALFWorld(path=None if split else "~nosuchuser/x").tasks(split)


DOMAIN_AND_GRAMMAR = (
    "(define (domain alfred))",
    'grammar :: """{ "task": [ { "rhs": "Your task is to: UNKNOWN GOAL." } ] }""";',
)


def state_file(folder, game, goal=None):
    """A game without a domain and a grammar of its own, which the native engine plays."""
    folder.mkdir(parents=True)
    problem = game.problem if goal is None else f"{game.problem[: game.problem.index('(:goal')]}(:goal {goal}))"
    (folder / "initial_state.pddl").write_text(problem)
    params = {"object_target": "Mug", "parent_target": "Cabinet"}
    described = {"task_type": "pick_and_place_simple", "pddl_params": params}
    (folder / "traj_data.json").write_text(json.dumps(described))


def test_a_goal_that_never_holds_is_known_before_the_first_game_is_played(tmp_path):
    for number in range(5):
        game = generate("pick", seed=3, index=number)
        state_file(tmp_path / str(number), game, "(opened agent1)" if number == 3 else None)
    environment = ALFWorld(path=tmp_path)
    tasks = environment.tasks()
    assert environment.played_by(tasks[:3]) == "the native ALFWorld engine"
    with pytest.raises(EnvironmentUnavailable, match=r"3/initial_state\.pddl: its goal can never hold"):
        environment.played_by(tasks)


def test_an_official_game_is_of_the_kind_that_its_folder_names(tmp_path):
    game = generate("two", seed=3, index=0)
    name = "pick_two_obj_and_place-Mug-None-Shelf-1/trial_T1"
    folder = tmp_path / "valid_unseen" / name
    folder.mkdir(parents=True)
    # By its goal alone it would be of no kind.
    problem = game.problem.replace("(:goal", "(:goal (and (forall (?a - agent) (not (opened ?a)))").rstrip() + ")"
    content = to_tw_pddl(replace(game, problem=problem), *DOMAIN_AND_GRAMMAR)
    (folder / "game.tw-pddl").write_text(json.dumps(content))
    environment = ALFWorld(path=tmp_path)
    (task,) = environment.tasks("valid_unseen")
    assert task["kind"] == "two"
    assert environment.game(task).kind == "two"
    (folder / "game.tw-pddl").unlink()
    with pytest.raises(EnvironmentUnavailable, match="the task's game is gone"):
        ALFWorld(path=tmp_path).game({**task, "kind": "pick"})


def write_game(folder, change=lambda grammar: grammar):
    domain, grammar = installed_texts()
    game = replace(generate("pick", seed=3, index=0), domain=domain, grammar=grammar)
    folder.mkdir(parents=True)
    content = to_tw_pddl(game, domain, change(grammar))
    (folder / "game.tw-pddl").write_text(json.dumps(content))
    (folder / "traj_data.json").write_text(json.dumps({"task_type": "pick_and_place_simple"}))
    return game


def old_syntax(grammar):
    """The wording of files from before ALFWorld 0.4."""
    grammar = grammar.replace("move {o} to {r}", "put {o} in/on {r}")
    return grammar.replace("You move the {o.name} to the {r.name}.", "You put the {o.name} in/on the {r.name}.")


@needs_engine
class TestGameFiles:
    def test_official_games(self, tmp_path, monkeypatch):
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

    def test_a_folder_of_games_or_of_one(self, tmp_path):
        game = write_game(tmp_path / "games" / "one")
        for path in (tmp_path / "games", tmp_path / "games" / "one"):
            environment = ALFWorld(path=path)
            (task,) = environment.tasks()
            assert environment.splits[:2] == ("path", "generated-134")
            assert environment.start(task).observation.endswith(game.instruction)
        with pytest.raises(ConfigurationError, match="path="):
            ALFWorld().start(task)

    @pytest.mark.long
    @pytest.mark.parametrize("engine", ENGINES)
    @pytest.mark.parametrize(("change", "own"), [(str, "move"), (old_syntax, "put")])
    @pytest.mark.parametrize("said", ["move {} to {}", "put {} in/on {}"])
    def test_both_ways_to_put_work_in_both_kinds_of_games(self, tmp_path, engine, change, own, said):
        game = write_game(tmp_path / "game", change)
        environment = ALFWorld(engine=engine, path=tmp_path)
        (task,) = environment.tasks()
        forms = {"move": "move {object} to {receptacle}", "put": "put {object} in/on {receptacle}"}
        assert forms.pop(own) in environment.forms(task)
        assert not set(forms.values()) & set(environment.forms(task))
        episode = environment.start(task)
        assert forms.popitem()[1] not in episode.invalid("no")
        for command in game.walkthrough[:-1]:
            episode.step(environment.parse(command))
        thing, _, place = game.walkthrough[-1].removeprefix("move ").partition(" to ")
        last = episode.step(environment.parse(said.format(thing, place)))
        assert last.terminated
        assert last.observation.startswith(f"You {own} the {thing}")
        environment.close()

    async def test_a_game_that_the_native_engine_does_not_know_is_played_by_the_original(self, tmp_path):
        game = write_game(tmp_path / "game", lambda grammar: grammar.replace("You open", "You pull open"))
        write_game(tmp_path / "plain")
        environment = ALFWorld(path=tmp_path)
        task, plain = environment.tasks()
        assert (environment.blocks(task), environment.blocks(plain)) == (True, False)
        why = "the grammar's OpenObject.feedback differ from ALFWorld's json_2.1.1, json_2.1.2 and wheel 0.4.2"
        assert environment.played_by([plain]) == "the native ALFWorld engine"
        assert environment.played_by([task, plain]).endswith(
            f"the slow original one: {why} (1 of 2 games, the first in {tmp_path}/game/game.tw-pddl)"
        )
        assert environment.played_by([task]).startswith("the original ALFWorld engine, which is thousands of times")
        pool = EpisodePool(environment)
        opening, _ = await pool.start(task)
        assert opening.endswith(game.instruction)
        action = environment.parse(game.walkthrough[0])
        assert (await pool.step(task, [], action)).result.observation.startswith("You arrive at")
        environment.close()

    def test_what_the_native_engine_does_not_know_needs_the_original(self, tmp_path, monkeypatch):
        write_game(tmp_path / "game", lambda grammar: grammar.replace("You open", "You pull open"))
        environment = ALFWorld(path=tmp_path)
        (task,) = environment.tasks()
        monkeypatch.setitem(sys.modules, "textworld", None)
        for use in (environment.start, lambda task: environment.played_by([task])):
            with pytest.raises(
                EnvironmentUnavailable, match=r"game\.tw-pddl: the grammar's .* differ .*\[alfworld\]"
            ):
                use(task)

    @pytest.mark.parametrize(
        ("goal", "why"),
        [
            ("(:goal (exists (?o - object) (isReceptacleObjectFull ?o)))", "its goal can never hold"),
            ("(:goal (exists (?o - object) (hovers ?o)))", "there is no predicate hovers"),
            ("(:goal (opened ?r))", r"its goal uses \?r where it is not declared"),
            ("(:goal (and)) (:goal (and))", r"more than one \(:goal section"),
        ],
    )
    def test_a_broken_problem_is_an_error_and_not_played_by_the_original(self, tmp_path, goal, why):
        game = write_game(tmp_path / "game")
        path = tmp_path / "game" / "game.tw-pddl"
        problem = game.problem[: game.problem.index("(:goal")] + f"{goal})"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"pddl_problem": problem}))
        environment = ALFWorld(path=tmp_path)
        with pytest.raises(EnvironmentUnavailable, match=rf"game/game\.tw-pddl.*{why}"):
            environment.start(*environment.tasks())

    def test_the_folder_of_the_download_can_be_given(self, tmp_path, monkeypatch):
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
