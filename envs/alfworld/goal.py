"""Goals of PDDL problems, grounded so that deciding them takes a few set comparisons.

A goal is grounded when its problem is loaded: permanent facts are decided, quantifiers become lists, and only facts
that can change remain.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field

from langgraph_reflexion.envs.alfworld.pddl import Fact, Problem, Tree, UnreadableError, typed

_MAX_BINDINGS = 100_000
"""Maximum number of variable bindings tried for a goal; ALFWorld's own games take hundreds."""


@dataclass(frozen=True, slots=True)
class Goal:
    """A ground condition.

    Attributes:
        any: Whether one of its parts has to hold, instead of all.
        true: Facts that have to hold.
        false: Facts that have to be absent.
        parts: Conditions that have to hold.
    """

    any: bool = False
    true: frozenset[Fact] = frozenset()
    false: frozenset[Fact] = frozenset()
    parts: tuple[Goal, ...] = ()

    def holds(self, facts: Set[Fact]) -> bool:
        if self.any:
            return (
                not self.true.isdisjoint(facts)
                or not self.false <= facts
                or any(part.holds(facts) for part in self.parts)
            )
        return self.true <= facts and self.false.isdisjoint(facts) and all(part.holds(facts) for part in self.parts)

    def mentions(self) -> frozenset[Fact]:
        """Return the facts that the condition depends on."""
        return self.true.union(self.false, *(part.mentions() for part in self.parts))

    def negated(self) -> Goal:
        return Goal(not self.any, self.false, self.true, tuple(part.negated() for part in self.parts))


TRUE, FALSE = Goal(any=False), Goal(any=True)


def _combine(parts: list[Goal], either: bool) -> Goal:
    """Join conditions, without those that are decided."""
    neutral, deciding = (FALSE, TRUE) if either else (TRUE, FALSE)
    true: set[Fact] = set()
    false: set[Fact] = set()
    kept: list[Goal] = []
    for part in parts:
        if part == deciding:
            return deciding
        if part == neutral:
            continue
        single = not part.parts and len(part.true) + len(part.false) == 1
        if part.any == either or single:
            true |= part.true
            false |= part.false
            kept += part.parts
        else:
            kept.append(part)
    return Goal(either, frozenset(true), frozenset(false), tuple(kept))


@dataclass(slots=True)
class Grounder:
    """Grounds the goal of a problem.

    Attributes:
        problem: The problem.
        predicates: The types of the arguments of each predicate.
        changing: The predicates that actions change; all others are decided now.
        unknown: Predicates that the engine does not track; a goal about one is refused.
    """

    problem: Problem
    predicates: Mapping[str, tuple[str, ...]]
    changing: frozenset[str]
    unknown: frozenset[str] = frozenset()
    _index: dict[str, list[Fact]] = field(default_factory=dict)
    _members: dict[str, list[str]] = field(default_factory=dict)
    _left: int = _MAX_BINDINGS

    def __post_init__(self) -> None:
        for fact in self.problem.facts:
            self._index.setdefault(fact[0], []).append(fact)
        for name, kind in self.problem.types.items():
            self._members.setdefault(kind, []).append(name)
        self._members["object"] = list(self.problem.types)

    def goal(self) -> Goal:
        """Return the ground goal.

        Raises:
            UnreadableError: The goal is not a condition, names something undeclared or untracked, or has too many
                bindings.
        """
        self._check(self.problem.goal, frozenset())
        return self._ground(self.problem.goal, {})

    def _check(self, tree: Tree, names: frozenset[str]) -> None:
        """Refuse invalid conditions and undeclared predicates, types and things.

        Grounding does not find them all: it never reaches the body of a quantifier over an empty type.
        """
        match tree:
            case []:
                raise UnreadableError("its goal has an empty condition in it, ()")
            case ["and" | "or", *parts]:
                for part in parts:
                    self._check(part, names)
            case ["not", part]:
                self._check(part, names)
            case ["imply", given, then]:
                self._check(given, names)
                self._check(then, names)
            case ["exists" | "forall", list() as declared, body]:
                own = dict(typed(declared))
                known = {"object", *(kind for kinds in self.predicates.values() for kind in kinds)}
                if strange := sorted(set(own.values()) - known):
                    raise UnreadableError(f"its goal names the type {strange[0]}, and there is no such type")
                self._check(body, names.union(own))
            case [str() as predicate, *words] if all(isinstance(word, str) for word in words):
                self._check_literal(predicate, [str(word) for word in words], names)
            case _:
                raise UnreadableError(f"its goal has {tree!r} in it")

    def _check_literal(self, predicate: str, words: list[str], names: frozenset[str]) -> None:
        literal = f"({' '.join([predicate, *words])})"
        expected = ("object", "object") if predicate == "=" else self.predicates.get(predicate)
        if expected is None:
            raise UnreadableError(f"its goal has {literal} in it, and there is no predicate {predicate}")
        if len(words) != len(expected):
            raise UnreadableError(
                f"its goal has {literal} in it, and {predicate} takes {len(expected)}, not {len(words)}"
            )
        if predicate in self.unknown:
            raise UnreadableError(f"its goal depends on {predicate}, which only engine=textworld tracks")
        for word in words:
            if word.startswith("?") and word not in names:
                raise UnreadableError(f"its goal uses {word} where it is not declared")
            if word not in names and word not in self.problem.types:
                raise UnreadableError(f"its goal names {word}, which is not declared")

    def _ground(self, tree: Tree, env: dict[str, str]) -> Goal:
        match tree:
            case ["and" | "or" as word, *parts]:
                return _combine([self._ground(part, env) for part in parts], word == "or")
            case ["not", part]:
                return self._ground(part, env).negated()
            case ["imply", given, then]:
                return _combine([self._ground(given, env).negated(), self._ground(then, env)], True)
            case ["exists", list() as names, body]:
                return self._exists(*_merged(dict(typed(names)), body), env)
            case ["forall", list() as names, body]:
                return self._exists(dict(typed(names)), ["not", body], env).negated()
        return self._literal(tuple(env.get(str(word), str(word)) for word in tree))

    def _literal(self, fact: Fact) -> Goal:
        if fact[0] == "=":
            return TRUE if len(set(fact[1:])) == 1 else FALSE
        # No action changes facts about things of other types: no agent is ever opened.
        if fact[0] in self.changing and all(
            kind in ("object", self.problem.types[thing])
            for kind, thing in zip(self.predicates[fact[0]], fact[1:], strict=True)
        ):
            return Goal(true=frozenset([fact]))
        return TRUE if fact in self.problem.facts else FALSE

    def _exists(self, names: dict[str, str], body: Tree, env: dict[str, str]) -> Goal:
        for kind in names.values():
            if kind != "object" and kind not in self._members:
                return FALSE
        outer = {name: value for name, value in env.items() if name not in names}
        guides = [literal for literal in _conjuncts(body) if literal[0] in self._index and self._fixed(literal)]
        return _combine([self._ground(body, found) for found in self._bindings(names, guides, outer)], True)

    def _fixed(self, literal: list[str]) -> bool:
        return literal[0] not in self.changing and literal[0] not in self.unknown

    def _bindings(
        self, names: dict[str, str], guides: list[list[str]], env: dict[str, str]
    ) -> Iterator[dict[str, str]]:
        """Yield the bindings of the quantified names under which the permanent conditions hold.

        The condition with the most bound names goes first; names that no condition binds run over their type. Trying
        every combination would take a second for the `two` goal of a large kitchen.
        """
        self._left -= 1
        if self._left < 0:
            raise UnreadableError(
                f"its goal has more than {_MAX_BINDINGS:,} combinations of things; engine=textworld may play it"
            )
        if not guides:
            free = next((name for name in names if name not in env), None)
            if free is None:
                yield env
            else:
                for value in self._members.get(names[free], ()):
                    yield from self._bindings(names, guides, {**env, free: value})
            return
        best = max(guides, key=lambda literal: sum(word in env or word[0] != "?" for word in literal))
        others = [literal for literal in guides if literal is not best]
        for fact in self._index.get(best[0], ()):
            if (found := self._match(best, fact, names, env)) is not None:
                yield from self._bindings(names, others, found)

    def _match(
        self, literal: list[str], fact: Fact, names: dict[str, str], env: dict[str, str]
    ) -> dict[str, str] | None:
        if len(literal) != len(fact):
            return None
        found = env
        for word, value in zip(literal, fact, strict=True):
            known = found.get(word, word)
            if known == value:
                continue
            if known[0] != "?" or names.get(word) not in ("object", self.problem.types[value]):
                return None
            found = {**found, word: value}
        return found


def _merged(names: dict[str, str], body: Tree) -> tuple[dict[str, str], Tree]:
    """Merge nested quantifiers, so that a condition in the inner one can guide the outer one."""
    match body:
        case ["and", inner]:
            return _merged(names, inner)
        case ["exists", list() as more, inner] if names.keys().isdisjoint(added := dict(typed(more))):
            return _merged({**names, **added}, inner)
    return names, body


def _conjuncts(tree: Tree) -> Iterator[list[str]]:
    """Yield the literals that are necessary for a condition."""
    match tree:
        case ["and", *parts]:
            for part in parts:
                yield from _conjuncts(part)
        case ["not" | "or" | "imply" | "exists" | "forall" | "=", *_]:
            return
        case [str(), *_] if all(isinstance(word, str) for word in tree):
            yield [str(word) for word in tree]
