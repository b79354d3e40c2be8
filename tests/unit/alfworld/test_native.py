from dataclasses import replace
from pathlib import Path

import pytest

from langgraph_reflexion.envs.alfworld.engine import Game
from langgraph_reflexion.envs.alfworld.native import NativeEngine
from langgraph_reflexion.envs.alfworld.world import World
from langgraph_reflexion.errors import EnvironmentUnavailable
from tests.support.alfworld import play, read_cases

CASES = read_cases(Path(__file__).with_name("cases"))


def problem(objects="", init="", goal="(and)"):
    return (
        f"(define (problem p) (:domain alfred) (:objects agent1 - agent loc_bar_1 - location {objects})"
        f" (:init (atLocation agent1 loc_bar_1) {init}) (:goal {goal}))"
    )


def game(text, **changes):
    return Game(id="g1", kind="pick", instruction="put a mug in desk.", problem=text, **changes)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden_case(case):
    engine = NativeEngine(case.world())
    shown = list(play(engine, case.commands))
    for number, (now, expected) in enumerate(zip(shown, case.seen, strict=True)):
        assert now == expected, case.commands[:number]
    # Reset goes back, and the same commands do the same again.
    assert list(play(engine, case.commands)) == shown


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (problem(init="(openable fridge_bar_1)"), "fridge_bar_1"),
        (problem(objects="agent2 - agent", init="(atLocation agent2 loc_bar_1)"), "2 agents"),
        (problem(goal="(checked loc_bar_1)"), "checked"),
        (problem("sofatype - otype", goal="(exists (?o - object) (objectType ?o sofatype))"), "never hold"),
        (problem(goal="(exists (?o - object) (opened ?o ?o))"), "takes 1"),
        (problem(goal="(imply (opened agent1) (opened agent1))"), "not a supported condition"),
        (problem(goal="(and)) (:goal (holdsAny agent1)"), "more than one"),
        (problem(goal="(and or"), "never closed"),
        ("(define (problem p))", "no :goal"),
        (problem(objects="a_bar_b - "), "type"),
    ],
)
def test_an_invalid_problem_is_refused(text, why):
    with pytest.raises(EnvironmentUnavailable, match=rf"there/game\.tw-pddl.*{why}"):
        World.of(replace(game(text), source="there/game.tw-pddl"))


@pytest.mark.parametrize("task", ["Your task is to: look.", "Look."])
def test_unknown_rules_and_wording_are_refused(task):
    unknown = game(
        problem(), domain="(define (domain alfred))", grammar=f'grammar :: """{{"task": [{{"rhs": "{task}"}}]}}""";'
    )
    with pytest.raises(EnvironmentUnavailable, match=r"g1: .*rules or wording"):
        World.of(unknown)
