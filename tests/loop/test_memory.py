"""Reflections, attempts, feedback and the memory map in the prompts of a retry."""

import re
from dataclasses import replace
from functools import cache
from itertools import count

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_reflexion import ConfigurationError, Memory, load_environment
from langgraph_reflexion.lab.demo import DemoChatModel
from langgraph_reflexion.lab.demo.prompt import without_examples
from langgraph_reflexion.loop.heuristic import Heuristic
from langgraph_reflexion.loop.profiles import PROFILES
from langgraph_reflexion.memory.episodic import LONGEST, read_reflection
from tests.support.toys import THREAD, Parrot, asks_for, compiled, counting_badly, play, text_of

pytestmark = pytest.mark.slow

VERDICT = "zebra feedback"


def failing():
    """A model: every trial says another bad word, every reflection is another one."""
    made = count(1)

    def reply(messages):
        number = next(made)
        if asks_for(messages) == "reflect":
            return f"reflection number {number}!"
        return f"Thought: thinking {number}!\nAction: say bye {number}!"

    return reply


def prompts(trials, **options):
    """The recorded prompts by what they ask for, of a task that is never solved."""
    final, model = play(failing(), options.pop("environment", Parrot()), max_trials=trials, **options)
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
        ("feedback", [[], [], []], [[], [], []]),
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
    _, model = play(counting_badly)
    first, second = [text_of(prompt) for prompt in model.prompts if asks_for(prompt) == "reflect"]
    assert "Action 1: add 1" in first
    assert len(re.findall(r"Action \d: read\[\]", first)) == 4
    assert re.search(r"Thought \d: hm\.\nObservation \d: OK\.", second)
    assert re.search(r"Action \d: go up", second)
    assert "add 1" not in second
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


def test_a_memory_of_summaries_condenses_its_oldest_reflections():
    plain = failing()

    def condensing(messages):
        if messages[-1].text.endswith("One note in place of these:"):
            return f"note of {numbers(text_of(messages), 'reflection number')}"
        return plain(messages)

    final, model = play(condensing, Parrot(), max_trials=6, memory=Memory(size=3, keep="summary"))
    asked = [text_of(prompt) for prompt in model.prompts if text_of(prompt).endswith("One note in place of these:")]
    assert len(asked) == 2
    assert "note of [2, 4]" in asked[1]
    assert [r["trial"] for r in final["reflections"]] == [3, 4, 5]
    assert final["reflections"][0]["text"] == "(this trial, and all before it) note of [6]"
    calls = [trial["usage"].get("reflect", {}).get("llm_calls") for trial in final["trials"]]
    assert calls == [1, 1, 1, 2, 2, None]


HEAD = "What this world has shown you so far"
MAP = Memory(map=True)
FEW = Heuristic(max_actions=12)  # so that the first trials fail, and are short


@cache
def run(**options):
    """Return what the demo model was asked, and the final states of two tasks."""
    environment = load_environment("alfworld")
    graph, model = compiled(DemoChatModel().invoke, environment, heuristic=FEW, max_trials=2, **options)
    finals = [graph.invoke({"task": task}) for task in environment.tasks(limit=2)]
    environment.close()
    return model.prompts, finals


def texts(messages):
    return [message.text for message in messages]


def test_an_environment_without_a_map_says_what_to_leave_out():
    with pytest.raises(ConfigurationError, match="parrot draws no memory map: leave out --memory-map"):
        compiled([], Parrot(), memory=MAP)


def test_the_map_is_appended_to_an_unchanged_prompt():
    plain, finals = run()
    mapped, finals_mapped = run(memory=MAP)
    assert not any(HEAD in text for messages in plain for text in texts(messages))
    assert all("memory_map" not in final for final in finals)
    # The demo model ignores the map, so that the two runs can be compared.
    assert [f["reflections"] for f in finals] == [f["reflections"] for f in finals_mapped]
    assert len(plain) == len(mapped)
    shown = 0
    for without, with_map in zip(plain, mapped, strict=True):
        *before, last = texts(with_map)
        assert before == texts(without)[:-1], "the prompt before it is unchanged"
        head, _, rest = last.partition(f"\n\n{HEAD}")
        if asks_for(without) == "act":
            cue = without[-1].text.removeprefix(head).strip()
            assert without[-1].text.startswith(head)
            assert rest.endswith(cue)
        shown += bool(rest)
    assert shown > len(mapped) / 2


def test_the_map_reaches_the_self_reflection_and_the_next_trial():
    asked, finals = run(memory=MAP)
    reflecting = [messages[-1].text for messages in asked if asks_for(messages) == "reflect"]
    assert reflecting
    assert all(HEAD in text and text.endswith("\n\nReflection:") for text in reflecting)
    later = next(final for final in finals if len(final["trials"]) > 1)
    assert set(later["memory_map"]) == {"lay", "looked_into", "shut"}
    trials = [without_examples(messages) for messages in asked if asks_for(messages) == "act"]
    openings = [messages[-1].text for messages in trials if len(messages) == 2]
    assert any(f"{HEAD}, in this trial and before:\nIn hand: nothing." in text for text in openings)
    assert len(openings) == sum(len(final["trials"]) for final in finals)


def test_without_reflections_every_trial_starts_with_an_empty_map():
    asked, finals = run(memory=MAP, strategy="last_attempt")
    assert any(len(final["trials"]) > 1 for final in finals)
    assert not any(HEAD in m[-1].text for m in asked if asks_for(m) == "act" and len(m) == 2)
    assert any(HEAD in m[-1].text for m in asked)


def test_a_resumed_run_shows_the_same_map_and_a_new_task_an_empty_one():
    expected, environment = run(memory=MAP)[0], load_environment("alfworld")
    options = {"saver": InMemorySaver(), "memory": MAP, "heuristic": FEW, "max_trials": 2}
    asked = []
    for task in environment.tasks(limit=2):
        graph, first = compiled(DemoChatModel().invoke, environment, **options)
        graph.invoke({"task": task}, THREAD, interrupt_after=["observe"])
        assert HEAD not in first.prompts[0][-1].text
        graph, rest = compiled(DemoChatModel().invoke, environment, **options)  # as in a new process
        assert graph.invoke(None, THREAD)["memory_map"]
        asked += first.prompts + rest.prompts
    assert [texts(messages) for messages in asked] == [texts(messages) for messages in expected]


@pytest.mark.parametrize(
    ("reply", "kept"),
    [
        ("<think>It was the cup.</think>\nReflection: I took the cup.", "I took the cup."),
        ("- Trial 2: I answered tree.", "I answered tree."),
        ("**Reflection:** I went north.\n\nNext time I go south.", "I went north.\nNext time I go south."),
        ("I was wrong.\nObservation: Wrong.\nAction: look", "I was wrong."),
        ("I was late.\n\nThe trial that has just failed:\n\nA room.", "I was late."),
        (
            "It was oak.\nYour earlier trials of this task failed. This is what you wrote down:\n- Trial 2: Elm.",
            "It was oak.",
        ),
        ("Action: go north was wrong.", "Action: go north was wrong."),
        ("x" * 5000, "x" * LONGEST),
    ],
)
def test_a_reflection_is_what_the_reply_says_about_the_trial(reply, kept):
    assert read_reflection(reply).removesuffix(" ...") == kept
