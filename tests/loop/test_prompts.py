"""What every prompt shows: the task once, and few-shot examples as turns or within the instruction."""

from dataclasses import replace
from itertools import pairwise

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from langgraph_reflexion import create_reflexion, load_environment
from langgraph_reflexion.actors import ACTORS
from langgraph_reflexion.envs import base
from langgraph_reflexion.envs.grammar import parse_action
from langgraph_reflexion.envs.protocols import for_actor
from langgraph_reflexion.loop.profiles import PROFILES
from langgraph_reflexion.prompts import contains, quoted
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.scripts.programming import REFLECTION
from tests.support.toys import Counter, CounterEpisode, asks_for, play, text_of

GOAL = "Count to 3."


def counting(messages):
    """Adds 1 and then 2; reflects; never calls a trial solved."""
    match asks_for(messages):
        case "reflect":
            return "I went too fast."
        case "judge":
            return "Verdict: no"
    if messages[-1].text.endswith("Thought:"):
        return "On I go."
    added = "stands at 1" in text_of(messages[1:]).rpartition("Here is the task again:")[2]
    written = f"add {2 if added else 1}"
    return written if messages[-1].text.endswith("Action:") else f"Thought: On I go.\nAction: {written}"


def asked(environment, **options):
    """The prompts of two trials, by what they ask for."""
    _, model = play(counting, environment, max_trials=2, **options)
    prompts = {"act": [], "reflect": [], "judge": []}
    for prompt in model.prompts:
        prompts[asks_for(prompt)].append(prompt)
    return prompts


TWO_CALLS = {"actor": "react", "profile": replace(PROFILES["paper"], name="slow", layout="original")}
WAYS = [{"actor": "react"}, {"actor": "tools"}, TWO_CALLS]


@pytest.mark.parametrize("way", WAYS, ids=["react", "tools", "two calls"])
def test_every_prompt_states_the_goal_once_and_the_self_reflection_again(way):
    judged, sampled = (asked(Counter(), evaluator=evaluator, **way) for evaluator in ("llm", "self-consistency"))
    assert all(judged.values())
    assert len(sampled["act"]) > len(judged["act"])
    for prompts in (judged, sampled):
        for node, each in prompts.items():
            # A reflection is asked for at the end of a long trial, which the goal therefore follows once more.
            times = 2 if node == "reflect" else 1
            assert [text_of(prompt).count(GOAL) for prompt in each] == [times] * len(each)


def test_an_observation_that_states_the_goal_is_not_preceded_by_it():
    observation = "A counter at 0. COUNT\n  to 3, or else."

    class Stating(Counter):
        def start(self, task):
            episode = CounterEpisode(3, 9)
            episode.observation = observation
            return episode

    for ask, prompts in asked(Stating(), evaluator="llm").items():
        for prompt in prompts:
            # Where a model reads a whole trial, the first observation is quoted.
            shown = observation if ask == "act" else quoted(observation)
            assert shown in prompt[1].text, ask
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


SHIPPED = [("alfworld", "react"), ("alfworld", "tools"), ("hotpotqa", "react"), ("hotpotqa", "cot-gt")]
SHIPPED += [("programming", "react"), ("programming", "code")]
SHIPPED += [pytest.param("webshop", "react", marks=pytest.mark.extra("webshop"))]
SHIPPED += [pytest.param("workspace", actor, marks=pytest.mark.long) for actor in ACTORS]


def prompts_of(name, actor, layout):
    """Return the first prompts of the actor and of the self-reflection that show examples."""
    environment = load_environment(name)

    def reply(messages):
        return "I failed." if asks_for(messages) == "reflect" else "Action: nothing"

    model = ScriptedChatModel(replies=reply)
    profile = replace(PROFILES["paper"], layout=layout)
    options = {"actor": actor, "max_trials": 2, "profile": profile}
    graph = create_reflexion(model, environment, **options).compile()
    # The workspace's first task needs Rust.
    graph.invoke({"task": next(task for task in environment.tasks() if not task["id"].endswith("-rs"))})
    prompts = [messages for messages in model.prompts if not messages[-1].text.endswith("Tests:")]
    asked = {role: [messages for messages in prompts if asks_for(messages) == role] for role in ("act", "reflect")}
    environment = for_actor(environment, actor)
    # A first program is asked for without an example.
    return environment, asked["act"][-1 if actor == "code" else 0], asked["reflect"][0]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "actor"), SHIPPED, ids=lambda each: each)
def test_examples_are_turns_whose_roles_alternate(name, actor):
    environment, acting, reflecting = prompts_of(name, actor, "turns")
    assert [type(message) for message in acting[:2]] == [SystemMessage, HumanMessage]
    if actor == "tools":  # thinking models refuse calls without their thoughts
        assert len(acting) == 2
        assert "--- Example 1 ---" in acting[0].text
    else:
        assert acting[2:], "there are examples"
    answered = {AIMessage: HumanMessage, HumanMessage: AIMessage}
    for message, following in pairwise(acting[1:]):
        assert isinstance(following, answered[type(message)])
    if actor != "code":
        written = [message.text.partition("Action: ")[2] for message in acting if isinstance(message, AIMessage)]
        assert all(parse_action(environment, each) for each in written)
    language = "python" if name == "programming" else None
    examples = base.prompts_of(environment).reflections_on(language)
    assert [m.text for m in reflecting if isinstance(m, AIMessage)] == [each.reflection for each in examples]
    asks = f" {REFLECTION}" if name == "programming" else "\n\nReflection:"
    assert all(m.text.endswith(asks) for m in reflecting if isinstance(m, HumanMessage))


def test_the_layout_text_has_the_examples_in_the_instruction():
    _, acting, reflecting = prompts_of("alfworld", "react", "text")
    assert [type(message) for message in acting] == [type(message) for message in reflecting]
    assert [type(message) for message in acting] == [SystemMessage, HumanMessage]
    assert acting[0].text.count("--- Example ") == reflecting[0].text.count("--- Example ") == 2
