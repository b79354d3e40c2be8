"""Budgets as they are written on the command line and in `run.json`."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.graph.budget import Budget, Budgets

SCOPES = ("trial", "task", "run")
KINDS = {field.name: int if "int" in str(field.type) else float for field in fields(Budget)}
"""What can be limited, and the kind of number that a limit on it is."""


def read_budgets(pairs: Sequence[str]) -> dict[str, dict[str, float | None]]:
    """Read limits such as `task.tokens=100000`; `none` lifts one.

    Raises:
        ConfigurationError: one cannot be read.
    """
    budgets: dict[str, dict[str, float | None]] = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        scope, _, what = name.partition(".")
        try:
            limit = None if value.lower() == "none" else KINDS[what](value)
            if scope not in SCOPES:
                raise KeyError(scope)
        except (KeyError, ValueError) as error:
            raise ConfigurationError(
                f"--budget {pair!r}: write it as SCOPE.WHAT=NUMBER, with a scope of {', '.join(SCOPES)} "
                f"and one of {', '.join(KINDS)}"
            ) from error
        budgets.setdefault(scope, {})[what] = limit
    return budgets


def raised(
    budgets: Mapping[str, Mapping[str, float]], new: Mapping[str, Mapping[str, float | None]]
) -> dict[str, dict[str, float]]:
    """Limits with some of them put in place of others, and those that are None lifted."""
    merged: dict[str, dict[str, Any]] = {scope: {**limits} for scope, limits in budgets.items()}
    for scope, limits in new.items():
        merged[scope] = merged.get(scope, {}) | dict(limits)
    kept = {
        scope: {what: limit for what, limit in limits.items() if limit is not None}
        for scope, limits in merged.items()
    }
    return {scope: limits for scope, limits in kept.items() if limits}


def make_budgets(budgets: Mapping[str, Mapping[str, Any]]) -> Budgets:
    """The graph's budgets.

    Raises:
        ConfigurationError: a limit is not above 0.
    """
    return Budgets(**{scope: Budget(**limits) for scope, limits in budgets.items()})
