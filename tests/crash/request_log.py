"""What a killed run asked of the model's server, beside one that ran in peace."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from langgraph_reflexion.models.calls import Call
from tests.crash.demo_server import Request

LONGEST_TRIAL = 100
"""More model calls than a trial has."""


class RequestCheck(NamedTuple):
    """What was seen."""

    repeated: int
    """How many requests had been sent before."""
    repeated_tasks: int
    """Of how many tasks at most a request was repeated after one kill."""
    violations: list[str]
    """What must not be."""


def tasks_by_seed(tasks: Sequence[str], trials: int) -> dict[int | None, str]:
    """The task that a seed belongs to, as every call of a run has a seed of its own; the run's own seed is 0."""
    calls = ["reflect", *(f"act {number}" for number in range(LONGEST_TRIAL))]
    return {
        Call(0, task, trial, call).seed(): task for task in tasks for trial in range(1, trials + 1) for call in calls
    }


def check_requests(
    requests: Sequence[Request], peace: Sequence[Request], tasks: Mapping[int | None, str], in_flight: int
) -> RequestCheck:
    """Nothing may be asked that was not asked in peace, and again at most once per kill and task in flight.

    Args:
        requests: What the processes of a killed run asked, in order.
        peace: What the run in peace asked.
        tasks: The task of each seed.
        in_flight: How many tasks were advanced at once.
    """
    violations = []
    asked, expected = ({request[1:] for request in each} for each in (requests, peace))
    if asked != expected:
        violations.append(f"{len(asked - expected)} new requests, {len(expected - asked)} missing ones")
    seen: set[tuple[Any, ...]] = set()
    repeated = repeated_tasks = 0
    for life in dict.fromkeys(request.life for request in requests):
        own = Counter(request for request in requests if request.life == life)
        again = Counter(tasks.get(request.seed, "no task") for request in own if request[1:] in seen)
        for request, times in own.items():
            task = tasks.get(request.seed)
            if task is None:
                violations.append(f"{life}: the seed {request.seed} is no call's")
            if times > 1:
                violations.append(f"{life}: the same request of {task} {times} times in one process")
        for task, times in again.items():
            if times > 1:
                violations.append(f"{life}: {times} requests of {task} repeated after one kill")
        if len(again) > in_flight:
            violations.append(f"{life}: requests of {len(again)} tasks repeated after one kill")
        repeated += again.total()
        repeated_tasks = max(repeated_tasks, len(again))
        seen |= {request[1:] for request in own}
    return RequestCheck(repeated, repeated_tasks, violations)
