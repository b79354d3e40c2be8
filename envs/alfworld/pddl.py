"""Parser of PDDL problems.

A state is a set of facts, each a tuple of a predicate and its arguments: `("inreceptacle", "mug_1", "shelf_2")`.
Everything is lower-cased, as PDDL ignores case.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

Fact: TypeAlias = tuple[str, ...]
Tree: TypeAlias = "str | list[Tree]"


MAX_DEPTH = 64
"""Maximum depth of nested parentheses; ALFWorld's own files nest fewer than 20."""


class UnreadableError(ValueError):
    """The text is not PDDL, or uses PDDL that is not supported. The message says where."""


def read(text: str) -> list[Tree]:
    """Parse one PDDL expression in parentheses. Comments run from a semicolon to the end of the line.

    Raises:
        UnreadableError: Parentheses do not match or are nested too deep, or the text is not ASCII.
    """
    if ";" in text:
        text = "\n".join(line.partition(";")[0] for line in text.splitlines())
    if not text.isascii():
        strange = next(char for char in text if not char.isascii())
        raise UnreadableError(f"it has the character {strange!r}, and PDDL is ASCII")
    # As in the original's parser, a variable ends the word before it: "a?b" is "a ?b".
    tokens = text.lower().replace("(", " ( ").replace(")", " ) ").replace("?", " ?").split()
    top: list[Tree] = []
    stack = [top]
    for token in tokens:
        if token == "(":
            inner: list[Tree] = []
            stack[-1].append(inner)
            stack.append(inner)
            if len(stack) > MAX_DEPTH + 1:
                raise UnreadableError(f"parentheses are nested more than {MAX_DEPTH} deep")
        elif token == ")":
            if len(stack) == 1:
                raise UnreadableError("a parenthesis is closed that was never opened")
            stack.pop()
        else:
            stack[-1].append(token)
    if len(stack) > 1:
        raise UnreadableError("a parenthesis is never closed")
    if len(top) != 1 or isinstance(top[0], str):
        raise UnreadableError("it is not one expression in parentheses")
    return top[0]


def typed(names: list[Tree]) -> Iterator[tuple[str, str]]:
    """Yield the names and types of a typed list such as `a b - location c - object d`."""
    pending: list[str] = []
    rest = iter(names)
    for name in rest:
        if not isinstance(name, str):
            raise UnreadableError("a list of names has an expression in it")
        if name != "-":
            pending.append(name)
            continue
        kind = next(rest, None)
        if not isinstance(kind, str):
            raise UnreadableError("a type is missing, or is not a plain name")
        yield from ((each, kind) for each in pending)
        pending.clear()
    yield from ((each, "object") for each in pending)


@dataclass(frozen=True, slots=True)
class Problem:
    """A PDDL problem.

    Attributes:
        types: Type by name of everything declared, in the order of declaration.
        facts: The facts at the start, without numbers (distances, costs).
        goal: The goal, not yet grounded.
        domain: The name of its domain.
    """

    types: dict[str, str]
    facts: frozenset[Fact]
    goal: Tree
    domain: str

    @classmethod
    def parse(cls, text: str) -> Problem:
        """Parse a problem.

        Raises:
            UnreadableError: The text is not a valid PDDL problem.
        """
        domain, sections = _sections(text)
        types: dict[str, str] = {}
        for name, kind in typed(sections[":objects"]):
            if name in types:
                raise UnreadableError(f"{name} is declared twice")
            types[name] = kind
        facts = set()
        for entry in sections[":init"]:
            fact = _fact(entry)
            if fact[0] not in ("=", "not"):
                facts.add(fact)
                if not types.keys() >= set(fact[1:]):
                    undeclared = next(name for name in fact[1:] if name not in types)
                    raise UnreadableError(f"{undeclared} is not declared, but used in ({' '.join(fact)})")
        if len(sections[":goal"]) != 1:
            raise UnreadableError("its goal is not one condition")
        return cls(types, frozenset(facts), sections[":goal"][0], domain)


@lru_cache(maxsize=16)
def read_domain(text: str) -> tuple[str, list[Tree]]:
    """Return the name of a domain and its sections.

    Raises:
        UnreadableError: The text is not a PDDL domain.
    """
    try:
        match read(text):
            case ["define", ["domain", str(name)], *sections]:
                return name, sections
    except UnreadableError as error:
        raise UnreadableError(f"its domain cannot be read: {error}") from error
    raise UnreadableError("its domain cannot be read: it does not begin with (define (domain NAME)")


_ORDER = (":domain", ":requirements", ":objects", ":init", ":goal", ":metric")


def _sections(text: str) -> tuple[str, dict[str, list[Tree]]]:
    """Return the domain's name and the sections of a problem, which the original accepts only in this order."""
    define, *parts = read(text)
    sections: dict[str, list[Tree]] = {}
    for part in parts:
        match part:
            case ["problem", str()] if not sections:
                continue
            case [str(name), *rest] if name in _ORDER:
                if name in sections:
                    raise UnreadableError(f"it has more than one ({name} section")
                sections[name] = rest
            case _:
                raise UnreadableError(f"it has {_short(part)}, which is not a section of a problem")
    if missing := {":objects", ":init", ":goal"} - sections.keys():
        raise UnreadableError(f"it has no {' and no '.join(sorted(missing))}")
    if list(sections) != [name for name in _ORDER if name in sections]:
        raise UnreadableError(f"its sections are not in the order {' '.join(_ORDER)}")
    if sections.get(":metric", _METRIC) != _METRIC:
        raise UnreadableError("its :metric is not (:metric minimize (total-cost))")
    match define, parts[0], sections.get(":domain"):
        case "define", ["problem", str()], [str(domain)]:
            return domain, sections
    raise UnreadableError("it does not begin with (define (problem NAME) (:domain NAME)")


_METRIC: list[Tree] = ["minimize", ["total-cost"]]


def _short(tree: Tree) -> str:
    return tree if isinstance(tree, str) else f"({' '.join(str(part) for part in tree[:1])}"


def _fact(entry: Tree) -> Fact:
    match entry:
        case ["=" | "not" as skipped, *_]:
            return (skipped,)
        case [_, *_] if all(isinstance(part, str) for part in entry):
            return tuple(str(part) for part in entry)
        case _:
            raise UnreadableError("a fact at the start is not a plain list of names")
