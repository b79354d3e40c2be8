"""Parser of PDDL problems.

A state is a set of facts, each a tuple of a predicate and its arguments: `("inreceptacle", "mug_1", "shelf_2")`.
Everything is lower-cased, as PDDL ignores case.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

Fact: TypeAlias = tuple[str, ...]
Tree: TypeAlias = "str | list[Tree]"


class UnreadableError(ValueError):
    """The text is not PDDL, or uses PDDL that is not supported. The message says where."""


def read(text: str) -> list[Tree]:
    """Parse one PDDL expression in parentheses. Comments run from a semicolon to the end of the line.

    Raises:
        UnreadableError: It is not one expression, or parentheses do not match.
    """
    code = "\n".join(line.partition(";")[0] for line in text.lower().splitlines())
    top: list[Tree] = []
    stack = [top]
    for token in code.replace("(", " ( ").replace(")", " ) ").split():
        if token == "(":
            inner: list[Tree] = []
            stack[-1].append(inner)
            stack.append(inner)
        elif token != ")":
            stack[-1].append(token)
        elif len(stack) > 1:
            stack.pop()
        else:
            raise UnreadableError("a parenthesis is closed that was never opened")
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
    """A PDDL problem: types by name, facts without numbers (distances, costs), and the goal, not yet grounded."""

    types: dict[str, str]
    facts: frozenset[Fact]
    goal: Tree

    @classmethod
    def parse(cls, text: str) -> Problem:
        """Parse a problem.

        Raises:
            UnreadableError: The text is not a valid PDDL problem.
        """
        sections: dict[str, list[Tree]] = {}
        for part in read(text)[1:]:
            match part:
                case [str(name), *rest] if name not in sections:
                    sections[name] = rest
                case _:
                    raise UnreadableError(f"it has more than one section {part[0] if part else ''}")
        if missing := {":objects", ":init", ":goal"} - sections.keys():
            raise UnreadableError(f"it has no {' and no '.join(sorted(missing))}")
        if len(sections[":goal"]) != 1:
            raise UnreadableError("its goal is not one condition")
        types = dict(typed(sections[":objects"]))
        facts = frozenset(fact for entry in sections[":init"] if (fact := _fact(entry)))
        for fact in facts:
            if undeclared := [name for name in fact[1:] if name not in types]:
                raise UnreadableError(f"{undeclared[0]} is not declared, but used in ({' '.join(fact)})")
        return cls(types, facts, sections[":goal"][0])


def _fact(entry: Tree) -> Fact | None:
    match entry:
        case ["=" | "not", *_]:
            return None
        case [_, *_] if all(isinstance(part, str) for part in entry):
            return tuple(str(part) for part in entry)
    raise UnreadableError("a fact at the start is not a plain list of names")
