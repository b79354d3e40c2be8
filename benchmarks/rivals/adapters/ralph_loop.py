"""A ralph loop: each round has a fresh context, and finds the files as the last round has left them.

The original has no end but a person's. Here the check ends it.
"""

from langchain.agents import create_agent
from langchain.agents.middleware import ModelCallLimitMiddleware
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from benchmarks.rivals.protocol import Job, Rival

PROMPT = "What earlier rounds have done is still there: look at it first, and go on from it.\n\n{task}"


def solve(job: Job) -> str:
    """Call the agent again and again, and reset nothing, until the check accepts."""
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
        answer = agent.invoke({"messages": [("user", PROMPT.format(task=job.text))]})["messages"][-1].text
        if job.check(answer).accepted:
            break
    return answer


RIVALS = {"ralph-loop": Rival(solve, in_place=True, in_changing_worlds=True)}
