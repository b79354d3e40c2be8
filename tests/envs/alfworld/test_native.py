"""The native engine against what the reference engine was seen to do; needs nothing but this package."""

import random
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from langgraph_reflexion.envs.alfworld.dialect import Dialect, dialect_of, printed
from langgraph_reflexion.envs.alfworld.engine import Game, Kind
from langgraph_reflexion.envs.alfworld.generate import generate
from langgraph_reflexion.envs.alfworld.goal import Grounder
from langgraph_reflexion.envs.alfworld.native import NativeEngine, World, unknown_dialect
from langgraph_reflexion.envs.alfworld.pddl import Problem, UnreadableError, read, typed
from langgraph_reflexion.envs.alfworld.world import CHANGING, PREDICATES, listing, names
from langgraph_reflexion.errors import EnvironmentUnavailable
from tests.envs.alfworld.golden import Case, play, read_cases

CASES = read_cases(Path(__file__).with_name("cases"))
KINDS: tuple[Kind, ...] = get_args(Kind)


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    return request.param


def problem(objects: str = "", init: str = "", goal: str = "(and)") -> str:
    return (
        f"(define (problem p) (:domain alfred) (:objects agent1 - agent loc_bar_1 - location {objects})"
        f" (:init (atLocation agent1 loc_bar_1) {init}) (:goal {goal}))"
    )


def game(text: str, **changes: str) -> Game:
    return Game(id="g1", kind="pick", instruction="put a mug in desk", problem=text, **changes)


def test_what_the_reference_did(case: Case):
    expected = list(case.seen)
    for number, now in enumerate(play(NativeEngine(case.world()), case.commands)):
        done = case.commands[:number]
        assert now.text == expected[number].text, done
        assert now.admissible == expected[number].admissible, done
        assert now.won == expected[number].won, done
    assert len(expected) == len(case.commands) + 1


def test_exactly_the_admissible_commands_are_possible(case: Case):
    # Every command that was ever possible is tried at every step.
    seen = {command for moment in case.seen for command in moment.admissible}
    engine = NativeEngine(case.world())

    def after(commands: Sequence[str]) -> NativeEngine:
        engine.reset()
        for command in commands:
            engine.step(command)
        return engine

    for number in range(len(case.commands)):
        done = case.commands[:number]
        possible = {other for other in seen if after(done).step(other) != "Nothing happens."}
        # What ends in a blank is listed, but no input ends in one.
        assert possible == {other for other in after(done).admissible() if other == other.strip()}


def test_reset_goes_back(case: Case):
    engine = NativeEngine(case.world())
    first = (engine.reset(), engine.admissible(), engine.won)
    for command in case.commands:
        engine.step(command)
    assert (engine.reset(), engine.admissible(), engine.won) == first
    assert [engine.step(command) for command in case.commands] == [moment.text for moment in case.seen[1:]]


@pytest.mark.parametrize("kind", KINDS)
def test_the_solution_of_a_generated_game_wins_with_its_last_command(kind: Kind):
    for index in range(3):
        played = generate(kind, seed=7, index=index)
        engine = NativeEngine(played)
        engine.reset()
        won = []
        for command in played.walkthrough:
            assert command in engine.admissible()
            assert engine.step(command) != "Nothing happens."
            won.append(engine.won)
        assert won == [False] * (len(won) - 1) + [True]


def test_threads_share_a_world_and_nothing_else():
    played = generate("two", seed=3, index=0)

    def walk(seed: int) -> list[str]:
        chance = random.Random(seed)
        engine = NativeEngine(played)
        return [engine.reset(), *(engine.step(chance.choice(engine.admissible())) for _ in range(200))]

    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(walk, range(8)))
    assert together == [walk(seed) for seed in range(8)]
    assert World.of(played) is World.of(played)


def test_a_game_that_is_won_from_the_start_can_be_played():
    # The planner of the original rejects it.
    at_once = NativeEngine(game(problem(goal="(and)")))
    assert at_once.won
    assert at_once.admissible() == ["help", "inventory", "look"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (problem(init="(openable fridge_bar_1)"), "fridge_bar_1 is not declared"),
        (problem(objects="mug_bar_1 mug_bar_1 - object"), "mug_bar_1 is declared twice"),
        (problem(objects="café_bar_1 - object"), "'é'"),
        (problem(objects="agent2 - agent"), "2 agents"),
        (problem(objects="loc_bar_2 - location", init="(atLocation agent1 loc_bar_2)"), "at 2 places"),
        (problem(goal="(checked loc_bar_1)"), "checked"),
        (problem("sofatype - otype", goal="(exists (?o - object) (objectType ?o sofatype))"), "goal can never hold"),
        (problem(goal="(and (holdsAny agent1) (isReceptacleObject agent1))"), "goal can never hold"),
        (problem(goal="(opened agent1)"), "goal can never hold"),
        (problem(goal="(exists (?o - object) (and (opened ?o) (holds ?o ?o)))"), "goal can never hold"),
        (
            problem(goal="(exists (?o - object) (objectType ?o sofatype))"),
            "speaks of sofatype, which is not declared",
        ),
        (problem(goal="(opened zork)"), "speaks of zork, which is not declared"),
        (problem(goal="(not (holds agent1 zork))"), "speaks of zork, which is not declared"),
        (problem(goal="(not (= agent1 zork))"), "speaks of zork, which is not declared"),
        (problem(goal="(not (hovers agent1))"), r"\(hovers agent1\) in it, and there is no predicate hovers"),
        (problem(goal="(exists (?r - receptacle) (hovers ?r))"), "there is no predicate hovers"),
        (problem(goal="(forall (?o - zork) (holdsAny agent1))"), "of the type zork, and there is no such type"),
        (
            problem(goal="(exists (?r - receptacle) (opened ?r ?r))"),
            r"\(opened \?r \?r\) in it, and opened takes 1, not 2",
        ),
        (problem(goal="(not (holds agent1))"), "holds takes 2, not 1"),
        (problem(goal="(= agent1)"), "= takes 2, not 1"),
        (problem(goal="(holdsAny)"), "holdsany takes 1, not 0"),
        (problem(goal="()"), r"an empty condition in it, \(\)"),
        (problem(goal="(or (holdsAny agent1) ())"), r"an empty condition in it, \(\)"),
        (problem(objects="zork - zorktype"), "zork is of the type zorktype, and there is no such type"),
        (
            problem(goal="(and)) (:metric minimize (totalCost)"),
            r"its :metric is not \(:metric minimize \(total-cost\)\)",
        ),
        (problem(goal="(and)) (:zork"), r"\(:zork, which is no section"),
        (problem(goal="(and)) zork (:metric"), "zork, which is no section"),
        ("(define (problem p) (:domain d) (:init) (:objects) (:goal (and)))", "its sections are not in the order"),
        ("(define (:domain d) (:objects) (:init) (:goal (and)))", "does not begin with"),
        ("(define (problem p) (:objects) (:init) (:goal (and)))", "does not begin with"),
        ("(defined (problem p) (:domain d) (:objects) (:init) (:goal (and)))", "does not begin with"),
        (problem(goal="(and)) (:goal (holdsAny agent1)"), r"more than one \(:goal section"),
        (problem(init=") (:init"), r"more than one \(:init section"),
        (problem(objects=") (:objects"), r"more than one \(:objects section"),
        (problem(goal="(and " * 80 + ")" * 80), "nested more than 64 deep"),
        (problem(goal="(opened ?r)"), r"uses \?r where it is not declared"),
        (problem("a b c d e f g h - object", goal="(exists (?a ?b ?c ?d ?e ?f) (opened ?a))"), "more than 100,000"),
        (problem(goal="(and or"), "never closed"),
        ("a (b)", "not one expression"),
        (problem(goal=")))"), "never opened"),
        (problem(goal="(opened (loc_bar_1))"), "in it"),
        (problem(goal="mug"), "in it"),
        (problem(init="opened"), "plain list"),
        (problem(init="(holds agent1)"), r"\(holds agent1\) speaks of"),
        ("(define (problem p))", "no :goal and no :init and no :objects"),
        (problem(objects="a_bar_b - "), "plain name|type is missing"),
        (problem("a-b a_minus_b - object", "(pickupable a-b) (pickupable a_minus_b)"), "two of its things"),
        (problem("a_minus_b_bar_1 - object", "(pickupable a_minus_b_bar_1)"), "cannot be given a name"),
    ],
)
def test_a_problem_that_makes_no_sense_is_refused_by_name(text: str, why: str):
    with pytest.raises(EnvironmentUnavailable, match=why) as error:
        NativeEngine(game(text))
    assert "cannot play g1" in str(error.value)
    with pytest.raises(EnvironmentUnavailable, match=r"cannot play there/game\.tw-pddl: "):
        NativeEngine(replace(game(text), source="there/game.tw-pddl"))


@pytest.mark.parametrize(
    ("part", "text", "why"),
    [
        ("domain", "(define (domain d))", "the domain's .*closeobject, .* are missing"),
        ("grammar", 'grammar :: """{}""";', "the grammar's commands for cleanobject, .* differ from"),
        (
            "grammar",
            '# all\naction a-b {# of it\n template :: "t"; pddl :: """x""";\n feedback :: "f"; } # read',
            "the grammar's commands for cleanobject, .* differ from",
        ),
    ],
)
def test_rules_and_wording_that_are_not_known_are_said(part: str, text: str, why: str):
    unknown = game(problem(), **{part: text})
    assert re.search(why, unknown_dialect(unknown) or "")
    with pytest.raises(EnvironmentUnavailable, match=f"cannot play g1: .*{why}"):
        NativeEngine(unknown)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("once", "cannot be read at 'once'"),
        ('grammar :: """{""";', "not JSON"),
        ('grammar :: """[1]""";', "no lists under names"),
        ('grammar :: """{"task": 5}""";', "no lists under names"),
        ('grammar :: """{"task": [{"text": "look"}]}""";', "'task' has a text without 'rhs'"),
        ('grammar :: """' + '{"a":' * 100_000 + '""";', "not JSON"),
        # Comment lines are of no account between actions and in their rules, but not in the other rules.
        ('grammar :: """{\n# no task\n}""";', "not JSON"),
        ('action look { template :: "look"; feedback :: "', "cannot be read at 'feedback"),
        ('action look { template :: "look"; feedback :: "x";', "ends in the middle of the action look"),
        ('action look { template :: "look"; action go { ', "cannot be read at 'action go"),
        ('action look { template :: "look"; template :: "look"; }', "look has more than one template"),
        ('action look { template :: "look"; }', "look has no feedback"),
        ('template :: "look";', "cannot be read at 'template"),
        ("}", "cannot be read at '}'"),
        ("#" * 100_000 + "\n#" * 100_000 + "\n}", "cannot be read at '}'"),
    ],
)
def test_a_grammar_that_cannot_be_read_is_an_error_and_not_unknown(text: str, why: str):
    broken = replace(game(problem(), grammar=text), source="there/game.tw-pddl")
    for use in (unknown_dialect, NativeEngine):
        with pytest.raises(EnvironmentUnavailable, match=rf"there/game\.tw-pddl.*: its grammar.*{why}"):
            use(broken)


def test_what_a_goal_says_of_other_types_never_changes():
    # An agent is never opened; if it is at the start, it stays so.
    assert NativeEngine(game(problem(goal="(not (opened agent1))"))).won
    assert NativeEngine(game(problem(init="(opened agent1)", goal="(opened agent1)"))).won


def test_help_that_says_nothing_is_an_answer():
    silent = Dialect("Your task is to: look", help="")
    engine = NativeEngine(World(Problem.parse(problem()), silent))
    assert "help" in engine.admissible()
    assert engine.step("help") == ""
    assert engine.step("help me") == "Nothing happens."


def test_generated_games_are_known():
    assert unknown_dialect(generate("pick", seed=0, index=0)) is None


@pytest.mark.parametrize("sections", ["()", "(:action)", ")", "(" * 100_000 + ")" * 100_000])
def test_a_domain_that_is_no_pddl_is_an_error_and_not_unknown(sections: str):
    broken = replace(game(problem(), domain=f"(define (domain d) {sections})"), source="there/game.tw-pddl")
    for use in (unknown_dialect, NativeEngine):
        with pytest.raises(EnvironmentUnavailable, match=r"there/game\.tw-pddl.*: its domain cannot be read: "):
            use(broken)


def test_generated_games_have_help_and_move():
    dialect = dialect_of(generate("pick", seed=0, index=0))
    assert dialect.help is not None
    assert dialect.help.startswith("Available commands:\n  look:  ")
    assert dialect.put == ("move ", " to ")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Your task is to: put a mug in desk.", "Your task is to: put a mug in desk."),
        ("put; it.", "put"),
        ("a | b.", "a "),
        ("see [this]", "see "),
        ('put "it" in desk', "put it in desk"),
        ('put "it in desk', "put "),
        ("// a comment\nput", "put"),
        ("\t \n put", "put"),
        ("put\n  it\n", "put\n  it\n"),
        ("", ""),
    ],
)
def test_how_the_reference_prints_literal_text(text: str, shown: str):
    assert printed(text) == shown


def test_names_count_down_and_basins_are_told_apart():
    ids = ["mug_bar_2", "mug_bar_1", "mug_bar__plus_1", "sink_bar_1", "sink_bar_1_bar_sinkbasin", "a_minus_b"]
    assert names(ids) == {
        "mug_bar_1": "mug 3",
        "mug_bar_2": "mug 2",
        "mug_bar__plus_1": "mug 1",
        "sink_bar_1": "sink 1",
        "sink_bar_1_bar_sinkbasin": "sinkbasin 1",
        "a_minus_b": "a-b ",
    }


def test_listing():
    assert [listing("abc"[:n]) for n in range(4)] == ["nothing", "a", "a, and b", "a, b, and c"]


def test_reading_pddl():
    assert read("(A ; no (\n b(c))") == ["a", "b", ["c"]]
    assert read("(p?x)") == ["p", "?x"]
    assert list(typed(["a", "b", "-", "t", "c"])) == [("a", "t"), ("b", "t"), ("c", "object")]
    assert Problem.parse(problem(init="(= (total-cost) 0) (not (opened agent1))")).facts == {
        ("atlocation", "agent1", "loc_bar_1")
    }
    with pytest.raises(UnreadableError):
        list(typed(["a", "-"]))


def slowly(tree, env: dict[str, str], facts: set, types: dict[str, str]) -> bool:
    """A goal decided by its definition, without any of the grounding."""
    match tree:
        case ["and", *parts]:
            return all(slowly(part, env, facts, types) for part in parts)
        case ["or", *parts]:
            return any(slowly(part, env, facts, types) for part in parts)
        case ["not", part]:
            return not slowly(part, env, facts, types)
        case ["imply", given, then]:
            return not slowly(given, env, facts, types) or slowly(then, env, facts, types)
        case ["exists" | "forall" as word, [], body]:
            return slowly(body, env, facts, types)
        case ["exists" | "forall" as word, declared, body]:
            (name, kind), *rest = typed(declared)
            inner = [word, [part for one in rest for part in (one[0], "-", one[1])], body]
            values = [one for one, of in types.items() if kind in ("object", of)]
            found = (slowly(inner, {**env, name: value}, facts, types) for value in values)
            return any(found) if word == "exists" else all(found)
        case [predicate, *arguments]:
            fact = (predicate, *(env.get(word, word) for word in arguments))
            return len(set(fact[1:])) == 1 if predicate == "=" else fact in facts
    raise AssertionError(tree)


def test_grounding_a_goal_changes_nothing(case: Case):
    parsed = Problem.parse(case.game.problem)
    goal = Grounder(parsed, PREDICATES, CHANGING).goal()
    chance = random.Random(case.name)
    moving = sorted(fact for fact in goal.mentions())
    fixed = {fact for fact in parsed.facts if fact[0] not in CHANGING}
    assert len(moving) < 500
    for _ in range(12):
        facts = fixed | {fact for fact in moving if chance.random() < 0.5}
        expected = slowly(parsed.goal, {}, facts, parsed.types)
        assert goal.holds(facts) == expected
        assert goal.negated().holds(facts) != expected
