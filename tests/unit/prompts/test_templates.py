"""The templates: each renders and needs all its values."""

import re
from pathlib import Path

import jinja2
import pytest

from langgraph_reflexion import prompts as package
from langgraph_reflexion.envs.alfworld.environment import ALFWorld
from langgraph_reflexion.envs.base import ShownAction
from langgraph_reflexion.prompts import load_prompts

HERE = Path(package.__file__).parent


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
def test_templates_render_cleanly(domain):
    for name, values in VALUES.items():
        text = load_prompts(domain).render(name, **values)
        assert bool(text) == (name not in MACROS), name
        assert text == text.strip(), name
        assert not re.search(r"[ \t]+$", text, re.MULTILINE), name
        assert "\n\n\n" not in text, name
        assert not re.search(r"\{%|%\}|\{\{|\}\}|\bNone\b", text), name


@both_sets
def test_a_template_fails_without_one_of_its_values(domain):
    for name, values in VALUES.items():
        for missing in values:
            with pytest.raises(jinja2.UndefinedError):
                load_prompts(domain).render(name, **{key: value for key, value in values.items() if key != missing})


def test_act_shows_the_examples_of_the_kind():
    prompts = load_prompts("alfworld")
    text = prompts.render("act", **VALUES["act"])
    for example in prompts.examples(None, 100):
        assert (example.observation in text) == (example.kind == "heat")
    assert "--- Example 2 ---" in text
    assert "--- Example 3 ---" not in text
    first = prompts.examples("heat", 1)[0].steps[0]
    assert f"Action: {first.action}\nObservation: {first.observation}\n" in text


@both_sets
def test_task_shows_memory_last_attempt_and_task(domain):
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
def test_the_failed_trial_follows_the_memory(domain):
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


def test_the_reflection_prompt_contains_no_solution():
    environment = ALFWorld()
    prompts = load_prompts("alfworld")
    system = prompts.render("reflect", examples=prompts.reflections)
    for task in environment.tasks(limit=18):
        episode = environment.start(task)
        shown = prompts.render(
            "failed_trial",
            observation=episode.observation,
            steps=steps(),
            status="Status: FAILED",
            reflections=[],
            memory_map="",
        )
        solution = environment.game(task).walkthrough
        assert solution
        assert not any(command in shown for command in solution)
        assert not all(command in system for command in solution)


def test_actions_are_shown_verbatim():
    unread = {"thought": "", "action": {"name": "", "args": {}, "text": "dance"}, "observation": "Invalid."}
    silent = {"thought": "", "action": {"name": "", "args": {}, "text": ""}, "observation": "Invalid."}
    thought = {"thought": "Hm.", "action": None, "observation": "OK."}
    text = load_prompts("alfworld").render("trial", observation="A room.", steps=[unread, silent, thought])
    assert text == (
        "A room.\n\nAction: dance\nObservation: Invalid.\n"
        "Action: (none)\nObservation: Invalid.\nThought: Hm.\nObservation: OK."
    )
