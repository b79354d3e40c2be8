"""Strands' `GoalLoop` around an agent of Strands, with its context and without.

Without, each attempt begins as the first one did, and the check resets the world, as a user would who wants that.
"""

from functools import partial
from pathlib import Path
from typing import Any

from strands import Agent, tool
from strands.hooks import BeforeInvocationEvent, BeforeModelCallEvent
from strands.models.openai import OpenAIModel
from strands.session import FileSessionManager
from strands.types.exceptions import MaxTokensReachedException
from strands.vended_plugins.goal import GoalLoop

from benchmarks.rivals.protocol import Job, Rival

CUT_OFF = """Your previous attempt was cut off, as it was too long.

Feedback on what was wrong:
{words}

Produce a new, shorter response."""


def limit_steps(agent: Agent, most: int) -> None:
    """End an attempt after some calls of the model, as `ModelCallLimitMiddleware` does for others.

    The agent's own `limits` count over all attempts, so that none after the limit would have a call left.
    """
    steps = 0

    def begin_attempt(event: BeforeInvocationEvent) -> None:
        nonlocal steps
        steps = 0

    def end_attempt(event: BeforeModelCallEvent) -> None:
        nonlocal steps
        if steps == most:
            event.cancel = "No step is left in this attempt."
        steps += 1

    agent.add_hook(begin_attempt, BeforeInvocationEvent)
    agent.add_hook(end_attempt, BeforeModelCallEvent)


def solve(job: Job, preserve_context: bool, session: FileSessionManager | None = None) -> str:
    """Let the agent try until the validator passes."""
    model = OpenAIModel(
        client_args={"base_url": job.model.url, "api_key": "none"},
        model_id=job.model.name,
        params={"temperature": job.model.temperature, "max_tokens": job.model.max_tokens},
    )

    words = ""

    def passes(response: Any, agent: Agent) -> dict[str, Any]:
        nonlocal words
        text = "".join(block.get("text", "") for block in response["content"])
        verdict = job.check(text)
        words = verdict.words
        if not verdict.accepted and not preserve_context:
            job.reset()
        return {"passed": verdict.accepted, "feedback": verdict.words}

    goal = GoalLoop(goal=passes, max_attempts=job.attempts, preserve_context=preserve_context)
    tools = [tool(each) for each in job.tools]
    agent = Agent(model=model, tools=tools, plugins=[goal], session_manager=session, callback_handler=None)
    limit_steps(agent, job.steps)
    prompt = job.text
    while True:
        try:
            return str(agent(prompt))
        except MaxTokensReachedException:
            # Strands raises where a reply is cut off, once the validator has seen it. Another call resumes the loop.
            if goal.last_result(agent):
                raise
            prompt = CUT_OFF.format(words=words)


def solve_kept(job: Job, folder: Path, preserve_context: bool) -> str:
    """Do the same in a session of files, from which a second process gets the conversation."""
    return solve(job, preserve_context, FileSessionManager(session_id="job", storage_dir=str(folder / "session")))


def loop(preserve_context: bool) -> Rival:
    """Return the loop with or without the context of earlier attempts."""
    kept = partial(solve_kept, preserve_context=preserve_context)
    once = partial(solve, preserve_context=preserve_context)
    return Rival(once, "strands-agents", kept, in_place=preserve_context)


RIVALS = {"goal-loop": loop(preserve_context=True), "goal-loop-afresh": loop(preserve_context=False)}
