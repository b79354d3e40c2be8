"""Budgets: the limits of a trial, a task and a whole run."""

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import NamedTuple

from langchain_core.runnables import RunnableConfig
from pydantic import PositiveFloat, PositiveInt

from langgraph_reflexion.errors import ConfigurationError, checked
from langgraph_reflexion.models.recorded import USED_UP
from langgraph_reflexion.models.usage import Usage, UsageCallback
from langgraph_reflexion.state import ReflexionState

CLOCK = 0.01
"""Seconds by which clocks may differ: what is stopped at the end of a budget has used it up."""


@checked
@dataclass(frozen=True)
class Budget:
    """Limits of a trial, a task or a run; None means no limit. Whoever reaches one stops within one action.

    Attributes:
        actions: Actions taken in the environment.
        llm_calls: Model calls that were answered; replies out of a cache are free.
        tokens: Tokens sent and received.
        cost: Money, at the prices of `ModelOptions`.
        seconds: Wall time. A trial's and a task's is the time spent in nodes, without pauses; a run's is the time
            since it started, over all processes.
    """

    actions: PositiveInt | None = None
    llm_calls: PositiveInt | None = None
    tokens: PositiveInt | None = None
    cost: PositiveFloat | None = None
    seconds: PositiveFloat | None = None

    def used_up(self, used: "Consumption") -> str | None:
        """Return the limit that is reached, such as `100 tokens`, or None."""
        for field in fields(self):
            limit = getattr(self, field.name)
            if limit is None:
                continue
            if getattr(used, field.name) >= limit:
                return f"{limit} {field.name}"
        return None


class Consumption(NamedTuple):
    """The amounts used, in the units of a `Budget`."""

    actions: int = 0
    llm_calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0

    # Without this method, `+` would join two tuples into one of ten elements.
    def __add__(self, other: "Consumption") -> "Consumption":  # type: ignore[override]
        return Consumption(
            actions=self.actions + other.actions,
            llm_calls=self.llm_calls + other.llm_calls,
            tokens=self.tokens + other.tokens,
            cost=self.cost + other.cost,
            seconds=self.seconds + other.seconds,
        )

    def __sub__(self, before: "Consumption") -> "Consumption":
        """Return the increase; zero where a task went back to an earlier state."""
        return Consumption(
            actions=max(0, self.actions - before.actions),
            llm_calls=max(0, self.llm_calls - before.llm_calls),
            tokens=max(0, self.tokens - before.tokens),
            cost=max(0.0, self.cost - before.cost),
            seconds=max(0.0, self.seconds - before.seconds),
        )


MOST_ACCOUNTS = 100_000
"""Accounts of tasks that are kept beside a run's budget, the newest ones. An older task that goes on counts again."""


@checked
class Budgets:
    """The budgets of a graph, and the consumption of its run so far.

    A task's consumption is in its state. The run's is here: it grows by the increase since a task was last recorded,
    so resuming a task counts nothing twice, and running it again counts again.

    Args:
        trial: The limits of each trial.
        task: The limits of each task, all its trials together.
        run: The limits of everything that the graph runs.

    Raises:
        ConfigurationError: one of them is not a `Budget`.
    """

    def __init__(self, *, trial: Budget | None = None, task: Budget | None = None, run: Budget | None = None) -> None:
        self.trial = trial or Budget()
        self.task = task or Budget()
        self.run = run or Budget()
        self._seen: dict[tuple[str, str], Consumption] = {}
        self._total = Consumption()
        # Several threads may run the same graph.
        self._lock = threading.Lock()
        self.start_clock()

    @property
    def limits_cost(self) -> bool:
        """Whether money is limited anywhere, so that prices are needed."""
        return any(budget.cost is not None for budget in (self.trial, self.task, self.run))

    def expect_counts(self, counter: UsageCallback) -> None:
        """Raise ConfigurationError if an agent's calls cannot be counted as a budget needs it.

        Such a budget would never be used up.

        Args:
            counter: The calls of the agent so far.
        """
        limits = (self.trial, self.task, self.run)
        if self.limits_cost and counter.unpriced:
            missing = ", ".join(sorted(counter.unpriced))
            raise ConfigurationError(f"a budget of money needs prices={{NAME: Price(input, output)}} of {missing}")
        counts_tokens = self.limits_cost or any(budget.tokens is not None for budget in limits)
        # A model that leaves the tokens of some replies out still uses a budget up.
        never_counted = counter.uncounted - counter.counted
        if counts_tokens and never_counted:
            silent = ", ".join(sorted(never_counted))
            raise ConfigurationError(
                f"a budget of tokens or money needs replies with `usage_metadata`, and {silent} sent none: "
                "limit llm_calls instead, or let the model report its usage (ChatOpenAI: stream_usage=True)"
            )

    def start_clock(self, seconds: float = 0.0) -> None:
        """Start the run's clock at this time."""
        # The wall clock may be set back while the run goes on.
        self._began = time.monotonic() - seconds

    @property
    def seconds(self) -> float:
        """The time on the run's clock."""
        return time.monotonic() - self._began

    def start_task(self, task: str, config: RunnableConfig) -> None:
        """Start the account of a task on the thread of `config` from zero."""
        with self._lock:
            # The run's account keeps what an earlier run of the task has used.
            self._seen.pop(account_key(task, config), None)

    @property
    def limits_run(self) -> bool:
        """Whether the run is limited in anything."""
        return self.run != Budget()

    def record(self, state: ReflexionState, config: RunnableConfig) -> Consumption:
        """Add a task's increase to the run's account, and return the task's consumption."""
        used = _task(state)
        # A service that limits no run would keep an account of every task for ever.
        if not self.limits_run:
            return used
        key = account_key(state.get("account") or state["task"]["id"], config)
        with self._lock:
            # What this task had used when it was last recorded is in the run's account already.
            seen = self._seen.get(key, Consumption())
            self._total += used - seen
            self._seen[key] = used
            if len(self._seen) > MOST_ACCOUNTS:
                oldest = next(iter(self._seen))
                del self._seen[oldest]
        return used

    def used_up(self, state: ReflexionState, config: RunnableConfig, *, trial: bool = True) -> str | None:
        """Record a task's consumption, and return the budget that is used up (`task budget of 100 tokens used up`).

        The trial's counts until its end.
        """
        # First of all, as the run's account has to hold what this task has used.
        used_by_task = self.record(state, config)
        if trial:
            limit = self.trial.used_up(_trial(state))
            if limit:
                return f"trial budget of {limit} {USED_UP}"
        limit = self.task.used_up(used_by_task)
        if limit:
            return f"task budget of {limit} {USED_UP}"
        return self.run_used_up()

    def seconds_left(self, state: ReflexionState) -> float | None:
        """Return the seconds until a budget of a running trial is used up; None if no time is limited."""
        limits = [
            (self.trial.seconds, _seconds_of_trial(state)),
            (self.task.seconds, state["seconds"]),
            (self.run.seconds, self.seconds),
        ]
        left: list[float] = []
        for limit, used in limits:
            if limit is not None:
                left.append(limit - used)
        if not left:
            return None
        # A little more, so that the budget is surely used up when the time is over.
        return max(0.0, min(left)) + CLOCK

    def seconds_to_evaluate(self) -> float | None:
        """Return the seconds that an evaluator may take; None if no time is limited.

        A trial that has ended by itself is evaluated, however long it took. So of a trial's and of a task's budget
        the evaluator has the whole, and only of the run's what is left.
        """
        limits = []
        for limit in (self.trial.seconds, self.task.seconds):
            if limit is not None:
                limits.append(limit)
        if self.run.seconds is not None:
            left = self.run.seconds - self.seconds
            limits.append(max(0.0, left))
        if not limits:
            return None
        return min(limits) + CLOCK

    def run_used_up(self) -> str | None:
        """Return whether the run's budget is used up, as `used_up` does."""
        used = self._total._replace(seconds=self.seconds)
        limit = self.run.used_up(used)
        if limit is None:
            return None
        return f"run budget of {limit} {USED_UP}"


def account_key(task: str, config: RunnableConfig) -> tuple[str, str]:
    """Return the key of a task's account: its thread and its id."""
    thread = config.get("configurable", {}).get("thread_id", "")
    return str(thread), task


def _trial(state: ReflexionState) -> Consumption:
    """Return what the current trial has used."""
    actions = sum(step["action"] is not None for step in state["trajectory"])
    return _used(actions, state["usage"], _seconds_of_trial(state))


def _seconds_of_trial(state: ReflexionState) -> float:
    return state["seconds"] - state["episode"]["began"]


def _task(state: ReflexionState) -> Consumption:
    """Return what a task has used in all its trials."""
    used = _trial(state)
    for record in state["trials"]:
        # The current trial has a record, too, once it is evaluated.
        if record["trial"] != state["trial"]:
            # The state counts the seconds of all trials together.
            used += _used(record["actions"], record["usage"], 0.0)
    return used._replace(seconds=state["seconds"])


def _used(actions: int, usage: Mapping[str, Usage], seconds: float) -> Consumption:
    """Return the sum of the nodes' usage, with the actions and the time."""
    llm_calls = 0
    tokens = 0
    cost = 0.0
    for node in usage.values():
        llm_calls += node["llm_calls"]
        tokens += node["input_tokens"] + node["output_tokens"]
        cost += node["cost"]
    return Consumption(actions, llm_calls, tokens, cost, seconds)
