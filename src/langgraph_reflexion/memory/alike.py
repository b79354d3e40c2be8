"""Lessons that may say the same, for a person to decide."""

from rapidfuzz import fuzz

from langgraph_reflexion.memory.book import Book, Lesson
from langgraph_reflexion.memory.index import Index
from langgraph_reflexion.memory.items import words_of

MUCH = 85.0
"""From which ratio, of 100, two texts are worth a look."""

LOOKED_AT = 6
"""Each lesson is held against so many others that share most words with it."""


def alike(book: Book) -> list[tuple[Lesson, Lesson, float]]:
    """Pairs of lessons that are much alike, the most alike first.

    Args:
        book: The lessons.
    """
    live = book.live()
    index = Index({lesson.id: lesson.about for lesson in live})
    said = {lesson.id: " ".join(sorted(words_of(lesson.text))) for lesson in live}
    found: dict[tuple[str, str], float] = {}
    for lesson in live:
        for other in index.search(lesson.text)[:LOOKED_AT]:
            pair = (min(lesson.id, other), max(lesson.id, other))
            if lesson.id != other and pair not in found:
                found[pair] = fuzz.ratio(said[lesson.id], said[other])
    worth = sorted((each for each in found.items() if each[1] >= MUCH), key=lambda each: (-each[1], each[0]))
    return [(book.lessons[one], book.lessons[other], ratio) for (one, other), ratio in worth]
