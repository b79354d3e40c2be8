"""Files of run folders in which one value has a wrong type."""

import copy
import json
from collections.abc import Iterator
from typing import Any

WRONG = [
    *(None, True, -1, 0, 5, 10**400, 1.5, float("nan"), float("inf")),
    *("", "x", "\x1b[31mred\n", "\ud800", [], [1], ["x"], [None], {}, {"a": 1}, {"a": None}, [[["deep"]]]),
]
"""Values of every type that JSON has, and some that are hard to print, to add or to index with."""

Path = tuple[str | int, ...]


def paths(value: Any, inside: Path = ()) -> Iterator[Path]:
    """Yield the place of every value; of a list's entries only the first and the last."""
    if inside:
        yield inside
    entries: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        entries = list(value.items())
    elif isinstance(value, list):
        ends = dict.fromkeys([0, len(value) - 1]) if value else []
        entries = [(at, value[at]) for at in ends]
    for name, each in entries:
        yield from paths(each, (*inside, name))


def changed(value: Any, path: Path, wrong: Any) -> Any:
    """Return a copy in which another value is at this place; without `wrong`, in which nothing is there."""
    made = copy.deepcopy(value)
    at = made
    for part in path[:-1]:
        at = at[part]
    if wrong is MISSING:
        del at[path[-1]]
    else:
        at[path[-1]] = wrong
    return made


MISSING = object()


def variants(text: str) -> Iterator[tuple[str, str]]:
    """Yield the text of a JSON or JSON Lines file with a change in its first row, after the change in words."""
    first, line_end, rest = text.partition("\n")
    if first == "{":
        first, line_end, rest = text, "", ""
    value = json.loads(first)
    for path in paths(value):
        for wrong in [*WRONG, MISSING]:
            words = f"{'.'.join(map(str, path))} = {'(missing)' if wrong is MISSING else repr(wrong):.20}"
            yield words, json.dumps(changed(value, path, wrong)) + line_end + rest
