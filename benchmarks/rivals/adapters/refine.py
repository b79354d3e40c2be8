"""DSPy's `Refine` around a module of DSPy: its own agent where there are tools, and a chain of thought elsewhere.

DSPy writes its own prompts and calls tools by its own text, so the same model, tools and check meet another agent. A
reward is a number. What the check says is a field of the prediction, as Refine shows those to the model that advises.
"""

from pathlib import Path
from typing import Any

import dspy

from benchmarks.rivals.protocol import Job, Rival


def solve(job: Job) -> str:
    """Let Refine try the module until the reward is 1."""
    lm = dspy.LM(
        f"openai/{job.model.name}",
        api_base=job.model.url,
        api_key="none",
        temperature=job.model.temperature,
        max_tokens=job.model.max_tokens,
    )
    # Refine asks for advice to each predictor at once, and takes a reply that is cut off for a failed attempt.
    advising = lm.copy(max_tokens=job.model.long_tokens)

    class Attempt(dspy.Module):
        """One attempt, in a fresh world."""

        def __init__(self) -> None:
            super().__init__()
            self.answer = dspy.ChainOfThought("task -> answer")
            if job.tools:
                self.answer = dspy.ReAct("task -> answer", tools=job.tools, max_iters=job.steps)

        def forward(self, task: str) -> Any:
            job.reset()
            prediction = self.answer(task=task)
            verdict = job.check(prediction.answer)
            prediction.accepted = verdict.accepted
            prediction.the_check_said = verdict.words
            return prediction

    def accepted(args: dict[str, Any], prediction: Any) -> float:
        return float(prediction.accepted)

    attempt = Attempt()
    attempt.set_lm(lm)
    refined = dspy.Refine(module=attempt, N=job.attempts, reward_fn=accepted, threshold=1.0)
    with dspy.context(lm=advising):
        prediction = refined(task=job.text)
    if prediction is None:
        return ""
    return str(prediction.answer)


def solve_fresh(job: Job) -> str:
    """Solve without the replies of other jobs, which DSPy would find in its cache."""
    dspy.configure_cache(enable_disk_cache=False)
    return solve(job)


def solve_kept(job: Job, folder: Path) -> str:
    """Solve with DSPy's cache, from which a second process gets the replies that the first one has had."""
    dspy.configure_cache(disk_cache_dir=str(folder / "cache"))
    return solve(job)


RIVALS = {"refine": Rival(solve_fresh, "dspy", solve_kept)}
