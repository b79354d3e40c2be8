"""A plain retry loop: start over until the check accepts."""

from langchain.agents import create_agent
from langchain.agents.middleware import ModelCallLimitMiddleware
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from benchmarks.rivals.protocol import Job, Rival


def solve(job: Job) -> str:
    """Start over until the check accepts."""
    model = ChatOpenAI(
        model=job.model.name,
        base_url=job.model.url,
        api_key=SecretStr("none"),
        temperature=job.model.temperature,
        max_completion_tokens=job.model.max_tokens,
    )
    limit = ModelCallLimitMiddleware(run_limit=job.steps, exit_behavior="end")
    agent = create_agent(model, job.tools, middleware=[limit])
    answer = ""
    for _ in range(job.attempts):
        job.reset()
        answer = agent.invoke({"messages": [("user", job.text)]})["messages"][-1].text
        if job.check(answer).accepted:
            break
    return answer


RIVALS = {"retry-loop": Rival(solve)}
