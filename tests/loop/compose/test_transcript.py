"""The messages of an agent become steps as they come."""

from collections import Counter
from datetime import date

from langchain_core.messages import AIMessage, ToolMessage
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_reflexion import create_reflexion
from langgraph_reflexion.agents.transcript import UNANSWERED, Transcript, steps_of
from tests.support.composing import TASK, call

STEPS = 30


class Said(AIMessage):
    """A message that counts how often it is read."""

    @property
    def text(self):
        read[self.id] += 1
        return self.content


read = Counter()


def talk(state):
    """Say one more sentence."""
    number = len(state["messages"])
    return {"messages": [Said(f"Sentence {number}.", id=str(number))]}


def more(state):
    return "talk" if len(state["messages"]) <= STEPS else "__end__"


def test_a_message_is_read_no_more_often_the_more_come_after_it():
    graph = StateGraph(MessagesState)
    graph.add_node(talk)
    graph.add_edge(START, "talk")
    graph.add_conditional_edges("talk", more, ["talk", "__end__"])
    read.clear()
    looks = []
    reflexion = create_reflexion(
        actor=graph.compile(),
        evaluator=lambda result: True,
        strategy="retry",
        heuristic=lambda steps: looks.append(len(steps)),
    )
    reflexion.compile().invoke({"task": TASK})
    # The heuristic has seen every step when it was made.
    assert looks[-1] == STEPS
    assert looks[: STEPS - 1] == list(range(1, STEPS))
    assert read["1"] == read[str(STEPS // 2)]
    assert read["1"] <= 6


def test_a_call_may_have_arguments_that_json_lacks():
    def book(state):
        asked = call("book", day=date(2024, 2, 29))
        return {"messages": [asked, ToolMessage("ok", tool_call_id="call-book"), AIMessage("It is booked.")]}

    graph = StateGraph(MessagesState)
    graph.add_node(book)
    graph.add_edge(START, "book")
    reflexion = create_reflexion(actor=graph.compile(), evaluator=lambda result: True, strategy="retry").compile()
    final = reflexion.invoke({"task": "Book a day."})
    assert final["trajectory"][0]["action"]["args"] == {"day": "2024-02-29"}


def test_a_result_that_comes_later_changes_no_step_that_was_shown_before():
    transcript = Transcript()
    asked = call("look_up", number=2)
    result = ToolMessage("2 is a number.", tool_call_id=asked.tool_calls[0]["id"])
    before = transcript.steps_of([asked])
    after = transcript.steps_of([asked, result])
    assert [step["observation"] for step in before] == [UNANSWERED]
    assert [step["observation"] for step in after] == ["2 is a number."]


def test_an_agent_may_change_what_it_had_said():
    transcript = Transcript()
    first, second = AIMessage("One."), AIMessage("Two.")
    for messages in ([first], [first, second], [AIMessage("Not one."), second], [second], []):
        assert transcript.steps_of(messages) == steps_of(messages)
