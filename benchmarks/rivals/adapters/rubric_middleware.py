"""deepagents' `RubricMiddleware` around the same agent.

The grader is a model, and decides. It reads what the check says at the end of the transcript, so it needs no call of
a tool to know. It answers by the schema in the request, which the servers of small models keep to; the other way, a
tool that the model has to call, asks more of them.
"""

from pathlib import Path
from typing import Any

from deepagents.middleware.rubric import RubricMiddleware
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, before_model
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite import SqliteSaver
from pydantic import SecretStr

from benchmarks.rivals.protocol import Job, Rival

RUBRIC = "- The last message of the transcript is what the check says, and it says that it accepts the answer."


def limit_steps(most: int) -> AgentMiddleware[Any, Any, Any]:
    """End an attempt after some calls of the model, as `ModelCallLimitMiddleware` does for others.

    That one counts over the whole conversation, so that no attempt after the limit would have a call left.
    """

    @before_model(can_jump_to=["end"])
    def end_attempt(state: Any, runtime: Any) -> dict[str, Any] | None:
        steps = 0
        for message in reversed(state["messages"]):
            # An attempt begins with the task, or with what the grader has said.
            if isinstance(message, HumanMessage):
                break
            steps += isinstance(message, AIMessage)
        if steps < most:
            return None
        return {"jump_to": "end", "messages": [AIMessage("No step is left in this attempt.")]}

    return end_attempt


def graded_agent(job: Job, checkpointer: Any = None) -> Any:
    """Put the middleware around the agent of a job."""
    model = ChatOpenAI(
        model=job.model.name,
        base_url=job.model.url,
        api_key=SecretStr("none"),
        temperature=job.model.temperature,
        max_completion_tokens=job.model.max_tokens,
        profile={"structured_output": True},
    )

    def add_verdict(messages: list[AnyMessage]) -> list[AnyMessage]:
        verdict = job.check(messages[-1].text)
        said = f"The check does not accept the answer: {verdict.words}"
        if verdict.accepted:
            said = "The check accepts the answer."
        return [*messages, HumanMessage(said)]

    rubric = RubricMiddleware(model=model, prepare_messages_for_grader=add_verdict, max_iterations=job.attempts)
    return create_agent(model, job.tools, middleware=[limit_steps(job.steps), rubric], checkpointer=checkpointer)


def solve(job: Job) -> str:
    """Let the agent go on until the grader is satisfied."""
    final = graded_agent(job).invoke({"messages": [("user", job.text)], "rubric": RUBRIC})
    return str(final["messages"][-1].text)


def solve_kept(job: Job, folder: Path) -> str:
    """Do the same with a checkpointer, from where an earlier process has ended."""
    config = {"configurable": {"thread_id": "job"}}
    with SqliteSaver.from_conn_string(str(folder / "checkpoints.db")) as saver:
        agent = graded_agent(job, saver)
        started = None
        if not agent.get_state(config).values:
            started = {"messages": [("user", job.text)], "rubric": RUBRIC}
        final = agent.invoke(started, config)
    return str(final["messages"][-1].text)


RIVALS = {"rubric-middleware": Rival(solve, "deepagents", solve_kept, in_place=True)}
