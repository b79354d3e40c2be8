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
    tokens = code.replace("(", " ( ").replace(")", " ) ").split()
    top: list[Tree] = []
    # The expressions that are open, the innermost one last.
    stack = [top]
    for token in tokens:
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
        for each in pending:
            yield each, kind
        pending.clear()
    # Names without a type come last.
    for each in pending:
        yield each, "object"


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
        sections = _sections(read(text))
        missing = {":objects", ":init", ":goal"} - sections.keys()
        if missing:
            raise UnreadableError(f"it has no {' and no '.join(sorted(missing))}")
        if len(sections[":goal"]) != 1:
            raise UnreadableError("its goal is not one condition")
        types = dict(typed(sections[":objects"]))
        facts: set[Fact] = set()
        for entry in sections[":init"]:
            fact = _fact(entry)
            if fact is None:
                continue
            undeclared = _first_undeclared(fact, types)
            if undeclared:
                raise UnreadableError(f"{undeclared} is not declared, but used in ({' '.join(fact)})")
            facts.add(fact)
        return cls(types, frozenset(facts), sections[":goal"][0])


def _sections(tree: Tree) -> dict[str, list[Tree]]:
    """Return the contents of a problem's sections by their names, such as `:init`."""
    sections: dict[str, list[Tree]] = {}
    for part in tree[1:]:
        match part:
            case [str(name), *rest] if name not in sections:
                sections[name] = rest
                continue
        first: Tree = ""
        if part:
            first = part[0]
        raise UnreadableError(f"it has more than one section {first}")
    return sections


def _fact(entry: Tree) -> Fact | None:
    """Return a fact at the start; None for a number, and for what does not hold."""
    match entry:
        case ["=" | "not", *_]:
            return None
        case [_, *_] if all(isinstance(part, str) for part in entry):
            return tuple(str(part) for part in entry)
    raise UnreadableError("a fact at the start is not a plain list of names")


def _first_undeclared(fact: Fact, types: Mapping[str, str]) -> str | None:
    """Return the first argument of a fact that is not declared; None if all are."""
    for name in fact[1:]:
        if name not in types:
            return name
    return None


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
                if isinstance(ground, bool):
                    return not ground
                return lambda facts: not ground(facts)
            case ["exists", list() as declared, body]:
                bindings = self._bindings(list(typed(declared)), self._guides(body), env)
                return self._joined("or", (self._ground(body, found) for found in bindings))
            # All fulfil a condition if none violates it.
            case ["forall", list() as declared, body]:
                return self._ground(["not", ["exists", declared, ["not", body]]], env)
            case [str(), *words] if all(isinstance(word, str) for word in words):
                return self._literal(tuple(env.get(str(word), str(word)) for word in tree))
        raise UnreadableError(f"its goal contains {tree!r}, which is not a supported condition")

    def _joined(self, word: str, parts: Iterator[bool | Condition]) -> bool | Condition:
        """Join conditions, without those that are decided."""
        # One true part decides an "or", and one false part an "and".
        decisive = word == "or"
        kept: list[Condition] = []
        for part in parts:
            if not isinstance(part, bool):
                kept.append(part)
            elif part == decisive:
                return decisive
        if not kept:
            return not decisive
        if decisive:
            return lambda facts: any(holds(facts) for holds in kept)
        return lambda facts: all(holds(facts) for holds in kept)

    def _literal(self, fact: Fact) -> bool | Condition:
        predicate = fact[0]
        said = f"its goal contains ({' '.join(fact)})"
        expected = self.predicates.get(predicate)
        if predicate == "=":
            expected = ("object", "object")
        if expected is None:
            raise UnreadableError(f"{said}, and the native engine knows no predicate {predicate}")
        if len(fact) != len(expected) + 1:
            raise UnreadableError(f"{said}, and {predicate} takes {len(expected)} arguments")
        undeclared = _first_undeclared(fact, self.problem.types)
        if undeclared:
            raise UnreadableError(f"{said}, and {undeclared} is not declared")
        if predicate == "=":
            return fact[1] == fact[2]
        if predicate in self.changing:
            return lambda facts: fact in facts
        return fact in self.problem.facts

    def _guides(self, body: Tree) -> list[Fact]:
        """Return the permanent facts that are necessary for a condition, with their variables."""
        match body:
            case ["and", *parts]:
                guides: list[Fact] = []
                for part in parts:
                    guides += self._guides(part)
                return guides
            case ["exists", _, inner]:
                return self._guides(inner)
            case [str(name), *_] if name in self.predicates and name not in self.changing:
                return [tuple(str(word) for word in body)]
        return []

    def _bindings(
        self, names: list[tuple[str, str]], guides: list[Fact], env: dict[str, str]
    ) -> Iterator[dict[str, str]]:
        """Yield the bindings of the names under which the guides hold."""
        if not names:
            yield env
            return
        name, kind = names[0]
        about = [guide for guide in guides if name in guide]
        for value, its_kind in self.problem.types.items():
            if kind not in ("object", its_kind):
                continue
            found = env.copy()
            found[name] = value
            # Checked after each name: all combinations of all names would take minutes.
            if self._may_hold(about, found):
                yield from self._bindings(names[1:], guides, found)

    def _may_hold(self, guides: list[Fact], env: dict[str, str]) -> bool:
        """Return whether permanent facts hold, as far as their variables are bound."""
        for guide in guides:
            fact = tuple(env.get(word, word) for word in guide)
            is_bound = not any(word.startswith("?") for word in fact)
            if is_bound and fact not in self.problem.facts:
                return False
        return True
