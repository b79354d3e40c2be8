"""What a model invents after its reflection is cut where it goes on with one of our prompts."""

import pytest

from langgraph_reflexion.memory.episodic import PROMPT_MARKS, read_reflection
from langgraph_reflexion.prompts import load_prompts
from tests.unit.prompts.test_templates import AGENT, HERE, VALUES

OWN = "I was late."
NO_MEMORY = {"reflections": [], "last_attempt": []}
PARROTED = [
    (None, "failed_trial", VALUES["failed_trial"]),
    (None, "failed_trial", {**VALUES["failed_trial"], "reflections": []}),
    (None, "task", VALUES["task"]),
    (None, "task", {**VALUES["task"], "reflections": []}),
    (None, "task", {**VALUES["task"], **NO_MEMORY}),
    (None, "task_attempt_first", VALUES["task_attempt_first"]),
    ("agent", "failed_trial", AGENT["failed_trial"]),
    ("agent", "lessons", VALUES["lessons"]),
    ("agent", "lessons", {**VALUES["lessons"], **NO_MEMORY, "attempts": 1}),
]


@pytest.mark.parametrize(("domain", "name", "values"), PARROTED)
def test_no_sentence_of_a_prompt_is_read_as_a_part_of_the_reflection(domain, name, values):
    prompt = load_prompts(domain).render(name, **values)
    assert read_reflection(f"{OWN}\n\n{prompt}") == OWN


def test_a_request_for_another_reflection_is_not_read_as_a_part_of_it():
    for domain, values in ((None, VALUES["failed_trial"]), ("agent", AGENT["failed_trial"])):
        prompt = load_prompts(domain).render("failed_trial", **values)
        asked = prompt[prompt.index("A first ") :]
        assert read_reflection(f"{OWN}\n{asked}") == OWN


@pytest.mark.parametrize("mark", PROMPT_MARKS)
def test_every_mark_stands_in_a_template(mark):
    texts = [path.read_text(encoding="utf-8").casefold() for path in HERE.glob("**/*.md")]
    assert any(mark in text for text in texts)


def test_both_lines_of_a_note_are_kept():
    note = 'Wrong: the check said "It has 11 words", and nine are wanted.\nNext time: leave out two words.'
    assert read_reflection(note) == note
