"""The pages of an invented country: what is told of each thing, in what order."""

from random import Random
from typing import Any

from langgraph_reflexion.envs.hotpotqa.pages import Page
from langgraph_reflexion.envs.hotpotqa.world.model import (
    Country,
    Person,
    Prize,
    Province,
    River,
    Thing,
    Town,
    Work,
    words,
)


def write_pages(country: Country, seed: int) -> list[Page]:
    """The page of every thing.

    Args:
        country: What is told of.
        seed: Draws what else is told, and the order.
    """
    random = Random(f"hotpotqa pages {seed}")
    return [_page(thing, country, random) for thing in country.things]


def in_sentence(town: Town) -> str:
    """A town in the middle of a sentence: with the province where two bear the name."""
    return town.name if town.name == town.title else f"{town.name} in the province of {town.province.name}"


def _page(thing: Thing, country: Country, random: Random) -> Page:
    kind = type(thing).__name__.lower()
    template = words()[kind]
    known = _known(thing)
    first = template["first_known" if known.get("full", thing.name) != thing.name else "first"]
    also = random.sample(template["also"], random.randint(4, 6))
    # A sentence that speaks of what there is not (a teacher, a prize) is left out.
    facts = [fact for fact in template["facts"] if _can_be_told(fact, known)]
    told = [*facts, *also]
    random.shuffle(told)
    lines = [sentence.format_map(_trivia(country, random) | known) for sentence in [first, *told]]
    return Page(thing.title, (lines[0], *(f" {line}" for line in lines[1:])))


def _trivia(country: Country, random: Random) -> dict[str, Any]:
    return {
        "other": random.choice(country.towns).name,
        "year": random.randint(1700, 1940),
        "later": random.randint(1980, 2010),
        "count": random.randint(3, 40),
    }


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _can_be_told(fact: str, known: dict[str, Any]) -> bool:
    try:
        fact.format_map(known)
    except KeyError:
        return False
    return True


def _known(thing: Thing) -> dict[str, Any]:
    match thing:
        case Province():
            assert thing.capital is not None
            about: dict[str, Any] = {"direction": thing.direction, "capital": thing.capital.name}
            return {"name": thing.name, "founded": thing.founded, **about}
        case River():
            about = {"province": thing.province.name, "length": thing.length, "hill": thing.hill}
            return {"name": thing.name, **about}
        case Town():
            about = {"province": thing.province.name, "river": thing.river.name, "trade": thing.trade}
            return {"name": thing.name, "founded": thing.founded, **about}
        case Person():
            return _of_person(thing)
        case Work():
            about = {"a_form": _a(thing.form), "calling": thing.maker.calling, "maker": thing.maker.name}
            done = words()["choices"]["done"][thing.form]
            return {"name": thing.name, "year": thing.year, "done": done, "place": in_sentence(thing.place), **about}
        case Prize():
            about = {"field": thing.field, "calling": thing.namesake.calling, "namesake": thing.namesake.name}
            return {"name": thing.name, "founded": thing.founded, "town": thing.town.name, **about}
    raise TypeError(f"nothing is told of a {type(thing).__name__}")


def _of_person(person: Person) -> dict[str, Any]:
    known: dict[str, Any] = {
        "name": person.name,
        "full": person.full,
        "family": person.family,
        "a_calling": _a(person.calling),
        "born": person.born,
        "died": person.died,
        "town": person.town.name,
        "province": person.town.province.name,
    }
    if person.teacher:
        known |= {"teacher": person.teacher.name, "teacher_calling": person.teacher.calling}
    if person.prize:
        known |= {"prize": person.prize[0].name, "prize_year": person.prize[1]}
    if person.works:
        last = max(person.works, key=lambda work: work.year)
        known |= {"form": last.form, "work": last.name}
    return known
