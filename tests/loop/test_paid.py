"""What was paid for is counted, whatever comes of it: faults, and processes that are killed."""

import pytest
from langchain_core.messages import AIMessage
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_reflexion import (
    Budget,
    Budgets,
    Evaluator,
    Fault,
    Memory,
    ModelOptions,
    Score,
    create_reflexion,
    resume_point,
)
from langgraph_reflexion.envs.hotpotqa.environment import HotPotQA
from langgraph_reflexion.models.calls import charge
from langgraph_reflexion.models.usage import NO_USAGE
from langgraph_reflexion.retries import Retries
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import Counter, count_to

THREAD = {"configurable": {"thread_id": "1"}}
REFUSED = AIMessage("", additional_kwargs={"refusal": "No."})
DOWN = ConnectionError("connection refused")
QUICK = Retries(attempts=3, first_wait=0)


def calls(state):
    return {node: usage["llm_calls"] for node, usage in state["usage"].items()}


def play(replies, environment=None, task=None, retries=QUICK, **options):
    model = ScriptedChatModel(replies=replies)
    options = {"options": ModelOptions(retries=retries), "max_trials": 2} | options
    graph = create_reflexion(model, environment or Counter(), **options).compile(checkpointer=InMemorySaver())
    return graph, graph.invoke({"task": task or count_to(3)}, THREAD)


def resumed(graph, state):
    graph.update_state(THREAD, *resume_point(state))
    return graph.invoke(None, THREAD)


def test_refused_answers_of_a_faulted_step_are_in_the_account_across_resumes():
    graph, state = play(["Action: add 1", *[REFUSED] * 3, *[REFUSED] * 3, "Action: add 2"])
    assert (state["status"], calls(state)) == ("fault", {"act": 4})
    assert state["trials"][0]["usage"] == state["usage"]
    state = resumed(graph, state)
    assert (state["status"], calls(state)) == ("fault", {"act": 7})
    state = resumed(graph, state)
    assert (state["status"], calls(state)) == ("solved", {"act": 8})


def test_a_budget_counts_refused_answers():
    budgets = Budgets(task=Budget(llm_calls=4), run=Budget(llm_calls=6))
    graph, state = play(["Action: add 1", *[REFUSED] * 3, "Action: add 2"], budgets=budgets)
    assert budgets.used_up(state, THREAD) == "task budget of 4 llm_calls used up"
    assert resumed(graph, state)["status"] == "solved"
    play([REFUSED] * 3, budgets=budgets)
    assert budgets.run_used_up() == "run budget of 6 llm_calls used up"


ONCE = Retries(attempts=1)
SAID = "Thought: Hm.\nAction: finish[Rome]"


@pytest.mark.parametrize(
    ("replies", "options", "paid"),
    [
        ([SAID, SAID, SAID, DOWN], {"actor": "cot", "evaluator": "self-consistency:3"}, {"act": 1, "evaluate": 2}),
        (["Hm.", "search[Rome]", "Hm.", DOWN], {"actor": "react", "profile": "upstream"}, {"act": 3}),
        (
            [SAID, "Lesson 1.", SAID, "Lesson 2.", DOWN],
            {"actor": "cot", "memory": Memory(size=1, keep="summary")},
            {"act": 1, "reflect": 1},
        ),
    ],
    ids=["some samples", "the thought", "the reflection"],
)
def test_calls_before_the_one_that_failed_are_counted(replies, options, paid):
    environment = HotPotQA()
    _, state = play(replies, environment, environment.tasks()[0], retries=ONCE, **{"max_trials": 3, **options})
    environment.close()
    assert (state["status"], calls(state)) == ("fault", paid)
    assert state["trials"][-1]["usage"] == state["usage"]


class Preparing(Evaluator):
    """Pays for its preparation, which fails twice."""

    left = 2

    async def prepare(self, task, config):
        charge({**NO_USAGE, "llm_calls": 1})
        self.left -= 1
        if self.left >= 0:
            raise Fault("the tests could not be checked", transient=False)
        return {}

    async def evaluate(self, state, config):
        return Score(1.0)


def test_a_preparation_is_paid_for_as_often_as_it_was_made():
    budgets = Budgets()
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

    options = {"options": ModelOptions(cache=cache), "profile": "upstream", "actor": "react", "max_trials": 1}
    graph = create_reflexion(ScriptedChatModel(replies=reply), environment, **options).compile(checkpointer=saver)
    with pytest.raises(ZeroDivisionError):
        graph.invoke({"task": environment.tasks()[0]}, THREAD)
    graph = create_reflexion(ScriptedChatModel(replies=reply), environment, **options).compile(checkpointer=saver)
    state = graph.invoke(None, THREAD)
    assert len(made) == 5
    assert (calls(state), state["usage"]["act"]["input_tokens"]) == ({"act": 4}, 20)
    other = graph.invoke({"task": environment.tasks()[0]}, {"configurable": {"thread_id": "2"}})
    assert (len(made), calls(other)) == (5, {"act": 0}), "another run pays nothing"
    environment.close()
