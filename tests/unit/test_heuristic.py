import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from langgraph_reflexion import Budget, Budgets
from langgraph_reflexion.loop.heuristic import Heuristic
from langgraph_reflexion.loop.profiles import PROFILES
from langgraph_reflexion.nodes.heuristic_check import HeuristicCheck

CYCLES, ACTIONS = "hallucination", "inefficient planning"


def did(text, observation="nothing new", thought=""):
    action = {"name": "do", "args": {"what": text}, "text": text}
    return {"thought": thought, "action": action, "observation": observation}


def thought(text="hm"):
    return {"thought": text, "action": None, "observation": "OK."}


def different(count):
    return [did(f"action {index}", f"observation {index}") for index in range(count)]


@pytest.mark.parametrize("period", [1, 2, 3, 5])
def test_the_fourth_identical_cycle_stops(period):
    # With 5 steps a cycle, 20 actions are still fewer than 31.
    steps = different(period) * 4
    heuristic = Heuristic()
    assert [heuristic(steps[:n]) for n in range(len(steps))] == [None] * len(steps)
    assert heuristic(steps) == CYCLES
    assert heuristic([*different(7)[-2:], *steps]) == CYCLES, "whatever came before"


@pytest.mark.parametrize(
    ("changes", "stops"), [({"args": {"what": "b"}}, None), ({"name": "undo"}, None), ({"text": "do the a"}, CYCLES)]
)
def test_actions_are_compared_by_name_and_arguments_not_wording(changes, stops):
    other = did("a")
    other["action"] |= changes
    assert Heuristic()([did("a"), did("a"), did("a"), other]) == stops


def test_invalid_actions_are_compared_by_text():
    def invalid(text):
        return {"thought": "", "action": {"name": "", "args": {}, "text": text}, "observation": "Invalid action."}

    assert Heuristic()([invalid(f"{n}") for n in range(10)]) is None
    assert Heuristic()([invalid("jump")] * 4) == CYCLES


def test_thoughts_neither_count_nor_break_a_cycle():
    assert Heuristic()([thought()] * 50) is None, "thoughts alone are not a cycle"
    assert Heuristic()([did("a"), thought("one"), did("a"), thought("two"), did("a"), did("a")]) == CYCLES
    assert Heuristic()([did("a"), thought("one"), did("a"), thought("two"), did("a"), thought("x")]) is None
    assert Heuristic()([did("a", thought=f"{n}") for n in range(4)]) == CYCLES, "nor do thoughts before actions"
    thirty = [step for each in different(30) for step in (thought(), each)]
    assert [Heuristic()(thirty), Heuristic()([*thirty, did("last")])] == [None, ACTIONS]


async def test_the_environments_end_comes_first_and_a_budget_is_noted_after_other_notes():
    episode = {"began": 0.0, "terminated": False, "truncated": False}
    state = {"task": {"id": "t"}, "trial": 1, "trials": [], "trajectory": [did("a")], "usage": {}, "seconds": 0.0}
    state |= {"notes": ["cut"], "episode": episode}
    check = HeuristicCheck(Heuristic(), Budgets(task=Budget(actions=1)))
    assert await check(state, {}) == {"stop_reason": "budget", "notes": ["cut", "task budget of 1 actions used up"]}
    both = {**state, "episode": {**episode, "terminated": True, "truncated": True}}
    assert await check(both, {}) == {"stop_reason": "terminated"}
    with pytest.raises(TypeError, match="in words"):
        await HeuristicCheck(lambda _: "", Budgets())(state, {})


def naive(trajectory, max_actions=30, max_cycles=3):
    """The definition, read aloud: some block of steps stands there max_cycles + 1 times in a row at the end."""
    steps = [(step["action"]["args"]["what"], step["observation"]) for step in trajectory if step["action"]]
    times = max_cycles + 1
    for period in range(1, len(steps) // times + 1):
        blocks = [steps[len(steps) - period * (n + 1) : len(steps) - period * n] for n in range(times)]
        if all(block == blocks[0] for block in blocks):
            return CYCLES
    return ACTIONS if len(steps) > max_actions else None


some_step = st.one_of(
    st.builds(did, st.sampled_from("ab"), st.sampled_from(["x", "y"])),
    st.just(did("a", "x")),
    st.builds(thought, st.sampled_from(["hm", "oh"])),
)
cyclic = st.builds(
    lambda before, block, times, after: [*before, *block * times, *after],
    st.lists(some_step, max_size=6),
    st.lists(some_step, max_size=6),
    st.integers(0, 7),
    st.lists(some_step, max_size=2),
)


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cyclic, st.integers(1, 35), st.integers(1, 4))
def test_heuristic_matches_a_naive_reading_of_the_paper(trajectory, max_actions, max_cycles):
    heuristic = Heuristic(max_actions=max_actions, max_cycles=max_cycles)
    assert heuristic(trajectory) == naive(trajectory, max_actions, max_cycles)


def test_the_preprint_stops_at_the_second_identical_action():
    h = PROFILES["preprint"].heuristic
    assert h([did("a"), did("a")]) == CYCLES
    assert h([did("a"), did("a", "other")]) is None, "with the same observation"
    assert h([did("a"), thought(), did("a")]) == CYCLES
    assert h(different(30)) is None
    assert h(different(31)) == ACTIONS


def test_upstream_compares_actions_alone_and_counts_thoughts():
    h = PROFILES["upstream"].heuristic
    assert h([did("a", "one"), did("a", "two")]) == CYCLES, "whatever was observed"
    assert h([did("a"), thought(), did("a")]) is None, "a thought is an action"
    assert h([thought("hm"), thought("hm")]) == CYCLES
    assert h([thought("hm"), thought("oh")]) is None
    assert h([did("a"), did("b"), did("a"), did("b")]) is None, "only the action before"
    many = [step for each in different(24) for step in (thought(each["observation"]), each)]
    assert h(many) is None
    assert h([*many, did("the 49th")]) == ACTIONS
