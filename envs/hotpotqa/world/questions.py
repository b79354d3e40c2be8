"""Questions over an invented country, each with the two pages that answer it."""

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import combinations, cycle
from random import Random
from typing import Any, NamedTuple

from langgraph_reflexion.envs.hotpotqa.pages import Page
from langgraph_reflexion.envs.hotpotqa.questions import Question
from langgraph_reflexion.envs.hotpotqa.world.generator import draw_country
from langgraph_reflexion.envs.hotpotqa.world.model import Country, Person, Thing, Work, words
from langgraph_reflexion.envs.hotpotqa.world.pages import in_sentence, write_pages

OWN = 48
"""How many questions there are over a country: two bridge questions to a comparison."""


class World(NamedTuple):
    """A country's pages, and the questions over them."""

    pages: tuple[Page, ...]
    questions: tuple[Question, ...]


class QuestionDraft(NamedTuple):
    """What one question of a kind could be."""

    values: dict[str, Any]
    answer: str
    pages: tuple[Thing, Thing]


@lru_cache(8)
def own_world(seed: int) -> World:
    """The project's own questions and pages.

    Args:
        seed: Another seed gives another country, with other names.
    """
    country = draw_country(seed)
    return World(tuple(write_pages(country, seed)), tuple(_questions(country, seed)))


def _questions(country: Country, seed: int) -> Iterator[Question]:
    random = Random(f"hotpotqa questions {seed}")
    shuffled = {kind: sorted(make(country), key=lambda _: random.random()) for kind, make in KINDS.items()}
    left = {kind: [each for each in all_ if not gives_away(kind, each)] for kind, all_ in shuffled.items()}
    bridge, comparison = cycle(words()["bridge"]), cycle(words()["comparison"])
    # Of the questions to which yes or no is the answer, every other one has either.
    wanted, unwanted = "yes", "no"
    for index in range(OWN):
        type_ = "comparison" if index % 3 == 1 else "bridge"
        kind = next(comparison if type_ == "comparison" else bridge)
        asked = next((each for each in left[kind] if each.answer != unwanted), left[kind][0])
        left[kind].remove(asked)
        if asked.answer == wanted:
            wanted, unwanted = unwanted, wanted
        yield question_of(f"own/s{seed}/{index:03d}-{kind}", kind, asked)


def question_of(id_: str, kind: str, asked: QuestionDraft) -> Question:
    """Put a question into words.

    Args:
        id_: The question's id.
        kind: One of `KINDS`.
        asked: What is asked.
    """
    type_ = "bridge" if kind in words()["bridge"] else "comparison"
    return Question(
        id=id_,
        text=words()[type_][kind].format_map(asked.values),
        answer=asked.answer,
        type=type_,
        supporting=tuple(thing.title for thing in asked.pages),
    )


def gives_away(kind: str, asked: QuestionDraft) -> bool:
    """Whether a bridge question gives its answer away: works are named after towns."""
    return kind in words()["bridge"] and asked.answer in str(asked.values)


def _birthplace(country: Country) -> Iterator[QuestionDraft]:
    for work in country.works:
        yield QuestionDraft(_named(work), work.maker.town.name, (work, work.maker))


def _birthplace_river(country: Country) -> Iterator[QuestionDraft]:
    for person in country.people:
        yield QuestionDraft(_called(person), person.town.river.name, (person, person.town))


def _river_length(country: Country) -> Iterator[QuestionDraft]:
    for town in country.towns:
        yield QuestionDraft({"town": in_sentence(town)}, str(town.river.length), (town, town.river))


def _namesake_birth(country: Country) -> Iterator[QuestionDraft]:
    for prize in country.prizes:
        yield QuestionDraft({"prize": prize.name}, str(prize.namesake.born), (prize, prize.namesake))


def _maker_prize(country: Country) -> Iterator[QuestionDraft]:
    for work in country.works:
        if work.maker.prize:
            yield QuestionDraft(_named(work), work.maker.prize[0].name, (work, work.maker))


def _maker_teacher(country: Country) -> Iterator[QuestionDraft]:
    for work in country.works:
        if work.maker.teacher:
            yield QuestionDraft(_named(work), work.maker.teacher.name, (work, work.maker))


def _setting_river(country: Country) -> Iterator[QuestionDraft]:
    for work in country.works:
        yield QuestionDraft(_named(work), work.place.river.name, (work, work.place))


def _capital(country: Country) -> Iterator[QuestionDraft]:
    for town in country.towns:
        capital = town.province.capital
        # For one of two towns of a name, the question would have to tell the province.
        if capital is not None and capital is not town and town.name == town.title:
            yield QuestionDraft({"town": town.name}, capital.name, (town, town.province))


def _older(country: Country) -> Iterator[QuestionDraft]:
    for one, other in combinations(country.people, 2):
        if one.name != other.name:
            yield QuestionDraft(_called(one, other), min(one, other, key=lambda p: p.born).name, (one, other))


def _longer(country: Country) -> Iterator[QuestionDraft]:
    for one, other in combinations(country.rivers, 2):
        answer = max(one, other, key=lambda river: river.length).name
        yield QuestionDraft({"river": one.name, "other": other.name}, answer, (one, other))


def _same_town(country: Country) -> Iterator[QuestionDraft]:
    for one, other in combinations(country.people, 2):
        if one.name != other.name and (one.town is other.town or one.town.name != other.town.name):
            yield QuestionDraft(_called(one, other), _yes(one.town is other.town), (one, other))


def _same_river(country: Country) -> Iterator[QuestionDraft]:
    for one, other in combinations(country.towns, 2):
        values = {"town": in_sentence(one), "other": in_sentence(other)}
        yield QuestionDraft(values, _yes(one.river is other.river), (one, other))


def _first_work(country: Country) -> Iterator[QuestionDraft]:
    for one, other in combinations(country.works, 2):
        if one.name != other.name and one.year != other.year:
            yield QuestionDraft(_named(one, other), min(one, other, key=lambda work: work.year).name, (one, other))


def _same_maker(country: Country) -> Iterator[QuestionDraft]:
    for one, other in combinations(country.works, 2):
        if one.name != other.name:
            yield QuestionDraft(_named(one, other), _yes(one.maker is other.maker), (one, other))


def _called(person: Person, other: Person | None = None) -> dict[str, Any]:
    values = {"calling": person.calling, "person": person.name}
    return values | ({"other_calling": other.calling, "other": other.name} if other else {})


def _named(work: Work, other: Work | None = None) -> dict[str, Any]:
    values = {"calling": work.maker.calling, "form": work.form, "work": work.name}
    return values | ({"other_form": other.form, "other": other.name} if other else {})


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"


KINDS: dict[str, Callable[[Country], Iterator[QuestionDraft]]] = {
    "birthplace": _birthplace,
    "birthplace_river": _birthplace_river,
    "river_length": _river_length,
    "namesake_birth": _namesake_birth,
    "maker_prize": _maker_prize,
    "maker_teacher": _maker_teacher,
    "setting_river": _setting_river,
    "capital": _capital,
    "older": _older,
    "longer": _longer,
    "same_town": _same_town,
    "same_river": _same_river,
    "first_work": _first_work,
    "same_maker": _same_maker,
}
"""What can be asked: every question of a kind that there is over a country."""
