import pytest
from langgraph.graph import END

from langgraph_reflexion.graph import routing
from langgraph_reflexion.loop.profiles import Rules
from langgraph_reflexion.state import Strategy, with_steps, with_trials


def step(number, text):
    return {"number": number, "thought": text, "action": None, "observation": ""}


def test_steps_are_merged_by_number():
    one, two, changed, three = step(1, "a"), step(2, "b"), step(2, "changed"), step(3, "c")
    assert with_steps([], [one]) == [one]
    assert with_steps([one, two], [three]) == [one, two, three]
    assert with_steps([one, two], [one, changed]) == [one, changed], "written back as a whole"
    assert with_steps([one], []) == [one]


def test_trials_are_merged_by_number_and_the_latest_counts():
    first, again, second = {"trial": 1, "score": 0}, {"trial": 1, "score": 1}, {"trial": 2, "score": 2}
    assert (with_trials([first], [again]), with_trials([first], [second])) == ([again], [first, second])


@pytest.mark.parametrize(
    ("strategy", "reflects", "shows"),
    [
        ("retry", False, False),
        ("last_attempt", False, True),
        ("reflexion", True, False),
        ("last_attempt_and_reflexion", True, True),
        ("continue", False, False),
    ],
)
@pytest.mark.parametrize("at_end", [False, True])
def test_strategies(strategy, reflects, shows, at_end):
    assert (Strategy(strategy).reflects, Strategy(strategy).shows_last_attempt) == (reflects, shows)
    route = routing.after_evaluate(Rules("mine", strategy=strategy, reflects_at_end=at_end))
    assert route({"status": "running"}) == ("reflect" if reflects else "reset")
    assert route({"status": "failed"}) == ("reflect" if reflects and at_end else END)
    assert {route({"status": status}) for status in ("solved", "budget", "fault")} == {END}


def test_a_fault_ends_the_trial_and_a_reason_to_stop_too():
    assert [routing.unless_fault("act")({"fault": fault}) for fault in ("", "gone")] == ["act", "evaluate"]
    reasons = [routing.after_heuristic_check({"stop_reason": reason}) for reason in (None, "hallucination")]
    assert reasons == ["act", "evaluate"]
    assert [routing.after_reflect({"status": status}) for status in ("running", "fault")] == ["reset", END]
