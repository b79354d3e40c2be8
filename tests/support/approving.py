"""A task whose verdicts wait for a person, in a process that may be killed.

    python -m tests.support.approving WAY SAVER DB URL [DECISION]

WAY is `environment`, `agent` or `middleware`, SAVER is `latest` or `sqlite`. The model at URL acts, judges and
reflects. Begins the task, or goes on with it after the decision `approve`; with `none` nobody is asked. Prints
`paused` and waits to be killed, or prints the task's status.
"""

import sys
import time
from contextlib import contextmanager
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command
from pydantic import SecretStr

from langgraph_reflexion import Approval, ReflexionMiddleware, create_reflexion
from langgraph_reflexion.support.checkpoints import LatestSaver
from tests.support.toys import INPUT, Counter

CONFIG: Any = {"configurable": {"thread_id": "1"}}


@contextmanager
def opened(saver: str, db: str) -> Any:
    """Open a checkpointer."""
    if saver == "latest":
        with LatestSaver.open(db) as latest:
            yield latest
        return
    with SqliteSaver.from_conn_string(db) as stock:
        yield stock


def compiled(way: str, model: ChatOpenAI, approval: Approval, checkpointer: Any) -> tuple[Any, Any]:
    """Return what solves the task, and its input."""
    given: Any = {"evaluator": "llm", "approval": approval, "max_trials": 2}
    said = {"messages": [HumanMessage("Guess the number.")]}
    if way == "middleware":
        middleware = [ReflexionMiddleware(model, **given)]
        return create_agent(model, middleware=middleware, checkpointer=checkpointer), said
    if way == "agent":
        graph = create_reflexion(model, actor=create_agent(model), **given)
        return graph.compile(checkpointer=checkpointer), said
    return create_reflexion(model, Counter(), **given).compile(checkpointer=checkpointer), INPUT


def main(way: str, saver: str, db: str, url: str, decision: str = "") -> None:
    """Begin the task, or go on with it."""
    model = ChatOpenAI(model="any", base_url=url, api_key=SecretStr("any"))
    approval = Approval(verdicts=decision != "none")
    with opened(saver, db) as checkpointer:
        graph, given = compiled(way, model, approval, checkpointer)
        if decision == "approve":
            given = Command(resume=decision)
        result = graph.invoke(given, CONFIG)
        if "__interrupt__" in result:
            print("paused", flush=True)
            time.sleep(600)
        outcome = result["messages"][-1].response_metadata["reflexion"] if way != "environment" else result
        print(outcome["status"], flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
