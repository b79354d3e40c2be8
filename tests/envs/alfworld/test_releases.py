"""Official game files: the wording of every release, on games of our own and on real ones."""

import json
import os
import re
import tarfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from langgraph_reflexion.envs.alfworld.dialect import COMMANDS, HELP, RULES, dialect_of
from langgraph_reflexion.envs.alfworld.engine import Game
from langgraph_reflexion.envs.alfworld.environment import ALFWorld
from langgraph_reflexion.envs.alfworld.games import games_in, installed_texts, official_games
from langgraph_reflexion.envs.alfworld.generate import generate
from langgraph_reflexion.envs.alfworld.native import NativeEngine, unknown_dialect
from langgraph_reflexion.envs.alfworld.textworld import unavailable
from tests.envs.alfworld.compare_engines import Pair, Tally, play
from tests.envs.alfworld.golden import OLD

needs_engine = pytest.mark.skipif(unavailable() is not None, reason=str(unavailable()))

OFFICIAL = Path(os.environ.get("ALFWORLD_OFFICIAL", "none"))
ARCHIVE = OFFICIAL / "json_2.1.2_valid_unseen.tar.xz"
needs_official = pytest.mark.skipif(
    not ARCHIVE.is_file(), reason="ALFWORLD_OFFICIAL names no folder with official games"
)


def released(game: Game, release: str) -> Game:
    """A game with the domain and grammar of a release, made of the wheel's by what the release has otherwise."""
    domain, grammar = installed_texts()
    if release != "wheel":
        assert domain.count(";(receptacleType ?r SinkType)") == 1
        domain = domain.replace(";(receptacleType ?r SinkType)", "(receptacleType ?r SinkType)")
    if release == "json_2.1.2":
        before, after = grammar.split('"#help.feedback#"')
        grammar = f'{before}"{HELP}";\n}}'
        assert '"help.feedback"' in after
    if release == "json_2.1.1":
        domain = domain[: domain.index("(:action help")] + ")\n"
        grammar = grammar[: grammar.index("action help")]
        for new, was in OLD:
            assert new in grammar
            grammar = grammar.replace(new, was)
    return replace(game, domain=domain, grammar=grammar.replace("UNKNOWN GOAL", game.instruction.removesuffix(".")))


def commands_of(game: Game) -> list[str]:
    """The solution of a game, in the words of its release."""
    if game.syntax == "move":
        return list(game.walkthrough)
    put = [("put " + c.removeprefix("move ")).replace(" to ", " in/on ") for c in game.walkthrough]
    return [new if was.startswith("move ") else was for was, new in zip(game.walkthrough, put, strict=True)]


@needs_engine
@pytest.mark.parametrize("release", ["json_2.1.1", "json_2.1.2", "wheel"])
def test_the_texts_of_every_release_are_known(release: str):
    game = released(generate("clean", seed=2, index=0), release)
    assert unknown_dialect(game) is None
    dialect = dialect_of(game)
    assert dialect.help == (None if release == "json_2.1.1" else HELP.lstrip())
    assert dialect.sinks == {"sinkbasintype"} | ({"sinktype"} if release != "wheel" else set())
    engine = NativeEngine(game)
    engine.reset()
    for command in commands_of(game):
        assert not engine.won
        assert engine.step(command) != "Nothing happens."
    assert engine.won


@needs_engine
@pytest.mark.parametrize("release", ["json_2.1.1", "json_2.1.2"])
def test_a_release_is_played_as_the_original_plays_it(release: str):
    game = released(generate("clean", seed=2, index=0), release)
    tally = play(replace(game, walkthrough=tuple(commands_of(game))), steps=15, seed=1)
    assert (tally.differences, tally.won) == ([], 1)


@needs_engine
def test_a_plain_sink_cleans_where_the_rules_of_the_release_say_so():
    plain = generate("clean", seed=2, index=0)
    # One more type for the same sink, and a type that every game declares for the object of that name.
    basin = next(word for word in plain.problem.split() if word.lower().endswith("_bar_sinkbasin"))
    declared = "" if "SinkType" in plain.problem else "SinkType - otype "
    problem = plain.problem.replace("(:objects", f"(:objects {declared}", 1)
    problem = problem.replace(f"(receptacleType {basin} SinkBasinType)", f"(receptacleType {basin} SinkType)")
    assert problem.count("SinkBasinType)") == 0
    game = released(replace(plain, problem=problem), "json_2.1.2")
    tally = Tally()
    pair = Pair(game, None, tally)
    try:
        assert pair.reset()
        assert all(pair.step(command) for command in game.walkthrough)
        assert pair.native.won
    finally:
        pair.reference.close()
    other = NativeEngine(released(game, "wheel"))
    other.reset()
    seen = [other.step(command) for command in game.walkthrough]
    assert "Nothing happens." in seen
    assert not other.won


@needs_engine
def test_every_rule_that_an_answer_is_worded_with_is_compared():
    _, grammar = installed_texts()
    rules = {}
    for block in re.findall(r'grammar\s*::\s*"""(.*?)"""', grammar, re.DOTALL):
        rules |= json.loads(re.sub(r"(?m)^\s*#.*$", "", block))
    compared = RULES.keys() | {"PutObject.feedback", "GotoLocation.feedback", "task"}
    used = {rule for _, rule in COMMANDS.values()} | {"intro", "PutObject.feedback"}
    assert used <= compared
    for name in compared:
        named = {each for text in rules[name] for each in re.findall("#([^#]+)#", text["rhs"])}
        assert named <= compared, name


@pytest.fixture(scope="module")
def download(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The official unseen split, in a folder as `alfworld-download` leaves it."""
    root = tmp_path_factory.mktemp("alfworld")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(root / "json_2.1.1", filter="data")
    return root


@needs_official
def test_the_official_unseen_split_is_the_benchmark(download: Path):
    environment = ALFWorld(path=download)
    tasks = environment.tasks("valid_unseen")
    counts = {"pick": 24, "look": 18, "clean": 31, "heat": 23, "cool": 21, "two": 17}
    assert Counter(task["kind"] for task in tasks) == counts
    assert environment.played_by(tasks) == "the native ALFWorld engine"
    assert not any(environment.blocks(task) for task in tasks)


@needs_official
def test_every_walkthrough_of_the_official_unseen_split_wins(download: Path):
    played = 0
    for game in official_games(download, "valid_unseen"):
        engine = NativeEngine(game)
        assert engine.reset().endswith(f"Your task is to: {game.instruction}")
        for command in game.walkthrough:
            assert not engine.won
            assert command in engine.admissible()
            assert engine.step(command) != "Nothing happens."
        assert engine.won
        played += 1
    assert played == 134


@needs_official
@pytest.mark.parametrize(("release", "number"), [("json_2.1.1", 5), ("json_2.1.2", 12)])
def test_other_official_games_are_known(release: str, number: int):
    games = list(games_in(OFFICIAL / release))
    assert {game.id: unknown_dialect(game) for game in games} == {game.id: None for game in games}
    # Of 2.1.1 there are two more: one that cannot be solved, and one with a movable receptacle and other rules.
    assert len(games) == number
    assert {game.syntax for game in games} == {"put" if release == "json_2.1.1" else "move"}


@needs_official
def test_an_official_file_with_other_rules_is_not_known():
    (path,) = (OFFICIAL / "json_2.1.1").rglob("*movable*/*/game.tw-pddl")
    content = json.loads(path.read_text())
    game = Game(
        "movable", "pick", "", content["pddl_problem"], domain=content["pddl_domain"], grammar=content["grammar"]
    )
    assert (unknown_dialect(game) or "").startswith("the domain's openobject, putobject, toggleobject differ from")


@needs_official
@needs_engine
@pytest.mark.long
@pytest.mark.parametrize("release", ["json_2.1.1", "json_2.1.2"])
def test_official_games_walk_in_step(release: str):
    for game in games_in(OFFICIAL / release):
        tally = play(game, steps=50, seed=7)
        assert (tally.differences, tally.steps) == ([], 50 + len(game.walkthrough))
