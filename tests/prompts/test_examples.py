"""The examples are what the engines really say, and the templates say what they are meant to."""

import re
import tomllib
from itertools import pairwise
from pathlib import Path

import jinja2
import pytest

from langgraph_reflexion import prompts as package
from langgraph_reflexion.envs.alfworld.environment import ALFWorld
from langgraph_reflexion.envs.alfworld.episode import ALFWorldEpisode
from langgraph_reflexion.envs.alfworld.generate import SPLITS, generate, generated_games
from langgraph_reflexion.envs.alfworld.native import NativeEngine, World
from langgraph_reflexion.envs.alfworld.textworld import TextWorldEngine, Workers, unavailable
from langgraph_reflexion.envs.base import ShownAction
from langgraph_reflexion.heuristic import Heuristic
from langgraph_reflexion.prompts import Prompts, load_prompts

needs_engine = pytest.mark.skipif(unavailable() is not None, reason=str(unavailable()))
HERE = Path(package.__file__).parent
KINDS = ["pick", "look", "clean", "heat", "cool", "two"]
NAME = re.compile(r"[a-z]+ \d+")


def entries(name):
    return tomllib.loads((HERE / "alfworld" / name).read_text(encoding="utf-8"))["example"]


def label(entry):
    return "{kind}-s{seed}-{index}".format(**entry["game"])


SOLVED, FAILED = entries("examples.toml"), entries("reflections.toml")
every_example = pytest.mark.parametrize("entry", [*SOLVED, *FAILED], ids=label)
solved_example = pytest.mark.parametrize("entry", SOLVED, ids=label)
failed_example = pytest.mark.parametrize("entry", FAILED, ids=label)


@pytest.fixture(scope="module")
def environment():
    environment = ALFWorld()
    yield environment
    environment.close()


@pytest.fixture(scope="module")
def workers():
    workers = Workers(1)
    yield workers
    workers.close()


@pytest.fixture(params=["native", pytest.param("textworld", marks=needs_engine)])
def start(request):
    """Starts an episode of a game on either engine."""
    episodes = []

    def begin(game):
        if request.param == "native":
            engine = NativeEngine(World.of(game))
        else:
            engine = TextWorldEngine(game, request.getfixturevalue("workers"))
        episodes.append(ALFWorldEpisode(engine, game.syntax))
        return episodes[-1]

    yield begin
    for episode in episodes:
        episode.close()


@every_example
def test_the_engines_say_what_an_example_shows(entry, environment, start):
    episode = start(generate(**entry["game"]))
    assert episode.observation == entry["observation"]
    results = []
    for step in entry["step"]:
        results.append(episode.step(environment.parse(step["action"])))
        assert results[-1].observation == step["observation"]
    assert not any(result.terminated or result.truncated for result in results[:-1])
    last = results[-1]
    assert (last.reward, last.terminated) == ((1.0, True) if entry in SOLVED else (0.0, False))


def test_two_examples_of_each_kind():
    assert [entry["kind"] for entry in SOLVED] == [kind for kind in KINDS for _ in range(2)]
    assert all(entry["kind"] == entry["game"]["kind"] for entry in SOLVED)
    assert len(FAILED) == 2
    assert len({entry["observation"] for entry in [*SOLVED, *FAILED]}) == len([*SOLVED, *FAILED])


@every_example
def test_no_example_is_a_task_of_a_split(entry):
    game = generate(**entry["game"])
    for split in SPLITS:
        # No seed makes it one: a game follows from its kind, seed and index alone.
        assert entry["game"]["index"] >= len(generated_games(split))
        others = generated_games(split, entry["game"]["seed"])
        alike = [i for i, kind in enumerate(others.kinds) if kind == game.kind]
        assert all(game.problem != others[i].problem for i in alike)


@every_example
def test_actions_are_written_as_the_prompt_says(entry, environment):
    for step in entry["step"]:
        action = environment.parse(step["action"])
        assert ALFWorldEpisode.actions()[action["name"]].render(action["args"]) == step["action"]


@every_example
def test_thoughts_and_actions_name_only_what_was_seen(entry):
    seen = set(NAME.findall(entry["observation"]))
    for step in entry["step"]:
        assert set(NAME.findall(f"{step['thought']}\n{step['action']}".lower())) <= seen
        seen |= set(NAME.findall(step["observation"]))
    assert set(NAME.findall(entry.get("reflection", "").lower())) <= seen


@solved_example
def test_solutions_are_direct_and_say_what_is_in_hand(entry):
    assert 5 <= len(entry["step"]) <= 14
    assert entry["step"][0]["thought"]
    assert all(step["observation"] != "Nothing happens." for step in entry["step"])
    for before, after in pairwise(entry["step"]):
        if before["observation"].startswith("You pick up"):
            assert re.search(r"\bI (hold|have picked up)\b", after["thought"])


@failed_example
def test_reflections_look_back_and_ahead_in_the_first_person(entry):
    reflection = entry["reflection"]
    assert reflection.startswith(("I ", "The trial ended before I "))
    assert "Next time I will " in reflection
    assert any(step["action"] in reflection for step in entry["step"])


def test_one_failure_repeats_itself_and_the_other_searches_in_vain(environment):
    repeats, searches = (
        [
            {
                "thought": step["thought"],
                "action": environment.parse(step["action"]),
                "observation": step["observation"],
            }
            for step in entry["step"]
        ]
        for entry in FAILED
    )
    assert Heuristic()(repeats) == "hallucination"
    assert Heuristic()(repeats[:-1]) is None
    assert Heuristic()(searches) is None
    wanted = generate(**FAILED[1]["game"]).instruction.split()[3]
    assert wanted == "tomato"
    assert all(wanted not in step["observation"] for step in searches)
    # Nor does the lesson give away what the trial did not show.
    assert not re.search(r"tomato \d", FAILED[1]["reflection"])


def steps(count=2):
    action = {"name": "look", "args": {}, "text": "look"}
    return [{"thought": f"Thought {i}", "action": action, "observation": f"Seen {i}"} for i in range(count)]


NOTES = [{"trial": 3, "text": "I will look left."}, {"trial": 4, "text": "I will look right."}]
ACTIONS = [ShownAction("look", "Look around."), ShownAction("go {direction}", "")]
VALUES = {
    "act": {"in_text": True, "actions": ACTIONS, "examples": load_prompts("alfworld").examples("heat", 2)},
    "failed_trial": {
        "observation": "A room.",
        "steps": steps(),
        "status": "Status: FAILED",
        "reflections": NOTES,
        "memory_map": "",
    },
    "act_in_two": {"actions": ACTIONS, "examples": load_prompts("alfworld").examples("heat", 2), "numbered": True},
    "actions": {"actions": ACTIONS},
    "condense": {},
    "condensed": {"reflections": NOTES},
    "forms": {"actions": ACTIONS},
    "judge": {},
    "map": {"lines": "cabinet 1: mug 1.", "earlier": True},
    "memory": {},
    "opening": {"instruction": "Reach the tower.", "observation": "A wood."},
    "recalled": {"lessons": [{"id": "0", "text": '"Mugs are in cabinets."'}]},
    "reflect": {"examples": load_prompts("alfworld").reflections},
    "scratchpad": {"steps": steps(), "numbered": True},
    "succeeded_trial": {"observation": "A room.", "steps": steps(), "reflections": NOTES},
    "success": {},
    "setting": {},
    "steps": {},
    "task": {
        "observation": "A room.",
        "reflections": NOTES,
        "last_attempt": steps(),
        "status": "Status: FAILED",
    },
    "lessons": {"reflections": NOTES, "last_attempt": steps(), "status": "Status: FAILED"},
    "task_attempt_first": {
        "observation": "A room.",
        "reflections": NOTES,
        "last_attempt": steps(),
        "status": "Status: FAILED",
    },
    "write_tests": {"form": "assert f(1) == 2"},
    "trial": {"observation": "A room.", "steps": steps()},
}
MACROS = {"memory", "steps"}
both_sets = pytest.mark.parametrize("domain", ["alfworld", "none-of-that-name"])


def test_every_template_is_tried_here():
    assert {path.stem for path in HERE.glob("**/*.md")} == set(VALUES)


@both_sets
@pytest.mark.parametrize("name", sorted(VALUES))
def test_a_template_renders_cleanly(name, domain):
    text = load_prompts(domain).render(name, **VALUES[name])
    assert bool(text) == (name not in MACROS)
    assert text == text.strip()
    assert not re.search(r"[ \t]+$", text, re.MULTILINE)
    assert "\n\n\n" not in text
    assert not re.search(r"\{%|%\}|\{\{|\}\}|\bNone\b", text)


@both_sets
@pytest.mark.parametrize(("name", "missing"), [(name, value) for name in VALUES for value in VALUES[name]])
def test_a_template_fails_on_what_is_missing(name, missing, domain):
    values = {key: value for key, value in VALUES[name].items() if key != missing}
    with pytest.raises(jinja2.UndefinedError):
        load_prompts(domain).render(name, **values)


@both_sets
def test_a_template_fails_on_half_a_reflection(domain):
    values = VALUES["task"] | {"reflections": [{"text": "Of which trial?"}]}
    with pytest.raises(jinja2.UndefinedError, match="trial"):
        load_prompts(domain).render("task", **values)


@both_sets
def test_act_without_examples_speaks_of_none(domain):
    for in_text in (True, False):
        text = load_prompts(domain).render("act", in_text=in_text, actions=ACTIONS, examples=[])
        assert "xample" not in text
        assert ("Action:" in text) == in_text


def test_act_shows_both_examples_of_the_kind():
    text = load_prompts("alfworld").render("act", **VALUES["act"])
    for entry in SOLVED:
        assert (entry["observation"] in text) == (entry["kind"] == "heat")
    assert "--- Example 2 ---" in text
    assert "--- Example 3 ---" not in text
    first = SOLVED[KINDS.index("heat") * 2]
    assert f"Action: {first['step'][0]['action']}\nObservation: {first['step'][0]['observation']}\n" in text


@both_sets
def test_task_shows_memory_then_last_attempt_then_the_task(domain):
    text = load_prompts(domain).render("task", **VALUES["task"])
    assert text == (
        "What you wrote down after earlier trials of this same task:\n"
        "- Trial 3: I will look left.\n"
        "- Trial 4: I will look right.\n\n"
        "Your last trial of this same task went so:\n"
        "Thought: Thought 0\nAction: look\nObservation: Seen 0\n"
        "Thought: Thought 1\nAction: look\nObservation: Seen 1\n"
        "Status: FAILED\n(End of the last trial)\n\n"
        "The world has been put back to how it was at first. Here is the task again:\n\n"
        "A room."
    )
    first = load_prompts(domain).render("task", observation="A room.", reflections=[], last_attempt=[])
    assert first == "A room."


@both_sets
def test_the_failed_trial_stands_after_the_memory(domain):
    text = load_prompts(domain).render("failed_trial", **VALUES["failed_trial"])
    assert text == (
        "What you wrote down after earlier trials of this same task:\n"
        "- Trial 3: I will look left.\n"
        "- Trial 4: I will look right.\n\n"
        "The trial that has just failed:\n\n"
        "A room.\n\n"
        "Thought: Thought 0\nAction: look\nObservation: Seen 0\n"
        "Thought: Thought 1\nAction: look\nObservation: Seen 1\n"
        "Status: FAILED\n\n"
        "Reflection:"
    )
    without = load_prompts(domain).render("failed_trial", **VALUES["failed_trial"] | {"reflections": []})
    assert without == text[text.index("The trial") :]


@both_sets
def test_reflect_asks_for_blame_why_and_instead_in_the_first_person(domain):
    text = load_prompts(domain).render("reflect", examples=[])
    for asked in ("first person", "to blame", "why", "instead", "names that the world gives"):
        assert asked in text
    assert "xample" not in text


def test_reflect_is_not_told_the_solution(environment):
    prompts = load_prompts("alfworld")
    system = prompts.render("reflect", examples=prompts.reflections)
    for task in environment.tasks(limit=18):
        episode = environment.start(task)
        told = prompts.render(
            "failed_trial",
            observation=episode.observation,
            steps=steps(),
            status="Status: FAILED",
            reflections=[],
            memory_map="",
        )
        solution = environment.game(task).walkthrough
        assert solution
        assert not any(command in told for command in solution)
        assert not all(command in system for command in solution)


def test_a_steps_action_is_told_as_it_was_written():
    unread = {"thought": "", "action": {"name": "", "args": {}, "text": "dance"}, "observation": "Invalid."}
    silent = {"thought": "", "action": {"name": "", "args": {}, "text": ""}, "observation": "Invalid."}
    thought = {"thought": "Hm.", "action": None, "observation": "OK."}
    text = load_prompts("alfworld").render("trial", observation="A room.", steps=[unread, silent, thought])
    assert text == (
        "A room.\n\nAction: dance\nObservation: Invalid.\n"
        "Action: (none)\nObservation: Invalid.\nThought: Hm.\nObservation: OK."
    )


def test_a_domains_file_takes_the_place_of_the_general_one(tmp_path):
    (tmp_path / "setting.md").write_text("You are at sea.\n", encoding="utf-8")
    (tmp_path / "examples.toml").write_text(
        '[[example]]\nobservation = "Fog."\n'
        '[[example.step]]\nthought = ""\naction = "look"\nobservation = "More fog."\n',
        encoding="utf-8",
    )
    domain, general = load_prompts(tmp_path), Prompts()
    assert domain.render("setting") == "You are at sea."
    general_judge, judge = general.render("judge"), domain.render("judge")
    assert judge.startswith("You are at sea.\n\n")
    assert judge.partition("\n\n")[2] == general_judge.partition("\n\n")[2]
    (example,) = domain.examples(None, 5)
    assert (example.kind, example.observation, example.steps[0].action) == ("", "Fog.", "look")
    assert domain.examples("heat", 5) == [example]
    assert domain.reflections == ()


def test_an_unknown_name_gives_the_general_prompts():
    unknown, general = load_prompts("none-of-that-name"), Prompts()
    assert unknown.folder is None
    assert unknown.examples(None, 5) == []
    assert unknown.reflections == ()
    for name, values in VALUES.items():
        assert unknown.render(name, **values) == general.render(name, **values)
    with pytest.raises(jinja2.TemplateNotFound):
        unknown.render("none-of-that-name")


def test_examples_by_kind_and_count():
    prompts = load_prompts("alfworld")
    assert load_prompts("alfworld") is prompts
    assert len(prompts.examples(None, 100)) == 12
    assert prompts.examples("cool", 0) == []
    first, second = prompts.examples("cool", 5)
    assert prompts.examples("cool", 1) == [first]
    assert (first.kind, second.kind) == ("cool", "cool")
    assert first.steps[0].with_action("look").observation == first.steps[0].observation
    assert [lesson.reflection for lesson in prompts.reflections] == [entry["reflection"] for entry in FAILED]
