import asyncio
from types import SimpleNamespace

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel, Field

from langgraph_reflexion import ConfigurationError, create_reflexion
from langgraph_reflexion.adapters.gym import GymEnvironment
from langgraph_reflexion.envs.grammar import parse_action
from langgraph_reflexion.testing import ScriptedChatModel, check_environment

gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is not installed: pip install '.[gym]'")
numpy = pytest.importorskip("numpy")
WAYS = ["left", "down", "right", "up"]


def lake(task=None, **options):
    return gymnasium.make("FrozenLake-v1", is_slippery=False, render_mode="ansi", **options)


def taken(environment, *actions):
    episode = environment.start(environment.tasks()[0])
    try:
        return [episode.step(action_of(environment, text)) for text in actions]
    finally:
        episode.close()


def action_of(environment, text):
    return parse_action(environment, text) or {"name": "", "args": {}, "text": text}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("FrozenLake-v1", {"actions": WAYS}),
        ("Acrobot-v1", {}),
        ("Blackjack-v1", {"actions": {"stick": 0, "hit": 1}}),
        ("CartPole-v1", {"success": 475}),
    ],
)
def test_worlds_of_gymnasium_conform(name, options):
    check_environment(GymEnvironment(name, **options))


class Panel(gymnasium.Env):
    """Set the panel."""

    def __init__(self, space, reward=0):
        self.action_space, self.reward = space, reward

    def reset(self, *, seed=None, options=None):
        return "off", {}

    def step(self, action):
        return repr(action), self.reward, False, False, {}


@pytest.mark.parametrize(
    ("space", "right", "wrong", "allowed"),
    [
        (gymnasium.spaces.Discrete(3, start=1), 3, 0, "at least 1 and at most 3"),
        (gymnasium.spaces.Text(5), "abc", "abcdef", "Text("),
    ],
)
def test_members_of_a_space_are_actions(space, right, wrong, allowed):
    panel = GymEnvironment(lambda task: Panel(space), [1])
    assert panel.tasks()[0]["instruction"] == "Set the panel."
    done, refused = taken(panel, f"act[{right}]", f"act[{wrong}]")
    assert done.observation == repr(right)
    assert refused.observation.startswith(f"Invalid action: act, action: must be {allowed}")


def test_the_actions_of_each_task_are_those_of_its_own_world():
    sizes = [{"instruction": f"Reach {size}.", "data": {"size": size}} for size in (2, 5)]
    panels = GymEnvironment(lambda task: Panel(gymnasium.spaces.Discrete(task["data"]["size"]), reward=1), sizes)
    for task, last in zip(panels.tasks() * 2, (1, 4) * 2, strict=True):
        model = ScriptedChatModel(replies=[f"Action: act[{last}]"] * 40)
        create_reflexion(model, panels, max_trials=1).compile().invoke({"task": task})
        assert f"at least 0 and at most {last}." in model.prompts[0][0].text


def test_trial_ends_with_total_reward_and_verdict():
    lakes = GymEnvironment(lake, actions=WAYS)
    first, *_, last, after = taken(lakes, "jump", "down", "down", "right", "right", "down", "right", "up")
    assert (first.reward, first.terminated) == (0.0, False)
    refusal = "Invalid action: there is no action 'jump'. Allowed actions: left; down; right; up."
    assert first.observation == refusal
    assert (last.reward, last.terminated, after) == (1.0, True, last)
    ended = "FFFH\nHFF[G red]\nThe episode is over. Total reward: 1.\nThe task is solved."
    assert last.observation.endswith(ended)
    cut = GymEnvironment(lambda task: lake(max_episode_steps=2), actions=WAYS, success=0)
    assert [(each.reward, each.truncated) for each in taken(cut, "left", "left")] == [(0.0, False), (1.0, True)]


def test_functions_are_called_with_what_they_name():
    lakes = GymEnvironment(
        lake,
        actions=WAYS,
        render=lambda observation, env: f"{observation} of {env.observation_space.n}",
        success=lambda observation, total: (observation == 4, f"{total:g} in all"),
    )
    [result] = taken(lakes, "down")
    assert (result.reward, result.terminated) == (1.0, True)
    assert result.observation == "4 of 16\nThe episode is over. Total reward: 0.\nThe task is solved. 0 in all"


class Say(BaseModel):
    """Say a word."""

    word: str = Field(max_length=5)


class Parrot:
    """A world with coroutines, as OpenEnv's clients are."""

    open = False

    async def __aenter__(self):
        self.open = True
        return self

    async def __aexit__(self, *error):
        self.open = False

    async def reset(self, word="hello"):
        self.word = word
        return SimpleNamespace(observation="Say something.", reward=None, done=False)

    async def step(self, action):
        await asyncio.sleep(0)
        assert self.open
        return SimpleNamespace(observation={"said": action.word}, reward=0.5, done=action.word == self.word)


def test_asynchronous_world_with_actions_of_a_model():
    made = []

    def make(task):
        made.append(Parrot())
        return made[-1]

    parrot = GymEnvironment(make, [{"instruction": "Say hi.", "data": {"reset": {"word": "hi"}}}], actions=Say)
    first, long, last = taken(parrot, "act[hello]", "act[hello you]", "act[hi]")
    assert first.observation == '{"said": "hello"}\nReward: 0.5'
    assert "act, word must have at most 5 characters, not 'hello you'" in long.observation
    assert (last.reward, last.terminated, any(each.open for each in made)) == (1.0, True, False)
    check_environment(parrot, actions=["act[a]", "act[b]"])


@pytest.mark.slow
@pytest.mark.parametrize(("given", "up"), [(WAYS, "up"), (None, "act[3]")], ids=["names", "a space"])
def test_another_process_continues_a_trial_on_slippery_ice(given, up):
    saver, config = InMemorySaver(), {"configurable": {"thread_id": "1"}}

    async def make(task):
        await asyncio.sleep(0)
        return gymnasium.make("FrozenLake-v1", render_mode="ansi")

    def lake_and_graph():
        slippery = GymEnvironment(make, [7], actions=given, instruction="Go.")
        model = ScriptedChatModel(replies=lambda _: f"Action: {up}")
        return slippery, create_reflexion(model, slippery, max_trials=1).compile(checkpointer=saver)

    slippery, first = lake_and_graph()
    for state in ({"task": slippery.tasks()[0]}, None, None):
        first.invoke(state, config, interrupt_after=["observe"])
    steps = lake_and_graph()[1].invoke(None, config)["trajectory"]
    assert len(steps) > 3
    uninterrupted = taken(slippery, *[up] * len(steps))
    assert [step["observation"] for step in steps] == [each.observation for each in uninterrupted]


class Adventure:
    """A world of the older shape, as TextWorld's are, which is closed by a coroutine."""

    closed = 0

    def reset(self):
        return "A door.", {"won": False}

    def step(self, command):
        if command == "dig":
            raise ZeroDivisionError
        return f"You {command}.", 3, True, {"won": command == "open"}

    async def close(self):
        await asyncio.sleep(0)
        type(self).closed += 1


def word(text):
    if " " in text:
        raise ValueError("one word, please")
    return text


def test_older_world_with_actions_of_a_function():
    doors = GymEnvironment(lambda task: Adventure(), ["Leave."], actions=word, success=lambda info: info["won"])
    Adventure.closed = 0
    wrong, last = taken(doors, "act[open it]", "act[open]")
    assert "act, one word, please" in wrong.observation
    assert (last.reward, last.terminated, Adventure.closed) == (1.0, True, 1)
    with pytest.raises(ZeroDivisionError):
        taken(doors, "act[dig]")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"env": 3}, "each trial has its own"),
        ({"env": "Lake-v0"}, "Gymnasium cannot make 'Lake-v0'"),
        ({"env": "no_such_module:Lake-v0"}, "Gymnasium cannot make 'no_such_module:Lake-v0': No module"),
        ({"tasks": [0.5]}, "seeds, texts or dicts, not 0.5"),
        ({"tasks": [{"data": [1]}]}, r"data of task 1 must be a dict, not \[1\]"),
        ({"tasks": []}, "tasks is empty"),
        ({"tasks": [1, 1]}, "same id"),
        ({"actions": ["left", "right"]}, "2 names"),
        ({"actions": {"?": 1}}, "not a name"),
        ({"actions": 3}, "not 3"),
        ({"render": lambda grid: ""}, "needs grid"),
        ({"env": lambda task: Adventure(), "tasks": [1], "actions": word}, "give instruction"),
        ({"env": lambda task: Adventure(), "tasks": ["Leave."]}, "no action space"),
        ({"env": "MountainCarContinuous-v0"}, "no text form"),
    ],
)
def test_wrong_arguments_are_named(options, words):
    def use(env="FrozenLake-v1", **options):
        environment = GymEnvironment(env, **options)
        return environment.tasks(), environment.actions()

    with pytest.raises(ConfigurationError, match=words):
        use(**options)


@pytest.mark.parametrize(
    ("reward", "words"), [(float("inf"), "inf"), (numpy.ones(2), "a trial needs a world of its own")]
)
def test_a_reward_that_is_no_finite_number_is_an_error(reward, words):
    with pytest.raises(ValueError, match=words):
        taken(GymEnvironment(lambda task: Panel(gymnasium.spaces.Discrete(9), reward), [1]), "act[2]")
