"""GEPA with its adapter for LangChain: it learns a system prompt on the train half, and answers once with it.

Half of the training tasks are those it reflects on, half those it validates on.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gepa
from gepa.adapters.langchain_adapter import LangChainAdapter, last_message_text, make_reflection_lm
from langchain.agents import create_agent
from langchain.agents.middleware import ModelCallLimitMiddleware
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from benchmarks.rivals.protocol import Job, Rival

SEED = "Do the task. Answer in exactly the form that it asks for."

MINIBATCH = 3
"""Tasks that GEPA reflects on at once, which is its default."""


def chat_model(job: Job) -> ChatOpenAI:
    """Return the model of a job."""
    return ChatOpenAI(
        model=job.model.name,
        base_url=job.model.url,
        api_key=SecretStr("none"),
        temperature=job.model.temperature,
        max_completion_tokens=job.model.max_tokens,
    )


def roll_out(candidate: dict[str, str], example: dict[str, Any]) -> dict[str, Any]:
    """Attempt a task once with a candidate's prompt."""
    job: Job = example["job"]
    limit = ModelCallLimitMiddleware(run_limit=job.steps, exit_behavior="end")
    agent = create_agent(chat_model(job), job.tools, middleware=[limit], system_prompt=candidate["system_prompt"])
    job.reset()
    return dict(agent.invoke({"messages": [("user", example["input"])]}))


def score(example: dict[str, Any], state: dict[str, Any]) -> tuple[float, str]:
    """Score an attempt by the check."""
    verdict = example["job"].check(last_message_text(state))
    return float(verdict.accepted), verdict.words or "accepted"


def train(jobs: Sequence[Job], left: Callable[[], int], folder: Path) -> dict[str, Any]:
    """Look for a better prompt as long as the calls are enough for one more round."""
    examples = [{"input": job.text, "job": job} for job in jobs]
    reflected, validated = examples[::2], examples[1::2]
    # A round attempts two minibatches, writes one prompt, and validates it if it is better.
    most_in_a_round = (2 * MINIBATCH + len(validated)) * jobs[0].steps + 1

    def out_of_calls(state: Any) -> bool:
        return left() < most_in_a_round

    found = gepa.optimize(
        seed_candidate={"system_prompt": SEED},
        trainset=reflected,
        valset=validated,
        adapter=LangChainAdapter(roll_out, score, num_threads=1, show_progress=False),
        reflection_lm=make_reflection_lm(chat_model(jobs[0])),
        max_metric_calls=left(),
        stop_callbacks=out_of_calls,
        run_dir=str(folder / "gepa"),
    )
    return {"prompt": found.best_candidate["system_prompt"]}


def solve(job: Job) -> str:
    """Answer once, with the prompt that was learned."""
    example = {"input": job.text, "job": job}
    state = roll_out({"system_prompt": job.trained["prompt"]}, example)
    score(example, state)
    return last_message_text(state)


RIVALS = {"gepa": Rival(solve, "gepa", train=train)}
