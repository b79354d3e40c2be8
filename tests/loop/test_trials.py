"""A task's trials from the states of a graph and from its threads."""

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_reflexion import create_reflexion
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.experiments.trials import Trials, trials_of, trials_of_thread
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import Counter, add, count_to, counting_badly

THREAD: Any = {"configurable": {"thread_id": "1"}}


def graph_of() -> Any:
    """Return a graph that counts to 3 in three trials."""
    model = ScriptedChatModel(replies=counting_badly)
    return create_reflexion(model, Counter()).compile(checkpointer=InMemorySaver())


def actions(trials: Trials) -> list[list[str]]:
    return [[step["action"]["text"] for step in view.steps if step["action"]] for view in trials.views]


def test_the_states_of_a_stream_hold_every_trial_with_its_steps() -> None:
    states = list(graph_of().stream({"task": count_to(3)}, THREAD, stream_mode="values"))
    trials = trials_of(states)
    assert [view.row["actions"] for view in trials.views] == list(map(len, actions(trials)))
    assert actions(trials)[2] == ["add 1", "add 2"]
    assert [view.as_json()["solved"] for view in trials.views] == [False, False, True]
    assert [view.remembered for view in trials.views] == [[], [1], [1, 2]]
    final = trials_of(states[-1])
    assert [view.trajectory is None for view in final.views] == [True, True, False]
    assert [view.row for view in final.views] == [view.row for view in trials.views]


def test_a_thread_gives_the_trials_of_its_newest_branch_or_of_the_one_named() -> None:
    graph = graph_of()
    with pytest.raises(ConfigurationError, match="no trial"):
        trials_of_thread(graph, THREAD)
    graph.invoke({"task": count_to(3)}, THREAD)
    end = graph.get_state(THREAD).config
    before = trials_of_thread(graph, THREAD)
    [fork] = [
        state
        for state in graph.get_state_history(THREAD)
        if state.next == ("observe",) and state.values["trial"] == 1 and len(state.values["trajectory"]) == 1
    ]
    changed = graph.update_state(fork.config, {"decision": {"thought": "", "action": add(2)}}, as_node="act")
    graph.invoke(None, changed)
    assert actions(trials_of_thread(graph, THREAD)) == [["add 1", "add 2"]]
    assert trials_of_thread(graph, end) == before
    assert len(before.views) == 3
