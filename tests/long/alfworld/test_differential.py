"""Both engines step by step on the same games."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from langgraph_reflexion.envs.alfworld.compatibility import HELP, Variant, unsupported, variant_of
from langgraph_reflexion.envs.alfworld.native import NativeEngine
from langgraph_reflexion.envs.alfworld.textworld import (
    TextWorldEngine,
    Workers,
    installed_texts,
    to_tw_pddl,
    unavailable,
)
from tests.support.alfworld import Case, play, read_cases, record
from tests.support.compare_engines import Pair, Tally, compare, generated, main

pytestmark = pytest.mark.skipif(unavailable() is not None, reason=unavailable() or "")

CASES = read_cases(Path("tests/unit/alfworld/cases"))


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    pool = Workers(2)
    yield pool
    pool.close()


def test_the_golden_cases_are_what_the_reference_does(workers: Workers):
    def differs(case: Case) -> str | None:
        engine = TextWorldEngine(case.file(), workers)
        try:
            seen = tuple(play(engine, case.commands))
        finally:
            engine.close()
        return None if seen == case.seen else case.name

    with ThreadPoolExecutor(2) as threads:
        assert [name for name in threads.map(differs, CASES) if name] == []


def test_generated_games_agree():
    tally = compare(generated(6, seed=5), steps=25, seed=5, workers=2)
    assert tally.differences == []
    assert (tally.games, tally.won) == (6, 6)
    assert tally.steps > 150


def test_a_difference_is_found_and_reported(workers: Workers):
    one, other = generated(2, seed=1)
    tally = Tally()
    pair = Pair(one, workers, tally)
    pair.native = NativeEngine(other)
    assert not pair.reset()
    pair.reference.close()
    (found,) = tally.differences
    assert (found.game, found.what, found.commands) == (one.id, "observation", ())
    assert found.native != found.reference


def test_the_command_plays_every_game_of_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for number, game in enumerate(generated(2, seed=8)):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "game.tw-pddl").write_text(json.dumps(to_tw_pddl(game, *installed_texts())))
    assert main(["--data", str(tmp_path), "--steps", "3", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["games"], printed["solved"], printed["differences"]) == (2, 2, [])


def test_the_installed_domain_and_grammar_are_known():
    case = next(case for case in CASES if not case.old)
    assert variant_of(case.file()) == variant_of(case.game) == Variant(f"Your task is to: {case.game.instruction}.")
    old = next(case for case in CASES if case.old)
    assert variant_of(old.file()) == old.world().variant
    assert HELP.startswith("\nAvailable")


@pytest.mark.parametrize(
    ("part", "was", "becomes", "said"),
    [
        (
            "domain",
            "(isHot ?o)\n                (not",
            "(isClean ?o)\n (not",
            "heatobject",
        ),
        ("domain", "(:action look", "(:action stare", "look are missing"),
        ("domain", "(:action look", "(:action fly) (:action look", "fly"),
        (
            "domain",
            "(:action look",
            "(:action help) (:action look",
            "twice",
        ),
        ("grammar", "This is a cold", "This is a COLD", "examineObject"),
        ("grammar", '"look"', '"look around"', "commands for look"),
        ("grammar", "move {o} to {r}", "shove {o} to {r}", "putobject"),
        ("grammar", "You arrive at", "You reach", "GotoLocation"),
        ("grammar", "#task#", "#task##extra#", "intro"),
        ("grammar", "action help", "action hint", "commands for help"),
        ("grammar", '"#help.feedback#"', '"#help#"', "commands for help"),
        ("grammar", '"task"', '"tusk"', "no 'task'"),
        ("grammar", "Your task is to: ", "#list_empty# ", "other rules"),
        ("grammar", "Your task is to: ", "{o.name} ", "other rules"),
        ("grammar", "Your task is to: ", "{{x}} ", "other rules"),
        ("grammar", '"list_last_separator"', '"list_end"', "list_last_separator"),
        ("grammar", '"Your task is to', '"x"}, {"rhs": "Your task is to', "more than one text"),
    ],
)
def test_other_rules_and_wording_are_named(part: str, was: str, becomes: str, said: str):
    game = CASES[0].file()
    text = getattr(game, part)
    assert was in text
    difference = unsupported(replace(game, **{part: text.replace(was, becomes, 1)}))
    assert difference is not None
    assert said in difference


@pytest.mark.parametrize(
    ("part", "was", "becomes"),
    [
        ("domain", "(:action look", "; a comment\n(:action  LOOK"),
        ("grammar", "TODO", "Nothing to see"),
        ("grammar", "put {outero} in {r}", "stow {outero} in {r}"),
        ("grammar", "action help", 'action dance {\n template :: "dance";\n feedback :: "x";\n}\n\naction help'),
    ],
)
def test_invisible_pieces_may_differ(part: str, was: str, becomes: str):
    game = CASES[0].file()
    text = getattr(game, part)
    assert was in text
    assert unsupported(replace(game, **{part: text.replace(was, becomes, 1)})) is None


def test_recording_reproduces_the_file(workers: Workers):
    case = next(case for case in CASES if case.name == "start-holding")
    text = Path("tests/unit/alfworld/cases").joinpath("states.toml").read_text("utf-8")
    assert record(case, workers) in text
