"""The ways to compose: each a graph of somebody else's with a Reflexion graph in it, or around an agent of ours."""

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple, TypedDict

from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph_supervisor import create_supervisor
from langgraph_swarm import create_handoff_tool, create_swarm

from langgraph_reflexion import ReflexionMiddleware
from tests.support.composing import TASK, Guessing

MESSAGES: Any = {"messages": [HumanMessage(TASK)]}


class Way(NamedTuple):
    """A graph, and what is given to it."""

    graph: Any
    input: dict[str, Any]


class Order(TypedDict, total=False):
    """A state of its own."""

    question: str
    answer: str
    trials: int


def node(guessing: Guessing, saver: Any = None) -> Way:
    """In a node of a larger graph with another state."""
    reflexion = guessing.graph().compile()

    def solve(state: Order) -> Order:
        final = reflexion.invoke({"task": state["question"]})
        return {"answer": final["result"], "trials": final["trial"]}

    builder = StateGraph(Order)
    builder.add_node("ask", lambda state: guessing.tell("ask") or {"question": f"{state['question']} Please."})
    builder.add_node("solve", solve)
    builder.add_edge(START, "ask")
    builder.add_edge("ask", "solve")
    return Way(builder.compile(checkpointer=saver), {"question": TASK})


class Talk(TypedDict):
    """A state that shares the messages."""

    messages: Annotated[list[AnyMessage], add_messages]


def subgraph(guessing: Guessing, saver: Any = None) -> Way:
    """As a node: what both states have in common goes in and out."""
    builder = StateGraph(Talk)
    builder.add_node("solve", guessing.graph().compile())
    builder.add_edge(START, "solve")
    return Way(builder.compile(checkpointer=saver), MESSAGES)


def as_tool(guessing: Guessing, saver: Any = None) -> Way:
    """As a tool of an agent."""
    reflexion = guessing.graph().compile()

    @tool
    def solve(task: str) -> str:
        """Solve a task."""
        return str(reflexion.invoke({"task": task})["messages"][-1].text)

    agent = create_agent(guessing.caller("solve", task=TASK), [solve], checkpointer=saver)
    return Way(agent, MESSAGES)


def middleware(guessing: Guessing, saver: Any = None) -> Way:
    """As middleware of the agent itself."""
    around = ReflexionMiddleware(evaluator=guessing.is_three, model=guessing.reflects)
    return Way(guessing.agent(middleware=[around], checkpointer=saver), MESSAGES)


def supervisor(guessing: Guessing, saver: Any = None) -> Way:
    """As a worker under a supervisor."""
    worker = guessing.graph().compile(name="guesser")
    builder = create_supervisor([worker], model=guessing.caller("transfer_to_guesser"))
    return Way(builder.compile(checkpointer=saver), MESSAGES)


def swarm(guessing: Guessing, saver: Any = None) -> Way:
    """As one of a swarm."""
    alice = create_agent(
        guessing.caller("transfer_to_guesser"), [create_handoff_tool(agent_name="guesser")], name="alice"
    )
    worker = guessing.graph().compile(name="guesser")
    return Way(create_swarm([alice, worker], default_active_agent="alice").compile(checkpointer=saver), MESSAGES)


def deep(guessing: Guessing, saver: Any = None) -> Way:
    """As a sub-agent of a deep agent."""
    agent = create_deep_agent(
        guessing.caller("task", description=TASK, subagent_type="guesser"),
        subagents=[{"name": "guesser", "description": "Guesses.", "runnable": guessing.graph().compile()}],
        checkpointer=saver,
    )
    return Way(agent, MESSAGES)


WAYS: dict[str, Callable[..., Way]] = {
    way.__name__: way for way in (node, subgraph, as_tool, middleware, supervisor, swarm, deep)
}
