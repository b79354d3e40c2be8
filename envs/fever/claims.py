"""Claims about the invented country of HotPotQA's world: true, false, or about what no page says."""

from collections import Counter
from functools import lru_cache
from random import Random
from typing import Any, Literal, NamedTuple, get_args

from langgraph_reflexion.envs.hotpotqa.questions import Question
from langgraph_reflexion.envs.hotpotqa.world.country import Country, Work, words
from langgraph_reflexion.envs.hotpotqa.world.generator import draw_country
from langgraph_reflexion.envs.hotpotqa.world.questions import described, own_world

Label = Literal["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"]
"""FEVER's labels."""
LABELS: tuple[Label, ...] = get_args(Label)
EACH = 16
"""Number of claims about a country for each label."""

# By kind: the things that claims are about, the attribute claimed, and the claim; the last ones need two pages.
_KINDS: dict[str, tuple[str, str, str]] = {
    "birth_town": ("people", "town.name", "The {calling} {person} was born in {value}."),
    "birth_year": ("people", "born", "The {calling} {person} was born in {value}."),
    "teacher": ("people", "teacher.name", "The {calling} {person} studied under {value}."),
    "river": ("towns", "river.name", "{town} lies on the river {value}."),
    "length": ("rivers", "length", "The river {river} is {value} kilometres long."),
    "work_year": ("works", "year", "The {form} {work} {done} in {value}."),
    "maker_town": ("works", "maker.town.name", "The {calling} who made the {form} {work} was born in {value}."),
    "maker_teacher": (
        "works",
        "maker.teacher.name",
        "The {calling} who made the {form} {work} studied under {value}.",
    ),
    "set_river": (
        "works",
        "place.river.name",
        "The town in which the {form} {work} is set lies on the river {value}.",
    ),
    "namesake_year": ("prizes", "namesake.born", "The person after whom the {prize} is named was born in {value}."),
}
# A habit is a sentence of some people's pages: those pages support the claim, and the others do not decide it.
_HABIT = "habit"


class _Draft(NamedTuple):
    kind: str
    text: str
    label: Label


@lru_cache(8)
def own_claims(seed: int) -> tuple[Question, ...]:
    """Return the claims about a seed's country, whose pages are those of `own_world`."""
    country = draw_country(seed)
    random = Random(f"fever claims {seed}")
    drafts = _facts(country, random) + _habits(country, seed)
    # Of the drafts of each kind, any may be chosen.
    random.shuffle(drafts)
    chosen: list[_Draft] = []
    for label in LABELS:
        chosen += _in_turn([draft for draft in drafts if draft.label == label])[:EACH]
    # So far they are sorted by label.
    mixed = random.sample(chosen, len(chosen))
    claims = []
    for index, draft in enumerate(mixed):
        claims.append(Question(f"own/s{seed}/{index:03d}-{draft.kind}", draft.text, draft.label))
    return tuple(claims)


def _in_turn(drafts: list[_Draft]) -> list[_Draft]:
    """Return the first draft of each kind, then the second of each kind, and so on.

    So the claims of every label are of all its kinds, and a kind does not give its label away.
    """
    earlier = Counter[str]()
    round_of: dict[_Draft, int] = {}
    for draft in drafts:
        round_of[draft] = earlier[draft.kind]
        earlier[draft.kind] += 1
    return sorted(drafts, key=lambda draft: round_of[draft])


def _facts(country: Country, random: Random) -> list[_Draft]:
    """Return a claim of each kind about each thing, except claims whose words give the answer away.

    Where the pages say the value, chance decides whether the claim is true. Where they do not, it has a value of
    another thing.
    """
    drafts = []
    for kind, (things, path, text) in _KINDS.items():
        values = {thing: _value(thing, path) for thing in getattr(country, things)}
        known = sorted({value for value in values.values() if value is not None}, key=str)
        for thing, value in values.items():
            label: Label = "NOT ENOUGH INFO"
            if value is not None:
                label = random.choice(LABELS[:2])
            claimed = value
            if label != "SUPPORTS":
                claimed = random.choice([other for other in known if other != value])
            filled_in = described(thing)
            if isinstance(thing, Work):
                filled_in["done"] = words()["choices"]["done"][thing.form]
            # Works are named after towns, so that their names may give the answer away.
            if str(claimed) in str(filled_in):
                continue
            filled_in["value"] = claimed
            drafts.append(_Draft(kind, text.format_map(filled_in), label))
    return drafts


def _habits(country: Country, seed: int) -> list[_Draft]:
    """Return a claim about a habit of each person, which only some pages mention."""
    habits = [each for each in words()["person"]["also"] if _is_habit(each)]
    pages = {page.title: page.text for page in own_world(seed).pages}
    drafts = []
    for index, person in enumerate(country.people):
        habit = habits[index % len(habits)]
        on_page = habit.format(family=person.family)
        label: Label = "NOT ENOUGH INFO"
        if on_page in pages[person.title]:
            label = "SUPPORTS"
        # A page begins the sentence with the family name; a claim has to say who is meant.
        claim = habit.format(family=f"The {person.calling} {person.name}")
        drafts.append(_Draft(_HABIT, claim, label))
    return drafts


def _is_habit(sentence: str) -> bool:
    """Return whether a sentence needs nothing but the person's name."""
    return sentence.startswith("{family} ") and sentence.count("{") == 1


def _value(thing: Any, path: str) -> Any:
    """Return the attribute of a thing that a path such as `maker.town.name` leads to; None if there is none."""
    value = thing
    for name in path.split("."):
        value = getattr(value, name, None)
    return value
