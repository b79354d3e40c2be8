"""A whole agent as the actor: any graph or runnable, one call of which is one trial."""

import json
import time
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.exceptions import OutputParserException
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import ToolException
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph

import langgraph_reflexion as lr
from langgraph_reflexion.errors import Fault, ModelFault
from langgraph_reflexion.evaluators.function import CommandEvaluator
from langgraph_reflexion.state import Evaluation
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.composing import LESSON, THREAD, Guessing, call, look_up
from tests.support.model_server import ModelServer

TASK = {"task": "Guess the number."}


def guesser(**options):
    """A tool-calling agent that needs three trials for a 3, and its model."""
    guessing = Guessing()
    return guessing.agent(**options), guessing.guesses


def is_three(task, result):
    return result == "It is 3."


def wrapped(agent, evaluator=is_three, reflects=None, **options):
    return lr.create_reflexion(reflects or Guessing().reflects, actor=agent, evaluator=evaluator, **options)


def solve(agent, evaluator=is_three, **options):
    return wrapped(agent, evaluator, **options).compile().invoke(TASK)


def expect_three(final):
    assert (final["status"], final["trial"], final["best"], final["result"]) == ("solved", 3, 3, "It is 3.")
    assert [reflection["text"] for reflection in final["reflections"]] == ["It was not 1.", "It was not 2."]
    assert [record["verdict"] for record in final["trials"]] == [False, False, True]


def test_an_agent_is_wrapped_as_it_is():
    agent, model = guesser()
    final = solve(agent)
    expect_three(final)
    [step, last] = final["trajectory"]
    assert (step["action"]["text"], step["observation"]) == ("look_up(number=3)", "3 is a number.")
    assert (last["thought"], last["action"]) == ("It is 3.", None)
    [first, *_] = final["trials"]
    spent = first["usage"]["act"]
    assert (first["actions"], spent["llm_calls"], spent["input_tokens"]) == (1, 2, 10)
    # Each trial starts over, with the lessons and the task in one message.
    firsts = [prompt for prompt in model.prompts if prompt[-1].type == "human"]
    assert [len(prompt) for prompt in firsts] == [1, 1, 1]
    assert firsts[0][0].text == TASK["task"]
    assert all(prompt[0].text.endswith(f"Here is the task again:\n{TASK['task']}") for prompt in firsts[1:])
    assert LESSON in firsts[1][0].text
    assert "Note after attempt 2: It was not 2." in firsts[2][0].text
    json.dumps({key: value for key, value in final.items() if key != "messages"})


@pytest.mark.slow
def test_in_and_out_through_messages():
    agent, model = guesser()
    graph = wrapped(agent, strategy="last_attempt_and_reflexion").compile(checkpointer=InMemorySaver())
    talk = [HumanMessage("Hello"), AIMessage("Hello."), HumanMessage("Guess the number.")]
    final = graph.invoke({"messages": talk}, THREAD)
    expect_three(final)
    assert [message.text for message in final["messages"]] == ["Hello", "Hello.", "Guess the number.", "It is 3."]
    outcome = final["messages"][-1].response_metadata["reflexion"]
    assert (outcome["status"], outcome["trials"], outcome["best"], outcome["score"]) == ("solved", 3, 3, 1.0)
    firsts = [prompt for prompt in model.prompts if prompt[-1].type == "human"]
    assert [message.text for message in firsts[0]] == ["Hello", "Hello.", "Guess the number."]
    assert "Action: look_up(number=2)" in firsts[2][2].text, "the last attempt is shown"
    # The next message of the conversation is a new task, the same words or not.
    again = graph.invoke({"messages": [HumanMessage("Guess the number.")]}, THREAD)
    expect_three(again)
    assert len(again["messages"]) == 6
    assert [message.text for message in model.prompts[-1][:5]][-2:] == ["It is 3.", model.prompts[-1][4].text]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verifier", "solved", "feedback"),
    [
        (lambda task, result: Evaluation(success=False, score=0.0, feedback="no good"), False, "no good"),
        (CommandEvaluator("grep 'It is 1'"), True, "It is 1."),
        (CommandEvaluator("echo wrong; exit 3"), False, "echo wrong; exit 3: exit status 3\nwrong"),
        (CommandEvaluator("sleep 30", timeout=0.2), False, "sleep 30: not done after 0.2 seconds"),
        (CommandEvaluator("sleep 30 & echo done", timeout=5), True, "done"),
        (CommandEvaluator("kill -9 $$"), False, "kill -9 $$: exit status -9"),
        (CommandEvaluator("printf '\\377'; exit 1"), False, "printf '\\377'; exit 1: exit status 1\n\ufffd"),
    ],
    ids=["evaluation", "command", "failing command", "hanging command", "child", "killed command", "binary output"],
)
def test_verifiers(verifier, solved, feedback):
    final = solve(guesser()[0], verifier, max_trials=1)
    assert (final["status"] == "solved", final["evaluation"]["feedback"]) == (solved, feedback)


def test_an_evaluation_may_be_unverified():
    judged = Evaluation(success=False, score=0.0, feedback="nothing to check", unverified=True)
    final = solve(guesser()[0], lambda task, result: judged, max_trials=1)
    assert final["evaluation"] == judged
    assert final["trials"][0]["unverified"] is True


@pytest.mark.parametrize("other", [True, False])
def test_of_several_scores_all_have_to_be_unverified(other):
    scores = [{"score": 0.0, "unverified": True}, {"score": 0.0, "unverified": other}]
    final = solve(guesser()[0], lambda task, result: scores, max_trials=1)
    assert final["evaluation"].get("unverified", False) is other


def test_an_agent_of_other_fields_gets_its_input_by_make_input():
    work = RunnableLambda(lambda given: {**given, "words": len(given["notes"].split())})
    agent = lr.WrappedAgent(work, make_input=lambda task, lessons: {"topic": task, "notes": lessons})
    given = []

    def verify(task: str, result: Any) -> bool:
        given.append(result)
        return bool(result["words"])

    final = solve(agent, verify)
    assert (final["status"], final["trial"]) == ("solved", 2)
    assert given[0] == {"topic": TASK["task"], "notes": "", "words": 0}
    assert json.loads(final["messages"][-1].text)["topic"] == TASK["task"]


def test_an_agent_that_meets_trouble_is_a_fault_that_can_be_tried_again():
    broken = True

    def answering(messages: list[Any]) -> str:
        if broken and "not accepted" in messages[-1].text:
            raise OSError("no such luck")
        return "second" if "not accepted" in messages[-1].text else "first"

    graph = wrapped(RunnableLambda(answering), lambda t, r: r == "second").compile(checkpointer=InMemorySaver())
    final = graph.invoke(TASK, THREAD)
    assert (final["status"], final["fault"]) == ("fault", "the agent failed: OSError: no such luck")
    assert [record["verdict"] for record in final["trials"]] == [False, None]
    assert final["messages"][-1].text == "first", "the best attempt so far"
    broken = False
    graph.update_state(THREAD, *lr.resume_point(graph.get_state(THREAD).values))
    assert graph.invoke(None, THREAD)["status"] == "solved"


@pytest.mark.parametrize("error", [OutputParserException("no JSON"), ToolException("no such item")])
def test_what_a_parser_or_a_tool_raises_is_no_trouble_outside(error):
    def answering(messages: list[Any]) -> str:
        raise error

    with pytest.raises(type(error)):
        solve(RunnableLambda(answering))


@pytest.mark.slow
def test_a_wrong_key_inside_an_agent_stops_the_run_and_a_wrong_path_is_a_bug():
    with ModelServer(faults=["wrong-key"]) as server:
        model = ChatOpenAI(model="any", base_url=server.url, api_key="k" * 20, max_retries=0)
        with pytest.raises(ModelFault, match=r"the agent failed: (OpenAI)?AuthenticationError") as raised:
            solve(create_agent(model, [look_up]))
    assert raised.value.permanent

    def reading(messages: list[Any]) -> str:
        raise FileNotFoundError("no such page")

    with pytest.raises(FileNotFoundError, match="no such page"):
        solve(RunnableLambda(reading))


def test_after_a_fault_of_the_verifier_the_same_result_is_verified_again():
    answers, seen, broken = iter(["one", "two"]), [], [True]

    def verify(task: str, result: str) -> bool:
        if result == "two" and broken.pop():
            raise Fault("no room", transient=False)
        seen.append(result)
        return result == "two"

    agent = RunnableLambda(lambda messages: next(answers))
    reflects = ScriptedChatModel(replies=lambda prompt: "Say two.")
    graph = wrapped(agent, verify, reflects).compile(checkpointer=InMemorySaver())
    stopped = graph.invoke(TASK, THREAD)
    assert (stopped["status"], stopped["result"]) == ("fault", "one")
    broken.append(False)
    graph.update_state(THREAD, *lr.resume_point(stopped))
    final = graph.invoke(None, THREAD)
    assert (final["status"], final["result"], seen) == ("solved", "two", ["one", "two"])


def loop(said=None, seconds=0.0):
    """A graph that goes round for ever, and calls a tool with what `said` returns, or says nothing."""

    def think(state: MessagesState) -> dict[str, Any]:
        time.sleep(seconds)
        if said is None:
            return {}
        return {"messages": [call("look_up", number=said(state))]}

    return StateGraph(MessagesState).add_node(think).add_edge(START, "think").add_edge("think", "think").compile()


@pytest.mark.slow
def test_a_budget_stops_an_agent_between_its_steps():
    agent = loop(lambda state: len(state["messages"]), seconds=0.05)
    final = solve(agent, budgets=lr.Budgets(run=lr.Budget(seconds=0.2)))
    assert final["status"] == "budget"
    assert final["trials"][0]["actions"] <= 6
    agent, model = guesser()
    final = solve(agent, budgets=lr.Budgets(task=lr.Budget(llm_calls=3)))
    assert (final["status"], final["result"]) == ("budget", "It is 1.")
    assert len(model.prompts) <= 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("agent", "reason", "actions"),
    [
        (loop(lambda state: 1), "hallucination", 4),
        (loop(), "truncated", 0),
        (loop().with_config(recursion_limit=5), "truncated", 0),
    ],
    ids=["in circles", "without a word", "at its own limit"],
)
def test_an_agent_that_loops_is_stopped(agent, reason, actions):
    final = solve(agent, max_trials=1)
    [record] = final["trials"]
    assert (final["status"], record["stop_reason"], record["actions"]) == ("failed", reason, actions)


@pytest.mark.parametrize("nothing", [None, "", {"messages": []}, AIMessage("")], ids=repr)
def test_an_agent_that_finds_no_answer_has_failed(nothing):
    chain = RunnableLambda(lambda messages: "hm") | RunnableLambda(lambda text: nothing)
    final = solve(chain, max_trials=2)
    assert (final["status"], final["evaluation"]["feedback"]) == ("failed", "Nothing was returned.")
    assert final["messages"][-1].text == "There is no answer."


def silent(calls):
    """An agent that calls a tool that often, and then says nothing; and what it has written."""
    written = []

    def write(text: str) -> str:
        """Write a text."""
        written.append(text)
        return "written"

    request = {"name": "write", "args": {"text": "It is 3."}, "id": "1"}
    replies = [AIMessage("", tool_calls=[request])] * calls
    model = ScriptedChatModel(replies=[*replies, AIMessage("")])
    return create_agent(model, [write]), written


def test_an_agent_that_acts_and_says_nothing_is_judged_by_what_it_has_done():
    agent, written = silent(calls=1)
    final = solve(agent, lambda result: written == ["It is 3."], max_trials=1)
    assert (final["status"], final["result"], final["messages"][-1].text) == ("solved", "", "The task is done.")


def test_an_agent_that_does_nothing_and_says_nothing_is_not_judged():
    agent, _ = silent(calls=0)
    final = solve(agent, lambda result: True, max_trials=1)
    assert (final["status"], final["evaluation"]["feedback"]) == ("failed", "Nothing was returned.")
    assert final["messages"][-1].text == "There is no answer."


@pytest.mark.parametrize(
    "agent", [lambda messages: None, entrypoint()(lambda messages: None)], ids=["function", "entrypoint"]
)
def test_a_function_that_forgets_to_return_is_a_bug(agent):
    with pytest.raises(TypeError, match="the agent returned None"):
        solve(agent)


def test_messages_that_no_model_has_written_are_no_model_calls():
    final = solve(RunnableLambda(lambda messages: {"messages": [AIMessage("It is 3.")]}))
    assert (final["status"], "act" in final["usage"]) == ("solved", False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"evaluator": None}, "an agent needs an evaluator"),
        ({"actor": None}, "needs either an environment"),
        ({"actor": 5}, "actor"),
        ({"actor": lambda a, b: "It is 3."}, r"called with \(input\), but takes a, b"),
        ({"model": None, "actor": len}, "model"),
        ({"approval": lr.Approval(actions=["look_up"])}, "HumanInTheLoopMiddleware"),
        ({"actor": lr.WrappedAgent(guesser()[0], reset=lambda: None)}, r"reset is called with \(task\)"),
    ],
    ids=["no evaluator", "no actor", "a number", "two arguments", "no model", "approval of actions", "its reset"],
)
def test_arguments_that_do_not_fit_are_refused(options, message):
    parts = {"model": Guessing().reflects, "actor": guesser()[0], "evaluator": is_three}
    with pytest.raises(lr.ConfigurationError, match=message):
        lr.create_reflexion(**(parts | options))


def test_an_unusable_part_or_input_is_refused():
    with pytest.raises(lr.ConfigurationError, match="compile it without a checkpointer"):
        lr.WrappedAgent(guesser(checkpointer=True)[0])
    with pytest.raises(lr.ConfigurationError, match="make is called"):
        lr.WrappedAgent(make=lambda: guesser()[0])
    with pytest.raises(lr.ConfigurationError, match="command is empty"):
        CommandEvaluator(" ")
    with pytest.raises(lr.ConfigurationError, match="a human message in it"):
        wrapped(guesser()[0]).compile().invoke({"messages": [AIMessage("Hi.")]})
