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
        except (TypeError, ValueError):  # a builtin
            signature = inspect.Signature(
                [_Parameter(name, _Parameter.POSITIONAL_ONLY) for name in "ab"[: len(pair)]]
            )
        # What `partial` has bound is the user's.
        bound = function.keywords if isinstance(function, partial) else {}
        needed = [each for each in signature.parameters.values() if each.kind in _NAMED and each.name not in bound]
        named = {each.name: subject(each) for each in needed if subject(each) in subjects}
        optional = {each.name for each in needed if each.default is not _Parameter.empty}
        missing = [each.name for each in needed if each.name not in named and each.name not in optional]
        if missing or not named:
            try:
                given = signature.bind(*pair).arguments
                if any(named.get(each.name, "") not in ("", given.get(each.name)) for each in needed):
                    raise TypeError("a subject is in another's place")
            except TypeError:
                by_place = f"({', '.join(pair)}) or of " if pair else ""
                raise ConfigurationError(
                    f"{what} needs {', '.join(missing) or 'parameters'}: make it a function of {by_place}any of "
                    f"{', '.join(subjects)}, and bind others with functools.partial"
                ) from None
            named = {}
        self.function, self._pair, self._named = function, pair, named
        self.subjects = {*(named.values() or pair)}
        self.required = {named[name] for name in named.keys() - optional}

    def __call__(self, known: Mapping[str, Any]) -> Any:
        """Call the function with its part of what is known; a parameter of something unknown keeps its default."""
        if not self._named:
            return self.function(*map(known.__getitem__, self._pair))
        chosen = [(name, what) for name, what in self._named.items() if what in known or what in self.required]
        return self.function(**{name: known.get(what) for name, what in chosen})
