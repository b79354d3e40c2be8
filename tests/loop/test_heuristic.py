"""When a trial stops and which reason is recorded, and when a task is finished."""

import pytest

from langgraph_reflexion import Heuristic, Profile, create_reflexion
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import Counter, Parrot, add, asks_for, count_to, counting_badly


def played(environment, replies, task=None, **options):
    model = ScriptedChatModel(replies=replies)
    graph = create_reflexion(model, environment, strategy="retry", max_trials=1, **options).compile()
    return graph.invoke({"task": task or environment.tasks()[0]})


def test_the_31st_action_is_the_last_and_may_still_solve_the_task():
    final = played(Counter(limit=99), ["Action: add 1"] * 31, count_to(31))
    assert final["status"] == "solved"
    assert (final["trials"][0]["stop_reason"], final["trials"][0]["actions"]) == ("terminated", 31)


def test_the_environments_own_end_beats_h():
    # The fourth identical step is also the one that the environment ends.
    final = played(Counter(limit=4), ["Action: add 0"] * 4)
    assert final["trials"][0]["stop_reason"] == "truncated"
    final = played(Parrot(bye=1.0), ["Action: say bye"], heuristic=lambda _: "bored")
    assert final["trials"][0]["stop_reason"] == "terminated"
    assert final["status"] == "solved"


def test_a_heuristic_of_ones_own():
    seen = []

    def bored(trajectory):
        seen.append(len(trajectory))
        return "bored" if len(trajectory) == 2 else None

    final = played(Counter(), ["Action: add 1"] * 2, heuristic=bored)
    assert final["trials"][0]["stop_reason"] == "bored"
    assert seen == [1, 2]
    assert final["trajectory"][0]["action"] == {**add("1"), "text": "add 1"}


@pytest.mark.parametrize("reason", ["", True, 0])
def test_a_reason_that_is_no_words_is_a_bug(reason):
    with pytest.raises(TypeError, match="in words"):
        played(Counter(), ["Action: add 1"], heuristic=lambda _: reason)


MINE = Profile("mine", heuristic=Heuristic(max_cycles=1), max_trials=2, memory_size=1)


@pytest.mark.parametrize(
    ("options", "status", "trials", "reflections"),
    [
        ({}, "solved", 3, 2),
        ({"max_trials": 2}, "failed", 2, 1),
        ({"profile": MINE}, "failed", 2, 1),
        ({"profile": MINE, "max_trials": 3, "memory": 2}, "solved", 3, 2),
    ],
)
def test_a_task_ends_when_it_is_solved_or_without_a_reflection_on_its_last_trial(
    options, status, trials, reflections
):
    model = ScriptedChatModel(replies=counting_badly)
    final = create_reflexion(model, Counter(), **options).compile().invoke({"task": count_to(3)})
    assert (final["status"], len(final["trials"])) == (status, trials)
    asked = [asks_for(prompt) for prompt in model.prompts]
    assert (asked.count("reflect"), asked[-1]) == (reflections, "act")
    assert len(final["reflections"]) == reflections


def test_while_it_runs_the_status_says_so():
    graph = create_reflexion(ScriptedChatModel(replies=counting_badly), Counter()).compile()
    states = list(graph.stream({"task": count_to(3)}, stream_mode="values"))
    assert [state["status"] for state in states[1:]] == ["running"] * (len(states) - 2) + ["solved"]
