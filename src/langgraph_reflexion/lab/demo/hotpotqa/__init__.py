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
    Target,
    advised_word,
    closest,
    find,
    page_of,
    read_library,
)
from langgraph_reflexion.lab.demo.persona import LUCK, Act, habit, slips_at
from langgraph_reflexion.lab.demo.prompt import Advice, Prompt, sentences_of

VAGUE = 0.4
"""Probability of a useless reflection."""


def recognises(prompt: Prompt) -> bool:
    """Return whether a prompt is about a question or a claim."""
    return re.search(r"^(?:Question|Claim): ", prompt.opening, re.MULTILINE) is not None


def act(prompt: Prompt, rng: Random) -> Act:
    """Return the next action."""
    asked, library = _asked(prompt), read_library(prompt)
    can_search = "search" in prompt.allowed
    if not can_search and not library.pages:
        # What was a wrong answer to another question may be the right one to this.
        choice = _guess(asked, Advice.of(prompt.reflections), rng)
    else:
        # What notes from other tasks say of the things that this question is about is as good as its own.
        advice = Advice.of((*prompt.reflections, *prompt.recalled))
        reader = _reader(asked)
        choice = reader(asked, library, slips_at(asked.text, reader.rate, rng), advice, can_search).next()
    args = {{"search": "entity", "lookup": "string", "finish": "answer"}[choice.name]: choice.text}
    return Act(choice.thought, choice.name, args, f"{choice.name}[{choice.text}]")


def _asked(prompt: Prompt) -> Asked:
    if claim := re.search(r"^Claim: (.*)", prompt.opening, re.MULTILINE):
        return read_claim(claim[1])
    return read_question(prompt.opening.rpartition("Question: ")[2].strip())


def _reader(asked: Asked) -> type[Reader]:
    return Reader if asked.value is None else Verifier


def _guess(asked: Asked, advice: Advice, rng: Random) -> Choice:
    """Answer without having read anything, and avoid answers that were wrong before."""
    names = [target.name for target in asked.targets]
    if asked.closed:
        likely = ["yes", "no"]
    else:
        likely = names if asked.choice else [*(word for name in names for word in name.split()), "1900"]
    likely.sort(key=lambda each: habit(asked.text, each))
    if rng.random() < LUCK:
        rng.shuffle(likely)
    wrong = advice.on(names[0]).quoted(r"\"([^\"]*)\" was wrong") if names else []
    left = [each for each in likely if each not in wrong] or likely
    return Choice(f"I do not know for certain. {left[0]} seems likeliest.", "finish", left[0])


def reflect(prompt: Prompt, rng: Random) -> str:
    """Name the action to blame, and what to do instead."""
    last = prompt.turns[-1].action if prompt.turns else "nothing"
    if rng.random() < VAGUE:
        return f"My last action was {last}, and I failed. Next time I will read more carefully and think it through."
    said = look_back(_asked(prompt), read_library(prompt), Advice.of(prompt.reflections))
    # What the last useful note says stays true.
    useful = [note for note in prompt.reflections if "more carefully" not in note]
    return " ".join(dict.fromkeys(sentences_of(" ".join([said, *useful[-1:]]))))


def judge(prompt: Prompt) -> str:
    """Compare the answer with a careful reader's."""
    asked, library = _asked(prompt), read_library(prompt)
    careful = carefully(asked, library, _reader(asked))
    verdict = "yes" if careful.known and careful.text.lower() == library.answer.lower() else "no"
    return f"{careful.thought} What was handed in is {library.answer or 'nothing'}.\nVerdict: {verdict}"


def look_back(asked: Asked, library: Library, earlier: Advice) -> str:
    """Say what went wrong in a failed trial, unless `earlier` reflections have already dealt with it."""
    answer, names = library.answer, [target.name for target in asked.targets]
    if answer and not library.pages:
        return f'"{answer}" was wrong for {" and ".join(names)}. Next time I will hand in something else.'
    if not answer:
        return _repeated(asked, library)
    if fault := next(_faults(asked, library, earlier), ""):
        return fault
    return f"I handed in {answer}, and cannot see what was wrong with it. Next time I will begin from another side."


def learn(prompt: Prompt) -> str:
    """Say what helps with other questions about the same things."""
    asked, library = _asked(prompt), read_library(prompt)
    targets = _targets(asked, library)
    first = targets[0].known_as
    if asked.choice:
        said = [f"It took both pages, {' and '.join(target.known_as for target in targets)}, to compare them."]
    else:
        said = [f"{first} led me to {bridge.known_as}, which is only on the way." for bridge in targets[1:]]
    for search, titles in library.missed.items():
        target = next((target for target in targets if target.name == search), Target(search))
        if (right := closest(titles, target)) in library.pages:
            said.append(f"For {target.known_as} go straight to search[{right}].")
    for title, page in library.pages.items():
        said += [f'Look for the word "{word}" on the page of {title}.' for word in sorted(page.searched_for)]
    said = said or [f"{first} was all that I had to read about."]
    return " ".join(sentence[0].upper() + sentence[1:] for sentence in said)


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


def _faults(asked: Asked, library: Library, earlier: Advice) -> Iterator[str]:
    """Yield what may have been wrong with an answer, the most likely first, and what to do instead."""
    answer, careful, targets = library.answer, carefully(asked, library), _targets(asked, library)
    if careful.name == "finish" and answer == in_a_sentence(careful.text):
        yield (
            f'I handed in "{answer}", a sentence where the bare answer is wanted. '
            f"Next time I will hand in {careful.text} and nothing else."
        )
    for name in [target.name for target in targets[1:]]:
        if not asked.choice and (name == answer or page_of(library, Target(name)) is None):
            yield (
                f"I stopped halfway: {name} is only on the way to the answer. Next time I will read on from {name}."
            )
    for target in targets:
        titles = library.missed.get(target.name, [])
        right = closest(titles, target)
        if right and any(title in library.pages and title != right for title in titles):
            yield (
                f"I took the page of another one for that of {target.known_as}, without checking that it fits. "
                f"Next time I will go straight to search[{right}]."
            )
    if asked.choice:
        one, other = (target.name for target in targets)
        if not earlier.on(other).says("both") and not (careful.known and answer == careful.text):
            yield (
                f"I answered before I had compared: I only went by {one}. "
                f"Next time I will read about both, {one} and {other}, before I answer."
            )
    for target in targets if asked.choice else targets[-1:]:
        page, terms = page_of(library, target), asked.hops[-1].terms
        if page is not None and terms and not advised_word(earlier, page):
            there = [term for term in terms if any(term in sentence for sentence in page.sentences)]
            yield (
                f"I went by the wrong sentence on the page of {target.name} when I handed in {answer}. Next "
                f'time I will look for the word "{(there or terms)[0]}" on the page of {page.title}, and go by that.'
            )


def _targets(asked: Asked, library: Library) -> list[Target]:
    """Return the names in the question, and those that the pages lead to."""
    targets = list(asked.targets)
    if asked.choice or not targets:
        return targets or [Target(asked.text)]
    for wanted in asked.hops[:-1]:
        page = page_of(library, targets[-1])
        found = find(page, wanted) if page else None
        if found is None:
            break
        targets.append(found)
    return targets
