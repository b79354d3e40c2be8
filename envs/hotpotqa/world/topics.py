"""Questions that share their topics: several that name the same work, person or town, and lead to the same pages.

In `topics-train` and `topics-test` the questions are others and the topics are the same, so that what was learned of
a page in the one can help in the other.
"""

from collections import defaultdict
from functools import lru_cache
from random import Random

from langgraph_reflexion.envs.hotpotqa.questions import Question
from langgraph_reflexion.envs.hotpotqa.world.generator import draw_country
from langgraph_reflexion.envs.hotpotqa.world.model import Thing, words
from langgraph_reflexion.envs.hotpotqa.world.questions import KINDS, QuestionDraft, gives_away, question_of

TOPIC_SPLITS = ("topics-train", "topics-test")
"""The two halves of the questions about shared topics."""

TOPICS, QUESTIONS = 12, 4
"""How many topics there are, and how many questions of each split about each."""

ALIKE = 3
"""How many questions about a topic are of one kind at most."""


@lru_cache(8)
def topic_questions(split: str, seed: int) -> tuple[Question, ...]:
    """The questions of one of the splits, topic by topic in turn.

    Args:
        split: One of `TOPIC_SPLITS`.
        seed: Another seed gives another country, the same as for the project's other questions.
    """
    country, random = draw_country(seed), Random(f"hotpotqa topics {seed}")
    about: dict[Thing, list[tuple[str, QuestionDraft]]] = defaultdict(list)
    for kind, make in KINDS.items():
        alike: dict[Thing, list[QuestionDraft]] = defaultdict(list)
        for asked in make(country):
            # What a bridge question leads to is not its topic: its words do not name it.
            topics = asked.pages if kind in words()["comparison"] else asked.pages[:1]
            for thing in () if gives_away(kind, asked) else topics:
                alike[thing].append(asked)
        for thing, possible in alike.items():
            about[thing] += [(kind, asked) for asked in random.sample(possible, min(ALIKE, len(possible)))]
    half = TOPIC_SPLITS.index(split)
    used, questions = set[int](), list[list[Question]]()
    for thing in random.sample(country.things, len(country.things)):
        # One that compares two topics belongs to the first.
        left = [(kind, asked) for kind, asked in about[thing] if id(asked) not in used]
        if len(left) < 2 * QUESTIONS or len(questions) == TOPICS:
            continue
        chosen = random.sample(left, 2 * QUESTIONS)
        used |= {id(asked) for _, asked in chosen}
        questions.append(
            [
                question_of(f"{split}/s{seed}/{TOPICS * turn + len(questions):03d}-{kind}", kind, asked)
                for turn, (kind, asked) in enumerate(chosen[half::2])
            ]
        )
    return tuple(question for turn in zip(*questions, strict=True) for question in turn)
