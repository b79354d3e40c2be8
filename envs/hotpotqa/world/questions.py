"""Questions over an invented country, each with the two pages that answer it."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import combinations, cycle
from operator import attrgetter
from random import Random
from typing import Any, NamedTuple

from langgraph_reflexion.envs.hotpotqa.pages import Page
from langgraph_reflexion.envs.hotpotqa.questions import Question
from langgraph_reflexion.envs.hotpotqa.world.country import (
    Country,
    Person,
    Thing,
    Town,
    Work,
    in_sentence,
    words,
    write_pages,
)
from langgraph_reflexion.envs.hotpotqa.world.generator import draw_country

OWN = 48
"""Number of questions of a country: two bridge questions for each comparison."""
TOPIC_SPLITS = ("topics-train", "topics-test")
"""The splits with shared topics."""
TOPICS, QUESTIONS = 12, 4
"""Number of topics, and of questions about each in each split."""
ALIKE = 3
"""Maximum number of questions of one kind about a topic."""

# By kind: the things asked about, and the attributes that lead to the second page and to the answer.
_BRIDGES = {
    "birthplace": ("works", "maker", "town.name"),
    "birthplace_river": ("people", "town", "river.name"),
    "river_length": ("towns", "river", "length"),
    "namesake_birth": ("prizes", "namesake", "born"),
    "maker_prize": ("works", "maker", "prize.name"),
    "maker_teacher": ("works", "maker", "teacher.name"),
    "setting_river": ("works", "place", "river.name"),
    "capital": ("towns", "province", "capital.name"),
}
# By kind: the things compared, the attribute, and the function that picks the answer; None for yes or no.
_COMPARISONS: dict[str, tuple[str, str, Callable[..., Thing] | None]] = {
    "older": ("people", "born", min),
    "longer": ("rivers", "length", max),
    "same_town": ("people", "town", None),
    "same_river": ("towns", "river", None),
    "first_work": ("works", "year", min),
    "same_maker": ("works", "maker", None),
}


class World(NamedTuple):
    """A country's pages and questions."""

    pages: tuple[Page, ...]
    questions: tuple[Question, ...]


class _Draft(NamedTuple):
    values: dict[str, Any]
    answer: str
    pages: tuple[Thing, Thing]


@lru_cache(8)
def own_world(seed: int) -> World:
    """Return the questions and pages of a seed's country."""
    country = draw_country(seed)
    return World(tuple(write_pages(country, seed)), tuple(_questions(country, seed)))


@lru_cache(8)
def topic_questions(split: str, seed: int) -> tuple[Question, ...]:
    """Return the questions of a split, topics in turn.

    The two splits have different questions about the same topics (a work, a person, a town), so that lessons about a
    page can transfer.

    Args:
        split: One of `TOPIC_SPLITS`.
        seed: The seed of the country.
    """
    country, random = draw_country(seed), Random(f"hotpotqa topics {seed}")
    about: dict[Thing, list[tuple[str, _Draft]]] = defaultdict(list)
    for kind in (*_BRIDGES, *_COMPARISONS):
        alike: dict[Thing, list[_Draft]] = defaultdict(list)
        for asked in _drafts(kind, country):
            # A bridge question does not name its second page, which therefore is not its topic.
            for thing in () if _gives_away(kind, asked) else asked.pages[: 1 if kind in _BRIDGES else 2]:
                alike[thing].append(asked)
        for thing, possible in alike.items():
            about[thing] += [(kind, asked) for asked in random.sample(possible, min(ALIKE, len(possible)))]
    half = TOPIC_SPLITS.index(split)
    used, questions = set[int](), list[list[Question]]()
    for thing in random.sample(country.things, len(country.things)):
        # A comparison of two topics belongs to the first.
        left = [(kind, asked) for kind, asked in about[thing] if id(asked) not in used]
        if len(left) < 2 * QUESTIONS or len(questions) == TOPICS:
            continue
        chosen = random.sample(left, 2 * QUESTIONS)
        used |= {id(asked) for _, asked in chosen}
        questions.append(
            [
                _question(f"{split}/s{seed}/{TOPICS * turn + len(questions):03d}-{kind}", kind, asked)
                for turn, (kind, asked) in enumerate(chosen[half::2])
            ]
        )
    return tuple(question for turn in zip(*questions, strict=True) for question in turn)


def _questions(country: Country, seed: int) -> Iterator[Question]:
    random = Random(f"hotpotqa questions {seed}")
    kinds = (*_BRIDGES, *_COMPARISONS)
    shuffled = {kind: sorted(_drafts(kind, country), key=lambda _: random.random()) for kind in kinds}
    left = {kind: [each for each in all_ if not _gives_away(kind, each)] for kind, all_ in shuffled.items()}
    bridge, comparison = cycle(_BRIDGES), cycle(_COMPARISONS)
    # The answers yes and no alternate.
    wanted, unwanted = "yes", "no"
    for index in range(OWN):
        kind = next(comparison if index % 3 == 1 else bridge)
        asked = next((each for each in left[kind] if each.answer != unwanted), left[kind][0])
        left[kind].remove(asked)
        if asked.answer == wanted:
            wanted, unwanted = unwanted, wanted
        yield _question(f"own/s{seed}/{index:03d}-{kind}", kind, asked)


def _question(id_: str, kind: str, asked: _Draft) -> Question:
    asks = words()["bridge" if kind in _BRIDGES else "comparison"][kind]
    text, supporting = asks.format_map(asked.values), tuple(thing.title for thing in asked.pages)
    return Question(id_, text, asked.answer, supporting)


def _gives_away(kind: str, asked: _Draft) -> bool:
    """Return whether a bridge question gives its answer away: works are named after towns."""
    return kind in _BRIDGES and asked.answer in str(asked.values)


def _drafts(kind: str, country: Country) -> Iterator[_Draft]:
    return _bridges(kind, country) if kind in _BRIDGES else _comparisons(kind, country)


def _bridges(kind: str, country: Country) -> Iterator[_Draft]:
    things, to, path = _BRIDGES[kind]
    for thing in getattr(country, things):
        answer = other = getattr(thing, to)
        for name in path.split("."):
            answer = getattr(answer, name, None)
        # The name of a town that shares it does not identify the province.
        ambiguous = kind == "capital" and (thing.name != thing.title or answer == thing.name)
        if answer is not None and not ambiguous:
            yield _Draft(described(thing), str(answer), (thing, other))


def _comparisons(kind: str, country: Country) -> Iterator[_Draft]:
    things, by, pick = _COMPARISONS[kind]
    for one, other in combinations(getattr(country, things), 2):
        this, that = getattr(one, by), getattr(other, by)
        *more, (_, name) = described(other).items()
        # A question cannot distinguish namesakes, or towns of the same name.
        if name in described(one).values() or (pick and this == that):
            continue
        if kind == "same_town" and this is not that and this.name == that.name:
            continue
        answer = pick(one, other, key=attrgetter(by)).name if pick else "yes" if this is that else "no"
        values = described(one) | {"other": name, **{f"other_{key}": value for key, value in more}}
        yield _Draft(values, answer, (one, other))


def described(thing: Thing) -> dict[str, Any]:
    """Return the words of a question about a thing, its name last."""
    match thing:
        case Person():
            return {"calling": thing.calling, "person": thing.name}
        case Work():
            return {"calling": thing.maker.calling, "form": thing.form, "work": thing.name}
        case Town():
            return {"town": in_sentence(thing)}
    return {type(thing).__name__.lower(): thing.name}
