"""A log of the original repository as a run of ours: its settings, and a row for each trial that it tells of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph_reflexion.experiments.rows import Finished, TrajectoryRow, TrialRow
from langgraph_reflexion.settings import RunSettings
from langgraph_reflexion.state import Evaluation, Step

NOT_LOGGED = "not logged"
"""A model, strategy or benchmark without a name, and the stop reason of a trial that only says that it failed."""

Listed = Mapping[str, str]
"""What `originals.toml` says of a log: its `path`, and which run it is of; empty for a log that is not listed."""

SIZES = {
    "alfworld": (134,),
    "hotpotqa": (100,),
    "webshop": (100,),
    "humaneval-py": (164, 161),
    "humaneval-rs": (156,),
    "humaneval-py-hardest50": (50,),
    "humaneval-rs-hardest50": (50,),
    "mbpp-py": (397,),
    "mbpp-rs": (354,),
    "leetcode-py": (40,),
    "leetcode-rs": (40,),
}
"""How many tasks a whole log of each benchmark has."""


@dataclass(frozen=True)
class LoggedRun:
    """A log as a run.

    Attributes:
        source: Where it lies in the original repository: a file, or a folder with a file for each trial.
        settings: What it ran under, as the log or the code of its date says (see `logged_settings`).
        tasks: In the order of the log.
        finished: Its trials. Those of a task end with the one that solved it.
        notes: What is irregular about it, and how that is counted; a line for each.
    """

    source: str
    settings: dict[str, Any]
    tasks: list[str]
    finished: list[Finished]
    notes: list[str]


def logged_settings(
    environment: str,
    listed: Listed,
    *,
    benchmark: str,
    tasks: Sequence[str],
    strategy: str,
    trials: int,
    model: str,
    memory_size: int,
    first_trial: int = 1,
    logged_strategy: str | None = None,
    **others: Any,
) -> dict[str, Any]:
    """Return the settings of an imported run for `run.json`: those of a run, and where they come from.

    What is listed of the log decides over what its rows and its name say. A log that is not listed is compared with
    published numbers only if it names its model and is whole.

    Args:
        environment: Its environment.
        listed: Which run it is of.
        benchmark: Which tasks these are, as in `SIZES`.
        tasks: The tasks.
        strategy: What a retry saw.
        trials: How many trials the log tells of.
        model: The actor's.
        memory_size: How many reflections were kept.
        first_trial: What the log calls the first of its trials, counted from 1.
        logged_strategy: What the original calls the strategy, where that is another name.
        others: More settings of a run.
    """
    usual: dict[str, Any] = {"actor": "react", "evaluator": "environment", "feedback": "binary", "model": model}
    usual |= others | {key: listed[key] for key in ("actor", "model") if key in listed}
    settings = RunSettings(
        environment=environment,
        split="logged",
        max_trials=trials,
        memory_size=memory_size,
        profile="upstream",
        concurrency=1,
        until_no_improvement=False,
        **usual,
    )
    strategy = listed.get("strategy", strategy)
    imported = {
        "benchmark": listed.get("benchmark", benchmark),
        "strategy": logged_strategy or strategy,
        "first_trial": first_trial,
        "original": listed.get("path", ""),
        "apart": "",
    }
    if "part" in listed:
        imported["apart"] = f"it holds {listed['part']}"
    elif not listed and NOT_LOGGED in (model, benchmark):
        imported["apart"] = "neither what it holds nor its name says which run it is of"
    elif not listed and size_notes(benchmark, tasks, "tasks"):
        imported["apart"] = "it is not whole"
    # The original has strategies that a run cannot have, and none of its runs was seeded.
    return settings.public() | {"strategy": strategy, "seed": None, "imported": imported}


def logged_trial(
    task: str,
    trial: int,
    *,
    success: bool | None,
    verdict: bool | None,
    stop_reason: str = NOT_LOGGED,
    observation: str = "",
    steps: Sequence[Step] = (),
    reflection: str | None = None,
    measures: dict[str, float] | None = None,
) -> Finished:
    """A trial that a log tells of. Calls, tokens, cost and time are not logged anywhere, and stay 0."""
    score = None if verdict is None else float(verdict)
    row = TrialRow(
        task_id=task,
        trial=trial,
        success=success,
        verdict=verdict,
        score=score,
        stop_reason="terminated" if success and stop_reason == NOT_LOGGED else stop_reason,
        actions=len(steps),
        llm_calls=0,
        cached_calls=0,
        input_tokens=0,
        output_tokens=0,
        cost=0.0,
        usage={},
        measures=measures or {},
        reflection=reflection or None,
        notes=[],
        fault="",
        seconds=0.0,
    )
    evaluation = None if verdict is None else Evaluation(success=verdict, score=float(verdict), feedback="")
    trajectory = TrajectoryRow(
        task_id=task, trial=trial, observation=observation, steps=list(steps), evaluation=evaluation
    )
    return Finished(row, trajectory)


def some(names: Sequence[object]) -> str:
    """The first of many, and how many more there are."""
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(map(str, names[:5])) + more


def twice_notes(what: str, again: int, differing: int = 0) -> list[str]:
    """A note on what is listed more than once, and how often with other words."""
    others = f" ({differing} of them with another text)" if differing else ""
    return [f"{again} {what}{'s' * (again > 1)} listed twice{others}: counted once, as listed first"] if again else []


def size_notes(benchmark: str, tasks: Sequence[str], what: str) -> list[str]:
    """A note where a log has not as many tasks as its benchmark."""
    sizes = SIZES.get(benchmark)
    if sizes is None or len(tasks) in sizes:
        return []
    return [f"{len(tasks)} {what}, where {benchmark} has {' or '.join(map(str, sizes))}"]
