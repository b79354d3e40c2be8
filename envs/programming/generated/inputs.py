"""Arguments of generated functions: plain ones, and ones on which a hasty reading goes wrong."""

from random import Random
from typing import Any

from langgraph_reflexion.envs.programming.generated.pipeline import Pipeline

_NUMBERS = range(-6, 15)
_SIZES = {"digits": (100, 99999), "count_to": (5, 12), "divisors": (12, 60)}


class Inputs:
    """Draws arguments of a function."""

    def __init__(self, pipeline: Pipeline, random: Random) -> None:
        self.pipeline = pipeline
        self.random = random
        self.operations = {step.operation.name for step in pipeline.steps}

    def plain(self) -> list[Any]:
        """Draw arguments for an example."""
        limit = self._limit()
        return self._with_limit(self._value(limit), limit)

    def tricky(self) -> list[list[Any]]:
        """Draw arguments that no example has: empty ones, a single element, and boundary values."""
        nothing: dict[str, list[Any]] = {"numbers": [[]], "words": [[]], "text": ["", "  "], "number": [0, -12, 1]}
        drawn = [self._with_limit(value, self._limit()) for value in nothing[self.pipeline.source]]
        for count in (1, 2, 2, 3):
            limit = self._limit()
            drawn.append(self._with_limit(self._tempting(limit, count), limit))
        limit = self._limit()
        drawn.append(self._with_limit(self._short(limit), limit))
        return drawn

    def _limit(self) -> int:
        step = self.pipeline.argument
        return self.random.choice(step.operation.constants) if step else 0

    def _with_limit(self, value: Any, limit: int) -> list[Any]:
        return [value, limit] if self.pipeline.argument else [value]

    def _value(self, limit: int) -> Any:
        match self.pipeline.source:
            case "numbers":
                return self._numbers(limit)
            case "words":
                return self._words()
            case "text":
                return " ".join(self._words())
            case _:
                sizes = next(_SIZES[name] for name in self.operations if name in _SIZES)
                return self.random.randint(*sizes)

    def _numbers(self, limit: int) -> list[int]:
        avoided = self._elements(limit)
        pool = [n for n in self.random.sample(_NUMBERS, 9) if n not in avoided]
        return self.random.choices(pool, k=self.random.randint(5, 8))

    def _words(self) -> list[str]:
        avoided = {len(each) for each in self._elements(0)} if self._by_length() else set()
        words = [word for word in (self._word() for _ in range(12)) if len(word) not in avoided]
        pool = words[: self.random.randint(4, 5)]
        return [*pool, self.random.choice(pool)] if "unique" in self.operations else pool

    def _word(self) -> str:
        syllables = self.random.randint(1, 3)
        word = "".join(self.random.choice("bdfgklmnprst") + self.random.choice("aeiou") for _ in range(syllables))
        word = self.random.choice(["", "", self.random.choice("aeiou")]) + word
        word += self.random.choice(["", "n", "s", "rt"])
        capital = "lower" in self.operations and word[0] not in "aeiou" and self.random.random() < 0.5
        return word.capitalize() if capital else word

    def _by_length(self) -> bool:
        return bool({"longer", "brief"} & self.operations)

    def _elements(self, limit: int) -> list[Any]:
        """Return the elements that examples avoid."""
        return [
            each
            for step in self.pipeline.steps
            for each in step.operation.tempting(limit if step.argument else step.constant)
        ]

    def _tempting(self, limit: int, count: int) -> Any:
        value, elements = self._value(limit), self._elements(limit)
        if self.pipeline.source == "number":
            near = [each for each in elements if isinstance(each, int)]
            return self.random.choice(near) if near else value
        fitting = int if self.pipeline.source == "numbers" else str
        chosen = [each for each in elements if isinstance(each, fitting)]
        if not chosen:
            return value
        parts: list[Any] = value.split() if isinstance(value, str) else value
        for _ in range(count):
            parts.insert(self.random.randint(0, len(parts)), self.random.choice(chosen))
        return " ".join(parts) if isinstance(value, str) else parts

    def _short(self, limit: int) -> Any:
        value = self._value(limit)
        if isinstance(value, str):
            return value.split()[0]
        return value[:1] if isinstance(value, list) else value
