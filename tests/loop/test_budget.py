"""Budgets: where a task stops, that it continues as if it had not, and that whatever was paid for is counted."""

import subprocess
import sys
import time
from dataclasses import replace

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver

import langgraph_reflexion as lr
from langgraph_reflexion.envs.hotpotqa.environment import HotPotQA
from langgraph_reflexion.errors import Fault
from langgraph_reflexion.models.calls import charge
from langgraph_reflexion.models.usage import NO_USAGE, Price
from langgraph_reflexion.support.retries import Retries
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import INPUT, THREAD, Counter, CounterEpisode, compiled, count_to, counting_badly, timeless

pytestmark = pytest.mark.slow

HANGING = """
import asyncio
import threading

from langgraph_reflexion import Budget, Budgets, create_reflexion


async def answer(text):
    return "29"


def hang(result):
    threading.Event().wait()


short = Budgets(trial=Budget(seconds=2))
graph = create_reflexion(actor=answer, evaluator=hang, strategy="retry", budgets=short).compile()
for final in asyncio.run(graph.abatch([{"task": "q"}] * 40)):
    print(final["status"])
"""

PRICES = {"scripted": Price(1.0, 10.0)}


def counting(budgets=None, saver=None, replies=counting_badly, **options):
    options = {"options": lr.ModelOptions(prices=PRICES), **options}
    return compiled(replies, saver=saver, budgets=budgets, **options)


def graph(*given, **options):
    return counting(*given, **options)[0]


def resumed(graph, stopped):
    graph.update_state(THREAD, *lr.resume_point(stopped))
    return graph.invoke(None, THREAD)


@pytest.fixture(scope="module")
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
    limited, first = counting(lr.Budgets(**{scope: lr.Budget(**{what: limit})}), saver := InMemorySaver())
    stopped = limited.invoke(INPUT, THREAD)
    assert stopped["status"] == "budget"
    assert stopped["notes"][-1] == f"{scope} budget of {limit} {what} used up"
    assert stopped["trials"][-1]["notes"] == stopped["notes"]
    spent = spent_by(stopped, stopped["trials"][-1:] if scope == "trial" else stopped["trials"])
    one_action = {"actions": 1, "llm_calls": 2, "tokens": 220, "cost": 0.0004}
    assert limit - 1e-9 <= spent[what] < limit + one_action[what]
    going_on, second = counting(saver=saver)
    assert timeless(resumed(going_on, stopped)) == timeless(whole)
    assert len(first.prompts) + len(second.prompts) == 15
    assert len(set(first.seeds + second.seeds)) == 15


def spent_by(state, trials):
    usages = [usage for record in trials for usage in record["usage"].values()]
    return {
        "actions": sum(record["actions"] for record in trials),
        "llm_calls": sum(usage["llm_calls"] for usage in usages),
        "tokens": sum(usage["input_tokens"] + usage["output_tokens"] for usage in usages),
        "cost": sum(usage["cost"] for usage in usages),
    }


def test_a_budget_used_up_at_the_verdict_leaves_no_reflection(whole):
    # The fifth action ends the first trial; so the limit on calls is reached when the verdict is there.
    saver = InMemorySaver()
    stopped = graph(lr.Budgets(task=lr.Budget(llm_calls=5)), saver).invoke(INPUT, THREAD)
    assert (stopped["status"], stopped["reflections"], stopped["best"]) == ("budget", [], 1)
    assert stopped["notes"] == stopped["trials"][0]["notes"] == ["task budget of 5 llm_calls used up"]
    assert [record["verdict"] for record in stopped["trials"]] == [False]
    assert timeless(resumed(graph(saver=saver), stopped)) == timeless(whole)


def test_a_tasks_seconds_are_those_of_its_nodes_and_a_runs_those_of_the_clock():
    saver, budgets = InMemorySaver(), lr.Budgets(run=lr.Budget(seconds=0.1))

    def slowly(messages):
        time.sleep(0.1)
        return counting_badly(messages)

    stopped = graph(lr.Budgets(task=lr.Budget(seconds=0.25)), saver, slowly).invoke(INPUT, THREAD)
    assert stopped["status"] == "budget"
    assert len(stopped["trajectory"]) <= 3, "fewer on a slow machine"
    going_on = graph(saver=saver, approval=lr.Approval(reflections=True))
    paused = resumed(going_on, stopped)
    time.sleep(0.1)
    assert going_on.get_state(THREAD).values["seconds"] == paused["seconds"] >= 0.25
    assert graph(budgets).invoke(INPUT)["status"] == "budget"


@pytest.mark.parametrize(
    ("task", "thread"),
    [({**count_to(3), "id": "another"}, "2"), (count_to(3), "1")],
    ids=["another task", "the same on the same thread"],
)
def test_the_budget_of_a_run_is_shared_by_its_tasks_and_threads(task, thread):
    together = graph(lr.Budgets(run=lr.Budget(actions=20)), InMemorySaver())
    assert together.invoke(INPUT, THREAD)["status"] == "solved"  # 12 actions
    stopped = together.invoke({"task": task}, {"configurable": {"thread_id": thread}})
    assert stopped["status"] == "budget"
    assert sum(record["actions"] for record in stopped["trials"]) == 8


async def test_a_task_that_is_played_several_times_at_once_is_charged_each_time():
    model = ScriptedChatModel(replies=lambda messages: "29")
    budgets = lr.Budgets(run=lr.Budget(llm_calls=5))
    agent = create_agent(model, tools=[])
    options = {"strategy": "retry", "max_trials": 4, "budgets": budgets}
    graph = lr.create_reflexion(actor=agent, evaluator=lambda result: False, **options).compile()
    finals = await graph.abatch([{"task": "How many days?"}] * 8)
    assert {final["status"] for final in finals} == {"budget"}
    # Each may have had a call in flight.
    assert len(model.prompts) <= 5 + 8


def test_a_fork_is_charged_for_its_own_actions():
    together = graph(lr.Budgets(run=lr.Budget(actions=20)), InMemorySaver())
    together.invoke(INPUT, THREAD)
    second = next(s for s in together.get_state_history(THREAD) if s.next == ("reset",) and s.values["trial"] == 1)
    # 7 actions each; where the first of them began is not seen.
    assert [together.invoke(None, second.config)["status"] for _ in range(2)] == ["solved", "budget"]


def test_a_budget_of_money_needs_the_price_of_each_model():
    with pytest.raises(lr.ConfigurationError, match="needs the price of"):
        lr.create_reflexion("demo", Counter(), budgets=lr.Budgets(run=lr.Budget(cost=1)))


REFUSED = AIMessage("", additional_kwargs={"refusal": "No."})
DOWN = ConnectionError("connection refused")
QUICK = Retries(attempts=3, first_wait=0)


def calls(state):
    return {node: usage["llm_calls"] for node, usage in state["usage"].items()}


def play(replies, environment=None, retries=QUICK, **options):
    options = {"options": lr.ModelOptions(retries=retries), "max_trials": 2} | options
    graph, _ = compiled(replies, environment, InMemorySaver(), **options)
    return graph, graph.invoke({"task": environment.tasks()[0]} if environment else INPUT, THREAD)


def test_refused_answers_of_a_faulted_step_are_in_the_account_across_resumes():
    graph, state = play(["Action: add 1", *[REFUSED] * 3, *[REFUSED] * 3, "Action: add 2"])
    assert (state["status"], calls(state)) == ("fault", {"act": 4})
    assert state["trials"][0]["usage"] == state["usage"]
    state = resumed(graph, state)
    assert (state["status"], calls(state)) == ("fault", {"act": 7})
    state = resumed(graph, state)
    assert (state["status"], calls(state)) == ("solved", {"act": 8})


ONCE = Retries(attempts=1)
SAID = "Thought: Hm.\nAction: finish[Rome]"


@pytest.mark.parametrize(
    ("replies", "options", "paid"),
    [
        ([SAID, SAID, SAID, DOWN], {"actor": "cot", "evaluator": "self-consistency:3"}, {"act": 1, "evaluate": 2}),
        (["Hm.", "search[Rome]", "Hm.", DOWN], {"actor": "react", "profile": "upstream"}, {"act": 3}),
    ],
    ids=["some samples", "the thought"],
)
def test_calls_before_the_one_that_failed_are_counted(replies, options, paid):
    environment = HotPotQA()
    _, state = play(replies, environment, ONCE, **{"max_trials": 3, **options})
    environment.close()
    assert (state["status"], calls(state)) == ("fault", paid)
    assert state["trials"][-1]["usage"] == state["usage"]


class Preparing(lr.Evaluator):
    """Pays for its preparation, which fails twice."""

    left = 2

    async def prepare(self, task, config):
        charge({**NO_USAGE, "llm_calls": 1})
        self.left -= 1
        if self.left >= 0:
            raise Fault("the tests could not be checked", transient=False)
        return {}

    async def evaluate(self, state, config):
        return lr.Score(1.0)


def test_a_preparation_is_paid_for_as_often_as_it_was_made():
    budgets = lr.Budgets()
    graph, state = play(["Action: add 3"], evaluator=Preparing(), budgets=budgets)
    assert (state["status"], calls(state)) == ("fault", {"reset": 1})
    state = resumed(graph, resumed(graph, state))
    assert (state["status"], calls(state)) == ("solved", {"reset": 3, "act": 1})
    assert budgets.record(state, THREAD).llm_calls == 4
    again = graph.invoke({"task": count_to(4)}, THREAD | {"recursion_limit": 1}, interrupt_after=["reset"])
    assert calls(again) == {"reset": 1}, "a new task begins a new account"


def test_cached_answers_that_a_broken_run_had_paid_for_count_as_paid_once():
    saver, cache, made, environment = InMemorySaver(), InMemoryCache(), [], HotPotQA()
    used = {"input_tokens": 5, "output_tokens": 1, "total_tokens": 6}

    def reply(messages):
        made.append(len(made))
        if len(made) == 4:  # the second action; its thought was answered
            raise ZeroDivisionError
        return AIMessage("finish[Rome]" if len(made) > 4 else "search[Rome]", usage_metadata=used)

    options = {"options": lr.ModelOptions(cache=cache), "profile": "upstream", "actor": "react", "max_trials": 1}
    graph, _ = compiled(reply, environment, saver, **options)
    task = {"task": environment.tasks()[0]}
    with pytest.raises(ZeroDivisionError):
        graph.invoke(task, THREAD)
    graph, _ = compiled(reply, environment, saver, **options)
    state = graph.invoke(None, THREAD)
    assert len(made) == 5
    assert (calls(state), state["usage"]["act"]["input_tokens"]) == ({"act": 4}, 20)
    other = graph.invoke(task, {"configurable": {"thread_id": "2"}})
    assert (len(made), calls(other)) == (5, {"act": 0}), "another run pays nothing"
    environment.close()


class LateEpisode(CounterEpisode):
    def step(self, action):
        result = super().step(action)
        time.sleep(0.4)
        return replace(result, terminated=True)


class Late(Counter):
    """A counter whose first action ends the trial, after more time than it has."""

    episode = LateEpisode

    def start(self, task):
        return LateEpisode(task["data"]["goal"], self.limit)


@pytest.mark.parametrize("scope", ["trial", "task"])
def test_a_trial_that_ends_by_itself_is_evaluated_however_late(scope):
    def slowly(task, trajectory):
        time.sleep(0.1)
        return True

    budgets = lr.Budgets(**{scope: lr.Budget(seconds=0.3)})
    final = graph(budgets, environment=Late(), evaluator=slowly).invoke(INPUT)
    assert (final["status"], final["fault"], len(final["trials"])) == ("solved", "", 1)
    assert final["trials"][0]["seconds"] > 0.3


def test_evaluators_that_hang_hold_up_neither_other_tasks_nor_the_end_of_the_process():
    done = subprocess.run([sys.executable, "-c", HANGING], capture_output=True, text=True, timeout=60, check=True)
    # More than the threads of an event loop's executor.
    assert done.stdout.split() == ["fault"] * 40


def test_a_budget_that_cannot_count_an_agents_tokens_is_refused():
    silent = ScriptedChatModel(
        replies=lambda messages: AIMessage("Paris", response_metadata={"model_name": "scripted"})
    )
    prices = lr.ModelOptions(prices={"scripted": Price(1.0, 10.0)})

    def ask(budget):
        agent = create_agent(silent, [])
        budgets = lr.Budgets(task=budget)
        graph = lr.create_reflexion(
            actor=agent, evaluator=lambda result: False, strategy="retry", budgets=budgets, options=prices
        )
        return graph.compile().invoke({"task": "The capital of Italy?"})

    for budget in (lr.Budget(tokens=100), lr.Budget(cost=1.0)):
        with pytest.raises(lr.ConfigurationError, match=r"usage_metadata.*limit llm_calls instead"):
            ask(budget)
    assert ask(lr.Budget(llm_calls=2))["status"] == "budget"
