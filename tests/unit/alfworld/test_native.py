"""The native engine against recordings of the reference engine."""

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from langgraph_reflexion.envs.alfworld.compatibility import Variant, unsupported, variant_of
from langgraph_reflexion.envs.alfworld.engine import Game
from langgraph_reflexion.envs.alfworld.generate import generate
from langgraph_reflexion.envs.alfworld.goal import Grounder
from langgraph_reflexion.envs.alfworld.grammar import render_literal
from langgraph_reflexion.envs.alfworld.native import NativeEngine
from langgraph_reflexion.envs.alfworld.pddl import Problem, UnreadableError, read, typed
from langgraph_reflexion.envs.alfworld.world import CHANGING, PREDICATES, World, listing, names
from langgraph_reflexion.errors import EnvironmentUnavailable
from tests.support.alfworld import Case, play, read_cases

CASES = read_cases(Path(__file__).with_name("cases"))


def problem(objects: str = "", init: str = "", goal: str = "(and)") -> str:
    return (
        f"(define (problem p) (:domain alfred) (:objects agent1 - agent loc_bar_1 - location {objects})"
        f" (:init (atLocation agent1 loc_bar_1) {init}) (:goal {goal}))"
    )


def game(text: str, **changes: str) -> Game:
    return Game(id="g1", kind="pick", instruction="put a mug in desk", problem=text, **changes)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden_case(case: Case):
    engine = NativeEngine(case.world())
    shown = list(play(engine, case.commands))
    for number, (now, expected) in enumerate(zip(shown, case.seen, strict=True)):
        assert now == expected, case.commands[:number]
    # Reset goes back, and the same commands do the same again.
    assert list(play(engine, case.commands)) == shown
    _exactly_the_admissible_commands_are_possible(case)
    _grounding_keeps_the_meaning_of_the_goal(case)


def _exactly_the_admissible_commands_are_possible(case: Case):
    """Try every command that was ever possible at every step."""
    seen = {command for moment in case.seen for command in moment.admissible}

    def after(commands: Sequence[str]) -> NativeEngine:
        engine = NativeEngine(case.world())
        for command in commands:
            engine.step(command)
        return engine

    for number in range(len(case.commands)):
        done = case.commands[:number]
        possible = {other for other in seen if after(done).step(other) != "Nothing happens."}
        # Names that end in a blank are listed, but no command can end in one.
        assert possible == {other for other in after(done).admissible() if other == other.strip()}


def _grounding_keeps_the_meaning_of_the_goal(case: Case):
    parsed = Problem.parse(case.game.problem)
    goal = Grounder(parsed, PREDICATES, CHANGING).goal()
    chance = random.Random(case.name)
    moving = sorted(goal.mentions())
    fixed = {fact for fact in parsed.facts if fact[0] not in CHANGING}
    assert len(moving) < 500
    for _ in range(12):
        facts = fixed | {fact for fact in moving if chance.random() < 0.5}
        expected = by_definition(parsed.goal, {}, facts, parsed.types)
        assert goal.holds(facts) == expected
        assert goal.negated().holds(facts) != expected


def by_definition(tree, env: dict[str, str], facts: set, types: dict[str, str]) -> bool:
    """Decide a goal without grounding it."""
    match tree:
        case ["and", *parts]:
            return all(by_definition(part, env, facts, types) for part in parts)
        case ["or", *parts]:
            return any(by_definition(part, env, facts, types) for part in parts)
        case ["not", part]:
            return not by_definition(part, env, facts, types)
        case ["imply", given, then]:
            return not by_definition(given, env, facts, types) or by_definition(then, env, facts, types)
        case ["exists" | "forall" as word, [], body]:
            return by_definition(body, env, facts, types)
        case ["exists" | "forall" as word, declared, body]:
            (name, kind), *rest = typed(declared)
            inner = [word, [part for each in rest for part in (each[0], "-", each[1])], body]
            values = [thing for thing, of in types.items() if kind in ("object", of)]
            found = (by_definition(inner, {**env, name: value}, facts, types) for value in values)
            return any(found) if word == "exists" else all(found)
        case [predicate, *arguments]:
            fact = (predicate, *(env.get(word, word) for word in arguments))
            return len(set(fact[1:])) == 1 if predicate == "=" else fact in facts
    raise AssertionError(tree)


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
        (problem(init="(openable fridge_bar_1)"), "fridge_bar_1"),
        (problem(objects="mug_bar_1 mug_bar_1 - object"), "twice"),
        (problem(objects="café_bar_1 - object"), "ASCII"),
        (problem(objects="agent2 - agent"), "2 agents"),
        (problem(objects="loc_bar_2 - location", init="(atLocation agent1 loc_bar_2)"), "2 places"),
        (problem(goal="(checked loc_bar_1)"), "checked"),
        (problem("sofatype - otype", goal="(exists (?o - object) (objectType ?o sofatype))"), "never hold"),
        (problem(goal="(exists (?o - object) (and (opened ?o) (holds ?o ?o)))"), "never hold"),
        (problem(goal="(exists (?o - object) (objectType ?o sofatype))"), "sofatype"),
        (problem(goal="(not (= agent1 zork))"), "zork"),
        (problem(goal="(exists (?r - receptacle) (hovers ?r))"), "predicate"),
        (problem(goal="(forall (?o - zork) (holdsAny agent1))"), "type"),
        (problem(goal="(exists (?r - receptacle) (opened ?r ?r))"), "takes 1, not 2"),
        (problem(goal="(= agent1)"), "takes 2, not 1"),
        (problem(goal="(or (holdsAny agent1) ())"), "empty condition"),
        (problem(objects="zork - zorktype"), "zorktype"),
        (problem(goal="(and)) (:metric minimize (totalCost)"), ":metric"),
        (problem(goal="(and)) (:zork"), "section"),
        (problem(goal="(and)) zork (:metric"), "section"),
        ("(define (problem p) (:domain d) (:init) (:objects) (:goal (and)))", "order"),
        ("(define (problem p) (:objects) (:init) (:goal (and)))", "begin"),
        ("(defined (problem p) (:domain d) (:objects) (:init) (:goal (and)))", "begin"),
        (problem(goal="(and)) (:goal (holdsAny agent1)"), "more than one"),
        (problem(goal="(and " * 80 + ")" * 80), "deep"),
        (problem(goal="(opened ?r)"), r"\?r"),
        (problem("a b c d e f g h - object", goal="(exists (?a ?b ?c ?d ?e ?f) (opened ?a))"), "100,000"),
        (problem(goal="(and or"), "never closed"),
        ("a (b)", "one expression"),
        (problem(goal=")))"), "never opened"),
        (problem(goal="(opened (loc_bar_1))"), "goal"),
        (problem(goal="mug"), "goal"),
        (problem(init="opened"), "list"),
        (problem(init="(holds agent1)"), "arguments"),
        ("(define (problem p))", "no :goal"),
        (problem(objects="a_bar_b - "), "type"),
        (problem("a-b a_minus_b - object", "(pickupable a-b) (pickupable a_minus_b)"), "two of its things"),
        (problem("a_minus_b_bar_1 - object", "(pickupable a_minus_b_bar_1)"), "name"),
    ],
)
def test_an_invalid_problem_is_refused(text: str, why: str):
    with pytest.raises(EnvironmentUnavailable, match=rf"there/game\.tw-pddl.*{why}"):
        NativeEngine(replace(game(text), source="there/game.tw-pddl"))


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("domain", "(define (domain d))"),
        ("grammar", 'grammar :: """{}""";'),
        ("grammar", '# all\naction a-b {# of it\n template :: "t"; pddl :: """x""";\n feedback :: "f"; } # read'),
    ],
)
def test_unknown_rules_and_wording_are_named(part: str, text: str):
    unknown = game(problem(), **{part: text})
    assert f"the {part}'s" in (unsupported(unknown) or "")
    with pytest.raises(EnvironmentUnavailable, match=f"g1: the {part}'s"):
        NativeEngine(unknown)
    assert unsupported(generate("pick", seed=0, index=0)) is None


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("grammar", "once"),
        ("grammar", 'grammar :: """{""";'),
        ("grammar", 'grammar :: """[1]""";'),
        ("grammar", 'grammar :: """{"task": 5}""";'),
        ("grammar", 'grammar :: """{"task": [{"text": "look"}]}""";'),
        ("grammar", 'grammar :: """' + '{"a":' * 100_000 + '""";'),
        # Comments are allowed between actions and in their rules, but not in the other rules.
        ("grammar", 'grammar :: """{\n# no task\n}""";'),
        ("grammar", 'action look { template :: "look"; feedback :: "'),
        ("grammar", 'action look { template :: "look"; feedback :: "x";'),
        ("grammar", 'action look { template :: "look"; action go { '),
        ("grammar", 'action look { template :: "look"; template :: "look"; }'),
        ("grammar", 'action look { template :: "look"; }'),
        ("grammar", 'template :: "look";'),
        ("grammar", "#" * 100_000 + "\n#" * 100_000 + "\n}"),
        ("domain", "(define (domain d) ())"),
        ("domain", "(define (domain d) (:action))"),
        ("domain", "(define (domain d) ))"),
        ("domain", "(" * 100_000 + ")" * 100_000),
    ],
)
def test_an_invalid_grammar_or_domain_is_an_error_and_not_unknown(part: str, text: str):
    broken = replace(game(problem(), **{part: text}), source="there/game.tw-pddl")
    for use in (unsupported, NativeEngine):
        with pytest.raises(EnvironmentUnavailable, match=rf"there/game\.tw-pddl.*its {part}"):
            use(broken)


def test_what_a_goal_says_of_other_types_never_changes():
    # An agent is never opened; if it is at the start, it stays so.
    assert NativeEngine(game(problem(goal="(not (opened agent1))"))).won
    assert NativeEngine(game(problem(init="(opened agent1)", goal="(opened agent1)"))).won


def test_help_that_says_nothing_is_an_answer():
    silent = Variant("Your task is to: look", help="")
    engine = NativeEngine(World(Problem.parse(problem()), silent))
    assert "help" in engine.admissible()
    assert engine.step("help") == ""
    assert engine.step("help me") == "Nothing happens."


def test_generated_games_have_help_and_move():
    variant = variant_of(generate("pick", seed=0, index=0))
    assert variant.help is not None
    assert variant.help.startswith("Available commands:\n  look:  ")
    assert variant.put == ("move ", " to ")


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
    assert render_literal(text) == shown


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
