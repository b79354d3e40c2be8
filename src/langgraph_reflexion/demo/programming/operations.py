"""Programs as chains of small operations on numbers, lists and texts, in Python and Rust.

The operations are a programmer's everyday ones, from no problem in particular; some problems need others.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from string import Template
from typing import Any

NAMES = {
    "python": {"int": "int", "ints": "list[int]", "str": "str", "strs": "list[str]"},
    "rust": {"int": "i64", "ints": "Vec<i64>", "str": "String", "strs": "Vec<String>"},
}
"""The types in each language."""


@dataclass(frozen=True)
class Operation:
    """An operation.

    Attributes:
        takes: The type of its input.
        gives: The type of its output.
        run: Its function of a value and a constant, with tuples for lists.
        python: An expression of `$x` and `$c`.
        rust: The same in Rust, which may consume `$x`.
        numbered: Whether it has a constant.
    """

    takes: str
    gives: str
    run: Callable[[Any, Any], Any]
    python: str
    rust: str
    numbered: bool = False


@dataclass(frozen=True)
class Step:
    """An operation with its constant: a number, or the name of an argument."""

    operation: Operation
    constant: int | str = 0


@dataclass(frozen=True)
class Program:
    """A chain of operations, which begins with an argument."""

    argument: str
    steps: tuple[Step, ...]

    def run(self, arguments: Mapping[str, Any]) -> Any:
        value = arguments[self.argument]
        for step in self.steps:
            constant = arguments[step.constant] if isinstance(step.constant, str) else step.constant
            value = step.operation.run(value, constant)
        return value

    def write(self, language: str) -> list[str]:
        lines, x = [], self.argument
        for step in self.steps:
            operation = step.operation
            code = operation.python if language == "python" else operation.rust
            given = NAMES[language][operation.gives]
            kind = "" if language == "python" else f"let result: {given} = "
            lines.append(kind + Template(code).substitute(x=x, c=step.constant))
            x = "result"
        return _statements(lines, language) if lines else [f"return {x}" if language == "python" else x]


def _statements(lines: Sequence[str], language: str) -> list[str]:
    *before, last = lines
    if language == "python":
        return [*(f"result = {line}" for line in before), f"return {last}"]
    return [*(f"{line};" for line in before), last.partition(" = ")[2]]


FAR = 300
"""Limit of ranges."""


def _kept(python: str, rust: str, holds: Callable[[Any, Any], bool], *, of: str = "ints") -> Operation:
    return Operation(
        of,
        of,
        lambda x, c: tuple(each for each in x if holds(each, c)),
        f"[each for each in $x if {python}]",
        f"$x.into_iter().filter(|each| {rust}).collect()",
        "$c" in python,
    )


def _mapped(python: str, rust: str, to: Callable[[Any, Any], Any], *, of: str = "ints", gives: str = "") -> Operation:
    return Operation(
        of,
        gives or of,
        lambda x, c: tuple(to(each, c) for each in x),
        f"[{python} for each in $x]",
        f"$x.into_iter().map(|each| {rust}).collect()",
        "$c" in python,
    )


def _listed(python: str, rust: str, run: Callable[[Any, Any], Any]) -> tuple[Operation, Operation]:
    return (
        Operation("ints", "ints", run, python, rust, "$c" in python),
        Operation("strs", "strs", run, python, rust, "$c" in python),
    )


def _mutated(how: str) -> str:
    return f"{{ let mut list = $x; list.{how}; list }}"


def _op(types: str, python: str, rust: str, run: Callable[[Any, Any], Any]) -> Operation:
    takes, gives = types.split()
    return Operation(takes, gives, run, python, rust, "$c" in python)


_ONCE = "{ let mut list = Vec::new(); for each in $x { if !list.contains(&each) { list.push(each); } } list }"
_SMALL = "aeiou"
_BOTH = "aeiouAEIOU"

OTHERS: tuple[Operation, ...] = (
    _kept("each % 2 == 0", "each % 2 == 0", lambda n, c: n % 2 == 0),
    _kept("each % 2 == 1", "each.rem_euclid(2) == 1", lambda n, c: n % 2 == 1),
    _kept("each > $c", "*each > $c", lambda n, c: n > c),
    _kept("each < $c", "*each < $c", lambda n, c: n < c),
    _kept("each >= $c", "*each >= $c", lambda n, c: n >= c),
    _kept("each <= $c", "*each <= $c", lambda n, c: n <= c),
    _kept("each % $c == 0", "*each % $c == 0", lambda n, c: bool(c) and n % c == 0),
    _kept("len(each) > $c", "each.len() as i64 > $c", lambda n, c: len(n) > c, of="strs"),
    _kept("len(each) < $c", "(each.len() as i64) < $c", lambda n, c: len(n) < c, of="strs"),
    _kept("len(each) >= $c", "each.len() as i64 >= $c", lambda n, c: len(n) >= c, of="strs"),
    _kept("len(each) <= $c", "each.len() as i64 <= $c", lambda n, c: len(n) <= c, of="strs"),
    _kept(
        f"each[:1] in tuple('{_SMALL}')",
        f'each.starts_with(|c: char| "{_SMALL}".contains(c))',
        lambda n, c: n[:1] in tuple(_SMALL),
        of="strs",
    ),
    _kept(
        f"each[:1] in tuple('{_BOTH}')",
        f'each.starts_with(|c: char| "{_BOTH}".contains(c))',
        lambda n, c: n[:1] in tuple(_BOTH),
        of="strs",
    ),
    _mapped("each * each", "each * each", lambda n, c: n * n),
    _mapped("abs(each)", "each.abs()", lambda n, c: abs(n)),
    _mapped("each + $c", "each + $c", lambda n, c: n + c),
    _mapped("each * $c", "each * $c", lambda n, c: n * c),
    _mapped("each[::-1]", "each.chars().rev().collect::<String>()", lambda n, c: n[::-1], of="strs"),
    _mapped("each.upper()", "each.to_uppercase()", lambda n, c: n.upper(), of="strs"),
    _mapped("len(each)", "each.len() as i64", lambda n, c: len(n), of="strs", gives="ints"),
    *_listed("sorted($x)", _mutated("sort()"), lambda x, c: tuple(sorted(x))),
    *_listed(
        "sorted($x, reverse=True)", _mutated("sort_by(|a, b| b.cmp(a))"), lambda x, c: tuple(sorted(x, reverse=True))
    ),
    *_listed("$x[::-1]", "$x.into_iter().rev().collect()", lambda x, c: x[::-1]),
    *_listed("list(dict.fromkeys($x))", _ONCE, lambda x, c: tuple(dict.fromkeys(x))),
    *_listed("$x[:$c]", "$x.into_iter().take($c as usize).collect()", lambda x, c: x[: max(c, 0)]),
    *_listed("$x[1:]", "$x.into_iter().skip(1).collect()", lambda x, c: x[1:]),
    *_listed("$x[::2]", "$x.into_iter().step_by(2).collect()", lambda x, c: x[::2]),
    *_listed("$x[:-1]", _mutated("pop()"), lambda x, c: x[:-1]),
    _op(
        "ints ints",
        "[sum($x[: i + 1]) for i in range(len($x))]",
        "(0..$x.len()).map(|i| $x[..=i].iter().sum::<i64>()).collect()",
        lambda x, c: tuple(accumulate(x)),
    ),
    _op("str strs", "$x.split()", "$x.split_whitespace().map(String::from).collect()", lambda x, c: tuple(x.split())),
    _op("str str", "$x.lower()", "$x.to_lowercase()", lambda x, c: x.lower()),
    _op("str str", "$x.upper()", "$x.to_uppercase()", lambda x, c: x.upper()),
    _op("str str", "$x[::-1]", "$x.chars().rev().collect()", lambda x, c: x[::-1]),
    _op("str str", "$x.replace(' ', '')", "$x.replace(' ', \"\")", lambda x, c: x.replace(" ", "")),
    _op("str str", "$x.strip()", "$x.trim().to_string()", lambda x, c: x.strip()),
    _op(
        "str str",
        f"''.join(c for c in $x if c not in '{_SMALL}')",
        f'$x.replace(|c: char| "{_SMALL}".contains(c), "")',
        lambda x, c: "".join(each for each in x if each not in _SMALL),
    ),
    _op(
        "str str",
        f"''.join(c for c in $x if c not in '{_BOTH}')",
        f'$x.replace(|c: char| "{_BOTH}".contains(c), "")',
        lambda x, c: "".join(each for each in x if each not in _BOTH),
    ),
    _op(
        "int ints",
        "[int(digit) for digit in str(abs($x))]",
        "$x.abs().to_string().bytes().map(|digit| (digit - 48) as i64).collect()",
        lambda x, c: tuple(int(digit) for digit in str(abs(x))),
    ),
    _op("int ints", "list(range(1, $x + 1))", "(1..=$x).collect()", lambda x, c: tuple(range(1, min(x, FAR) + 1))),
    _op(
        "int ints",
        "[n for n in range(1, $x + 1) if $x % n == 0]",
        "(1..=$x).filter(|n| $x % n == 0).collect()",
        lambda x, c: tuple(n for n in range(1, min(x, FAR) + 1) if x % n == 0),
    ),
)
"""Operations inside a chain. In this list and the next, the order is that of search."""

FOLDS: tuple[Operation, ...] = (
    _op("ints int", "sum($x)", "$x.iter().sum::<i64>()", lambda x, c: sum(x)),
    _op("ints int", "len($x)", "$x.len() as i64", lambda x, c: len(x)),
    _op("ints int", "max($x, default=$c)", "$x.into_iter().max().unwrap_or($c)", lambda x, c: max(x, default=c)),
    _op("ints int", "min($x, default=$c)", "$x.into_iter().min().unwrap_or($c)", lambda x, c: min(x, default=c)),
    _op("ints int", "$x[-1] if $x else $c", "$x.last().copied().unwrap_or($c)", lambda x, c: x[-1] if x else c),
    _op("ints int", "$x[0] if $x else $c", "$x.first().copied().unwrap_or($c)", lambda x, c: x[0] if x else c),
    _op(
        "ints int",
        "max($x) - min($x) if $x else $c",
        "$x.iter().max().zip($x.iter().min()).map_or($c, |(a, b)| a - b)",
        lambda x, c: max(x) - min(x) if x else c,
    ),
    _op("strs int", "len($x)", "$x.len() as i64", lambda x, c: len(x)),
    _op(
        "strs str",
        "max($x, key=len, default='')",
        "$x.into_iter().rev().max_by_key(|each| each.len()).unwrap_or_default()",
        lambda x, c: max(x, key=len, default=""),
    ),
    _op(
        "strs str",
        "min($x, key=len, default='')",
        "$x.into_iter().min_by_key(|each| each.len()).unwrap_or_default()",
        lambda x, c: min(x, key=len, default=""),
    ),
    _op(
        "strs str",
        "max($x[::-1], key=len, default='')",
        "$x.into_iter().max_by_key(|each| each.len()).unwrap_or_default()",
        lambda x, c: max(x[::-1], key=len, default=""),
    ),
    _op("strs str", "' '.join($x)", '$x.join(" ")', lambda x, c: " ".join(x)),
    _op("strs str", "'-'.join($x)", '$x.join("-")', lambda x, c: "-".join(x)),
    _op(
        "strs str",
        "''.join(each[:1] for each in $x)",
        "$x.iter().filter_map(|each| each.chars().next()).collect()",
        lambda x, c: "".join(each[:1] for each in x),
    ),
    _op("str int", "len($x)", "$x.len() as i64", lambda x, c: len(x)),
    _op(
        "str int",
        f"sum(c in '{_SMALL}' for c in $x)",
        f'$x.chars().filter(|c| "{_SMALL}".contains(*c)).count() as i64',
        lambda x, c: sum(each in _SMALL for each in x),
    ),
    _op(
        "str int",
        f"sum(c in '{_BOTH}' for c in $x)",
        f'$x.chars().filter(|c| "{_BOTH}".contains(*c)).count() as i64',
        lambda x, c: sum(each in _BOTH for each in x),
    ),
)
"""Operations that end a chain."""
