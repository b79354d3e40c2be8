"""Problems in PDDL, parsed and grounded.

A state is a set of facts, each a tuple of a predicate and its arguments: `("inreceptacle", "mug_1", "shelf_2")`.
Everything is lower-cased, as PDDL ignores case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
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


Condition: TypeAlias = Callable[[Set[Fact]], bool]
"""Whether a condition holds in a state."""


@dataclass(frozen=True, slots=True)
class Grounder:
    """Grounds the goal of a problem: facts of predicates that are not `changing` are decided now."""

    problem: Problem
    predicates: Mapping[str, tuple[str, ...]]
    changing: frozenset[str]

    def goal(self) -> bool | Condition:
        """Return the ground goal; a bool if permanent facts decide it.

        Raises:
            UnreadableError: The goal is not a condition, or names something undeclared.
        """
        return self._ground(self.problem.goal, {})

    def _ground(self, tree: Tree, env: dict[str, str]) -> bool | Condition:
        match tree:
            case ["and" | "or" as word, *parts]:
                return self._joined(word, (self._ground(part, env) for part in parts))
            case ["not", part]:
                ground = self._ground(part, env)
                return not ground if isinstance(ground, bool) else lambda facts: not ground(facts)
            case ["exists", list() as declared, body]:
                bindings = self._bindings(list(typed(declared)), self._guides(body), env)
                return self._joined("or", (self._ground(body, found) for found in bindings))
            case ["forall", list() as declared, body]:
                return self._ground(["not", ["exists", declared, ["not", body]]], env)
            case [str(), *words] if all(isinstance(word, str) for word in words):
                return self._literal(tuple(env.get(str(word), str(word)) for word in tree))
        raise UnreadableError(f"its goal contains {tree!r}, which is not a supported condition")

    def _joined(self, word: str, parts: Iterator[bool | Condition]) -> bool | Condition:
        """Join conditions, without those that are decided."""
        kept: list[Condition] = []
        for part in parts:
            if not isinstance(part, bool):
                kept.append(part)
            elif part == (word == "or"):
                return part
        join = any if word == "or" else all
        return (lambda facts: join(holds(facts) for holds in kept)) if kept else word == "and"

    def _literal(self, fact: Fact) -> bool | Condition:
        said = f"its goal contains ({' '.join(fact)})"
        expected = ("object", "object") if fact[0] == "=" else self.predicates.get(fact[0])
        if expected is None:
            raise UnreadableError(f"{said}, and the native engine knows no predicate {fact[0]}")
        if len(fact) != len(expected) + 1:
            raise UnreadableError(f"{said}, and {fact[0]} takes {len(expected)} arguments")
        if undeclared := [word for word in fact[1:] if word not in self.problem.types]:
            raise UnreadableError(f"{said}, and {undeclared[0]} is not declared")
        if fact[0] == "=":
            return fact[1] == fact[2]
        return (lambda facts: fact in facts) if fact[0] in self.changing else fact in self.problem.facts

    def _guides(self, body: Tree) -> list[Fact]:
        """Return the permanent facts that are necessary for a condition, with their variables."""
        match body:
            case ["and", *parts]:
                return [guide for part in parts for guide in self._guides(part)]
            case ["exists", _, inner]:
                return self._guides(inner)
            case [str(name), *words] if name in self.predicates.keys() - self.changing:
                return [(name, *(str(word) for word in words))]
        return []

    def _bindings(
        self, names: list[tuple[str, str]], guides: list[Fact], env: dict[str, str]
    ) -> Iterator[dict[str, str]]:
        """Yield the bindings of the names under which the guides hold."""
        if not names:
            yield env
            return
        (name, kind), *rest = names
        for value, its_kind in self.problem.types.items():
            if kind in ("object", its_kind):
                found = {**env, name: value}
                grounded = [tuple(found.get(word, word) for word in guide) for guide in guides if name in guide]
                unknown = (fact for fact in grounded if fact not in self.problem.facts)
                if all(any(word.startswith("?") for word in fact) for fact in unknown):
                    yield from self._bindings(rest, guides, found)
