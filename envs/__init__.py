"""Environments by name: the ones that ship, and anybody's by dotted path."""

import importlib
from typing import Any

from langgraph_reflexion.envs.base import Environment
from langgraph_reflexion.errors import ConfigurationError

ENVIRONMENTS = {
    "alfworld": "langgraph_reflexion.envs.alfworld.environment:ALFWorld",
}
"""The environments that ship: name to `module:Class`, imported when asked for."""


def load_environment(name: str, **options: Any) -> Environment:
    """Make an environment.

    Args:
        name: One of `ENVIRONMENTS`, or the dotted path of your own (`package.module:Class`).
        **options: Passed on to it.

    Raises:
        ConfigurationError: no such environment, or an option that it does not take.
        EnvironmentUnavailable: something that it needs is missing.
    """
    path = ENVIRONMENTS.get(name, name)
    module_name, _, class_name = path.partition(":")
    if not class_name:
        known = ", ".join(sorted(ENVIRONMENTS))
        raise ConfigurationError(
            f"no environment {name!r}: choose one of {known}, or give the path of your own as package.module:Class"
        )
    try:
        factory = getattr(importlib.import_module(module_name), class_name)
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(f"cannot load the environment {name!r}: {error}") from error
    try:
        environment = factory(**options)
    except TypeError as error:
        raise ConfigurationError(f"the environment {name!r} does not take these options: {error}") from error
    if not isinstance(environment, Environment):
        raise ConfigurationError(f"{name!r} makes a {type(environment).__name__}, which is no Environment")
    return environment
