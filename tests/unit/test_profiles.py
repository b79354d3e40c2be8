"""Profiles: what is given, what an environment fills in, and what holds otherwise."""

from dataclasses import replace

import pytest

from langgraph_reflexion import ConfigurationError, Profile
from langgraph_reflexion.agents.world import AgentEnvironment
from langgraph_reflexion.envs.alfworld.environment import ALFWorld
from langgraph_reflexion.envs.fever.environment import FEVER
from langgraph_reflexion.envs.hotpotqa.environment import HotPotQA
from langgraph_reflexion.envs.programming.environment import Programming
from langgraph_reflexion.loop.heuristic import Heuristic
from langgraph_reflexion.loop.profiles import PROFILES, decide, load_profile
from langgraph_reflexion.state import Strategy


def test_the_profiles_settings():
    paper, preprint, upstream = (PROFILES[name].resolve(ALFWorld) for name in ("paper", "preprint", "upstream"))
    assert (paper.memory_size, paper.max_trials, paper.until_no_improvement) == (3, 12, False)
    assert (upstream.memory_size, upstream.max_trials, preprint.until_no_improvement) == (3, 10, True)
    assert PROFILES["paper"].resolve(HotPotQA).max_trials == 3
    assert [each.resolve(HotPotQA).examples for each in PROFILES.values()] == [2, 6, 6]
    assert {each.resolve(FEVER).examples for each in PROFILES.values()} == {3}, "as in ReAct"
    with pytest.raises(ConfigurationError, match="paper, preprint, upstream"):
        load_profile("papr")


def test_what_is_not_given_is_the_environments():
    mine = Profile("mine").resolve(AgentEnvironment)
    assert (mine.name, mine.actor, mine.feedback, mine.max_trials) == ("mine", "agent", "words", 3)
    assert mine.memory_size == 3, "and else the general value"


def test_what_is_given_counts_even_where_it_is_the_general_value():
    mine = Profile("mine", feedback="binary", max_trials=12).resolve(AgentEnvironment)
    assert (mine.feedback, mine.max_trials) == ("binary", 12)
    assert Profile("mine", examples=2).resolve(FEVER).examples == 2
    given = Profile("mine", actor="react", strategy="reflexion", evaluator="environment", memory_size=3)
    mine = given.resolve(Programming)
    assert (mine.actor, mine.strategy, mine.evaluator, mine.memory_size) == (
        "react",
        "reflexion",
        "environment",
        3,
    )


class Short(ALFWorld):
    profile_defaults = {"heuristic": {"max_actions": 5}}


def test_a_heuristic_that_is_given_counts_too():
    assert Profile("mine").resolve(Short).heuristic == Heuristic(max_actions=5)
    assert Profile("mine", heuristic=Heuristic()).resolve(Short).heuristic == Heuristic()


def test_a_profile_made_of_another_keeps_open_what_its_profile_leaves_open():
    mine = replace(PROFILES["paper"], name="mine", layout="text")
    assert mine.resolve(FEVER).examples == 3
    assert replace(mine, examples=2).resolve(FEVER).examples == 2


def test_an_argument_counts_more_than_the_profile():
    assert Profile("mine", max_trials=12).resolve(FEVER, max_trials=4, examples=None).max_trials == 4
    assert Profile("mine", strategy="retry").resolve(FEVER, strategy="reflexion").strategy == "reflexion"


def test_rules_are_decided_already_but_for_what_is_given():
    rules = PROFILES["upstream"].resolve(ALFWorld, strategy="retry")
    assert decide(rules, HotPotQA) == rules, "another environment changes nothing"
    assert decide(rules, HotPotQA, strategy=None, max_trials=7) == replace(rules, max_trials=7)
    assert decide("upstream", ALFWorld, strategy="retry") == rules
    # As a word, which messages and files show.
    assert type(decide(rules, ALFWorld, strategy=Strategy.FEEDBACK).strategy) is str


def test_the_last_attempt_leaves_room_for_fewer_reflections():
    mine = Profile("mine", memory_size=5, memory_beside_attempt=2)
    assert mine.resolve(ALFWorld).memory_size == 5
    assert mine.resolve(ALFWorld, strategy="last_attempt_and_reflexion").memory_size == 2
    assert mine.resolve(ALFWorld, strategy="last_attempt_and_reflexion", memory_size=4).memory_size == 4


def test_the_strategy_that_shows_the_check_alone_shows_its_words_unless_told_otherwise():
    assert PROFILES["paper"].resolve(ALFWorld).feedback == "binary"
    assert PROFILES["paper"].resolve(ALFWorld, strategy="feedback").feedback == "words"
    assert PROFILES["paper"].resolve(ALFWorld, strategy="feedback", feedback="scalar").feedback == "scalar"
    assert Profile("mine", feedback="binary").resolve(ALFWorld, strategy="feedback").feedback == "binary"


def test_a_wrong_value_of_an_environment_names_the_field():
    class Wrong(ALFWorld):
        profile_defaults = {"max_trials": 0}

    with pytest.raises(ConfigurationError, match="max_trials"):
        PROFILES["paper"].resolve(Wrong)
