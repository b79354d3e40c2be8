"""A ralph loop: each round has a fresh context, and finds the files as the last round has left them.

The original runs until a person ends it, and its agent runs the project's tests itself. Here the check ends it, and
its words go into the next round's prompt, as the `reason` of `verifyCompletion` does in Vercel's `ralph-loop-agent`.
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
    prompt = PROMPT.format(task=job.text)
    said = ""
    answer = ""
    for _ in range(job.attempts):
        answer = agent.invoke({"messages": [("user", prompt + said)]})["messages"][-1].text
        verdict = job.check(answer)
        if verdict.accepted:
            break
        said = f"\n\nThe check said of the last round: {verdict.words}"
    return answer


RIVALS = {"ralph-loop": Rival(solve, in_place=True, in_changing_worlds=True)}
