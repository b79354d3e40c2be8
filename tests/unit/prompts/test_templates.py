import re
from pathlib import Path

import jinja2
import pytest

from langgraph_reflexion import prompts as package
from langgraph_reflexion.envs.base import ShownAction
from langgraph_reflexion.prompts import load_prompts

HERE = Path(package.__file__).parent


def steps():
    action = {"name": "look", "args": {}, "text": "look"}
    return [{"thought": f"Thought {i}", "action": action, "observation": f"Seen {i}"} for i in range(2)]


NOTES = [{"trial": 3, "text": "I will look left."}, {"trial": 4, "text": "I will look right."}]
ACTIONS = [ShownAction("look", "Look around."), ShownAction("go {direction}", "")]
LESSONS = {"reflections": NOTES, "last_attempt": steps(), "status": "Status: FAILED", "check": "It has 11 words."}
EXAMPLES = {"examples": load_prompts("alfworld").examples("heat", 2), "solved": 2}
TRIAL = {"observation": "A room.", "steps": steps()}
VALUES = {
    "act": {"in_text": True, "actions": ACTIONS, **EXAMPLES},
    "failed_trial": {
        **TRIAL,
        "status": "Status: FAILED",
        "reflections": NOTES,
        "memory_map": "",
        "facts": ["No observation named any mug, which the goal needs."],
        "goal": "put a mug in the cabinet.",
        "again": "it says nothing",
    },
    "act_in_two": {"actions": ACTIONS, **EXAMPLES, "numbered": True},
    "actions": {"actions": ACTIONS},
    "condense": {},
    "condensed": {"reflections": NOTES},
    "forms": {"actions": ACTIONS},
    "both_answers": {"question": "Who wrote it?", "given": "Ann B.", "right": "Ann Bell"},
    "judge": {},
    "rubric": {
        "criteria": ["It is short.", "It is polite."],
        "quotes": True,
        "reports": True,
        "looks": True,
        "rounds": 5,
        "report": "report_verdicts",
    },
    "looked": {"looks": [{"call": "read[notes.txt]", "result": "One.\nTwo."}]},
    "same_meaning": {},
    "map": {"lines": "cabinet 1: mug 1.", "earlier": True},
    "memory": {},
    "next_task": {"observation": "A room."},
    "opening": {"instruction": "Reach the tower.", "observation": "A wood."},
    "quotes": {},
    "recalled": {"lessons": [{"id": "0", "text": '"Mugs are in cabinets."'}]},
    "reflect": {"examples": load_prompts("alfworld").reflections, "unjudged": False},
    "scratchpad": {"steps": steps(), "numbered": True},
    "go_on": {"status": "Status: FAILED\n| It has 11 words."},
    "facts": {"facts": ["Never visited: cabinet 1.", "Found closed, and never opened: fridge 1."]},
    "succeeded_trial": {**TRIAL, "reflections": NOTES, "words": "Well done."},
    "success": {},
    "setting": {},
    "steps": {},
    "task": {"observation": "A room.", **LESSONS},
    "lessons": {
        "attempts": 2,
        "reflections": NOTES,
        "last_attempt": steps(),
        "check": "It has 11 words.",
        "traces": True,
        "task": "Write a line about rain.",
    },
    "check": {"check": "It has 11 words."},
    "task_attempt_first": {"observation": "A room.", "instruction": "Reach the tower.", **LESSONS},
    "turn": {"thought": "There is a door.", "action": "go north"},
    "tests_of": {"observation": "def f(x):", "again": True},
    "write_tests": {"form": "assert f(1) == 2"},
    "trial": TRIAL,
}
AGENT = {
    "failed_trial": {
        "observation": "Write a line about rain.",
        "calls": steps(),
        "answer": "It rains.",
        "check": "It has 2 words.",
        "has_reason": True,
        "facts": ["No tool was called in this attempt."],
        "memory_map": "",
        "reflections": NOTES,
        "again": "it says nothing",
    },
    "reflect": {"examples": load_prompts("agent").reflections},
    "go_on": {"check": "It has 2 words.\nNine are wanted.", "unjudged": False},
}
"""The values that differ around an agent."""
MACROS = {"memory", "steps"}


def values_for(domain):
    return {**VALUES, **AGENT} if domain == "agent" else VALUES


both_sets = pytest.mark.parametrize("domain", ["alfworld", "agent", None])


def test_every_template_is_tried_here():
    assert {path.stem for path in HERE.glob("**/*.md")} == set(VALUES)


@both_sets
def test_templates_render_cleanly(domain):
    for name, values in values_for(domain).items():
        text = load_prompts(domain).render(name, **values)
        assert bool(text) == (name not in MACROS), name
        assert text == text.strip(), name
        assert not re.search(r"[ \t]+$", text, re.MULTILINE), name
        assert "\n\n\n" not in text, name
        assert not re.search(r"\{%|%\}|\{\{|\}\}|\bNone\b", text), name


@both_sets
def test_a_template_fails_without_one_of_its_values(domain):
    prompts = load_prompts(domain)
    for name, values in values_for(domain).items():
        for missing in values:
            with pytest.raises(jinja2.UndefinedError):
                prompts.render(name, **{key: value for key, value in values.items() if key != missing})


@pytest.mark.parametrize("folder", ["programming", "programming/code"])
@pytest.mark.parametrize("name", ["reflect", "failed_trial", "task", "go_on"])
def test_templates_of_programs_render_cleanly(folder, name):
    prompts = load_prompts(HERE / folder)
    values = dict(VALUES[name])
    if name == "reflect":
        values["examples"] = prompts.reflections
    text = prompts.render(name, **values)
    assert not re.search(r"[ \t]+$", text, re.MULTILINE)
    assert "\n\n\n" not in text
    assert not re.search(r"\{%|%\}|\{\{|\}\}|\bNone\b", text)
