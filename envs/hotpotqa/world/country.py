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
        things: list[Thing] = []
        for some in (self.provinces, self.rivers, self.towns, self.people, self.works, self.prizes):
            things.extend(some)
        return things


def write_pages(country: Country, seed: int) -> list[Page]:
    """Return the page of each thing, with extra facts and an order that depend on the seed."""
    random = Random(f"hotpotqa pages {seed}")
    return [_page(thing, country, random) for thing in country.things]


def in_sentence(town: Town) -> str:
    """Return a town's name in a sentence, with its province if the name is ambiguous."""
    if town.name == town.title:
        return town.name
    return f"{town.name} in the province of {town.province.name}"


def _page(thing: Thing, country: Country, random: Random) -> Page:
    template = words()[type(thing).__name__.lower()]
    known = _known(thing)
    first = template["first"]
    # A person with a longer name in the title.
    if known.get("full", thing.name) != thing.name:
        first = template["first_known"]
    # Without sentences about a teacher, a prize, ... that the thing does not have.
    facts = [fact for fact in template["facts"] if _is_known(fact, known)]
    count = random.randint(4, 6)
    facts += random.sample(template["also"], count)
    random.shuffle(facts)
    # The concatenation of the sentences is the page's text.
    sentences = [_filled(first, known, country, random)]
    for fact in facts:
        sentences.append(" " + _filled(fact, known, country, random))
    return Page(thing.title, tuple(sentences))


def _filled(sentence: str, known: dict[str, Any], country: Country, random: Random) -> str:
    """Return a sentence with what is known of its thing, which goes before trivia of the same name."""
    values = _trivia(country, random)
    values.update(known)
    return sentence.format_map(values)


def _trivia(country: Country, random: Random) -> dict[str, Any]:
    return {
        "other": random.choice(country.towns).name,
        "year": random.randint(1700, 1940),
        "later": random.randint(1980, 2010),
        "count": random.randint(3, 40),
    }


def _a(noun: str) -> str:
    if noun[0] in "aeiou":
        return f"an {noun}"
    return f"a {noun}"


def _is_known(fact: str, known: dict[str, Any]) -> bool:
    try:
        fact.format_map(known)
    except KeyError:
        return False
    return True


def _known(thing: Thing) -> dict[str, Any]:
    """Return the values for sentences about a thing: its attributes, and some of those of related things."""
    # A value that it lacks has no entry: `_page` leaves out the sentences that need it.
    known: dict[str, Any] = {}
    for name, value in vars(thing).items():
        if isinstance(value, Thing):
            known[name] = value.name
        elif value is not None:
            known[name] = value
    match thing:
        case Person():
            known["a_calling"] = _a(thing.calling)
            known["province"] = thing.town.province.name
            if thing.teacher:
                known["teacher_calling"] = thing.teacher.calling
            if thing.works:
                last = max(thing.works, key=lambda work: work.year)
                known["form"] = last.form
                known["work"] = last.name
        case Work():
            known["a_form"] = _a(thing.form)
            known["calling"] = thing.maker.calling
            known["done"] = words()["choices"]["done"][thing.form]
            known["place"] = in_sentence(thing.place)
        case Prize():
            known["calling"] = thing.namesake.calling
    return known
