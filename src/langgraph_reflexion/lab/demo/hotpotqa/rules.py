"""The demo model on HotPotQA and FEVER: with pages to search, with paragraphs, or with nothing to read.

It knows no page, question or answer. Its reflections find the action to blame, and say what to do instead.
"""

import re
from collections import Counter
from collections.abc import Iterator
from random import Random

from langgraph_reflexion.lab.demo.hotpotqa.act import Choice, Reader, carefully, in_a_sentence
from langgraph_reflexion.lab.demo.hotpotqa.claims import Verifier, read_claim
from langgraph_reflexion.lab.demo.hotpotqa.task import Asked, read_question
from langgraph_reflexion.lab.demo.hotpotqa.world import (
    Library,
    Page,
    Target,
    advised_word,
    closest,
    find,
    page_of,
    read_library,
)
from langgraph_reflexion.lab.demo.persona import LUCK, Act, habit, slips_at
from langgraph_reflexion.lab.demo.prompt import Advice, ParsedPrompt, sentences_of

VAGUE = 0.4
"""Probability of a useless reflection."""

PARAMETERS = {"search": "entity", "lookup": "string", "finish": "answer"}
"""The parameter of each action."""


def recognises(prompt: ParsedPrompt) -> bool:
    """Return whether a prompt is about a question or a claim."""
    return re.search(r"^(?:Question|Claim): ", prompt.opening, re.MULTILINE) is not None


def act(prompt: ParsedPrompt, rng: Random) -> Act:
    """Return the next action."""
    choice = _choose(prompt, rng)
    args = {PARAMETERS[choice.name]: choice.text}
    return Act(choice.thought, choice.name, args, f"{choice.name}[{choice.text}]")


def _choose(prompt: ParsedPrompt, rng: Random) -> Choice:
    """Return the next action with the reason for it."""
    asked = _asked(prompt)
    library = read_library(prompt)
    can_search = "search" in prompt.allowed
    if not can_search and not library.pages:
        # What was a wrong answer to another question may be the right one to this.
        return _guess(asked, Advice.of(prompt.reflections), rng)
    # What notes from other tasks say of the things that this question is about is as good as its own.
    advice = Advice.of(prompt.reflections + prompt.recalled)
    kind = _reader(asked)
    slips = slips_at(asked.text, kind.rate, rng)
    reader = kind(asked, library, slips, advice, can_search)
    return reader.next()


def _asked(prompt: ParsedPrompt) -> Asked:
    """Return the question or the claim of a prompt."""
    claim = re.search(r"^Claim: (.*)", prompt.opening, re.MULTILINE)
    if claim:
        return read_claim(claim[1])
    question = prompt.opening.rpartition("Question: ")[2]
    return read_question(question.strip())


def _reader(asked: Asked) -> type[Reader]:
    """Return the reader of a question, or of a claim."""
    if asked.value is None:
        return Reader
    return Verifier


def _guess(asked: Asked, advice: Advice, rng: Random) -> Choice:
    """Answer without having read anything, and avoid answers that were wrong before."""
    likely = _guesses(asked)
    likely.sort(key=lambda each: habit(asked.text, each))
    if rng.random() < LUCK:
        rng.shuffle(likely)
    wrong: list[str] = []
    if asked.targets:
        # Of two things, a note on a wrong answer names both.
        about_it = advice.on(asked.targets[0].name)
        wrong = about_it.quoted(r"\"([^\"]*)\" was wrong")
    untried = [each for each in likely if each not in wrong]
    # When every guess was wrong, it begins again.
    answer = (untried or likely)[0]
    return Choice(f"I do not know for certain. {answer} seems likeliest.", "finish", answer)


def _guesses(asked: Asked) -> list[str]:
    """Return what may be the answer, by the words of the question."""
    if asked.closed:
        return ["yes", "no"]
    names = [target.name for target in asked.targets]
    if asked.choice:
        return names
    words = []
    for name in names:
        words += name.split()
    # The answer may also be a year.
    words.append("1900")
    return words


def reflect(prompt: ParsedPrompt, rng: Random) -> str:
    """Name the action to blame, and what to do instead."""
    last_action = "nothing"
    if prompt.turns:
        last_action = prompt.turns[-1].action
    if rng.random() < VAGUE:
        return (
            f"My last action was {last_action}, and I failed. "
            "Next time I will read more carefully and think it through."
        )
    notes = [look_back(_asked(prompt), read_library(prompt), Advice.of(prompt.reflections))]
    # What the last useful note says stays true.
    useful = [note for note in prompt.reflections if "more carefully" not in note]
    notes += useful[-1:]
    sentences = sentences_of(" ".join(notes))
    return " ".join(dict.fromkeys(sentences))


def judge(prompt: ParsedPrompt) -> str:
    """Compare the answer with a careful reader's."""
    asked = _asked(prompt)
    library = read_library(prompt)
    careful = carefully(asked, library, _reader(asked))
    same = careful.text.lower() == library.answer.lower()
    verdict = "no"
    if careful.known and same:
        verdict = "yes"
    return f"{careful.thought} What was handed in is {library.answer or 'nothing'}.\nVerdict: {verdict}"


def look_back(asked: Asked, library: Library, earlier: Advice) -> str:
    """Say what went wrong in a failed trial, unless `earlier` reflections have already dealt with it."""
    answer = library.answer
    if not answer:
        return _repeated(asked, library)
    if not library.pages:
        names = " and ".join(target.name for target in asked.targets)
        return f'"{answer}" was wrong for {names}. Next time I will hand in something else.'
    for fault in _faults(asked, library, earlier):
        return fault
    return f"I handed in {answer}, and cannot see what was wrong with it. Next time I will begin from another side."


def learn(prompt: ParsedPrompt) -> str:
    """Say what helps with other questions about the same things."""
    asked = _asked(prompt)
    library = read_library(prompt)
    targets = _targets(asked, library)
    first = targets[0].known_as
    said: list[str] = []
    if asked.choice:
        both = " and ".join(target.known_as for target in targets)
        said.append(f"It took both pages, {both}, to compare them.")
    else:
        for bridge in targets[1:]:
            said.append(f"{first} led me to {bridge.known_as}, which is only on the way.")
    for search, titles in library.missed.items():
        target = _searched_target(search, targets)
        right = closest(titles, target)
        if right in library.pages:
            said.append(f"For {target.known_as} go straight to search[{right}].")
    for title, page in library.pages.items():
        for word in sorted(page.searched_for):
            said.append(f'Look for the word "{word}" on the page of {title}.')
    if not said:
        said.append(f"{first} was all that I had to read about.")
    # A name's role, "the river ...", may begin a sentence.
    sentences = [sentence[0].upper() + sentence[1:] for sentence in said]
    return " ".join(sentences)


def _searched_target(search: str, targets: list[Target]) -> Target:
    """Return the thing that a search was for."""
    for target in targets:
        if target.name == search:
            return target
    return Target(search)


def _repeated(asked: Asked, library: Library) -> str:
    """Say what went wrong in a trial without an answer: a search that was repeated in vain, or slowness."""
    too_slow = "I ran out of steps before I had an answer. Next time I will be quicker."
    if not library.searches:
        return too_slow
    [(search, times)] = Counter(library.searches).most_common(1)
    if times < 2:
        return too_slow
    target = _searched_target(search, _targets(asked, library))
    titles = library.missed.get(search, [])
    right = closest(titles, target)
    if right is None:
        return too_slow
    return (
        f"I kept on with search[{search}] although there is no such page: the same search gives the same result. "
        f"Next time I will go straight to search[{right}]."
    )


def _faults(asked: Asked, library: Library, earlier: Advice) -> Iterator[str]:
    """Yield what may have been wrong with an answer, the most likely first, and what to do instead."""
    careful = carefully(asked, library)
    targets = _targets(asked, library)
    yield from _too_many_words(library.answer, careful)
    if not asked.choice:
        yield from _stopped_halfway(library, targets[1:])
    yield from _read_namesake(library, targets)
    if asked.choice:
        yield from _read_one_side(library.answer, careful, targets, earlier)
        yield from _went_by_wrong_sentence(asked, library, targets, earlier)
    else:
        yield from _went_by_wrong_sentence(asked, library, targets[-1:], earlier)


def _too_many_words(answer: str, careful: Choice) -> Iterator[str]:
    """Yield a fault if an answer is a sentence."""
    if careful.name == "finish" and answer == in_a_sentence(careful.text):
        yield (
            f'I handed in "{answer}", a sentence where the bare answer is wanted. '
            f"Next time I will hand in {careful.text} and nothing else."
        )


def _stopped_halfway(library: Library, bridges: list[Target]) -> Iterator[str]:
    """Yield a fault for each name on the way that was handed in, or whose page was not read."""
    for bridge in bridges:
        name = bridge.name
        handed_in = name == library.answer
        if handed_in or page_of(library, Target(name)) is None:
            yield f"I stopped halfway: {name} is only on the way to the answer. Next time I will read on from {name}."


def _read_namesake(library: Library, targets: list[Target]) -> Iterator[str]:
    """Yield a fault for each thing whose namesake was read about."""
    for target in targets:
        titles = library.missed.get(target.name, [])
        right = closest(titles, target)
        if not right:
            continue
        namesakes = [title for title in titles if title != right]
        if any(title in library.pages for title in namesakes):
            yield (
                f"I took the page of another one for that of {target.known_as}, without checking that it fits. "
                f"Next time I will go straight to search[{right}]."
            )


def _read_one_side(answer: str, careful: Choice, targets: list[Target], earlier: Advice) -> Iterator[str]:
    """Yield a fault if only one of two things may have been compared."""
    one, other = (target.name for target in targets)
    advised = earlier.on(other).says("both")
    correct = careful.known and answer == careful.text
    if not advised and not correct:
        yield (
            f"I answered before I had compared: I only went by {one}. "
            f"Next time I will read about both, {one} and {other}, before I answer."
        )


def _went_by_wrong_sentence(asked: Asked, library: Library, targets: list[Target], earlier: Advice) -> Iterator[str]:
    """Yield a fault for each page on which the answer was, unless there is advice on what to look for there."""
    terms = asked.hops[-1].terms
    if not terms:
        return
    for target in targets:
        page = page_of(library, target)
        if page is None or advised_word(earlier, page):
            continue
        word = _best_term(terms, page)
        yield (
            f"I went by the wrong sentence on the page of {target.name} when I handed in {library.answer}. Next "
            f'time I will look for the word "{word}" on the page of {page.title}, and go by that.'
        )


def _best_term(terms: list[str], page: Page) -> str:
    """Return the first term that a page has; the first of all if it has none."""
    for term in terms:
        if any(term in sentence for sentence in page.sentences):
            return term
    return terms[0]


def _targets(asked: Asked, library: Library) -> list[Target]:
    """Return the names in the question, and those that the pages lead to."""
    targets = list(asked.targets)
    if not targets:
        return [Target(asked.text)]
    if asked.choice:
        return targets
    for wanted in asked.hops[:-1]:
        page = page_of(library, targets[-1])
        if page is None:
            break
        found = find(page, wanted)
        if found is None:
            break
        targets.append(found)
    return targets
