"""A loop as one writes it by hand: start over with what the check has said, until it accepts."""

from langchain.agents import create_agent
from langchain.agents.middleware import ModelCallLimitMiddleware
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from benchmarks.rivals.protocol import Job, Rival


def solve(job: Job) -> str:
    """Start over with the check's words, until it accepts."""
    model = ChatOpenAI(
        model=job.model.name,
        base_url=job.model.url,
        api_key=SecretStr("none"),
        temperature=job.model.temperature,
        max_completion_tokens=job.model.max_tokens,
    )
    limit = ModelCallLimitMiddleware(run_limit=job.steps, exit_behavior="end")
    agent = create_agent(model, job.tools, middleware=[limit])
    prompt = job.text
    answer = ""
    for _ in range(job.attempts):
        job.reset()
        answer = agent.invoke({"messages": [("user", prompt)]})["messages"][-1].text
        verdict = job.check(answer)
        if verdict.accepted:
            break
        prompt = f"{job.text}\n\nAn earlier attempt was not accepted. The check said: {verdict.words}"
    return answer


RIVALS = {"feedback-loop": Rival(solve)}
