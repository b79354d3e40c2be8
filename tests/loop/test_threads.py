"""Resuming, forking, reading a thread's trials, and using a thread again."""

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.experiments.rows import brief
from langgraph_reflexion.lab.experiments.trials import trials_of, trials_of_thread
from tests.support.toys import INPUT, THREAD, add, compiled, count_to, counting_badly, text_of, timeless

pytestmark = pytest.mark.slow


def counting(saver, **options):
    return compiled(counting_badly, saver=saver, max_trials=4, **options)


@pytest.fixture(scope="module")
def whole():
    graph, model = counting(InMemorySaver())
    final = graph.invoke(INPUT, THREAD)
    nodes = sum(1 for _ in counting(None)[0].stream(INPUT))
    return final, model, nodes


def test_a_killed_run_resumes_where_it_stopped_and_repeats_no_call(whole):
    final, model, nodes = whole
    assert nodes > 40
    for cut in range(1, nodes, 8):
        graph, before = counting(saver := InMemorySaver())
        stream = graph.stream(INPUT, THREAD, durability="sync")
        for _ in range(cut):
            next(stream)
        stream.close()
        graph, after = counting(saver)
        assert timeless(graph.invoke(None, THREAD)) == timeless(final), f"cut after {cut} nodes"
        assert before.seeds + after.seeds == model.seeds, f"no call was made twice, or left out, at {cut}"
        assert [text_of(p) for p in before.prompts + after.prompts] == [text_of(p) for p in model.prompts]


OTHER = {**count_to(3), "id": "another"}


@pytest.mark.parametrize(
    ("task", "pauses"), [(OTHER, []), (count_to(3), ["reset"])], ids=["another after its end", "the same in a trial"]
)
def test_a_new_input_on_a_used_thread_starts_over(task, pauses):
    saver, both = InMemorySaver(), "last_attempt_and_reflexion"
    graph, _ = counting(saver, strategy=both)
    graph.invoke(INPUT, THREAD, interrupt_before=pauses)
    if pauses:
        graph.invoke(None, THREAD, interrupt_before=pauses)
        assert graph.get_state(THREAD).next == ("reset",)
    graph, model = counting(saver, strategy=both)
    final = graph.invoke({"task": task}, THREAD)
    fresh, fresh_model = counting(InMemorySaver(), strategy=both)
    assert timeless(final) == timeless(fresh.invoke({"task": task}, THREAD))
    assert [text_of(p) for p in model.prompts] == [text_of(p) for p in fresh_model.prompts]
    assert model.seeds == fresh_model.seeds


def actions(trials):
    return [[step["action"]["text"] for step in view.steps if step["action"]] for view in trials.views]


def test_a_fork_with_another_action_continues_from_there_and_is_the_threads_newest_branch():
    graph, _ = counting(saver := InMemorySaver())
    with pytest.raises(ConfigurationError, match="no trial"):
        trials_of_thread(graph, THREAD)
    graph.invoke(INPUT, THREAD)
    end, before = graph.get_state(THREAD).config, trials_of_thread(graph, THREAD)
    graph, _ = counting(saver)  # without the episodes of the first
    # The first trial has added 1 and read once; now it adds 2 instead of reading a second time.
    decided = [state for state in graph.get_state_history(THREAD) if state.next == ("observe",)]
    fork = decided[-3]
    config = graph.update_state(fork.config, {"decision": {"thought": "", "action": add(2)}}, as_node="act")
    final = graph.invoke(None, config)
    assert (final["status"], len(final["trials"])) == ("solved", 1)
    assert final["trajectory"][-1]["observation"] == "The counter stands at 3."
    assert actions(trials_of_thread(graph, THREAD)) == [["add 1", "read[]", "add 2"]]
    assert trials_of_thread(graph, end) == before
    assert len(before.views) == 3


def test_a_fork_with_another_reflection_shows_it_to_the_next_trial():
    graph, model = counting(InMemorySaver())
    graph.invoke(INPUT, THREAD)
    fork = [state for state in graph.get_state_history(THREAD) if state.next == ("reset",)][-2]
    advice, calls = [{"trial": 1, "text": "A person's advice."}], len(model.prompts)
    final = graph.invoke(None, graph.update_state(fork.config, {"reflections": advice}, as_node="reflect"))
    assert "- Trial 1: A person's advice." in text_of(model.prompts[calls])
    assert [lesson["text"] for lesson in final["reflections"]] == ["A person's advice.", "Lesson 2."]


def test_the_states_of_a_stream_hold_every_trial_with_its_steps():
    states = list(counting(None)[0].stream(INPUT, stream_mode="values"))
    trials = trials_of(states)
    assert [view.row["actions"] for view in trials.views] == list(map(len, actions(trials)))
    assert actions(trials)[2] == ["add 1", "add 2"]
    assert [view.as_json()["solved"] for view in trials.views] == [False, False, True]
    assert [view.remembered for view in trials.views] == [[], [1], [1, 2]]
    final = trials_of(states[-1])
    assert ["steps" not in view.row for view in final.views] == [True, True, False]
    assert [brief(view.row) for view in final.views] == [brief(view.row) for view in trials.views]
