"""The profile `upstream` on HotPotQA prompts, reads and remembers as the original code."""

import re
from itertools import count

import pytest

from langgraph_reflexion.envs.hotpotqa.environment import HotPotQA
from langgraph_reflexion.loop.prompting import LEFT_OUT
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support import toys
from tests.support.toys import asks_for


def player(answers_at=99, observe=lambda number: f"Page {number}"):
    """A model that thinks its number, searches for it, and answers after some steps, if at all."""
    lessons = count(1)

    def reply(messages):
        if asks_for(messages) == "reflect":
            return f"Lesson {next(lessons)}."
        step = messages[1].text.rpartition("Here is the task again:")[2].count("\nObservation") + 1
        if messages[1].text.rpartition("\n")[2].startswith("Thought"):
            return f" thinking {step}"
        return "finish[nobody]" if step >= answers_at else f"search[{observe(step)}]"

    return ScriptedChatModel(replies=reply)


def play(model, actor="react", **options):
    environment = HotPotQA()
    final, _ = toys.play(model, environment, actor=actor, profile="upstream", **options)
    environment.close()
    return final, environment.tasks()[0]["instruction"]


def acts(model):
    return [prompt for prompt in model.prompts if asks_for(prompt) == "act"]


def test_the_prompt_ends_with_the_numbered_label_of_the_next_part():
    model = player(answers_at=2)
    _, question = play(model, max_trials=1)
    said = [prompt[1].text for prompt in model.prompts]
    assert all(len(prompt) == 2 for prompt in model.prompts)
    assert said[0] == f"{question}\nThought 1:"
    assert said[1] == f"{question}\nThought 1: thinking 1\nAction 1:"
    assert said[2].startswith(f"{said[1]} search[Page 1]\nObservation 1: Could not find Page 1.")
    assert said[2].endswith("\nThought 2:")
    assert "Thought 1: " in model.prompts[0][0].text
    assert model.prompts[0][0].text.count("--- Example ") == 6


@pytest.mark.parametrize(
    ("thought", "action", "name"),
    [
        ("Thought 1: a thought\nAction 1: finish[b]", "Action 1: finish[Rome]", "finish"),
        ("\n\na thought", "finish[Rome]\nObservation 1: Right.\nThought 2: Well", "finish"),
        ("a\nthought", "Thought 1: still thinking", ""),
    ],
)
def test_replies_are_read_however_much_a_chat_model_writes(thought, action, name):
    model = ScriptedChatModel(replies=[thought, action])
    final, _ = play(model, actor="cot", max_trials=1)
    [step] = final["trajectory"]
    assert (step["thought"], step["action"]["name"]) == ("a thought", name)


def test_answers_without_tools_are_not_numbered():
    for actor, examples in (("cot", 6), ("cot-gt", 3)):
        model = player(answers_at=1)
        final, _ = play(model, actor=actor, max_trials=1)
        assert model.prompts[0][1].text.endswith("\nThought:")
        assert model.prompts[1][1].text.endswith("\nThought: thinking 1\nAction:")
        assert model.prompts[0][0].text.count("--- Example ") == examples
        assert final["trajectory"][0]["action"]["args"] == {"answer": "nobody"}


def test_every_reflection_is_kept_and_none_is_shown_when_reflecting():
    model = player(answers_at=1)
    final, _ = play(model)
    assert len(final["trials"]) == 5
    assert [each["text"] for each in final["reflections"]] == [f"Lesson {n}." for n in range(1, 5)]
    reflecting = [prompt[1].text for prompt in model.prompts if asks_for(prompt) == "reflect"]
    assert len(reflecting) == 4
    assert not any("Lesson" in text for text in reflecting)


@pytest.mark.slow
def test_only_the_newest_reflection_follows_the_last_attempt():
    model = player(answers_at=2)
    final, question = play(model, strategy="last_attempt_and_reflexion")
    assert [each["text"] for each in final["reflections"]] == ["Lesson 4."]
    last = acts(model)[-1][1].text
    assert last.index(f"went:\n{question}\nThought: thinking 1") < last.index("(End of the last trial)")
    assert last.index("(End of the last trial)") < last.index("Lesson 4.") < last.rindex(question)
    assert "Lesson 3." not in last


def test_the_last_attempt_does_not_repeat_the_paragraphs():
    model = player(answers_at=1)
    _, question = play(model, actor="cot-gt", strategy="last_attempt", max_trials=2)
    first, again = (prompt[1].text for prompt in acts(model)[::2])
    paragraphs = first.partition(question)[0].strip()
    assert paragraphs
    assert again.count(paragraphs) == 1
    assert again.index(f"went:\n{question}\nThought: thinking 1") < again.index(paragraphs)


@pytest.mark.slow
def test_a_long_attempt_is_shown_without_its_longest_observations():
    words = "Very long title of a page " * 60
    model = player(observe=lambda number: f"{words}{number}" if number in (2, 4, 5) else f"Page {number}")
    play(model, strategy="last_attempt_and_reflexion", max_trials=2)
    reflecting = next(prompt[1].text for prompt in model.prompts if asks_for(prompt) == "reflect")
    first, again = acts(model)[11][1].text, acts(model)[12][1].text
    assert LEFT_OUT not in first, "the trial that goes on is whole"
    for text in (reflecting, again):
        assert text.count(LEFT_OUT) == 3
        assert re.search(r"Observation( \d)?: Could not find Page 1\.", text)
