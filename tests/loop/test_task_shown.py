"""The task's instruction: once in each prompt."""

from dataclasses import replace

import pytest

from langgraph_reflexion import PROFILES, create_reflexion
from langgraph_reflexion.envs.base import Environment, Episode, StepResult, Task, action
from langgraph_reflexion.prompts import contains
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import asks_for, text_of

GOAL = "Reach the far shore without falling in."


class LakeEpisode(Episode):
    """A frozen lake; crossing it ends the trial."""

    def __init__(self, observation):
        self.observation = observation

    @action("go {direction}")
    def go(self, direction: str) -> StepResult:
        """Take a step over the ice."""
        return StepResult("The ice holds.", 0.0)

    @action("cross")
    def cross(self) -> StepResult:
        """Cross the lake."""
        return StepResult("You fall in.", 0.0, True)


class Lake(Environment):
    name = "lake"
    splits = ("all",)
    episode = LakeEpisode
    blocking = False

    def __init__(self, observation="You stand on the near shore of a frozen lake."):
        self.observation = observation

    def tasks(self, split=None, limit=None):
        self.choose_split(split)
        return [Task(id="lake", instruction=GOAL)][:limit]

    def start(self, task):
        return LakeEpisode(self.observation)


def crossing(messages):
    """Goes one step and crosses; reflects; never calls a trial solved."""
    match asks_for(messages):
        case "reflect":
            return "I went too fast."
        case "judge":
            return "Verdict: no"
    if messages[-1].text.endswith("Thought:"):
        return "On I go."
    stepped = text_of(messages[1:]).rpartition("Here is the task again:")[2].count("The ice holds.")
    written = "cross" if stepped else "go left"
    return written if messages[-1].text.endswith("Action:") else f"Thought: On I go.\nAction: {written}"


def asked(environment, **options):
    """The prompts of two trials, by what they ask for."""
    model = ScriptedChatModel(replies=crossing)
    options = {"max_trials": 2, **options}
    create_reflexion(model, environment, **options).compile().invoke({"task": environment.tasks()[0]})
    prompts = {"act": [], "reflect": [], "judge": []}
    for prompt in model.prompts:
        prompts[asks_for(prompt)].append(prompt)
    return prompts


TWO_CALLS = {"actor": "react", "profile": replace(PROFILES["paper"], name="slow", layout="original")}
WAYS = [{"actor": "react"}, {"actor": "tools"}, TWO_CALLS]


@pytest.mark.parametrize("way", WAYS, ids=["react", "tools", "two calls"])
def test_every_prompt_states_the_goal_once(way):
    judged, sampled = (asked(Lake(), evaluator=evaluator, **way) for evaluator in ("llm", "self-consistency"))
    assert all(judged.values())
    assert sampled["act"]
    for prompt in [prompt for prompts in (judged, sampled) for each in prompts.values() for prompt in each]:
        assert text_of(prompt).count(GOAL) == 1


def test_an_observation_that_states_the_goal_is_not_changed():
    observation = "A frozen lake. REACH the far shore\n  without falling in, or else."
    for ask, prompts in asked(Lake(observation), evaluator="llm").items():
        for prompt in prompts:
            assert observation in prompt[1].text, ask
            assert "Your task: " not in prompt[1].text, ask


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("Count to 3.", "count  to\n3", True),
        ("Count to 30.", "Count to 3.", False),
        ("First count to 3, then stop.", "Count to 3!", True),
        ("A room.", "", False),
        ("?", "?", True),
    ],
)
def test_a_text_is_searched_for_words_ignoring_case_and_line_breaks(text, words, expected):
    assert contains(text, words) == expected
