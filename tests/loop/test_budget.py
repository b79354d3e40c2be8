"""Budgets: where a task stops, and that it continues as if it had not."""

import time

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_reflexion import (
    Approval,
    Budget,
    Budgets,
    ConfigurationError,
    ModelOptions,
    Price,
    create_reflexion,
    resume_point,
)
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import Counter, Timeless, count_to, counting_badly

THREAD = {"configurable": {"thread_id": "1"}}
INPUT = {"task": count_to(3)}
PRICES = {"scripted": Price(1.0, 10.0)}


def badly(messages):
    return AIMessage(
        counting_badly(messages), usage_metadata={"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
    )


def graph(budgets=None, saver=None, model=None, **options):
    model = model or ScriptedChatModel(replies=badly)
    return create_reflexion(
        model, Counter(), budgets=budgets, options=ModelOptions(prices=PRICES), **options
    ).compile(checkpointer=saver)


@pytest.fixture
def whole():
    return graph().invoke(INPUT)


def test_usage_is_counted_without_budgets(whole):
    assert whole["status"] == "solved"
    first = whole["trials"][0]
    assert first["usage"]["act"] == {
        "llm_calls": 5, "cached_calls": 0, "input_tokens": 500, "output_tokens": 50, "cost": pytest.approx(0.001)
    }  # fmt: skip
    assert first["usage"]["reflect"]["llm_calls"] == 1
    assert set(first["usage"]) == {"act", "reflect"}
    assert set(whole["trials"][-1]["usage"]) == {"act"}
    assert 0 < first["seconds"] < sum(record["seconds"] for record in whole["trials"]) <= whole["seconds"]


# What a task of counting_badly spends: trials of 5, 5 and 2 actions, 5, 6 and 2 acts, and 2 reflections.
LIMITS = [
    *(("trial", what, limit) for what, limit in (("actions", 4), ("llm_calls", 1), ("cost", 0.0002))),
    *(("task", what, limit) for what, limit in (("actions", 11), ("llm_calls", 8), ("tokens", 1200))),
    *(("run", what, limit) for what, limit in (("actions", 1), ("llm_calls", 13), ("cost", 0.0021))),
]


@pytest.mark.parametrize(("scope", "what", "limit"), LIMITS)
def test_a_task_stops_within_one_action_of_its_budget_and_continues_identically(scope, what, limit, whole):
    saver, first, second = InMemorySaver(), ScriptedChatModel(replies=badly), ScriptedChatModel(replies=badly)
    stopped = graph(Budgets(**{scope: Budget(**{what: limit})}), saver, first).invoke(INPUT, THREAD)
    assert stopped["status"] == "budget"
    assert stopped["notes"][-1] == f"{scope} budget of {limit} {what} used up"
    assert stopped["trials"][-1]["notes"] == stopped["notes"]
    spent = spent_by(stopped, stopped["trials"][-1:] if scope == "trial" else stopped["trials"])
    one_action = {"actions": 1, "llm_calls": 2, "tokens": 220, "cost": 0.0004}
    assert limit - 1e-9 <= spent[what] < limit + one_action[what]
    going_on = graph(saver=saver, model=second)
    going_on.update_state(THREAD, *resume_point(stopped))
    final = going_on.invoke(None, THREAD)
    assert final == Timeless(whole)
    assert len(first.prompts) + len(second.prompts) == 15
    assert len(set(first.seeds + second.seeds)) == 15


def spent_by(state, trials):
    usages = [usage for record in trials for usage in record["usage"].values()]
    tokens = sum(usage["input_tokens"] + usage["output_tokens"] for usage in usages)
    return {
        "actions": sum(record["actions"] for record in trials),
        "llm_calls": sum(usage["llm_calls"] for usage in usages),
        "tokens": tokens,
        "cost": sum(usage["cost"] for usage in usages),
    }


def test_a_budget_used_up_at_the_verdict_leaves_no_reflection(whole):
    # The fifth action ends the first trial; so the limit on calls is reached when the verdict is there.
    saver = InMemorySaver()
    stopped = graph(Budgets(task=Budget(llm_calls=5)), saver).invoke(INPUT, THREAD)
    assert (stopped["status"], stopped["reflections"], stopped["best"]) == ("budget", [], 1)
    assert stopped["notes"] == stopped["trials"][0]["notes"] == ["task budget of 5 llm_calls used up"]
    assert [record["verdict"] for record in stopped["trials"]] == [False]
    going_on = graph(saver=saver)
    going_on.update_state(THREAD, *resume_point(stopped))
    final = going_on.invoke(None, THREAD)
    assert final == Timeless(whole)


def test_the_last_action_may_still_solve_the_task():
    model = ScriptedChatModel(replies=["Action: add 1", "Action: add 2"])
    final = graph(Budgets(trial=Budget(actions=2, llm_calls=2)), model=model).invoke(INPUT)
    assert final["status"] == "solved"


def test_a_tasks_seconds_are_those_of_its_nodes_and_a_runs_those_of_the_clock():
    saver, budgets = InMemorySaver(), Budgets(run=Budget(seconds=0.1))

    def slowly(messages):
        time.sleep(0.1)
        return badly(messages)

    model = ScriptedChatModel(replies=slowly)
    stopped = graph(Budgets(task=Budget(seconds=0.25)), saver, model).invoke(INPUT, THREAD)
    assert stopped["status"] == "budget"
    assert len(stopped["trajectory"]) <= 3, "fewer on a slow machine"
    going_on = graph(saver=saver, approval=Approval(reflections=True))
    going_on.update_state(THREAD, *resume_point(stopped))
    paused = going_on.invoke(None, THREAD)
    time.sleep(0.1)
    assert going_on.get_state(THREAD).values["seconds"] == paused["seconds"] >= 0.25
    assert graph(budgets).invoke(INPUT)["status"] == "budget"


@pytest.mark.parametrize("again", ["another task", "the same on the same thread"])
def test_the_budget_of_a_run_is_shared_by_its_tasks_and_threads(again):
    budgets = Budgets(run=Budget(actions=20))
    together = graph(budgets, InMemorySaver())
    first = together.invoke(INPUT, THREAD)
    assert first["status"] == "solved"  # 12 actions
    task = {"task": {**count_to(3), "id": "another"}} if again == "another task" else INPUT
    stopped = together.invoke(task, THREAD if again.endswith("same thread") else {"configurable": {"thread_id": "2"}})
    assert stopped["status"] == "budget"
    assert sum(record["actions"] for record in stopped["trials"]) == 8


def test_a_fork_is_charged_for_its_own_actions():
    budgets = Budgets(run=Budget(actions=20))
    together = graph(budgets, InMemorySaver())
    together.invoke(INPUT, THREAD)
    second = next(s for s in together.get_state_history(THREAD) if s.next == ("reset",) and s.values["trial"] == 1)
    # 7 actions each; where the first of them began is not seen.
    assert together.invoke(None, second.config)["status"] == "solved"
    assert together.invoke(None, second.config)["status"] == "budget"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Budget(seconds=float("nan")), "seconds"),
        (lambda: Price(-1, 0), "at least 0"),
        (lambda: create_reflexion("demo", Counter(), budgets=Budgets(run=Budget(cost=1))), "needs the price of"),
    ],
)
def test_an_impossible_budget_or_price_is_refused(make, message):
    with pytest.raises(ConfigurationError, match=message):
        make()
