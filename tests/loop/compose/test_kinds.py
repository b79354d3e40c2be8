"""Kinds of agents that are wrapped as they are: each takes the task and the lessons by its signature."""

import operator
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_reflexion import ConfigurationError, create_reflexion
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.composing import TASK, Guessing


def guess(text: str) -> str:
    """Guess one more than the last reflection says that it was not."""
    assert TASK in text
    return f"It is {int(text.rpartition('It was not ')[2][:1]) + 1 if 'It was not ' in text else 1}."


def said(messages: Any) -> str:
    return "\n".join(each["content"] if isinstance(each, dict) else each.text for each in messages)


class Plain(TypedDict):
    messages: list[Any]


class Question(TypedDict, total=False):
    question: str


class Notes(Question, total=False):
    notes: Annotated[list[str], operator.add]


def graph(schema: Any, node: Any, **options: Any) -> Any:
    return StateGraph(schema).add_node("guess", node).add_edge(START, "guess").compile(**options)


def spoken(state: Any) -> AIMessage:
    return AIMessage(guess(said(state["messages"])))


@entrypoint()
def of_messages(messages: list[Any]) -> str:
    return guess(said(messages))


@entrypoint()
def of_dict(given: dict[str, Any]) -> dict[str, Any]:
    return {"messages": [{"role": "assistant", "content": guess(said(given["messages"]))}]}


@entrypoint()
def of_state(given: Plain) -> AIMessage:
    return spoken(given)


@entrypoint()
def of_text(task: "str") -> str:
    return guess(task)


@entrypoint()
def of_untyped_task(task):
    return guess(task)


def function_of_messages_for_type_checkers(conversation: "list[Unknown]") -> str:  # noqa: F821
    return guess(said(conversation))


async def coroutine_of_untyped_task(task):
    return guess(task)


def function_of_text(task: str) -> str:
    return guess(task)


async def coroutine_of_text(task: "str") -> str:  # as in a module with `from __future__ import annotations`
    return guess(task)


class Callable:
    def __call__(self, task: str) -> dict[str, Any]:
        return {"messages": [("ai", guess(task))]}


MODEL = ScriptedChatModel(replies=lambda messages: guess(said(messages)))
KINDS = {
    "messages as dicts": RunnableLambda(
        lambda messages: {"messages": [{"role": "assistant", "content": guess(said(messages))}]}
    ),
    "a graph without a reducer": graph(Plain, lambda state: {"messages": [*state["messages"], spoken(state)]}),
    "a graph with its own saver": graph(
        MessagesState, lambda s: {"messages": [spoken(s)]}, checkpointer=InMemorySaver()
    ),
    "a graph of one field": graph(Question, lambda s: {"question": guess(s["question"])}),
    "entrypoint of a list": of_messages,
    "entrypoint of a dict": of_dict,
    "entrypoint of a state": of_state,
    "entrypoint of a text": of_text,
    "chain of a question": ChatPromptTemplate.from_messages([("human", "{question}")]) | MODEL | StrOutputParser(),
    "chain of messages": ChatPromptTemplate.from_messages([("placeholder", "{messages}")]) | MODEL,
    "chat model": MODEL,
    "function of a text": function_of_text,
    "coroutine of a text": coroutine_of_text,
    "object": Callable(),
    "entrypoint of a task without a type": of_untyped_task,
    "function of a text without a type": lambda prompt: guess(prompt),
    "coroutine of a task without a type": coroutine_of_untyped_task,
    "function of messages without a type": lambda messages: guess(said(messages)),
    "function of a type for type checkers": function_of_messages_for_type_checkers,
}


def three(task: str, result: Any) -> bool:
    return "It is 3." in str(result)


SYNCHRONOUSLY = ("a graph of one field", "entrypoint of a text", "coroutine of a text", "chat model", "object")


@pytest.mark.parametrize(
    ("kind", "how"), [*((kind, "ainvoke") for kind in KINDS), *((kind, "invoke") for kind in SYNCHRONOUSLY)]
)
async def test_an_agent_takes_the_task_and_the_lessons_by_its_signature(kind, how):
    reflexion = create_reflexion(Guessing().reflects, actor=KINDS[kind], evaluator=three).compile()
    final = reflexion.invoke({"task": TASK}) if how == "invoke" else await reflexion.ainvoke({"task": TASK})
    assert (final["status"], final["trial"]) == ("solved", 3), final["fault"]
    assert "It is 3." in final["messages"][-1].text
    assert ["It is 3." in step["thought"] for step in final["trajectory"]] == [True], "each message counts once"


@pytest.mark.parametrize(
    ("model", "agent", "words"),
    [
        (ScriptedChatModel(replies=[]), graph(Notes, lambda state: {}), r"question, notes.*make_input"),
        (
            ScriptedChatModel(replies=[]),
            RunnableLambda(lambda messages: {"messages": [{"answer": 3}]}),
            r"messages cannot be read: \{'answer'",
        ),
        (None, function_of_text, r"create_reflexion\(model, actor=.*no model of its own that can be found"),
    ],
    ids=["several fields", "messages", "no model"],
)
def test_an_agent_that_cannot_be_wrapped_is_refused(model, agent, words):
    with pytest.raises(ConfigurationError, match=words):
        create_reflexion(model, actor=agent, evaluator=three).compile().invoke({"task": TASK})


def test_an_answer_counts_that_says_the_same_as_an_earlier_one_in_its_place():
    earlier = [HumanMessage("Is it open?"), AIMessage("Yes.")]
    seen = []

    def agent(messages: list[Any]) -> list[Any]:
        return [AIMessage("Let me see."), AIMessage("Yes.")]

    def check(result, messages):
        seen.extend(message.text for message in messages)
        return result == "Yes."

    graph = create_reflexion(ScriptedChatModel(replies=[]), actor=agent, evaluator=check, max_trials=1).compile()
    final = graph.invoke({"messages": [*earlier, HumanMessage("Is it really?")]})
    assert final["status"] == "solved"
    assert seen == ["Is it open?", "Yes.", "Is it really?", "Let me see.", "Yes."]


def test_a_tools_message_alone_is_in_the_trajectory():
    agent = RunnableLambda(lambda messages: {"messages": [ToolMessage("It is 3.", tool_call_id="elsewhere")]})
    unasked = ScriptedChatModel(replies=[])
    final = create_reflexion(unasked, actor=agent, evaluator=three).compile().invoke({"task": TASK})
    assert (final["result"], [step["observation"] for step in final["trajectory"]]) == ("It is 3.", ["It is 3."])
