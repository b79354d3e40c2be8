"""The memory map in prompts: appended to them, and empty for strategies without memory."""

from functools import cache

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_reflexion import ConfigurationError, Heuristic, Memory, create_reflexion, load_environment
from langgraph_reflexion.demo import DemoChatModel
from langgraph_reflexion.demo.prompt import without_examples
from tests.support.toys import Counter, asks_for

HEAD = "What this world has shown you so far"
THREAD = {"configurable": {"thread_id": "1"}}
MAP = Memory(map=True)
FEW = Heuristic(max_actions=12)  # so that the first trials fail, and are short


class Listening(DemoChatModel):
    """The demo model, which keeps what it was asked."""

    asked: list = []

    def _generate(self, messages, *args, **kwargs):
        self.asked.append(messages)
        return super()._generate(messages, *args, **kwargs)


@cache
def run(environment="alfworld", heuristic=FEW, **options):
    """Return what the model was asked, and the final states of two tasks."""
    model, environment = Listening(asked=[]), load_environment(environment)
    graph = create_reflexion(model, environment, heuristic=heuristic, max_trials=2, **options).compile()
    finals = [graph.invoke({"task": task}) for task in environment.tasks(limit=2)]
    environment.close()
    return model.asked, finals


def texts(messages):
    return [message.text for message in messages]


@pytest.mark.parametrize("options", [{}, {"environment": "hotpotqa", "heuristic": None, "profile": "upstream"}])
def test_the_map_is_appended_to_an_unchanged_prompt(options):
    plain, finals = run(**options)
    mapped, finals_mapped = run(memory=MAP, **options)
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
    model, saver = Listening(asked=[]), InMemorySaver()
    graph = create_reflexion(model, environment, memory=MAP, heuristic=FEW, max_trials=2)
    for task in environment.tasks(limit=2):
        first = len(model.asked)
        graph.compile(saver).invoke({"task": task}, THREAD, interrupt_after=["observe"])
        assert HEAD not in model.asked[first][-1].text
        assert graph.compile(saver).invoke(None, THREAD)["memory_map"]  # as in a new process
    assert [texts(messages) for messages in model.asked] == [texts(messages) for messages in expected]


def test_an_environment_without_a_map_is_refused():
    with pytest.raises(ConfigurationError, match="counter draws no memory map"):
        create_reflexion(DemoChatModel(), Counter(), memory=MAP)
