"""Rust values in the agent's process: literals and Debug output, as trees that compare as in Rust.

A tree is a tuple of a kind and its parts: `("int", 3)`, `("str", "a")`, `("list", ...)`. Maps and sets are unordered.
Strings and string slices are the same kind, since Rust compares them. Each NaN is a separate object, so that
two are unequal in tuples, too.

What is read may be a candidate's own writing, so a value has a limited depth and size, and no choice of numbers makes
a set slow.
"""

import math
import re
from typing import Any, NoReturn

Tree = tuple[Any, ...]

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<float>-?(?:\d[\d_]*\.\d[\d_]*(?:[eE][-+]?\d+)?|\d[\d_]*[eE][-+]?\d+|\d[\d_]*\.(?![\w.])|inf\b|NaN\b))(?:_?f(?:32|64))?
    |(?P<int>-?(?:0x[\da-fA-F_]+|0b[01_]+|0o[0-7_]+|\d[\d_]*))(?P<suffix>[iuf](?:8|16|32|64|128|size))?
    |(?P<raw>r(?P<hashes>\#*)"(?P<inner>.*?)"(?P=hashes))
    |(?P<string>"(?:\\.|[^"\\])*")
    |(?P<char>'(?:\\(?:u\{[0-9a-fA-F]*\}|x[0-9a-fA-F]{2}|.)|[^'\\])')
    |(?P<name>[A-Za-z_]\w*(?:::(?:<.*?>(?=::|[(),\]}\s]|$)|\w+))*!?)
    |(?P<mark>[()\[\]{},:;&.\-])
    )""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\", "'": "'", '"': '"'}
_ESCAPE = re.compile(r"\\(u\{([0-9a-fA-F]+)\}|x([0-9a-fA-F]{2})|\n\s*|.)", re.DOTALL)
_MAX_DEPTH = 100
_MAX_PARTS = 500_000
"""Values within a value, those of `[x; n]` counted n times: more than a megabyte of text spells out."""
_MAX_DIGITS = 130
"""Characters of an integer: an i128 in binary has up to 128 digits, and underscores are left out."""
_HASHED_APART = 1 << 60
_CONVERSIONS = ("to_string", "to_owned", "into", "to_vec", "clone", "as_str")


class NotValueError(ValueError):
    """A text is not a supported value."""


def read_value(text: str) -> Tree:
    """Parse a literal or Debug output; raise NotValueError for anything else."""
    reader = _Reader(text)
    value = reader.value(0)
    if reader.kind != "end":
        reader.fail()
    return value


def close(one: Tree, other: Tree, atol: float) -> bool:
    """Whether two numbers are within a tolerance."""
    if one[0] not in ("float", "int") or other[0] not in ("float", "int"):
        return False
    # Python refuses to subtract an integer beyond the largest float from a float.
    first, second = one[1], other[1]
    if "float" in (one[0], other[0]):
        first, second = _as_float(first), _as_float(second)
    return bool(abs(first - second) < atol)


def _field(item: Tree) -> str:
    """Return the name of a struct's field."""
    if item[0] == "pair" and item[1][0] == "name":
        return str(item[1][1])
    return ""


def _as_float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.copysign(math.inf, number)


def _int(number: int) -> Tree:
    """Return the tree of an integer.

    Python gives integers that differ by a multiple of 2**61 - 1 the same hash, and a set of such is quadratic. Text
    is hashed with a random key.
    """
    if abs(number) < _HASHED_APART:
        return ("int", number)
    return ("int", number, str(number))


class _Reader:
    def __init__(self, text: str) -> None:
        self._text, self._at = text.rstrip(), 0
        self._parts = 0
        self.kind, self._token = "", ""
        self._match: re.Match[str] | None = None
        self._next()

    def fail(self) -> NoReturn:
        raise NotValueError(f"not a value that can be compared: {self._text[:200]}")

    def value(self, depth: int) -> Tree:
        """Parse the next value."""
        if depth > _MAX_DEPTH:
            self.fail()
        self._count(1)
        tree = self._start(depth)
        while self._accept("."):
            if self._token not in _CONVERSIONS:
                self.fail()
            self._next()
            self._expect("(")
            self._expect(")")
        return tree

    def _start(self, depth: int) -> Tree:
        kind, token, match = self.kind, self._token, self._match
        self._next()
        if kind == "float":
            return ("float", float(token.replace("_", "")))
        if kind == "int" and match is not None:
            if (match["suffix"] or "").startswith("f"):
                return ("float", float(token.replace("_", "")))
            digits = token.replace("_", "")
            if len(digits) > _MAX_DIGITS:
                self.fail()
            base = 0 if re.match(r"-?0[xbo]", digits) else 10
            return _int(int(digits, base))
        if kind == "raw" and match is not None:
            return ("str", match["inner"])
        if kind == "string":
            return ("str", _unescape(token[1:-1]))
        if kind == "char":
            return ("char", _unescape(token[1:-1]))
        if kind == "name":
            return self._named(token, depth)
        if kind == "mark":
            return self._marked(token, depth)
        return self.fail()

    def _marked(self, token: str, depth: int) -> Tree:
        match token:
            case "&":
                return self.value(depth + 1)
            case "-":
                tree = self.value(depth + 1)
                if tree[0] == "int":
                    return _int(-tree[1])
                return ("float", -tree[1]) if tree[0] == "float" else self.fail()
            case "(":
                items, comma = self._items(")", depth)
                return items[0] if len(items) == 1 and not comma else ("tuple", *items)
            case "[":
                return ("list", *self._elements(depth))
            case "{":
                return ("braces", frozenset(self._items("}", depth)[0]))
        return self.fail()

    def _named(self, name: str, depth: int) -> Tree:
        if name in ("true", "false"):
            return ("bool", name == "true")
        if name in ("inf", "NaN"):
            return ("float", float(name))
        parts = re.sub(r"::<.*?>(?=::|$)", "", name).split("::")
        if name == "vec!":
            self._expect("[")
            return ("list", *self._elements(depth))
        if len(parts) > 1 and parts[-1] in ("from", "new", "from_iter"):
            self._expect("(")
            items, _ = self._items(")", depth)
            return self._made(parts[-2], items)
        if parts[0] in ("f64", "f32") and parts[-1] in ("NAN", "INFINITY", "NEG_INFINITY"):
            return ("float", float({"NAN": "nan", "INFINITY": "inf"}.get(parts[-1], "-inf")))
        if self._accept("("):
            return ("name", parts[-1], *self._items(")", depth)[0])
        if self._accept("{"):
            return ("struct", parts[-1], *sorted(self._items("}", depth)[0], key=_field))
        return ("name", parts[-1])

    def _made(self, kind: str, items: list[Tree]) -> Tree:
        if len(items) > 1:
            self.fail()
        inner = items[0] if items else ("list",)
        if kind in ("HashMap", "BTreeMap", "HashSet", "BTreeSet") and inner[0] == "list":
            mapped = kind.endswith("Map")
            if mapped and not all(each[0] == "tuple" and len(each) == 3 for each in inner[1:]):
                self.fail()
            return ("braces", frozenset(("pair", *each[1:]) if mapped else each for each in inner[1:]))
        if kind in ("Vec", "VecDeque", "Box", "Some") and (items or kind in ("Vec", "VecDeque")):
            return inner
        if kind == "String":
            return inner if inner[0] == "str" else ("str", inner[1]) if inner[0] == "char" else ("str", "")
        return self.fail()

    def _items(self, closing: str, depth: int) -> tuple[list[Tree], bool]:
        """Parse values up to a bracket, pairs too in braces; the flag is a trailing comma."""
        items: list[Tree] = []
        comma = False
        while not self._accept(closing):
            if items and not comma:
                self.fail()
            item = self.value(depth + 1)
            if closing == "}" and self._accept(":"):
                item = ("pair", item, self.value(depth + 1))
            items.append(item)
            comma = self._accept(",")
        return items, comma

    def _elements(self, depth: int) -> list[Tree]:
        """Parse the rest of a list, also `[value; count]`."""
        if self._accept("]"):
            return []
        before = self._parts
        first = self.value(depth + 1)
        inside = self._parts - before
        if self._accept(";"):
            count = self.value(depth + 1)
            self._expect("]")
            if count[0] != "int" or not 0 <= count[1] <= 100_000:
                self.fail()
            # `[[[0; 1000]; 1000]; 1000]` is short, and would be hashed or compared for hours.
            self._count(inside * count[1])
            return [first] * int(count[1])
        if self._accept(","):
            return [first, *self._items("]", depth)[0]]
        self._expect("]")
        return [first]

    def _count(self, parts: int) -> None:
        self._parts += parts
        if self._parts > _MAX_PARTS:
            self.fail()

    def _expect(self, mark: str) -> None:
        if not self._accept(mark):
            self.fail()

    def _accept(self, mark: str) -> bool:
        """Consume a mark if it is next."""
        if self.kind != "mark" or self._token != mark:
            return False
        self._next()
        return True

    def _next(self) -> None:
        if self._at == len(self._text):
            self.kind, self._token = "end", ""
            return
        match = _TOKEN.match(self._text, self._at)
        if match is None:
            self.fail()
        kinds = ("float", "int", "raw", "string", "char", "name", "mark")
        self.kind = next(kind for kind in kinds if match[kind] is not None)
        self._token, self._match, self._at = match[self.kind], match, match.end()


def _unescape(text: str) -> str:
    def plain(match: re.Match[str]) -> str:
        if match[2] or match[3]:
            return chr(min(int(match[2] or match[3], 16), 0x10FFFF))
        return "" if match[1][0] == "\n" else _ESCAPES.get(match[1], match[1])

    return _ESCAPE.sub(plain, text)
