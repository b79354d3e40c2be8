"""Requests of a killed run compared with those of the reference run."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from langgraph_reflexion.models.calls import CallId
from tests.support.demo_server import Request

LONGEST_TRIAL = 100
"""More model calls than a trial has."""


class RequestCheck(NamedTuple):
    """The outcome of a comparison."""

    repeated: int
    """N requests that had been sent before."""
    violations: list[str]


def tasks_by_seed(tasks: Sequence[str], trials: int) -> dict[int | None, str]:
    """Return the task of each seed: every call of a run has its own, and the run's own seed is 0."""
    calls = ["reflect", *(f"act {number}" for number in range(LONGEST_TRIAL))]
    return {
        CallId(0, task, trial, call).seed(): task
        for task in tasks
        for trial in range(1, trials + 1)
        for call in calls
    }


def check_requests(
    requests: Sequence[Request], reference: Sequence[Request], tasks: Mapping[int | None, str], in_flight: int
) -> RequestCheck:
    """Check that nothing new was requested, and each request repeated at most once per kill and task in flight.

    Args:
        requests: The requests of a killed run's processes, in order.
        reference: Those of the reference run.
        tasks: The task of each seed.
        in_flight: N tasks in flight.
    """
    violations = []
    asked, expected = ({request[1:] for request in each} for each in (requests, reference))
    if asked != expected:
        violations.append(f"{len(asked - expected)} new requests, {len(expected - asked)} missing ones")
    seen: set[tuple[Any, ...]] = set()
    repeated = 0
    for life in dict.fromkeys(request.life for request in requests):
        own = Counter(request for request in requests if request.life == life)
        again = Counter(tasks.get(request.seed, "no task") for request in own if request[1:] in seen)
        for request, times in own.items():
            task = tasks.get(request.seed)
            if task is None:
                violations.append(f"{life}: the seed {request.seed} belongs to no call")
            if times > 1:
                violations.append(f"{life}: the same request of {task} {times} times in one process")
        for task, times in again.items():
            if times > 1:
                violations.append(f"{life}: {times} requests of {task} repeated after one kill")
        if len(again) > in_flight:
            violations.append(f"{life}: requests of {len(again)} tasks repeated after one kill")
        repeated += again.total()
        seen |= {request[1:] for request in own}
    return RequestCheck(repeated, violations)
