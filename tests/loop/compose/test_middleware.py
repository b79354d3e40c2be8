"""As middleware of an agent: what its users see, how tasks follow each other, and what happens in trouble."""

import asyncio
import json
import time
from typing import Any, NotRequired

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ModelCallLimitMiddleware,
    SummarizationMiddleware,
    hook_config,
    wrap_model_call,
)
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.config import get_config
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt
from pydantic import BaseModel, SecretStr

import langgraph_reflexion as lr
from langgraph_reflexion.errors import Fault, ModelFault
from langgraph_reflexion.loop.heuristic import Heuristic
from langgraph_reflexion.models.usage import Price
from langgraph_reflexion.support.retries import Retries
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.composing import LESSON, SOLVED, TASK, THREAD, Guessing, call
from tests.support.guessing import RefusedError
from tests.support.model_server import ModelServer

NAMED = {"response_metadata": {"model_name": "agent"}}
PRICED = lr.ModelOptions(prices={"agent": Price(1, 1), "scripted": Price(1, 1)})
TALK = [HumanMessage("Hello"), AIMessage("Hello."), HumanMessage(TASK)]
GIVEN = {"messages": TALK}


def around(guessing, **options):
    given = {"evaluator": guessing.is_three, "model": guessing.reflects}
    return lr.ReflexionMiddleware(**(given | options))


def solve(guessing, **options):
    """The messages of an agent with the middleware."""
    return list(guessing.agent(middleware=[around(guessing, **options)]).invoke(GIVEN)["messages"])


def outcomes(messages):
    return [each.response_metadata["reflexion"] for each in messages if "reflexion" in each.response_metadata]


def outcome(messages):
    ended = messages[-1].response_metadata["reflexion"]
    return messages[-1].text, ended["status"], ended["trials"], ended["fault"]


async def test_each_run_reflects_with_the_model_that_its_own_agent_has_called():
    sent = {"alice": [], "bob": []}

    def model_of(user):
        def reply(messages):
            sent[user].append("\n".join(message.text for message in messages))
            return "The next attempt must count the words of it."

        return ScriptedChatModel(replies=reply)

    models = {user: model_of(user) for user in sent}

    @wrap_model_call
    async def of_the_user(request, handler):
        user = get_config()["configurable"]["user"]
        response = await handler(request.override(model=models[user]))
        answered[user].set()
        return response

    answered = {user: asyncio.Event() for user in sent}

    async def check(task, result):
        # Between Alice's answer and the reflection on it comes Bob's.
        await answered["bob"].wait()
        return False

    around = lr.ReflexionMiddleware(evaluator=check, max_trials=2)
    agent = create_agent(ScriptedChatModel(replies=[]), tools=[], middleware=[of_the_user, around])

    async def ask(user, text):
        config = {"configurable": {"user": user}}
        await agent.ainvoke({"messages": [HumanMessage(text)]}, config)

    alice = asyncio.create_task(ask("alice", "What is Alice's balance?"))
    await answered["alice"].wait()
    await ask("bob", "What is Bob's balance?")
    await alice
    # Two trials, and a reflection in between.
    assert [len(prompts) for prompts in sent.values()] == [3, 3]
    assert not any("Alice" in prompt for prompt in sent["bob"])


def test_a_run_that_goes_on_in_another_process_reflects_with_its_own_model():
    @tool
    def ask(question: str) -> str:
        """Ask a person."""
        return str(interrupt(question))

    saver = InMemorySaver()

    def process(models):
        """An agent of its own, as in another process, with a model for each user."""

        @wrap_model_call
        def of_the_user(request, handler):
            user = get_config()["configurable"]["thread_id"]
            return handler(request.override(model=models[user]))

        around = lr.ReflexionMiddleware(evaluator=lambda result: "right" in result, max_trials=2)
        agent = ScriptedChatModel(replies=[])
        return create_agent(agent, [ask], middleware=[of_the_user, around], checkpointer=saver)

    bob = {"configurable": {"thread_id": "bob"}}
    first = process({"bob": ScriptedChatModel(replies=[call("ask", question="Which?")])})
    assert "__interrupt__" in first.invoke({"messages": [HumanMessage("Bob's task")]}, bob)

    models = {
        "ann": ScriptedChatModel(replies=["right"]),
        "bob": ScriptedChatModel(replies=["wrong", "Next time I must say what is right.", "right"]),
    }
    second = process(models)
    second.invoke({"messages": [HumanMessage("Ann's task")]}, {"configurable": {"thread_id": "ann"}})
    final = second.invoke(Command(resume="this one"), bob)
    assert final["messages"][-1].text == "right"
    assert [len(model.prompts) for model in models.values()] == [1, 3]


@pytest.mark.parametrize("what", ["reflections", "verdicts"])
def test_seconds_of_a_task_do_not_count_a_pause_for_a_person(what):
    middleware = lr.ReflexionMiddleware(
        evaluator=lambda result: False,
        max_trials=2,
        approval=lr.Approval(**{what: True}),
        budgets=lr.Budgets(task=lr.Budget(seconds=1)),
        model=ScriptedChatModel(replies=lambda messages: "Next time I must count the words."),
    )
    model = ScriptedChatModel(replies=lambda messages: "x")
    agent = create_agent(model, tools=[], middleware=[middleware], checkpointer=InMemorySaver())
    final = agent.invoke({"messages": [HumanMessage("Do it.")]}, THREAD)
    while "__interrupt__" in final:
        time.sleep(1.2)
        final = agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), THREAD)
    outcome = final["messages"][-1].response_metadata["reflexion"]
    assert (outcome["status"], outcome["trials"]) == ("failed", 2)


def test_seconds_of_a_task_count_its_evaluations_as_around_a_graph():
    def slow(result):
        time.sleep(0.3)
        return False

    options = {"evaluator": slow, "strategy": "retry", "max_trials": 4}
    budgets = lr.Budgets(task=lr.Budget(seconds=0.5))
    middleware = lr.ReflexionMiddleware(budgets=budgets, **options)
    agent = create_agent(ScriptedChatModel(replies=lambda messages: "x"), tools=[], middleware=[middleware])
    outcome = agent.invoke({"messages": [HumanMessage("Do it.")]})["messages"][-1].response_metadata["reflexion"]
    assert outcome["status"] == "budget"
    assert outcome["trials"] < 4


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_an_answer_that_fails_is_reflected_on_and_tried_anew(how):
    guessing = Guessing()
    agent = guessing.agent(middleware=[around(guessing)], system_prompt="You guess.")
    final = agent.invoke(GIVEN) if how == "invoke" else await agent.ainvoke(GIVEN)
    assert set(final) == {"messages"}
    assert [message.text for message in final["messages"]] == [
        "Hello", "Hello.", TASK, "", "3 is a number.", "It is 3."
    ]  # fmt: skip
    assert final["messages"][-1].response_metadata["reflexion"] == SOLVED
    guessing.expect_lessons()
    prompts = guessing.guesses.prompts
    # Each trial begins with the conversation as it was, and an agent with tools is told its task once, at the end.
    assert [prompt[0].text for prompt in prompts] == ["You guess."] * 6
    assert [[message.text for message in prompt[1:3]] for prompt in prompts] == [["Hello", "Hello."]] * 6
    assert [(prompt[3].text.count(TASK), prompt[3].text.endswith(TASK)) for prompt in prompts] == [(1, True)] * 6
    assert [LESSON in prompt[3].text for prompt in prompts] == [False, False, True, True, True, True]
    shown = guessing.reflects.prompts[1][-1].text
    assert "Action: look_up(number=2)\nObservation: 2 is a number." in shown
    assert "What the agent answered: It is 2.\n\nWhat the check said: Not accepted" in shown
    assert "The note that this attempt was given: It was not 1." in shown


def test_a_task_in_blocks_stays_in_blocks_and_options_are_heeded():
    guessing = Guessing()
    block = {"type": "text", "text": TASK, "cache_control": {"type": "ephemeral"}}
    agent = guessing.agent(middleware=[around(guessing, memory=1, feedback="binary")])
    agent.invoke({"messages": [HumanMessage([block])]})
    content = guessing.guesses.prompts[-1][0].content
    assert (content[0], content[1]["text"].count("It was not")) == (block, 1)
    assert "score" not in guessing.reflects.prompts[1][-1].text


def test_the_agents_own_model_can_judge_and_reflect():
    def reply(messages):
        if "You judge a trial" in messages[0].text:
            return f"I looked.\nVerdict: {'yes' if 'It is 2' in messages[-1].text else 'no'}"
        if "You review an attempt" in messages[0].text:
            return "It was not 1."
        return "It is 2." if "It was not 1." in messages[-1].text else "It is 1."

    model = ScriptedChatModel(replies=reply)
    final = create_agent(model, middleware=[lr.ReflexionMiddleware(evaluator="llm")]).invoke(GIVEN)
    assert outcome(final["messages"]) == ("It is 2.", "solved", 2, "")
    assert len(model.prompts) == 5


class Guess(BaseModel):
    """A guess."""

    number: int


@pytest.mark.parametrize("score", [1.0, 0.5])
def test_a_structured_response_is_the_result(score):
    def reply(messages):
        told = "".join(message.text for message in messages if LESSON in message.text).count("It was not")
        return call("Guess", number=1 + told)

    guessing = Guessing()
    reflects = ScriptedChatModel(replies=["It was not 1.", "It was not 2."])
    middleware = around(guessing, evaluator=lambda t, r: score * (r == {"number": 2}), model=reflects, max_trials=3)
    agent = create_agent(
        ScriptedChatModel(replies=reply), middleware=[middleware], response_format=ToolStrategy(Guess)
    )
    final = agent.invoke(GIVEN)
    assert final["structured_response"] == Guess(number=2), "solved at once, or the best of three"
    assert [(each["trials"], each["best"]) for each in outcomes(final["messages"])] == [(2 if score == 1 else 3, 2)]


@pytest.mark.slow
def test_another_process_resumes_at_the_evaluation_and_the_state_is_private_and_plain(tmp_path):
    guessing = Guessing()
    with SqliteSaver.from_conn_string(str(tmp_path / "c.db")) as saver:
        stopped = guessing.agent(
            middleware=[around(guessing)], checkpointer=saver, interrupt_before=["ReflexionMiddleware.after_agent"]
        )
        stopped.invoke(GIVEN, THREAD)
        agent = guessing.agent(middleware=[around(guessing)], checkpointer=saver)
        final = agent.invoke(None, THREAD)
        kept = agent.get_state(THREAD).values["reflexion"]
    assert final["messages"][-1].response_metadata["reflexion"] == SOLVED
    guessing.expect_lessons()
    json.dumps({key: value for key, value in kept.items() if key not in ("given", "best")})
    for schema in (agent.get_input_jsonschema(), agent.get_output_jsonschema()):
        assert "reflexion" not in schema["properties"]


def test_reflections_are_not_streamed_as_the_agents_words():
    guessing = Guessing()
    agent = guessing.agent(middleware=[around(guessing)])
    said = [message.text for message, _ in agent.stream(GIVEN, stream_mode="messages")]
    assert ("It is 1." in said, "It was not 1." in said) == (True, False)


@pytest.mark.parametrize(
    ("options", "given", "words"),
    [
        ({"evaluator": "environment"}, TALK, "evaluator"),
        ({"feedback": "loud"}, TALK, "feedback"),
        ({"approval": lr.Approval(actions=["look_up"])}, TALK, "HumanInTheLoopMiddleware"),
        ({}, [AIMessage("Hello.")], "human message"),
    ],
)
def test_what_makes_no_sense_is_refused(options, given, words):
    guessing = Guessing()
    with pytest.raises(lr.ConfigurationError, match=words):
        guessing.agent(middleware=[around(guessing, **options)]).invoke({"messages": given})


def test_a_retry_without_reflections_sees_none():
    guessing = Guessing()
    guessing.guesses.replies = lambda messages: "It is 0."
    solve(guessing, strategy="retry")
    assert (guessing.reflects.prompts, "It is 0." in guessing.guesses.prompts[-1][0].text) == ([], False)


@pytest.mark.parametrize(
    ("options", "status", "reason", "calls"),
    [
        ({"heuristic": Heuristic(max_actions=2)}, "failed", "inefficient planning", 6),
        ({"heuristic": Heuristic(max_cycles=1)}, "failed", "hallucination", 4),
        ({"budgets": lr.Budgets(task=lr.Budget(llm_calls=3))}, "budget", "budget", 3),
        ({"budgets": lr.Budgets(trial=lr.Budget(actions=1))}, "budget", "budget", 1),
        ({"budgets": lr.Budgets(run=lr.Budget(cost=2e-5)), "options": PRICED}, "budget", "budget", 2),
    ],
    ids=["actions", "cycles", "calls of the task", "actions of a trial", "money"],
)
def test_a_trial_that_loops_or_costs_too_much_is_stopped(options, status, reason, calls):
    guessing = Guessing()
    guessing.guesses.replies = lambda messages: call("look_up", number=7).model_copy(update=NAMED)
    guessing.reflects.replies = lambda messages: "Stop."
    agent = guessing.agent(middleware=[around(guessing, max_trials=2, **options)], checkpointer=InMemorySaver())
    messages = agent.invoke(GIVEN, THREAD)["messages"]
    trials = agent.get_state(THREAD).values["reflexion"]["trials"]["trials"]
    [ended] = outcomes(messages)
    assert (ended["status"], trials[-1]["stop_reason"], len(guessing.guesses.prompts)) == (status, reason, calls)


def test_a_person_approves_reflections():
    guessing = Guessing()
    middleware = around(guessing, approval=lr.Approval(reflections=True))
    agent = guessing.agent(middleware=[middleware], checkpointer=InMemorySaver())
    paused = agent.invoke(GIVEN, THREAD)
    for number in (1, 2):
        assert f"It was not {number}." in str(paused["__interrupt__"][0].value)
        paused = agent.invoke(Command(resume="approve"), THREAD)
    assert outcome(paused["messages"]) == ("It is 3.", "solved", 3, "")
    guessing.expect_lessons()


def test_lessons_of_a_task_reach_the_next_through_the_agents_store():
    guessing = Guessing()
    agent = guessing.agent(
        middleware=[around(guessing, memory=lr.Memory(lessons=lr.Lessons()))], store=InMemoryStore()
    )
    for text in (TASK, f"{TASK} Again!"):
        agent.invoke({"messages": [HumanMessage(text)]})
    instructions = guessing.guesses.prompts[6][0].text
    assert ("It was not 2." in instructions, LESSON in instructions) == (True, False)


class BusyError(Exception):
    status_code = 503


def no_docker(task, result):
    raise Fault("no docker")


@pytest.mark.parametrize(
    ("replies", "evaluator", "expected"),
    [
        ([BusyError(), "It was not 1.", "It was not 2."], None, ("It is 3.", "solved", 3, "")),
        ([BusyError("no")] * 2, None, ("It is 1.", "fault", 1, "the model could not answer: BusyError: no")),
        ([], no_docker, ("It is 1.", "fault", 1, "no docker")),
    ],
    ids=["tried again", "never", "evaluator"],
)
def test_trouble_leaves_the_best_answer(replies, evaluator, expected):
    guessing = Guessing()
    options = lr.ModelOptions(retries=Retries(attempts=2, first_wait=0.0))
    model = ScriptedChatModel(replies=replies)
    messages = solve(guessing, model=model, options=options, evaluator=evaluator or guessing.is_three)
    assert outcome(messages) == expected


def test_bugs_and_wrong_keys_are_raised():
    with pytest.raises(ZeroDivisionError):
        solve(Guessing(), evaluator=lambda task, result: 1 / 0)
    with pytest.raises(ModelFault, match="RefusedError"):
        solve(Guessing(), model=ScriptedChatModel(replies=[RefusedError("who are you?")]))


@pytest.mark.parametrize(("calls", "said"), [(3, "Model call limits exceeded: run limit (3/3)"), (4, "It is 2.")])
def test_a_limit_of_the_agents_own_ends_the_task(calls, said):
    guessing = Guessing()
    limit = ModelCallLimitMiddleware(run_limit=calls)
    messages = guessing.agent(middleware=[limit, around(guessing)]).invoke(GIVEN)["messages"]
    # It stops the second trial in its middle, or the third one before it begins.
    assert [(each["status"], each["trials"]) for each in outcomes(messages)] == [("failed", 2)]
    assert (messages[-1].text, len(guessing.reflects.prompts)) == (said, 2)


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, -1])
def test_what_a_guard_has_stopped_is_not_tried_again(order):
    class Guard(AgentMiddleware[Any, Any, Any]):
        @hook_config(can_jump_to=["end"])
        def before_agent(self, state, runtime):
            bad = "bomb" in state["messages"][-1].text
            return {"jump_to": "end", "messages": [AIMessage("No.")]} if bad else None

    guessing = Guessing()
    agent = guessing.agent(middleware=[Guard(), around(guessing)][::order], checkpointer=InMemorySaver())
    for text, said in (("A bomb.", "No."), (TASK, "It is 3."), ("A bomb.", "No.")):
        assert agent.invoke({"messages": [HumanMessage(text)]}, THREAD)["messages"][-1].text == said
    assert len(guessing.guesses.prompts) == 6


def test_a_conversation_that_was_summed_up_is_whole_again_in_the_next_trial():
    guessing = Guessing()
    sums = ScriptedChatModel(replies=lambda messages: "They talked.")
    summing = SummarizationMiddleware(model=sums, trigger=("messages", 3), keep=("messages", 2))
    final = guessing.agent(middleware=[summing, around(guessing)]).invoke({"messages": [HumanMessage(TASK)]})
    assert sums.prompts
    assert len([prompt for prompt in guessing.guesses.prompts if prompt[-1].text.endswith(TASK)]) == 3
    assert outcomes(final["messages"]) == [SOLVED]


class Counts(AgentState[Any]):
    calls: NotRequired[int]


class Counting(AgentMiddleware[Counts, Any, Any]):
    state_schema = Counts

    def before_model(self, state, runtime):
        return {"calls": state.get("calls", 0) + 1}


def test_a_number_in_the_agents_state_begins_each_trial_as_if_it_were_not_there():
    seen = []
    guessing = Guessing()
    verify = lambda state: seen.append(state["calls"]) or False  # noqa: E731
    guessing.agent(middleware=[Counting(), around(guessing, evaluator=verify, state_schema=Counts)]).invoke(GIVEN)
    assert seen == [2, 2, 2]


@pytest.mark.slow
def test_the_longest_reply_is_that_of_the_options_for_the_agents_own_model_too():
    with ModelServer(ScriptedChatModel(replies=lambda messages: "It is 2.")) as server:
        model = ChatOpenAI(model="any", base_url=server.url, api_key=SecretStr("any"))
        wrong = lr.ReflexionMiddleware(
            evaluator=lambda result: False, max_trials=2, options=lr.ModelOptions(max_tokens=9)
        )
        create_agent(model, middleware=[wrong]).invoke({"messages": [HumanMessage(TASK)]})
        assert [request.body.get("max_tokens") for request in server.requests] == [None, 9, None]
