"""An invented country: provinces, rivers, towns, people, works and prizes, with the facts on the page of each."""

from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from langgraph_reflexion.envs.hotpotqa.pages import Page
from langgraph_reflexion.support.files import own_table

words = partial(own_table, __file__, "world.toml")
"""Returns the contents of `world.toml`."""


@dataclass(eq=False)
class Thing:
    """A thing with a page.

    Attributes:
        name: Its name in sentences.
        title: The title of its page.
    """

    name: str
    title: str


@dataclass(eq=False)
class Province(Thing):
    """A province."""

    direction: str
    founded: int
    capital: "Town | None" = None


@dataclass(eq=False)
class River(Thing):
    """A river, with its source and its length in kilometres."""

    province: Province
    length: int
    hill: str


@dataclass(eq=False)
class Town(Thing):
    """A town."""

    province: Province
    river: River
    founded: int
    trade: str


@dataclass(eq=False)
class Person(Thing):
    """A person."""

    family: str
    full: str
    calling: str
    born: int
    died: int
    town: Town
    teacher: "Person | None" = None
    prize: "Prize | None" = None
    prize_year: int | None = None
    works: "list[Work]" = field(default_factory=list)


@dataclass(eq=False)
class Work(Thing):
    """A novel, an opera, a ballet or a play."""

    form: str
    maker: Person
    year: int
    place: Town


@dataclass(eq=False)
class Prize(Thing):
    """A prize in a field, named after somebody."""

    field: str
    namesake: Person
    founded: int
    town: Town


@dataclass(eq=False)
class Country:
    """All things of a country."""

    provinces: list[Province]
    rivers: list[River]
    towns: list[Town]
    people: list[Person]
    works: list[Work]
    prizes: list[Prize]

    @property
    def things(self) -> list[Thing]:
        """All things, in the order of their pages."""
        return [*self.provinces, *self.rivers, *self.towns, *self.people, *self.works, *self.prizes]


def write_pages(country: Country, seed: int) -> list[Page]:
    """Return the page of each thing, with extra facts and an order that depend on the seed."""
    random = Random(f"hotpotqa pages {seed}")
    return [_page(thing, country, random) for thing in country.things]


def in_sentence(town: Town) -> str:
    """Return a town's name in a sentence, with its province if the name is ambiguous."""
    return town.name if town.name == town.title else f"{town.name} in the province of {town.province.name}"


def _page(thing: Thing, country: Country, random: Random) -> Page:
    template, known = words()[type(thing).__name__.lower()], _known(thing)
    first = template["first_known" if known.get("full", thing.name) != thing.name else "first"]
    also = random.sample(template["also"], random.randint(4, 6))
    # Without sentences about a teacher, a prize, ... that the thing does not have.
    facts = [*(fact for fact in template["facts"] if _is_known(fact, known)), *also]
    random.shuffle(facts)
    lines = [sentence.format_map(_trivia(country, random) | known) for sentence in [first, *facts]]
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


def _is_known(fact: str, known: dict[str, Any]) -> bool:
    try:
        fact.format_map(known)
    except KeyError:
        return False
    return True


def _known(thing: Thing) -> dict[str, Any]:
    facts = {name: value for name, value in vars(thing).items() if value is not None}
    known = {name: value.name if isinstance(value, Thing) else value for name, value in facts.items()}
    match thing:
        case Person():
            known |= {"a_calling": _a(thing.calling), "province": thing.town.province.name}
            if thing.teacher:
                known["teacher_calling"] = thing.teacher.calling
            if thing.works:
                last = max(thing.works, key=lambda work: work.year)
                known |= {"form": last.form, "work": last.name}
        case Work():
            done = words()["choices"]["done"][thing.form]
            known |= {"a_form": _a(thing.form), "calling": thing.maker.calling, "done": done}
            known["place"] = in_sentence(thing.place)
        case Prize():
            known["calling"] = thing.namesake.calling
    return known
