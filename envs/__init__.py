"""Environments by name: the ones that ship, and anybody's by dotted path."""

import importlib
import inspect
from collections.abc import Callable
from typing import Any

from langgraph_reflexion.envs.base import Environment
from langgraph_reflexion.errors import ConfigurationError, ReflexionError

ENVIRONMENTS = {
    "alfworld": "langgraph_reflexion.envs.alfworld.environment:ALFWorld",
    "programming": "langgraph_reflexion.envs.programming.environment:Programming",
    "hotpotqa": "langgraph_reflexion.envs.hotpotqa.environment:HotPotQA",
    "webshop": "langgraph_reflexion.envs.webshop.environment:WebShop",
    "workspace": "langgraph_reflexion.envs.workspace.environment:Workspace",
}
"""The environments that ship: name to `module:Class`, imported when asked for."""


def load_environment(name: str, **options: Any) -> Environment:
    """Make an environment.

    Args:
        name: One of `ENVIRONMENTS`, or the dotted path of your own (`package.module:Class`).
        **options: Passed on to it.

    Raises:
        ConfigurationError: no such environment, an option that it does not take, or code of its own that fails
            when it is loaded or made. What failed is the error's cause.
        EnvironmentUnavailable: something that it needs is missing.
    """
    path = ENVIRONMENTS.get(name, name)
    module_name, _, class_name = path.partition(":")
    if not module_name or module_name.startswith(".") or not class_name:
        known = ", ".join(sorted(ENVIRONMENTS))
        raise ConfigurationError(
            f"no environment {name!r}: choose one of {known}, or give the path of your own as package.module:Class"
        )
    try:
        factory = getattr(importlib.import_module(module_name), class_name)
    except ReflexionError:
        raise
    # A module is anybody's code, and may even end in sys.exit().
    except (Exception, SystemExit) as error:
        raise ConfigurationError(f"cannot load the environment {name!r}: {_in_one_line(error)}") from error
    if not callable(factory):
        raise ConfigurationError(f"{name!r} is a {type(factory).__name__}, which makes no Environment")
    try:
        _signature(factory).bind(**options)
    except TypeError as error:
        raise ConfigurationError(f"the environment {name!r} does not take these options: {error}") from error
    try:
        environment = factory(**options)
    except ReflexionError:
        raise
    except Exception as error:
        raise ConfigurationError(f"cannot make the environment {name!r}: {_in_one_line(error)}") from error
    if not isinstance(environment, Environment):
        raise ConfigurationError(f"{name!r} makes a {type(environment).__name__}, which is no Environment")
    return environment


def _signature(factory: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(factory)
    except ValueError:
        # Some built-in types have none: then anything may do.
        return inspect.signature(lambda *args, **options: None)


def _in_one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
