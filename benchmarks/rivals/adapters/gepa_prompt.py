"""GEPA with its adapter for LangChain: it learns a system prompt on the train half.

Half of the training tasks are those it reflects on, half those it validates on. `gepa` answers once with the prompt,
and `gepa-retry` starts over with it until the check accepts, as the others may.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import gepa
from gepa.adapters.langchain_adapter import LangChainAdapter, last_message_text, make_reflection_lm
from langchain.agents import create_agent
from langchain.agents.middleware import ModelCallLimitMiddleware
from langchain_core.messages import get_buffer_string
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from benchmarks.rivals.protocol import Job, Rival

SEED = "Do the task. Answer in exactly the form that it asks for."

MINIBATCH = 3
"""Tasks that GEPA reflects on at once, which is its default."""


def chat_model(job: Job, temperature: float, max_tokens: int) -> ChatOpenAI:
    """Return the model of a job."""
    return ChatOpenAI(
        model=job.model.name,
        base_url=job.model.url,
        api_key=SecretStr("none"),
        temperature=temperature,
        max_completion_tokens=max_tokens,
    )


def roll_out(candidate: dict[str, str], example: dict[str, Any]) -> dict[str, Any]:
    """Attempt a task once with a candidate's prompt."""
    job: Job = example["job"]
    limit = ModelCallLimitMiddleware(run_limit=job.steps, exit_behavior="end")
    model = chat_model(job, job.model.temperature, job.model.max_tokens)
    agent = create_agent(model, job.tools, middleware=[limit], system_prompt=candidate["system_prompt"])
    job.reset()
    return dict(agent.invoke({"messages": [("user", example["input"])]}))


def score(example: dict[str, Any], state: dict[str, Any]) -> tuple[float, str]:
    """Score an attempt by the check."""
    if "error" in state:
        return 0.0, f"the attempt broke off: {state['error']}"
    verdict = example["job"].check(last_message_text(state))
    return float(verdict.accepted), verdict.words or "accepted"


def record(example: dict[str, Any], state: dict[str, Any], reward: float, feedback: str) -> dict[str, str]:
    """Show the model that reflects what the agent did, and not its last words alone."""
    did = get_buffer_string(state["messages"][1:])
    return {"Inputs": example["input"], "Generated Outputs": did, "Feedback": feedback}


def train(jobs: Sequence[Job], left: Callable[[], int], folder: Path) -> dict[str, Any]:
    """Look for a better prompt as long as the calls are probably enough for one more round."""
    examples = [{"input": job.text, "job": job} for job in jobs]
    reflected, validated = examples[::2], examples[1::2]
    # A round attempts two minibatches, writes one prompt, and validates it if it is better.
    in_a_round = 2 * MINIBATCH + len(validated)
    allowed = left()

    def out_of_calls(state: Any) -> bool:
        calls = (allowed - left()) / max(state.total_num_evals, 1)
        # The prompt is written after one minibatch, and must have its call however long that takes.
        return left() < max(in_a_round * calls, MINIBATCH * jobs[0].steps) + 1

    found = gepa.optimize(
        seed_candidate={"system_prompt": SEED},
        trainset=reflected,
        valset=validated,
        adapter=LangChainAdapter(roll_out, score, 1, reflective_record_fn=record, show_progress=False),
        # Its documentation wants a temperature of 1.0 and room for a long prompt.
        reflection_lm=make_reflection_lm(chat_model(jobs[0], 1.0, jobs[0].model.long_tokens)),
        max_metric_calls=left(),
        stop_callbacks=out_of_calls,
        run_dir=str(folder / "gepa"),
    )
    return {"prompt": found.best_candidate["system_prompt"]}


def solve(job: Job, attempts: int) -> str:
    """Answer with the prompt that was learned, and start over until the check accepts."""
    example = {"input": job.text, "job": job}
    answer = ""
    for _ in range(attempts):
        state = roll_out({"system_prompt": job.trained["prompt"]}, example)
        answer = last_message_text(state)
        if job.check(answer).accepted:
            break
    return answer


def solve_again(job: Job) -> str:
    """Start over as often as the others may."""
    return solve(job, job.attempts)


RIVALS = {
    "gepa": Rival(partial(solve, attempts=1), "gepa", train=train),
    "gepa-retry": Rival(solve_again, "gepa", train=train),
}
