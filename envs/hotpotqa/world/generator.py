"""An invented country, drawn from a seed.

All names are generated, so that no model knows them. Some are ambiguous: towns in different provinces, people of
different callings and works of different forms share a name. The pages of some people have a longer name as title.
"""

import re
from collections.abc import Callable
from random import Random

from langgraph_reflexion.envs.hotpotqa.world.country import Country, Person, Prize, Province, River, Town, Work, words

# The number of each, without the namesakes below.
PROVINCES = 4
RIVERS = 8
TOWNS = 16
PEOPLE = 40
WORKS = 34
PRIZES = 10

TOWN_NAMESAKES = 3
"""Number of additional pairs of towns that share a name."""
PERSON_NAMESAKES = 4
"""Number of additional people with the name of another."""
WORK_NAMESAKES = 6
"""Number of works that share a name, out of all."""
LONG_NAMES = 6
"""Number of people whose page has a longer name as title."""
FAMILY = 3
"""Number of members of a family; the last one may have fewer."""


class _Names:
    """Generates unique names."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.used: set[str] = set()

    def new(self, make: Callable[[], str]) -> str:
        name = make()
        while name in self.used:
            name = make()
        self.used.add(name)
        return name

    def word(self, *parts: str) -> str:
        return self.new(lambda: self.glued(*parts))

    def glued(self, *parts: str) -> str:
        """Return a name that need not be unique, of one syllable from each list."""
        syllables = [self.random.choice(words()["names"][part]) for part in parts]
        name = "".join(syllables)
        # No letter three times in a row.
        return re.sub(r"(.)\1\1", r"\1\1", name)


def draw_country(seed: int) -> Country:
    """Draw the country of a seed."""
    random = Random(f"hotpotqa country {seed}")
    names = _Names(random)
    provinces = _provinces(random, names)
    rivers = _rivers(random, names, provinces)
    towns = _towns(random, names, provinces, rivers)
    for province in provinces:
        # Towns that share their name make no good answers.
        own = [town for town in towns if town.province is province and town.title == town.name]
        province.capital = random.choice(own)
    people = _people(random, names, towns)
    works = _works(random, names, towns, people)
    prizes = _prizes(random, towns, people)
    return Country(provinces, rivers, towns, people, works, prizes)


def _provinces(random: Random, names: _Names) -> list[Province]:
    made = []
    for direction in random.sample(words()["choices"]["directions"], PROVINCES):
        name = names.word("province_first", "province_last")
        founded = random.randint(1400, 1600)
        made.append(Province(name, name, direction, founded))
    return made


def _rivers(random: Random, names: _Names, provinces: list[Province]) -> list[River]:
    made = []
    for index, length in enumerate(random.sample(range(60, 640), RIVERS)):
        name = names.word("river_first", "river_last")
        hill = names.word("town_first", "hill_last")
        province = provinces[index % PROVINCES]
        made.append(River(name, name, province, length, hill))
    return made


def _towns(random: Random, names: _Names, provinces: list[Province], rivers: list[River]) -> list[Town]:
    made: list[Town] = []

    def add(name: str, title: str, province: Province) -> None:
        near = [river for river in rivers if river.province is province]
        river = random.choice(near)
        trade = random.choice(words()["choices"]["trades"])
        founded = random.randint(900, 1500)
        made.append(Town(name, title, province, river, founded, trade))

    for index in range(TOWNS):
        name = names.word("town_first", "town_middle", "town_last")
        province = provinces[index % PROVINCES]
        add(name, name, province)
    for _ in range(TOWN_NAMESAKES):
        name = names.word("town_first", "town_middle", "town_last")
        for province in random.sample(provinces, 2):
            add(name, f"{name} ({province.name})", province)
    return made


def _people(random: Random, names: _Names, towns: list[Town]) -> list[Person]:
    """Draw people with their families, callings, towns and teachers; the last ones share the names of others."""
    choices = words()["choices"]
    makers = list(choices["makers"])
    years = random.sample(range(1720, 1900), PEOPLE + PERSON_NAMESAKES)
    made: list[Person] = []
    for index, born in enumerate(years):
        # Families have several members, so that a family name alone is ambiguous.
        begins_family = index % FAMILY == 0
        if begins_family:
            family = names.word("family_first", "family_middle", "family_last")
        else:
            family = made[-1].family
        given = names.new(lambda: names.glued("given_first", "given_last"))
        # The first of a family makes nothing, the others make works of every form.
        if begins_family:
            calling = random.choice(choices["others"])
        else:
            calling = makers[index % len(makers)]
        died = born + random.randint(38, 90)
        town = random.choice(towns)
        name = f"{given} {family}"
        full = name
        if index < LONG_NAMES:
            middle = names.glued("given_first", "given_last")
            full = f"{given} {middle} {family}"
        person = Person(
            name=name,
            title=full,
            family=family,
            full=full,
            calling=calling,
            born=born,
            died=died,
            town=town,
        )
        number_of_namesake = index - PEOPLE
        if number_of_namesake >= 0:
            # Of those without a long name, every fifth: they are of different families.
            namesake = made[LONG_NAMES + 5 * number_of_namesake]
            _share_name(person, namesake, random)
        made.append(person)
    for person in made:
        teachers = [other for other in made if _may_teach(other, person)]
        if teachers and random.random() < 0.8:
            person.teacher = random.choice(teachers)
    return made


def _may_teach(teacher: Person, person: Person) -> bool:
    """Return whether somebody is old enough to teach a person, and has a name that identifies them."""
    older = person.born - teacher.born
    return 15 <= older <= 60 and teacher.name == teacher.title


def _share_name(person: Person, namesake: Person, random: Random) -> None:
    """Give a person the name of another, who has another calling."""
    choices = words()["choices"]
    callings = [*choices["makers"], *choices["others"]]
    callings.remove(namesake.calling)
    person.calling = random.choice(callings)
    person.name = namesake.name
    person.full = namesake.name
    person.family = namesake.family
    for each in (person, namesake):
        each.title = f"{each.name} ({each.calling})"


def _works(random: Random, names: _Names, towns: list[Town], people: list[Person]) -> list[Work]:
    choices = words()["choices"]
    makers = [person for person in people if person.calling in choices["makers"]]
    made: list[Work] = []

    def add(name: str, title: str, maker: Person) -> None:
        # If possible in a year of its own, so that one of two works is the first.
        taken = {work.year for work in made}
        free = [year for year in range(maker.born + 20, maker.died + 1) if year not in taken]
        year = random.choice(free or [maker.died])
        form = choices["makers"][maker.calling]
        work = Work(name, title, form, maker, year, random.choice(towns))
        made.append(work)
        maker.works.append(work)

    def draw_name() -> str:
        if random.random() < 0.5:
            word = random.choice(towns).name
        else:
            word = names.glued("river_first", "town_last")
        template: str = random.choice(choices["titles"])
        thing = random.choice(choices["things"])
        return template.format(thing=thing, word=word)

    # One work each, then more for some.
    for index in range(WORKS - WORK_NAMESAKES):
        name = names.new(draw_name)
        if index < len(makers):
            maker = makers[index]
        else:
            maker = random.choice(makers)
        add(name, name, maker)
    # Pairs of works that share a name.
    for _ in range(WORK_NAMESAKES // 2):
        name = names.new(draw_name)
        first = random.choice(makers)
        others = [maker for maker in makers if maker.calling != first.calling]
        second = random.choice(others)
        for maker in (first, second):
            form = choices["makers"][maker.calling]
            add(name, f"{name} ({form})", maker)
    return made


def _prizes(random: Random, towns: list[Town], people: list[Person]) -> list[Prize]:
    fields = random.sample(words()["choices"]["fields"], PRIZES)
    shuffled = sorted(people, key=lambda person: random.random())
    # One of each family, as the prize is called by the family's name alone.
    of_family: dict[str, Person] = {}
    for person in reversed(shuffled):
        of_family[person.family] = person
    namesakes = list(of_family.values())
    namesakes.reverse()
    made = []
    for about, namesake in zip(fields, namesakes, strict=False):
        name = f"{namesake.family} Prize"
        founded = random.randint(namesake.born + 40, namesake.died + 10)
        made.append(Prize(name, name, about, namesake, founded, random.choice(towns)))
    for person in people:
        fitting = [prize for prize in made if prize.founded < person.died and prize.namesake is not person]
        if fitting and random.random() < 0.8:
            prize = random.choice(fitting)
            earliest = max(prize.founded, person.born + 18)
            latest = max(prize.founded, person.died)
            person.prize = prize
            person.prize_year = random.randint(earliest, latest)
    return made
