"""The demo model's self-reflection on a question: which of its actions was to blame, and what to do instead."""

from collections import Counter

from langgraph_reflexion.demo.answering import carefully, in_a_sentence
from langgraph_reflexion.demo.asked import Asked
from langgraph_reflexion.demo.lessons import Lessons
from langgraph_reflexion.demo.library import Library, closest, page_of
from langgraph_reflexion.demo.reading import Page, Target, Wanted, find


def look_back(asked: Asked, library: Library, earlier: Lessons) -> str:
    """What went wrong in a failed trial, in words.

    Args:
        asked: The question.
        library: What was read, and what was handed in.
        earlier: What was written down before: what has been minded since is not to blame again.
    """
    answer, names = library.answer, [target.name for target in asked.targets]
    if answer and not library.pages:
        return f'"{answer}" was wrong for {" and ".join(names)}. Next time I will hand in something else.'
    if not answer:
        return _repeated(asked, library)
    for told in (_in_a_sentence, _halfway, _namesake, _one_side, _hasty):
        if lesson := told(asked, library, earlier):
            return lesson
    return f"I handed in {answer}, and cannot see what was wrong with it. Next time I will begin from another side."


def way_found(asked: Asked, library: Library) -> str:
    """What is worth knowing of the pages that were read, for other questions about the same things.

    Args:
        asked: The question.
        library: What was read, and what was handed in.
    """
    targets = _targets(asked, library)
    first = targets[0].known_as
    if asked.choice:
        told = [f"It took both pages, {' and '.join(target.known_as for target in targets)}, to compare them."]
    else:
        told = [f"{first} led me to {bridge.known_as}, which is only on the way." for bridge in targets[1:]]
    for search, titles in library.missed.items():
        target = next((target for target in targets if target.name == search), Target(search))
        if (right := closest(titles, target)) in library.pages:
            told.append(f"For {target.known_as} go straight to search[{right}].")
    for title, page in library.pages.items():
        told += [f'Look for the word "{word}" on the page of {title}.' for word in sorted(page.searched_for)]
    told = told or [f"{first} was all that I had to read about."]
    return " ".join(sentence[0].upper() + sentence[1:] for sentence in told)


def _repeated(asked: Asked, library: Library) -> str:
    (search, times), *_ = Counter(library.searches).most_common(1) or [("", 0)]
    target = next((t for t in _targets(asked, library) if t.name == search), Target(search))
    right = closest(library.missed.get(search, []), target)
    if times < 2 or right is None:
        return "I ran out of steps before I had an answer. Next time I will be quicker."
    return (
        f"I kept on with search[{search}] although there is no such page: the same search gives the same result. "
        f"Next time I will go straight to search[{right}]."
    )


def _in_a_sentence(asked: Asked, library: Library, earlier: Lessons) -> str:
    bare = carefully(asked, library)
    if bare.name != "finish" or library.answer != in_a_sentence(bare.text):
        return ""
    return (
        f'I handed in "{library.answer}", a sentence where the bare answer is wanted. '
        f"Next time I will hand in {bare.text} and nothing else."
    )


def _halfway(asked: Asked, library: Library, earlier: Lessons) -> str:
    for target in _targets(asked, library)[1:]:
        if target.name == library.answer and not asked.choice:
            return (
                f"I stopped halfway: {target.name} is not what the question asks for. "
                f"{target.name} is only on the way to the answer. Next time I will read on from {target.name}."
            )
    return ""


def _one_side(asked: Asked, library: Library, earlier: Lessons) -> str:
    if not asked.choice:
        return ""
    one, other = asked.targets
    careful = carefully(asked, library)
    if earlier.both(other.name) or (careful.known and library.answer == careful.text):
        return ""
    return (
        f"I answered before I had compared: I only went by {one.name}. "
        f"Next time I will read about both, {one.name} and {other.name}, before I answer."
    )


def _namesake(asked: Asked, library: Library, earlier: Lessons) -> str:
    for target in _targets(asked, library):
        titles = library.missed.get(target.name, [])
        right = closest(titles, target)
        if right and any(title in library.pages and title != right for title in titles):
            return (
                f"I took the page of another one for that of {target.known_as}, without checking that it fits. "
                f"Next time I will go straight to search[{right}]."
            )
    return ""


def _hasty(asked: Asked, library: Library, earlier: Lessons) -> str:
    targets = _targets(asked, library)
    for target in targets if asked.choice else targets[-1:]:
        page = page_of(library, target)
        if page is not None and not earlier.word(page.title) and (terms := asked.hops[-1].terms):
            told = [term for term in terms if any(term in sentence for sentence in page.sentences)]
            return (
                f"I went by the wrong sentence on the page of {target.name} when I handed in {library.answer}. Next "
                f'time I will look for the word "{(told or terms)[0]}" on the page of {page.title}, and go by that.'
            )
    return ""


def _targets(asked: Asked, library: Library) -> list[Target]:
    """What the question names, and what the pages that were read lead to."""
    targets = list(asked.targets)
    if asked.choice or not targets:
        return targets or [Target(asked.text)]
    for wanted in asked.hops[:-1]:
        found = _read(library, targets[-1], wanted)
        if found is None:
            break
        targets.append(found)
    return targets


def _read(library: Library, target: Target, wanted: Wanted) -> Target | None:
    page: Page | None = page_of(library, target)
    return find(page, wanted) if page else None
