"""The model of an invented country: provinces, rivers, towns, people, works and prizes."""

from dataclasses import dataclass, field
from functools import partial

from langgraph_reflexion.files import own_table

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
