"""An invented country, drawn from a seed.

All names are generated, so that no model knows them. Some are ambiguous: towns in different provinces, people of
different callings and works of different forms share a name. The pages of some people have a longer name as title.
"""

import re
from collections.abc import Callable
from random import Random

from langgraph_reflexion.envs.hotpotqa.world.country import Country, Person, Prize, Province, River, Town, Work, words

PROVINCES, RIVERS, TOWNS, PEOPLE, WORKS, PRIZES = 4, 8, 16, 40, 34, 10
"""Number of each."""
TOWN_NAMESAKES, PERSON_NAMESAKES, WORK_NAMESAKES, LONG_NAMES = 3, 4, 6, 6
"""Number of additional towns and people with the name of another, of works that share a name, and of people whose
page has a longer name as title."""


class _Names:
    """Generates unique names."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.used: set[str] = set()

    def new(self, make: Callable[[], str]) -> str:
        while (name := make()) in self.used:
            pass
        self.used.add(name)
        return name

    def word(self, *parts: str) -> str:
        return self.new(lambda: self.glued(*parts))

    def glued(self, *parts: str) -> str:
        name = "".join(self.random.choice(words()["names"][part]) for part in parts)
        return re.sub(r"(.)\1\1", r"\1\1", name)


def draw_country(seed: int) -> Country:
    """Draw the country of a seed."""
    random = Random(f"hotpotqa country {seed}")
    names = _Names(random)
    provinces = _provinces(random, names)
    rivers = _rivers(random, names, provinces)
    towns = _towns(random, names, provinces, rivers)
    for province in provinces:
        province.capital = random.choice([t for t in towns if t.province is province and t.title == t.name])
    people = _people(random, names, towns)
    works = _works(random, names, towns, people)
    prizes = _prizes(random, names, towns, people)
    return Country(provinces, rivers, towns, people, works, prizes)


def _provinces(random: Random, names: _Names) -> list[Province]:
    made = []
    for direction in random.sample(words()["choices"]["directions"], PROVINCES):
        name = names.word("province_first", "province_last")
        made.append(Province(name, name, direction, random.randint(1400, 1600)))
    return made


def _rivers(random: Random, names: _Names, provinces: list[Province]) -> list[River]:
    made = []
    for index, length in enumerate(random.sample(range(60, 640), RIVERS)):
        name = names.word("river_first", "river_last")
        hill = names.word("town_first", "hill_last")
        made.append(River(name, name, provinces[index % PROVINCES], length, hill))
    return made


def _towns(random: Random, names: _Names, provinces: list[Province], rivers: list[River]) -> list[Town]:
    made: list[Town] = []

    def add(name: str, title: str, province: Province) -> None:
        river = random.choice([r for r in rivers if r.province is province])
        trade = random.choice(words()["choices"]["trades"])
        made.append(Town(name, title, province, river, random.randint(900, 1500), trade))

    for index in range(TOWNS):
        name = names.word("town_first", "town_middle", "town_last")
        add(name, name, provinces[index % PROVINCES])
    for _ in range(TOWN_NAMESAKES):
        name = names.word("town_first", "town_middle", "town_last")
        for province in random.sample(provinces, 2):
            add(name, f"{name} ({province.name})", province)
    return made


def _people(random: Random, names: _Names, towns: list[Town]) -> list[Person]:
    makers, others = [*words()["choices"]["makers"]], words()["choices"]["others"]
    years = random.sample(range(1720, 1900), PEOPLE + PERSON_NAMESAKES)
    made: list[Person] = []
    for index, born in enumerate(years):
        # Families have up to three members, so that a family name alone is ambiguous.
        family = made[-1].family if made and index % 3 else names.word("family_first", "family_middle", "family_last")
        given = names.new(lambda: names.glued("given_first", "given_last"))
        name = f"{given} {family}"
        calling = makers[index % 4] if index % 3 else random.choice(others)
        died, town = born + random.randint(38, 90), random.choice(towns)
        full = title = name
        if index < LONG_NAMES:
            full = title = f"{given} {names.glued('given_first', 'given_last')} {family}"
        person = Person(name, title, family, full, calling, born, died, town)
        if index >= PEOPLE:
            _share_name(person, made[LONG_NAMES + 5 * (index - PEOPLE)], random)
        made.append(person)
    for person in made:
        teachers = [p for p in made if 15 <= person.born - p.born <= 60 and p.name == p.title]
        if teachers and random.random() < 0.8:
            person.teacher = random.choice(teachers)
    return made


def _share_name(person: Person, namesake: Person, random: Random) -> None:
    """Give a person the name of another, who has another calling."""
    makers = [*words()["choices"]["makers"], *words()["choices"]["others"]]
    person.calling = random.choice([calling for calling in makers if calling != namesake.calling])
    person.name = person.full = namesake.name
    person.family = namesake.family
    for each in (person, namesake):
        each.title = f"{each.name} ({each.calling})"


def _works(random: Random, names: _Names, towns: list[Town], people: list[Person]) -> list[Work]:
    choices = words()["choices"]
    makers = [person for person in people if person.calling in choices["makers"]]
    made: list[Work] = []

    def add(name: str, title: str, maker: Person) -> None:
        taken = {work.year for work in made}
        lifetime = range(maker.born + 20, maker.died + 1)
        year = random.choice([y for y in lifetime if y not in taken] or [maker.died])
        made.append(Work(name, title, choices["makers"][maker.calling], maker, year, random.choice(towns)))
        maker.works.append(made[-1])

    def title() -> str:
        word = random.choice(towns).name if random.random() < 0.5 else names.glued("river_first", "town_last")
        return str(random.choice(choices["titles"])).format(thing=random.choice(choices["things"]), word=word)

    # One work each, then more for some.
    for index in range(WORKS - WORK_NAMESAKES):
        name = names.new(title)
        add(name, name, makers[index] if index < len(makers) else random.choice(makers))
    for _ in range(WORK_NAMESAKES // 2):
        name = names.new(title)
        first = random.choice(makers)
        for maker in (first, random.choice([m for m in makers if m.calling != first.calling])):
            add(name, f"{name} ({choices['makers'][maker.calling]})", maker)
    return made


def _prizes(random: Random, names: _Names, towns: list[Town], people: list[Person]) -> list[Prize]:
    fields = random.sample(words()["choices"]["fields"], PRIZES)
    shuffled = sorted(people, key=lambda p: random.random())
    one_each = list({person.family: person for person in reversed(shuffled)}.values())[::-1]
    made = []
    for about, namesake in zip(fields, one_each, strict=False):
        name = names.new(lambda namesake=namesake: f"{namesake.family} Prize")  # type: ignore[misc]
        founded = random.randint(namesake.born + 40, namesake.died + 10)
        made.append(Prize(name, name, about, namesake, founded, random.choice(towns)))
    for person in people:
        fitting = [p for p in made if p.founded < person.died and p.namesake is not person]
        if fitting and random.random() < 0.8:
            prize = random.choice(fitting)
            year = random.randint(max(prize.founded, person.born + 18), max(prize.founded, person.died))
            person.prize, person.prize_year = prize, year
    return made
