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


_KINDS = [*_BRIDGES, *_COMPARISONS]


class World(NamedTuple):
    """A country's pages and questions."""

    pages: tuple[Page, ...]
    questions: tuple[Question, ...]


class _Draft(NamedTuple):
    """A question that may be asked: its words, its answer, and the things on whose pages it is found."""

    kind: str
    values: dict[str, Any]
    answer: str
    pages: tuple[Thing, Thing]

    @property
    def topics(self) -> tuple[Thing, ...]:
        """The things that the question names."""
        # A bridge question does not name its second page.
        if self.kind in _BRIDGES:
            return self.pages[:1]
        return self.pages

    @property
    def gives_itself_away(self) -> bool:
        """Whether a bridge question contains its answer: works are named after towns."""
        return self.kind in _BRIDGES and self.answer in str(self.values)


@lru_cache(8)
def own_world(seed: int) -> World:
    """Return the questions and pages of a seed's country."""
    country = draw_country(seed)
    pages = write_pages(country, seed)
    questions = _questions(country, seed)
    return World(tuple(pages), tuple(questions))


@lru_cache(8)
def topic_questions(split: str, seed: int) -> tuple[Question, ...]:
    """Return the questions of a split, topics in turn.

    The two splits have different questions about the same topics (a work, a person, a town), so that lessons about a
    page can transfer.

    Args:
        split: One of `TOPIC_SPLITS`.
        seed: The seed of the country.
    """
    country = draw_country(seed)
    random = Random(f"hotpotqa topics {seed}")
    about = _by_topic(country, random)
    half = TOPIC_SPLITS.index(split)
    # By their ids, as drafts hold dicts.
    used: set[int] = set()
    topics: list[list[Question]] = []
    for thing in random.sample(country.things, len(country.things)):
        # A comparison of two topics belongs to the first.
        left = [draft for draft in about[thing] if id(draft) not in used]
        if len(left) < 2 * QUESTIONS:
            continue
        chosen = random.sample(left, 2 * QUESTIONS)
        used.update(id(draft) for draft in chosen)
        questions = []
        for turn, draft in enumerate(chosen[half::2]):
            number = TOPICS * turn + len(topics)
            questions.append(_question(f"{split}/s{seed}/{number:03d}-{draft.kind}", draft))
        topics.append(questions)
        if len(topics) == TOPICS:
            break
    in_turn: list[Question] = []
    for turns in zip(*topics, strict=True):
        in_turn.extend(turns)
    return tuple(in_turn)


def _by_topic(country: Country, random: Random) -> dict[Thing, list[_Draft]]:
    """Return questions by the things that they are about, with a few of each kind."""
    about: dict[Thing, list[_Draft]] = defaultdict(list)
    for kind in _KINDS:
        alike: dict[Thing, list[_Draft]] = defaultdict(list)
        for draft in _drafts(kind, country):
            if draft.gives_itself_away:
                continue
            for thing in draft.topics:
                alike[thing].append(draft)
        for thing, possible in alike.items():
            count = min(ALIKE, len(possible))
            about[thing] += random.sample(possible, count)
    return about


def _questions(country: Country, seed: int) -> Iterator[Question]:
    random = Random(f"hotpotqa questions {seed}")
    left: dict[str, list[_Draft]] = {}
    for kind in _KINDS:
        shuffled = sorted(_drafts(kind, country), key=lambda draft: random.random())
        left[kind] = [draft for draft in shuffled if not draft.gives_itself_away]
    bridges = cycle(_BRIDGES)
    comparisons = cycle(_COMPARISONS)
    # The answers yes and no alternate.
    wanted, unwanted = "yes", "no"
    for index in range(OWN):
        if index % 3 == 1:
            kind = next(comparisons)
        else:
            kind = next(bridges)
        draft = _first_without(unwanted, left[kind])
        left[kind].remove(draft)
        if draft.answer == wanted:
            wanted, unwanted = unwanted, wanted
        yield _question(f"own/s{seed}/{index:03d}-{kind}", draft)


def _first_without(answer: str, drafts: list[_Draft]) -> _Draft:
    """Return the first draft with another answer, or else the first one."""
    for draft in drafts:
        if draft.answer != answer:
            return draft
    return drafts[0]


def _question(id_: str, draft: _Draft) -> Question:
    table = "comparison"
    if draft.kind in _BRIDGES:
        table = "bridge"
    template = words()[table][draft.kind]
    supporting = tuple(thing.title for thing in draft.pages)
    return Question(id_, template.format_map(draft.values), draft.answer, supporting)


def _drafts(kind: str, country: Country) -> Iterator[_Draft]:
    if kind in _BRIDGES:
        return _bridges(kind, country)
    return _comparisons(kind, country)


def _bridges(kind: str, country: Country) -> Iterator[_Draft]:
    things, to, path = _BRIDGES[kind]
    for thing in getattr(country, things):
        other = getattr(thing, to)
        answer = other
        for name in path.split("."):
            answer = getattr(answer, name, None)
        if answer is None:
            continue
        # The name of a town that shares it does not identify the province.
        if kind == "capital" and (thing.name != thing.title or answer == thing.name):
            continue
        yield _Draft(kind, described(thing), str(answer), (thing, other))


def _comparisons(kind: str, country: Country) -> Iterator[_Draft]:
    things, by, pick = _COMPARISONS[kind]
    for one, other in combinations(getattr(country, things), 2):
        this, that = getattr(one, by), getattr(other, by)
        # No question can distinguish namesakes, or things of which neither is the first.
        if _named(one) == _named(other) or (pick and this == that):
            continue
        # Nor towns of the same name.
        if kind == "same_town" and this is not that and this.name == that.name:
            continue
        if pick:
            answer = pick(one, other, key=attrgetter(by)).name
        elif this is that:
            answer = "yes"
        else:
            answer = "no"
        yield _Draft(kind, _both(one, other), answer, (one, other))


def _both(one: Thing, other: Thing) -> dict[str, Any]:
    """Return the words of a question about two things."""
    values = described(one)
    values["other"] = _named(other)
    for name, value in described(other).items():
        values[f"other_{name}"] = value
    return values


def _named(thing: Thing) -> Any:
    """Return how a question calls a thing."""
    *_, name = described(thing).values()
    return name


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
