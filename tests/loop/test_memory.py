"""Reflections, attempts and feedback in the prompts of a retry."""

from dataclasses import replace

import pytest

from langgraph_reflexion import PROFILES, Memory, create_reflexion
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import Counter, Parrot, asks_for, count_to, counting_badly, text_of

VERDICT = "zebra feedback"


def failing(messages):
    """Every trial says another bad word; every reflection is another one."""
    made = failing.made = getattr(failing, "made", 0) + 1
    if asks_for(messages) == "reflect":
        return f"reflection number {made}!"
    return f"Thought: thinking {made}!\nAction: say bye {made}!"


def prompts(trials, **options):
    """The recorded prompts by what they ask for, of a task that is never solved."""
    failing.made = 0
    model = ScriptedChatModel(replies=failing)
    environment = options.pop("environment", Parrot())
    graph = create_reflexion(model, environment, max_trials=trials, **options).compile()
    final = graph.invoke({"task": environment.tasks()[0]})
    assert final["status"] == "failed"
    asked = {"act": [], "reflect": [], "judge": []}
    for prompt in model.prompts:
        asked[asks_for(prompt)].append(text_of(prompt))
    return asked, final


def numbers(text, word):
    return [n for n in range(1, 40) if f"{word} {n}!" in text]


def test_the_last_three_reflections_are_shown_when_acting_and_reflecting():
    asked, final = prompts(6)
    # In trial n the model speaks as number 2n - 1 when it acts and 2n when it reflects.
    lessons = [[], [2], [2, 4], [2, 4, 6], [4, 6, 8], [6, 8, 10]]
    assert [numbers(text, "reflection number") for text in asked["act"]] == lessons
    assert [numbers(text, "reflection number") for text in asked["reflect"]] == lessons[:5]
    assert [r["trial"] for r in final["reflections"]] == [3, 4, 5]


@pytest.mark.parametrize(("memory", "kept"), [(1, [8]), (Memory(keep="full"), [2, 4, 6, 8])], ids=str)
def test_the_number_of_reflections_is_a_setting(memory, kept):
    asked, _ = prompts(5, memory=memory)
    assert numbers(asked["act"][-1], "reflection number") == kept


@pytest.mark.parametrize(
    ("strategy", "attempts", "lessons"),
    [
        ("retry", [[], [], []], [[], [], []]),
        ("last_attempt", [[], [1], [2]], [[], [], []]),
        ("reflexion", [[], [], []], [[], [2], [2, 4]]),
        ("last_attempt_and_reflexion", [[], [1], [3]], [[], [2], [2, 4]]),
    ],
)
def test_the_strategy_decides_what_a_retry_sees(strategy, attempts, lessons):
    asked, final = prompts(3, strategy=strategy)
    assert [numbers(text, "Action: say bye") for text in asked["act"]] == attempts
    assert [numbers(text, "Thought: thinking") for text in asked["act"]] == attempts
    assert [numbers(text, "The parrot says: bye") for text in asked["act"]] == attempts
    assert [numbers(text, "reflection number") for text in asked["act"]] == lessons
    assert len(asked["reflect"]) == (2 if "reflexion" in strategy else 0)
    assert bool(final["last_attempt"]) == ("last_attempt" in strategy)


def test_the_self_reflection_sees_only_the_whole_failed_trial():
    model = ScriptedChatModel(replies=counting_badly)
    create_reflexion(model, Counter()).compile().invoke({"task": count_to(3)})
    first, second = [text_of(prompt) for prompt in model.prompts if asks_for(prompt) == "reflect"]
    assert "Action: add 1" in first
    assert first.count("Action: read[]") == 4
    assert "Thought: hm.\nObservation: OK." in second
    assert "Action: go up" in second
    assert "Action: add 1" not in second
    assert "Status: FAILED" in second


WORDS = {"binary": [], "scalar": ["score 0.25"], "words": ["score 0.25", VERDICT]}


@pytest.mark.parametrize("feedback", WORDS)
@pytest.mark.parametrize("strategy", ["last_attempt", "reflexion"])
def test_feedback_decides_what_a_prompt_says_of_the_verdict(feedback, strategy):
    asked, _ = prompts(2, strategy=strategy, feedback=feedback, evaluator=lambda *_: (0.25, VERDICT))
    told = asked["reflect"][0] if strategy == "reflexion" else asked["act"][1]
    assert "Status: FAILED" in told
    assert [words for words in ("score 0.25", VERDICT) if words in told] == WORDS[feedback]


@pytest.mark.parametrize("strategy", ["last_attempt_and_reflexion", "retry"])
def test_the_truth_is_in_no_prompt(strategy):
    options = {"evaluator": lambda *_: (0.125, VERDICT), "profile": replace(PROFILES["paper"], threshold=0.2)}
    truth = Parrot(**{f"bye {n}!": 0.37 for n in range(1, 40)})
    asked, final = prompts(4, environment=truth, strategy=strategy, feedback="words", **options)
    assert final["episode"]["reward"] == 0.37
    assert [trial["success"] for trial in final["trials"]] == [True] * 4, "the truth is recorded"
    everything = str(asked)
    assert "0.37" not in everything
    assert "True" not in everything
    assert "rewards" not in everything, "a task's data is not shown"


def condensing(messages):
    """As `failing`, and says of what it is given to condense which reflections it saw."""
    if messages[-1].text.endswith("One note in place of these:"):
        return f"note of {numbers(text_of(messages), 'reflection number')}"
    return failing(messages)


def test_a_memory_of_summaries_condenses_its_oldest_reflections():
    failing.made = 0
    model = ScriptedChatModel(replies=condensing)
    graph = create_reflexion(model, Parrot(), max_trials=6, memory=Memory(size=3, keep="summary")).compile()
    final = graph.invoke({"task": Parrot().tasks()[0]})
    asked = [text_of(prompt) for prompt in model.prompts if text_of(prompt).endswith("One note in place of these:")]
    assert len(asked) == 2
    assert "note of [2, 4]" in asked[1]
    assert [r["trial"] for r in final["reflections"]] == [3, 4, 5]
    assert final["reflections"][0]["text"] == "(this trial, and all before it) note of [6]"
    calls = [trial["usage"].get("reflect", {}).get("llm_calls") for trial in final["trials"]]
    assert calls == [1, 1, 1, 2, 2, None]
