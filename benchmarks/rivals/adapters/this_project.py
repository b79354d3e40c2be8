"""This project: a wrapped agent, under each strategy."""

from functools import partial
from pathlib import Path

from langchain.agents import create_agent
from langchain.agents.middleware import ModelCallLimitMiddleware
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from benchmarks.rivals.protocol import STRATEGIES, Job, Rival, Verdict
from langgraph_reflexion import WrappedAgent, create_reflexion
from langgraph_reflexion.graph.reflexion import ReflexionGraph
from langgraph_reflexion.support.checkpoints import LatestSaver


def reflexion_graph(job: Job, strategy: str) -> ReflexionGraph:
    """Wrap the agent of a job."""
    model = ChatOpenAI(
        model=job.model.name,
        base_url=job.model.url,
        api_key=SecretStr("none"),
        temperature=job.model.temperature,
        max_completion_tokens=job.model.max_tokens,
    )
    limit = ModelCallLimitMiddleware(run_limit=job.steps, exit_behavior="end")
    agent = create_agent(model, job.tools, middleware=[limit])

    def check(result: str) -> Verdict:
        return job.check(result)

    wrapped = WrappedAgent(agent, reset=lambda task: job.reset())
    return create_reflexion(actor=wrapped, evaluator=check, strategy=strategy, max_trials=job.attempts)


def solve(job: Job, strategy: str) -> str:
    """Let the graph solve a job."""
    final = reflexion_graph(job, strategy).compile().invoke({"task": job.text})
    return str(final["messages"][-1].text)


def solve_kept(job: Job, folder: Path, strategy: str) -> str:
    """Do the same with a checkpointer, from where an earlier process has ended."""
    config = {"configurable": {"thread_id": "job"}}
    with LatestSaver.open(folder / "checkpoints.db") as saver:
        graph = reflexion_graph(job, strategy).compile(checkpointer=saver)
        started = None
        if not graph.get_state(config).values:
            started = {"task": job.text}
        final = graph.invoke(started, config)
    return str(final["messages"][-1].text)


def under(strategy: str) -> Rival:
    """Return this project under a strategy."""
    kept = partial(solve_kept, strategy=strategy)
    in_place = strategy == "continue"
    return Rival(partial(solve, strategy=strategy), "langgraph-reflexion", kept, in_place=in_place)


RIVALS = {f"this-{strategy}": under(strategy) for strategy in STRATEGIES}
