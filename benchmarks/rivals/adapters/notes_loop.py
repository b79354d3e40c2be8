"""A loop as one writes it by hand: after each failure the model writes a note, which the next attempt reads.

The note's writer sees the whole attempt, and the next attempt reads the check's words besides the note.
"""

from langchain.agents import create_agent
from langchain.agents.middleware import ModelCallLimitMiddleware
from langchain_core.messages import get_buffer_string
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from benchmarks.rivals.protocol import Job, Rival

ASK = """An attempt at a task has failed.
{attempt}
The check said: {words}
What has to be different in the next attempt? Answer in one sentence."""


def solve(job: Job) -> str:
    """Start over with notes on what failed, until the check accepts."""
    model = ChatOpenAI(
        model=job.model.name,
        base_url=job.model.url,
        api_key=SecretStr("none"),
        temperature=job.model.temperature,
        max_completion_tokens=job.model.max_tokens,
    )
    limit = ModelCallLimitMiddleware(run_limit=job.steps, exit_behavior="end")
    agent = create_agent(model, job.tools, middleware=[limit])
    notes: list[str] = []
    answer = ""
    for _ in range(job.attempts):
        job.reset()
        prompt = "\n".join([job.text, *notes])
        messages = agent.invoke({"messages": [("user", prompt)]})["messages"]
        answer = messages[-1].text
        verdict = job.check(answer)
        if verdict.accepted:
            break
        note = model.invoke(ASK.format(attempt=get_buffer_string(messages), words=verdict.words))
        notes.append(f"The check said of an earlier attempt: {verdict.words}")
        notes.append(f"Note on that attempt: {note.text}")
    return answer


RIVALS = {"notes-loop": Rival(solve)}
