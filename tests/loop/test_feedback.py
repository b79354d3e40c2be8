"""What the check said reaches the next trial, and a useless reflection does not."""

from dataclasses import replace

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda

from langgraph_reflexion import Profile, ReflexionMiddleware, create_reflexion
from langgraph_reflexion.agents.wrapped import LONGEST_TASK
from langgraph_reflexion.loop.profiles import PROFILES
from langgraph_reflexion.memory.failure import LONGEST_CHECK, check_words
from langgraph_reflexion.memory.useful import REJECTED, was_rejected
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import Counter, asks_for, text_of

WORDS = "It has 11 words."
SAID = f"What the check said of the last attempt: {WORDS}"
REFUSAL = "I am sorry, but I cannot assist with that."


def tried(reply=REFUSAL, trials=3, evaluator=lambda task, result: (0.0, WORDS), task="Write a line.", **options):
    """The inputs of an agent's trials, the final state and the reflecting model."""
    given = []

    def answer(task: str) -> str:
        given.append(task)
        return f"answer {len(given)}"

    model = ScriptedChatModel(replies=reply if callable(reply) else lambda messages: reply)
    graph = create_reflexion(model, actor=RunnableLambda(answer), evaluator=evaluator, max_trials=trials, **options)
    return given, graph.compile().invoke({"task": task}), model


def test_feedback_shows_what_the_check_said_and_asks_no_model():
    given, final, model = tried(strategy="feedback")
    assert given[0] == "Write a line."
    assert given[1].startswith("Write a line.\n\nOne attempt at this task was not accepted.")
    assert all(SAID in text for text in given[1:])
    assert (model.prompts, final["reflections"]) == ([], [])


def test_a_task_follows_the_notes_once_more_unless_it_is_long():
    given, _, _ = tried(strategy="feedback", trials=2)
    assert given[1].endswith("\n\nHere is the task again:\nWrite a line.")
    long = "Write a line. " * LONGEST_TASK
    given, _, _ = tried(strategy="feedback", trials=2, task=long)
    assert given[1].count("Write a line.") == LONGEST_TASK
    assert given[1].endswith("in exactly the form that the task asks for.")


def test_feedback_without_words_says_only_that_the_attempt_was_not_accepted():
    given, _, _ = tried(strategy="feedback", feedback="binary")
    assert "not accepted" in given[1]
    assert WORDS not in given[1]


def test_beside_a_reflection_an_agent_sees_what_the_check_said_unless_the_profile_says_no():
    note = "The line was too long, so leave two words out."
    given, _, _ = tried(note, trials=2)
    assert SAID in given[1]
    assert f"Note after attempt 1: {note}" in given[1]
    given, _, _ = tried(note, trials=2, profile=replace(PROFILES["paper"], name="mine", shows_check=False))
    assert WORDS not in given[1]
    assert note in given[1]


def test_an_agent_without_tools_is_not_told_of_traces():
    given, _, _ = tried("The line was too long.", trials=2)
    assert "traces" not in given[1]


def test_a_useless_reflection_is_asked_for_once_more_and_then_the_check_stands_alone():
    given, final, model = tried(trials=2)
    first, again = [text_of(prompt) for prompt in model.prompts]
    assert "of no use" not in first
    assert f'it refuses to say anything, and the check said "{WORDS}"' in again
    assert final["reflections"] == []
    record = final["trials"][0]
    assert record["usage"]["reflect"]["llm_calls"] == 2
    assert was_rejected(record["notes"])
    assert SAID in given[1]
    assert REFUSAL not in given[1]


def test_a_second_reflection_is_kept_if_it_is_useful_and_is_written_without_the_earlier_ones():
    notes = iter(["The line was too long.", "The line was too long!", "It has 11 words: leave two out."])
    _, final, model = tried(lambda messages: next(notes), trials=3)
    assert [each["text"] for each in final["reflections"]] == [
        "The line was too long.",
        "It has 11 words: leave two out.",
    ]
    [_, second, again] = [text_of(prompt) for prompt in model.prompts]
    assert "The line was too long." in second
    assert "The line was too long." not in again
    notes = final["trials"][1]["notes"]
    assert [note.startswith(REJECTED) for note in notes] == [True]
    assert not was_rejected(notes)


@pytest.mark.parametrize("profile", ["preprint", "upstream"])
def test_where_the_original_is_followed_every_reflection_is_kept(profile):
    _, final, _ = tried(trials=2, profile=profile)
    assert [each["text"] for each in final["reflections"]] == [REFUSAL]


def test_of_a_reflection_that_its_limit_has_cut_whole_sentences_are_kept():
    cut = AIMessage("The line was too long. Next time I", response_metadata={"finish_reason": "length"})
    _, final, _ = tried(lambda messages: cut, trials=2)
    assert [each["text"] for each in final["reflections"]] == ["The line was too long."]


def test_facts_are_told_of_an_answer_that_was_handed_in_before():
    notes = iter(["The line was too long.", "Eleven is more than nine."])
    model = ScriptedChatModel(replies=lambda messages: next(notes))
    graph = create_reflexion(model, actor=RunnableLambda(lambda task: "rain"), evaluator=lambda task, result: False)
    graph.compile().invoke({"task": "Write a line."})
    first, second = [text_of(prompt) for prompt in model.prompts]
    assert "the same as" not in first
    assert "- The answer is the same as in failed attempt 1." in second


@pytest.mark.parametrize("ended", [{"finish_reason": "length"}, {"stop_reason": "max_tokens"}])
def test_that_the_model_was_stopped_in_the_middle_of_its_answer_is_told(ended):
    answers = iter([AIMessage("rain on the", response_metadata=ended), AIMessage("rain"), AIMessage("snow")])
    notes = iter(["The line was too short.", "One word is not a line."])
    model = ScriptedChatModel(replies=lambda messages: next(notes))
    agent = RunnableLambda(lambda task: next(answers))
    graph = create_reflexion(model, actor=agent, evaluator=lambda task, result: False, max_trials=3)
    graph.compile().invoke({"task": "Write a line."})
    first, second = [text_of(prompt) for prompt in model.prompts]
    told = "- The answer was cut off, because it reached the limit of a reply."
    assert told in first
    assert told not in second


def test_the_middleware_tells_that_the_answer_was_cut_off_too():
    cut = AIMessage("rain on the", response_metadata={"finish_reason": "length"})
    own = ScriptedChatModel(replies=lambda messages: cut)
    reflecting = ScriptedChatModel(replies=lambda messages: "The line was too short.")
    loop = ReflexionMiddleware(reflecting, evaluator=lambda task, result: False, max_trials=2)
    create_agent(own, middleware=[loop]).invoke({"messages": [("user", "Write a line.")]})
    assert "- The answer was cut off, because it reached the limit of a reply." in text_of(reflecting.prompts[0])


def test_an_attempt_without_an_answer_counts_in_the_numbers_of_attempts():
    notes = iter(["Nothing was said.", "The line was too long.", "Eleven is more than nine."])
    answers = iter(["", "rain", "rain", "snow"])
    model = ScriptedChatModel(replies=lambda messages: next(notes))
    graph = create_reflexion(
        model, actor=RunnableLambda(lambda task: next(answers)), evaluator=lambda task, result: False, max_trials=4
    )
    graph.compile().invoke({"task": "Write a line."})
    assert "- The answer is the same as in failed attempt 2." in text_of(model.prompts[2])


def test_the_names_of_an_actions_fields_are_not_words_of_the_task():
    notes = iter(["This reflection on the trial has a text and args.", "I should add more at once."])

    def reply(messages):
        return next(notes) if asks_for(messages) == "reflect" else "Action: add 1"

    graph = create_reflexion(
        ScriptedChatModel(replies=reply),
        Counter(),
        evaluator=lambda task, trajectory: False,
        max_trials=2,
        profile=Profile("mine", rejects_reflections=True),
    )
    final = graph.compile().invoke({"task": "Count to 3."})
    assert [each["text"] for each in final["reflections"]] == ["I should add more at once."]


def shown_in_the_second_trial(**options):
    def reply(messages):
        return "I should add more at once." if asks_for(messages) == "reflect" else "Action: add 1"

    model = ScriptedChatModel(replies=reply)
    evaluator = lambda task, trajectory: (0.0, WORDS)  # noqa: E731
    options = {"evaluator": evaluator, "max_trials": 2, "feedback": "words", **options}
    create_reflexion(model, Counter(), **options).compile().invoke({"task": "Count to 3."})
    return next(text_of(prompt) for prompt in reversed(model.prompts) if asks_for(prompt) == "act")


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({"strategy": "feedback"}, True),
        ({"strategy": "retry"}, False),
        ({"strategy": "reflexion"}, False),
        ({"strategy": "reflexion", "profile": Profile("mine", shows_check=True)}, True),
    ],
)
def test_in_an_environment_the_profile_or_the_strategy_shows_what_the_check_said(options, shown):
    text = shown_in_the_second_trial(**options)
    assert (f"What the check said about your last trial of this task: {WORDS}" in text) == shown


def test_long_words_of_a_check_are_shortened_in_their_middle():
    words = check_words({"success": False, "score": 0.0, "feedback": "a" * 400 + "b" * 400}, "words")
    assert words.startswith("aaa")
    assert words.endswith("bbb")
    assert len(words) <= LONGEST_CHECK + len(" [...] ")


def test_long_words_lose_drawn_lines_before_anything_else():
    failures = [f"FAILED test_{number}: wanted {number}" for number in range(15)]
    words = "\n".join(["=" * 80, *failures, "." * 30 + " " * 40 + "[100%]"])
    shown = check_words({"success": False, "score": 0.0, "feedback": words}, "words")
    assert shown.splitlines() == ["===", *failures, "." * 30 + "   [100%]"]


def test_short_words_are_shown_as_they_are():
    drawn = f"wanted: {'=' * 30}; got: {'=' * 29}"
    assert check_words({"success": False, "score": 0.0, "feedback": drawn}, "words") == drawn
