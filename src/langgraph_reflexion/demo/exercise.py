"""A programming problem as a prompt tells it: what is asked for, and every case of it that is written down."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from langgraph_reflexion.demo.searching import Example, Function

_PYTHON = re.compile(
    r'^(?P<head>def (?P<name>\w+)\((?P<arguments>[^()]*)\) -> (?P<returns>[^\n]+?):)\s*\n\s*"""(?P<told>.*?)"""',
    re.MULTILINE | re.DOTALL,
)
_RUST = re.compile(
    r"^(?P<told>(?:///[^\n]*\n)+)"
    r"(?P<head>(?:pub )?fn (?P<name>\w+)\((?P<arguments>[^{}]*?)\) -> (?P<returns>[^\n]+?)) \{",
    re.MULTILINE | re.DOTALL,
)
_TYPES = {
    "int": "int", "list[int]": "ints", "List[int]": "ints", "str": "str", "list[str]": "strs", "List[str]": "strs",
    "i64": "int", "Vec<i64>": "ints", "String": "str", "Vec<String>": "strs",
}  # fmt: skip
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?!\w|\.\d)")
USUAL = (0, 1)
"""Numbers that come to mind without being told."""


class Case(NamedTuple):
    """A case as it is written, and what it says."""

    call: str
    expected: str
    example: Example


@dataclass(frozen=True)
class Exercise:
    """What is asked for.

    Attributes:
        language: `python` or `rust`.
        name: The function's name.
        head: The signature, as it stands there.
        function: What is asked for; None where its types are none that the demo model knows.
        words: What the docstring says, examples apart.
        shown: The docstring's examples.
    """

    language: str
    name: str
    head: str
    function: Function | None
    words: str
    shown: tuple[Case, ...]

    @property
    def constants(self) -> tuple[int, ...]:
        """The numbers that it tries: those of the words, and the usual ones."""
        return tuple(dict.fromkeys([*map(int, _NUMBER.findall(self.words)), *USUAL]))

    def literal(self, value: Any, kind: str = "") -> str:
        """A value as the language writes it; of an empty list of texts, Rust wants to know the kind."""
        if self.language == "rust" and (value, kind) == ((), "strs"):
            return "Vec::<String>::new()"
        if isinstance(value, tuple):
            inner = ", ".join(map(self.literal, value))
            return f"[{inner}]" if self.language == "python" else f"vec![{inner}]"
        if isinstance(value, str):
            return repr(value) if self.language == "python" else f'"{value}".to_string()'
        return str(value)

    def call(self, arguments: tuple[Any, ...]) -> str:
        """A call as the language writes it."""
        return f"{self.name}({', '.join(map(self.literal, arguments))})"

    def assertion(self, call: str, expected: str) -> str:
        """A test as the language writes it."""
        return f"assert {call} == {expected}" if self.language == "python" else f"assert_eq!({call}, {expected});"

    def whole(self, body: Sequence[str]) -> str:
        """The whole function, for the lines of its body."""
        begin, end = (f"{self.head} {{", "\n}") if self.language == "rust" else (self.head, "")
        return "\n".join([begin, *(f"    {line}" for line in body)]) + end

    def fenced(self, code: str) -> str:
        """A block of code."""
        return f"```{self.language}\n{code}\n```"

    def cases(self, text: str) -> tuple[Case, ...]:
        """Every case of the function that a text states: `f(1) == 2`, `assert_eq!(f(1), 2)`, or as in a docstring."""
        found = {case.example.arguments: case for case in self._cases(text)}
        return tuple(found.values())

    def _cases(self, text: str) -> Iterator[Case]:
        for match in re.finditer(rf"\b{re.escape(self.name)}\(", text):
            end = _until(text, match.end(), ")")
            between = re.compile(r"\s*(?:==|,)\s*|\n\s*(?:/// )?").match(text, end + 1)
            if between is None:
                continue
            call = text[match.start() : end + 1]
            expected = (
                text[between.end() : _until(text, between.end(), ")\n`;,")].partition("  -- ")[0].strip().rstrip(".")
            )
            try:
                arguments, result = _value(f"({text[match.end() : end]},)"), _value(expected)
            except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
                continue
            if self._fits(arguments, result):
                yield Case(call, expected, Example(arguments, result))

    def _fits(self, arguments: tuple[Any, ...], result: Any) -> bool:
        """Whether a case is one of this function, by its types, where these are known."""
        if self.function is None:
            return True
        kinds = [*(kind for _, kind in self.function.arguments), self.function.returns]
        values = [*arguments, result]
        return len(kinds) == len(values) and all(map(_is, values, kinds))


def read_exercise(text: str) -> Exercise | None:
    """The problem that a text states; the last one, where there are several."""
    found = [("python", match) for match in _PYTHON.finditer(text)] + [("rust", m) for m in _RUST.finditer(text)]
    if not found:
        return None
    language, match = max(found, key=lambda each: each[1].start())
    told = re.sub(r"^\s*///? ?", "", match["told"], flags=re.MULTILINE) if language == "rust" else match["told"]
    words, _, examples = told.partition(">>>")
    bare = Exercise(language, match["name"], match["head"], _function(match), " ".join(words.split()), ())
    return replace(bare, shown=bare.cases(examples))


def _function(match: re.Match[str]) -> Function | None:
    arguments = []
    for each in filter(None, re.split(r",\s*(?![^\[<]*[\]>])", match["arguments"].strip())):
        name, _, kind = each.partition(":")
        arguments.append((name.removeprefix("mut ").strip(), _TYPES.get(kind.strip(), "")))
    returns = _TYPES.get(match["returns"].strip(), "")
    known = bool(arguments) and bool(returns) and all(kind for _, kind in arguments)
    return Function(tuple(arguments), returns) if known else None


def _until(text: str, begin: int, ends: str) -> int:
    """Where one of some signs comes next, outside of brackets and quotes."""
    depth, quote, index = 0, "", begin
    while index < len(text):
        sign = text[index]
        if quote:
            index += sign == "\\"
            quote = "" if sign == quote else quote
        elif depth <= 0 and sign in ends:
            break
        elif sign in "\"'":
            quote = sign
        else:
            depth += (sign in "([{") - (sign in ")]}")
        index += 1
    return min(index, len(text))


def _value(written: str) -> Any:
    """The value of a literal, in Python or in Rust; lists are tuples."""
    plain = re.sub(r'String::from\(("(?:[^"\\]|\\.)*")\)', r"\1", written)
    plain = re.sub(r'("(?:[^"\\]|\\.)*")\.(?:to_string|to_owned|into)\(\)', r"\1", plain)
    plain = re.sub(r"Vec::(?:<\w+>::)?new\(\)", "[]", plain).replace("vec![", "[")
    return _frozen(ast.literal_eval(plain))


def _is(value: Any, kind: str) -> bool:
    if kind in ("ints", "strs"):
        return isinstance(value, tuple) and all(_is(each, kind[:-1]) for each in value)
    return type(value) is {"int": int, "str": str}[kind]


def _frozen(value: Any) -> Any:
    if isinstance(value, dict | set):
        raise ValueError("neither a number nor a text nor a list")
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value
