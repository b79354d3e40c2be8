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
_MAX_COUNT = 100_000
"""The largest n of `[x; n]`."""
_HASHED_APART = 1 << 60
"""Integers below this have hashes of their own; see `_int`."""
_KINDS = ("float", "int", "raw", "string", "char", "name", "mark")
"""The groups of `_TOKEN` that are whole tokens."""
_MAPS = ("HashMap", "BTreeMap")
_SETS = ("HashSet", "BTreeSet")
_LISTS = ("Vec", "VecDeque")
_FLOATS = {"NAN": "nan", "INFINITY": "inf", "NEG_INFINITY": "-inf"}
"""Constants of `f64` and `f32`, as Python reads them."""
_CONVERSIONS = ("to_string", "to_owned", "into", "to_vec", "clone", "as_str")
"""Methods after a value that leave it the same here."""


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
    first = one[1]
    second = other[1]
    if "float" in (one[0], other[0]):
        first = _as_float(first)
        second = _as_float(second)
    return bool(abs(first - second) < atol)


def _field(item: Tree) -> str:
    """Return the name of a struct's field."""
    if item[0] == "pair" and item[1][0] == "name":
        return str(item[1][1])
    return ""


def _as_float(number: float) -> float:
    """Return a number as a float; an infinity if it is beyond the largest one."""
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
    """Parses one value, token by token. The next token is always read already."""

    def __init__(self, text: str) -> None:
        self._text = text.rstrip()
        self._at = 0
        self._parts = 0
        self.kind = ""
        self._token = ""
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
        """Parse the next value without the conversions that may follow it."""
        kind = self.kind
        token = self._token
        match = self._match
        self._next()
        if kind == "float":
            return _float(token)
        if kind == "int" and match is not None:
            return self._integer(token, match["suffix"] or "")
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

    def _integer(self, token: str, suffix: str) -> Tree:
        """Return the tree of a number without a point: `1f64` is a float."""
        if suffix.startswith("f"):
            return _float(token)
        digits = token.replace("_", "")
        if len(digits) > _MAX_DIGITS:
            self.fail()
        if re.match(r"-?0[xbo]", digits):
            # Python tells the base from the prefix.
            return _int(int(digits, 0))
        return _int(int(digits))

    def _marked(self, token: str, depth: int) -> Tree:
        match token:
            case "&":
                # A reference compares as what it refers to.
                return self.value(depth + 1)
            case "-":
                return self._negative(self.value(depth + 1))
            case "(":
                items, comma = self._items(")", depth)
                # `(1)` is a number, and `(1,)` a tuple.
                if len(items) == 1 and not comma:
                    return items[0]
                return ("tuple", *items)
            case "[":
                return ("list", *self._elements(depth))
            case "{":
                # Debug output of a map or a set.
                items, _ = self._items("}", depth)
                return ("braces", frozenset(items))
        return self.fail()

    def _negative(self, tree: Tree) -> Tree:
        if tree[0] == "int":
            return _int(-tree[1])
        if tree[0] == "float":
            return ("float", -tree[1])
        return self.fail()

    def _named(self, name: str, depth: int) -> Tree:
        if name in ("true", "false"):
            return ("bool", name == "true")
        if name in ("inf", "NaN"):
            return ("float", float(name))
        if name == "vec!":
            self._expect("[")
            return ("list", *self._elements(depth))
        # `Vec::<i32>::new` is `Vec::new`.
        without_types = re.sub(r"::<.*?>(?=::|$)", "", name)
        path = without_types.split("::")
        last = path[-1]
        if len(path) > 1 and last in ("from", "new", "from_iter"):
            self._expect("(")
            items, _ = self._items(")", depth)
            return self._made(path[-2], items)
        if path[0] in ("f64", "f32") and last in _FLOATS:
            return ("float", float(_FLOATS[last]))
        if self._accept("("):
            items, _ = self._items(")", depth)
            return ("name", last, *items)
        if self._accept("{"):
            items, _ = self._items("}", depth)
            # The order of fields says nothing.
            return ("struct", last, *sorted(items, key=_field))
        return ("name", last)

    def _made(self, kind: str, items: list[Tree]) -> Tree:
        """Return what `from`, `new` or `from_iter` of a type makes of its arguments."""
        if len(items) > 1:
            self.fail()
        inner: Tree = ("list",)
        if items:
            inner = items[0]
        if kind in _MAPS and inner[0] == "list":
            return self._map(inner[1:])
        if kind in _SETS and inner[0] == "list":
            return ("braces", frozenset(inner[1:]))
        if kind in _LISTS:
            return inner
        if kind in ("Box", "Some") and items:
            return inner
        if kind == "String":
            return _string(inner)
        return self.fail()

    def _map(self, items: Tree) -> Tree:
        """Return the map of a list of pairs."""
        pairs = []
        for item in items:
            if item[0] != "tuple" or len(item) != 3:
                self.fail()
            _, key, value = item
            pairs.append(("pair", key, value))
        return ("braces", frozenset(pairs))

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
            if count[0] != "int" or not 0 <= count[1] <= _MAX_COUNT:
                self.fail()
            # `[[[0; 1000]; 1000]; 1000]` is short, and would be hashed or compared for hours.
            self._count(inside * count[1])
            # One object many times, which takes little memory.
            return [first] * int(count[1])
        if self._accept(","):
            items, _ = self._items("]", depth)
            return [first, *items]
        self._expect("]")
        return [first]

    def _count(self, parts: int) -> None:
        """Count further values within the whole."""
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
        """Read the next token."""
        if self._at == len(self._text):
            self.kind = "end"
            self._token = ""
            return
        match = _TOKEN.match(self._text, self._at)
        if match is None:
            self.fail()
        for kind in _KINDS:
            if match[kind] is not None:
                self.kind = kind
                self._token = match[kind]
                break
        self._match = match
        self._at = match.end()


def _string(inner: Tree) -> Tree:
    """Return what `String` makes of a string or a character; empty if there is neither."""
    if inner[0] == "str":
        return inner
    if inner[0] == "char":
        return ("str", inner[1])
    return ("str", "")


def _float(token: str) -> Tree:
    return ("float", float(token.replace("_", "")))


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_unescaped, text)


def _unescaped(match: re.Match[str]) -> str:
    digits = match[2] or match[3]
    if digits:
        return chr(min(int(digits, 16), 0x10FFFF))
    if match[1].startswith("\n"):
        # A line end after a backslash, and the indentation of the next line.
        return ""
    return _ESCAPES.get(match[1], match[1])
