"""Claims about the invented country of HotPotQA's world: true, false, or about what no page says."""

from collections import Counter
from functools import lru_cache, reduce
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

# By kind: the things that claims are about, the attribute claimed, and the claim; the last ones take two pages.
_KINDS = {
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
    label: str


@lru_cache(8)
def own_claims(seed: int) -> tuple[Question, ...]:
    """Return the claims about a seed's country, whose pages are those of `own_world`."""
    country, random = draw_country(seed), Random(f"fever claims {seed}")
    drafts = [*_facts(country, random), *_habits(country, seed)]
    random.shuffle(drafts)
    # Each label takes the kinds in turn, so that a kind does not give the label away.
    turn, counts = dict[_Draft, int](), Counter[tuple[str, str]]()
    for draft in drafts:
        turn[draft] = counts[draft.kind, draft.label]
        counts[draft.kind, draft.label] += 1
    chosen = [
        draft
        for label in LABELS
        for draft in sorted((each for each in drafts if each.label == label), key=lambda each: turn[each])[:EACH]
    ]
    return tuple(
        Question(f"own/s{seed}/{index:03d}-{kind}", text, label)
        for index, (kind, text, label) in enumerate(random.sample(chosen, len(chosen)))
    )


def _facts(country: Country, random: Random) -> list[_Draft]:
    drafts = []
    for kind, (things, path, text) in _KINDS.items():
        true = {thing: _value(thing, path) for thing in getattr(country, things)}
        known = sorted({value for value in true.values() if value is not None}, key=str)
        for thing, value in true.items():
            about = described(thing)
            if isinstance(thing, Work):
                about["done"] = words()["choices"]["done"][thing.form]
            label = "NOT ENOUGH INFO" if value is None else random.choice(LABELS[:2])
            claimed = value if label == "SUPPORTS" else random.choice([each for each in known if each != value])
            if str(claimed) not in str(about):  # works are named after towns
                drafts.append(_Draft(kind, text.format(value=claimed, **about), label))
    return drafts


def _habits(country: Country, seed: int) -> list[_Draft]:
    habits = [each for each in words()["person"]["also"] if each.startswith("{family} ") and each.count("{") == 1]
    pages = {page.title: page.text for page in own_world(seed).pages}
    drafts = []
    for index, person in enumerate(country.people):
        habit = habits[index % len(habits)]
        label = "SUPPORTS" if habit.format(family=person.family) in pages[person.title] else "NOT ENOUGH INFO"
        text = habit.format(family=f"The {person.calling} {person.name}")
        drafts.append(_Draft(_HABIT, text, label))
    return drafts


def _value(thing: Any, path: str) -> Any:
    return reduce(lambda value, name: getattr(value, name, None), path.split("."), thing)
