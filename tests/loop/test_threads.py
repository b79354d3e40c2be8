"""Resuming, forking, and using a thread again."""

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_reflexion import create_reflexion
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import Counter, Notebook, Timeless, add, count_to, counting_badly, text_of

THREAD = {"configurable": {"thread_id": "1"}}


def graph_and_model(saver, environment=None, replies=counting_badly, strategy="reflexion", **compiling):
    model = ScriptedChatModel(replies=replies)
    graph = create_reflexion(model, environment or Counter(), strategy=strategy, max_trials=4)
    return graph.compile(checkpointer=saver, **compiling), model


def killed(after):
    """A saver with a run that was stopped after this number of nodes, and the calls so far."""
    saver = InMemorySaver()
    graph, model = graph_and_model(saver)
    stream = graph.stream({"task": count_to(3)}, THREAD, durability="sync")
    for _ in range(after):
        next(stream)
    stream.close()
    return saver, model


@pytest.fixture(scope="module")
def whole():
    graph, model = graph_and_model(InMemorySaver())
    final = graph.invoke({"task": count_to(3)}, THREAD)
    nodes = sum(1 for _ in graph_and_model(None)[0].stream({"task": count_to(3)}))
    return final, model, nodes


def test_a_killed_run_resumes_where_it_stopped_and_repeats_no_call(whole):
    final, model, nodes = whole
    assert nodes > 40
    for cut in range(1, nodes, 8):
        saver, before = killed(cut)
        graph, after = graph_and_model(saver)
        assert graph.invoke(None, THREAD) == Timeless(final), f"cut after {cut} nodes"
        assert before.seeds + after.seeds == model.seeds, f"no call was made twice, or left out, at {cut}"
        assert [text_of(p) for p in before.prompts + after.prompts] == [text_of(p) for p in model.prompts]


OTHER = {**count_to(3), "id": "another"}


@pytest.mark.parametrize(
    ("task", "pauses"), [(OTHER, []), (count_to(3), ["reset"])], ids=["another after its end", "the same in a trial"]
)
def test_a_new_input_on_a_used_thread_starts_over(task, pauses):
    saver, strategy = InMemorySaver(), "last_attempt_and_reflexion"
    graph, _ = graph_and_model(saver, strategy=strategy, interrupt_before=pauses)
    graph.invoke({"task": count_to(3)}, THREAD)
    if pauses:
        graph.invoke(None, THREAD)
        assert graph.get_state(THREAD).next == ("reset",)
    graph, model = graph_and_model(saver, strategy=strategy)
    final = graph.invoke({"task": task}, THREAD)
    fresh, fresh_model = graph_and_model(InMemorySaver(), strategy=strategy)
    assert Timeless(final) == fresh.invoke({"task": task}, THREAD)
    assert [text_of(p) for p in model.prompts] == [text_of(p) for p in fresh_model.prompts]
    assert model.seeds == fresh_model.seeds


def after_node(graph, node, nth=0):
    """The n-th checkpoint that stands right after a node."""
    following = {"act": "observe", "reflect": "reset"}[node]
    history = [state for state in graph.get_state_history(THREAD) if state.next == (following,)]
    return [state for state in reversed(history) if "status" in state.values][nth]


def test_a_fork_with_another_action_continues_from_there():
    saver = InMemorySaver()
    graph, _ = graph_and_model(saver)
    graph.invoke({"task": count_to(3)}, THREAD)
    graph, _ = graph_and_model(saver)  # without the episodes of the first
    # The first trial has added 1 and read once; now it adds 2 instead of reading a second time.
    fork = after_node(graph, "act", 2)
    assert [step["action"]["text"] for step in fork.values["trajectory"]] == ["add 1", "read[]"]
    config = graph.update_state(fork.config, {"decision": {"thought": "", "action": add(2)}}, as_node="act")
    final = graph.invoke(None, config)
    assert (final["status"], len(final["trials"])) == ("solved", 1)
    assert final["trajectory"][-1]["observation"] == "The counter stands at 3."


def test_a_fork_with_another_reflection_shows_it_to_the_next_trial():
    graph, model = graph_and_model(InMemorySaver())
    graph.invoke({"task": count_to(3)}, THREAD)
    fork, advice = after_node(graph, "reflect"), [{"trial": 1, "text": "A person's advice."}]
    config = graph.update_state(fork.config, {"reflections": advice}, as_node="reflect")
    calls = len(model.prompts)
    final = graph.invoke(None, config)
    assert "- Trial 1: A person's advice." in text_of(model.prompts[calls])
    assert "Lesson 1." not in text_of(model.prompts[calls])
    assert [lesson["text"] for lesson in final["reflections"]] == ["A person's advice.", "Lesson 2."]


def test_an_edited_trajectory_replaces_the_old_one_and_reaches_the_prompt():
    graph, model = graph_and_model(InMemorySaver())
    graph.invoke({"task": count_to(3)}, THREAD, interrupt_before=["observe"])
    graph.invoke(None, THREAD, interrupt_before=["observe"])
    steps = graph.get_state(THREAD).values["trajectory"]
    edited = [*steps[:-1], {**steps[-1], "observation": "The counter is covered by snow."}]
    graph.update_state(THREAD, {"trajectory": edited}, as_node="heuristic_check")
    assert graph.get_state(THREAD).values["trajectory"] == edited
    calls = len(model.prompts)
    assert graph.invoke(None, THREAD)["status"] == "solved"
    assert "The counter is covered by snow." in text_of(model.prompts[calls])


def test_a_fork_restores_the_snapshot_of_its_checkpoint():
    environment = Notebook()
    model = ScriptedChatModel(replies=["Action: write a", "Action: write b", "Action: write c"])
    graph = create_reflexion(model, environment).compile(checkpointer=InMemorySaver())
    graph.invoke({"task": environment.tasks()[0]}, THREAD, interrupt_after=["act"])
    for _ in range(2):
        graph.invoke(None, THREAD, interrupt_after=["act"])
    [second] = [
        state
        for state in graph.get_state_history(THREAD)
        if state.next == ("observe",) and len(state.values["trajectory"]) == 1
    ]
    other = {"thought": "", "action": {"name": "write", "args": {"line": "X"}, "text": "write X"}}
    forked = graph.update_state(second.config, {"decision": other}, as_node="act")
    final = graph.invoke(None, forked, interrupt_after=["observe"])
    assert final["episode"]["snapshot"]["lines"] == ["a", "X"]
    assert graph.get_state(second.config).values["episode"]["snapshot"]["lines"] == ["a"]
