"""Making an environment, by its name or dotted path."""

import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from langgraph_reflexion.envs.base import Environment, Task
from langgraph_reflexion.errors import ConfigurationError, ReflexionError, did_you_mean
from langgraph_reflexion.support.choices import ENVIRONMENTS
from langgraph_reflexion.support.objects import load_object, names_object
from langgraph_reflexion.support.text import one_line

_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def load_environment(name: str, *, seed: int | None = None, **options: Any) -> Environment:
    """Make an environment.

    Args:
        name: One of `ENVIRONMENTS`, or the path of your own (`package.module:NAME` or `FILE.py:NAME`): a class, a
            function that makes it, or the environment itself.
        seed: The seed of its tasks; passed on if it takes a seed.
        **options: Its options.

    Raises:
        ConfigurationError: there is no such environment, an option is unknown or missing, or its code fails when it
            is loaded or made; the exception is the error's cause.
        EnvironmentUnavailable: a requirement is missing.
    """
    factory = _factory(name)
    if seed is not None and _takes_seed(factory):
        options["seed"] = seed
    signature = _signature(factory)
    try:
        signature.bind(**options)
    except TypeError as error:
        taken = [each.name for each in signature.parameters.values() if each.kind in _BY_NAME] or ["none"]
        unknown = next((each for each in options if each not in taken), None)
        wrong = f"has no option {unknown!r}{did_you_mean(unknown, taken)}" if unknown else f"is {error}"
        raise ConfigurationError(f"the environment {name!r} {wrong}: it takes {', '.join(taken)}") from error
    for each, value in options.items():
        kind = str(signature.parameters[each].annotation) if each in signature.parameters else ""
        if isinstance(value, bool) and re.search(r"\b(str|Path|PathLike)\b", kind) and "bool" not in kind:
            raise ConfigurationError(f"the option {each!r} of the environment {name!r} needs a value")
    try:
        environment = factory(**options)
    except ReflexionError:
        raise
    except Exception as error:
        raise ConfigurationError(f"cannot make the environment {name!r}: {one_line(error)}") from error
    if not isinstance(environment, Environment):
        raise ConfigurationError(f"{name!r} makes a {type(environment).__name__}, not an Environment")
    return environment


def tasks_of(environment: Environment, split: str | None = None, limit: int | None = None) -> list[Task]:
    """Return the tasks of an environment, as its `tasks` does.

    Raises:
        ConfigurationError: a task lacks its id or its instruction, or has another's id, besides what `tasks` raises.
    """
    tasks = environment.tasks(split, limit)
    if not isinstance(tasks, Iterable):
        raise ConfigurationError(
            f"tasks() of {environment.name!r} returned a {type(tasks).__name__} instead of a list"
        )
    tasks = list(tasks)
    for number, task in enumerate(tasks, 1):
        for field in ("id", "instruction"):
            if not (isinstance(task, Mapping) and isinstance(task.get(field), str)):
                raise ConfigurationError(
                    f"task {number} of {environment.name!r} has no {field!r} (a text): {task!r:.100}"
                )
    if again := [name for name, times in Counter(task["id"] for task in tasks).items() if times > 1]:
        raise ConfigurationError(f"two tasks of {environment.name!r} have the id {again[0]!r}")
    return tasks


def environment_class(name: str) -> type[Environment]:
    """Return the class of an environment; `Environment` itself if the name is that of a function.

    Args:
        name: As for `load_environment`.

    Raises:
        ConfigurationError: no such environment, or its module cannot be imported.
    """
    factory = _factory(name)
    return factory if isinstance(factory, type) and issubclass(factory, Environment) else Environment


def _factory(name: str) -> Callable[..., Any]:
    path = ENVIRONMENTS.get(name, name)
    if not names_object(path):
        known = f"{', '.join(sorted(ENVIRONMENTS))}{did_you_mean(name, ENVIRONMENTS)}"
        raise ConfigurationError(
            f"no environment {name!r}: choose one of {known}, or give the path of your own environment, or of your "
            "agent, as package.module:NAME or FILE.py:NAME"
        )
    factory = load_object(path, "the environment")
    if isinstance(factory, Environment):
        return lambda: factory
    if not callable(factory):
        raise ConfigurationError(f"{name!r} is a {type(factory).__name__}, and not an environment's class")
    made: Callable[..., Any] = factory
    return made


def _takes_seed(factory: Callable[..., Any]) -> bool:
    """Return whether it has a parameter `seed`, or passes its `**options` to a base class that has one."""
    makers = [factory]
    if isinstance(factory, type):
        makers = [vars(cls)["__init__"] for cls in factory.__mro__[:-1] if "__init__" in vars(cls)]
    for maker in makers:
        signature = _signature(maker)
        if "seed" in signature.parameters:
            return True
        if all(each.kind is not inspect.Parameter.VAR_KEYWORD for each in signature.parameters.values()):
            return False
    return False


def _signature(factory: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(factory)
    except ValueError:
        # Some built-in types have no signature.
        return inspect.signature(lambda *args, **options: None)
