"""Functions of the user's, called with what their parameters name."""

import inspect
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

from langgraph_reflexion.errors import ConfigurationError

_Parameter = inspect.Parameter
_NAMED = (_Parameter.POSITIONAL_OR_KEYWORD, _Parameter.KEYWORD_ONLY)


class ByName:
    """A function of the user's that is called with what its parameters name.

    Args:
        function: The function.
        what: What it is called in a message.
        subjects: What it can be called with by name.
        pair: What a function whose parameters have other names is called with; empty if that is an error.
        subject: The subject of a parameter; any other text if it has none.

    Attributes:
        subjects: Those that it is called with.
        required: Those that its parameters name without a default.

    Raises:
        ConfigurationError: it has a parameter that cannot be filled.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        what: str,
        subjects: Collection[str],
        pair: tuple[str, ...] = (),
        subject: Callable[[inspect.Parameter], str] = lambda parameter: parameter.name,
    ) -> None:
        try:
            signature = inspect.signature(function)
        except (TypeError, ValueError):
            # A builtin does not say what it takes.
            signature = _of_builtin(len(pair))
        named: dict[str, str] = {}
        required: set[str] = set()
        missing: list[str] = []
        for parameter in _parameters(function, signature):
            meant = subject(parameter)
            is_required = parameter.default is _Parameter.empty
            if meant in subjects:
                named[parameter.name] = meant
                if is_required:
                    required.add(meant)
            elif is_required:
                missing.append(parameter.name)
        if missing or not named:
            if not _takes_pair(signature, pair, named):
                raise ConfigurationError(_needs(what, missing, pair, subjects))
            named = {}
            required = set()
        self.function = function
        self._pair = pair
        self._named = named
        self.subjects = set(named.values() or pair)
        self.required = required

    def __call__(self, known: Mapping[str, Any]) -> Any:
        """Call the function with its part of what is known; a parameter of something unknown keeps its default."""
        if not self._named:
            values = [known[subject] for subject in self._pair]
            return self.function(*values)
        arguments = {}
        for name, subject in self._named.items():
            if subject in known or subject in self.required:
                arguments[name] = known.get(subject)
        return self.function(**arguments)


def _parameters(function: Callable[..., Any], signature: inspect.Signature) -> list[inspect.Parameter]:
    """Return the parameters that can be given by name; what `partial` has bound is the user's."""
    bound: Mapping[str, Any] = {}
    if isinstance(function, partial):
        bound = function.keywords
    return [each for each in signature.parameters.values() if each.kind in _NAMED and each.name not in bound]


def _of_builtin(count: int) -> inspect.Signature:
    """Return the signature to assume of a function that does not tell its own."""
    parameters = [_Parameter(f"parameter_{number}", _Parameter.POSITIONAL_ONLY) for number in range(count)]
    return inspect.Signature(parameters)


def _takes_pair(signature: inspect.Signature, pair: tuple[str, ...], named: Mapping[str, str]) -> bool:
    """Return whether a function can be called with the pair by place, and has no subject in another's place."""
    try:
        given = signature.bind(*pair).arguments
    except TypeError:
        return False
    return all(given.get(name) == subject for name, subject in named.items())


def _needs(what: str, missing: list[str], pair: tuple[str, ...], subjects: Collection[str]) -> str:
    needed = ", ".join(missing) or "parameters"
    by_place = ""
    if pair:
        by_place = f"({', '.join(pair)}) or of "
    return (
        f"{what} needs {needed}: make it a function of {by_place}any of {', '.join(subjects)}, and bind others with "
        "functools.partial"
    )
