"""Both engines in step, where the reference engine is installed."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from langgraph_reflexion.envs.alfworld.dialect import HELP, Dialect, dialect_of
from langgraph_reflexion.envs.alfworld.games import installed_texts, to_tw_pddl
from langgraph_reflexion.envs.alfworld.native import NativeEngine, unknown_dialect
from langgraph_reflexion.envs.alfworld.textworld import TextWorldEngine, Workers, unavailable
from tests.envs.alfworld.compare_engines import Pair, Tally, compare, generated, main
from tests.envs.alfworld.golden import Case, play, read_cases, record

pytestmark = pytest.mark.skipif(unavailable() is not None, reason=unavailable() or "")

CASES = read_cases(Path(__file__).with_name("cases"))


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    pool = Workers(2)
    yield pool
    pool.close()


@pytest.mark.long
def test_the_cases_are_what_the_reference_does(workers: Workers):
    def differs(case: Case) -> str | None:
        engine = TextWorldEngine(case.file(), workers)
        try:
            seen = tuple(play(engine, case.commands))
        finally:
            engine.close()
        return None if seen == case.seen else case.name

    with ThreadPoolExecutor(2) as threads:
        assert [name for name in threads.map(differs, CASES) if name] == []


@pytest.mark.long
def test_generated_games_walk_in_step():
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


def test_the_command(capsys: pytest.CaptureFixture[str]):
    assert main(["--games", "1", "--steps", "3", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["games"], printed["solved"], printed["differences"]) == (1, 1, [])
    assert main(["--games", "0"]) == 0
    assert "0 differences" in capsys.readouterr().out


def test_the_command_plays_every_game_of_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for number, game in enumerate(generated(2, seed=8)):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "game.tw-pddl").write_text(json.dumps(to_tw_pddl(game, *installed_texts())))
    assert main(["--data", str(tmp_path), "--steps", "3", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["games"], printed["solved"], printed["differences"]) == (2, 2, [])


def test_the_installed_domain_and_grammar_are_known():
    case = next(case for case in CASES if not case.old)
    assert dialect_of(case.file()) == dialect_of(case.game) == Dialect(f"Your task is to: {case.game.instruction}.")
    old = next(case for case in CASES if case.old)
    assert dialect_of(old.file()) == old.world().dialect
    assert HELP.startswith("\nAvailable")


@pytest.mark.parametrize(
    ("part", "was", "becomes", "said"),
    [
        (
            "domain",
            "(isHot ?o)\n                (not",
            "(isClean ?o)\n (not",
            "the domain's heatobject differ",
        ),
        ("domain", "(:action look", "(:action stare", "the domain's look are missing"),
        ("domain", "(:action look", "(:action fly) (:action look", "the domain's fly are not known"),
        (
            "domain",
            "(:action look",
            "(:action help) (:action look",
            "the domain's help are not known, or there twice",
        ),
        ("grammar", "This is a cold", "This is a COLD", "the grammar's examineObject.feedback differ"),
        ("grammar", '"look"', '"look around"', "the grammar's commands for look differ"),
        ("grammar", "move {o} to {r}", "shove {o} to {r}", "the grammar's commands for putobject differ"),
        ("grammar", "You arrive at", "You reach", "text for arriving is 'You reach"),
        ("grammar", "#task#", "#task##extra#", "the grammar's intro differ"),
        ("grammar", "action help", "action hint", "the grammar's commands for help differ"),
        ("grammar", '"#help.feedback#"', '"#help#"', "the grammar's commands for help differ"),
        ("grammar", '"task"', '"tusk"', "its grammar has no 'task'"),
        ("grammar", "Your task is to: ", "#list_empty# ", "its grammar's task is made of other rules"),
        ("grammar", "Your task is to: ", "{o.name} ", "its grammar's task is made of other rules"),
        ("grammar", "Your task is to: ", "{{x}} ", "its grammar's task is made of other rules"),
        ("grammar", '"list_last_separator"', '"list_end"', "list_last_separator"),
        ("grammar", '"Your task is to', '"x"}, {"rhs": "Your task is to', "more than one text for task"),
    ],
)
def test_other_rules_and_wordings_are_refused_by_name(part: str, was: str, becomes: str, said: str):
    game = CASES[0].file()
    text = getattr(game, part)
    assert was in text
    difference = unknown_dialect(replace(game, **{part: text.replace(was, becomes, 1)}))
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
def test_what_never_shows_may_differ(part: str, was: str, becomes: str):
    game = CASES[0].file()
    text = getattr(game, part)
    assert was in text
    assert unknown_dialect(replace(game, **{part: text.replace(was, becomes, 1)})) is None


def test_recording_gives_the_file_again(workers: Workers):
    case = next(case for case in CASES if case.name == "start-holding")
    text = Path(__file__).with_name("cases").joinpath("states.toml").read_text("utf-8")
    assert record(case, workers) in text
