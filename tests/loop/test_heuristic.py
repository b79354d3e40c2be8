"""Why a trial stops, and when a task ends."""

import pytest

from langgraph_reflexion import Heuristic, Profile, create_reflexion
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import Counter, asks_for, count_to, counting_badly


def played(environment, replies, task=None, **options):
    model = ScriptedChatModel(replies=replies)
    graph = create_reflexion(model, environment, strategy="retry", max_trials=1, **options).compile()
    return graph.invoke({"task": task or environment.tasks()[0]})


def test_the_31st_action_is_the_last_and_may_still_solve_the_task():
    final = played(environment := Counter(limit=99), ["Action: add 1"] * 31, count_to(31))
    assert final["status"] == "solved"
    assert [episode.closed for episode in environment.started] == [1], "the finished episode is released"
    assert (final["trials"][0]["stop_reason"], final["trials"][0]["actions"]) == ("terminated", 31)


def test_the_environments_end_counts_before_the_heuristic():
    # The fourth identical step is also the one that the environment ends.
    final = played(Counter(limit=4), ["Action: add 0"] * 4)
    assert final["trials"][0]["stop_reason"] == "truncated"


def test_a_function_can_be_the_heuristic():
    seen = []

    def bored(trajectory):
        seen.append(len(trajectory))
        return "bored" if len(trajectory) == 2 else None

    final = played(Counter(), ["Action: add 1"] * 2, heuristic=bored)
    assert final["trials"][0]["stop_reason"] == "bored"
    assert seen == [1, 2]
    with pytest.raises(TypeError, match="in words"):
        played(Counter(), ["Action: add 1"], heuristic=lambda _: True)


MINE = Profile("mine", heuristic=Heuristic(max_cycles=1), max_trials=2, memory_size=1)


@pytest.mark.parametrize(
    ("options", "status", "trials"),
    [
        ({"max_trials": 2}, "failed", 2),
        ({"profile": MINE}, "failed", 2),
        ({"profile": MINE, "max_trials": 3, "memory": 2}, "solved", 3),
    ],
)
def test_every_trial_but_the_last_is_reflected_on(options, status, trials):
    model = ScriptedChatModel(replies=counting_badly)
    final = create_reflexion(model, Counter(), **options).compile().invoke({"task": count_to(3)})
    assert (final["status"], len(final["trials"])) == (status, trials)
    asked = [asks_for(prompt) for prompt in model.prompts]
    assert (asked.count("reflect"), asked[-1]) == (trials - 1, "act")
