"""The demo model on HotPotQA: with pages to search, with paragraphs, or with nothing to read, when it guesses.

It knows no page, question or answer. Its reflections find the action to blame, and say what to do instead.
"""

import re
from collections import Counter
from random import Random

from langchain_core.messages import AIMessage

from langgraph_reflexion.demo.hotpotqa.act import SLIPS, Reader, carefully, in_a_sentence
from langgraph_reflexion.demo.hotpotqa.task import Asked, read_question
from langgraph_reflexion.demo.hotpotqa.world import (
    Advice,
    Library,
    Page,
    Target,
    Wanted,
    closest,
    find,
    page_of,
    read_library,
)
from langgraph_reflexion.demo.persona import LUCK, habit, slips_at
from langgraph_reflexion.demo.prompt import Prompt, sentences_of
from langgraph_reflexion.demo.reply import Act, reply

VAGUE = 0.4
"""Probability of a useless reflection."""


def recognises(prompt: Prompt) -> bool:
    """Return whether a prompt is about a question."""
    return re.search(r"^Question: ", prompt.opening, re.MULTILINE) is not None


def answer(prompt: Prompt, *, seed: int, in_text: bool) -> AIMessage:
    """Answer a prompt about a question."""
    asked, rng = read_question(prompt.opening.rpartition("Question: ")[2].strip()), Random(seed)
    if prompt.role == "reflect":
        return AIMessage(_reflect(prompt, asked, rng))
    if prompt.role == "judge":
        return AIMessage(_judge(prompt, asked))
    if prompt.role == "learn":
        return AIMessage(way_found(asked, read_library(prompt)))
    act = _act(prompt, asked, rng, can_search="search" in prompt.allowed)
    args = {{"search": "entity", "lookup": "string", "finish": "answer"}[act.name]: act.text}
    return reply(prompt, act.thought, f"{act.name}[{act.text}]", act.name, args, in_text=in_text)


def _act(prompt: Prompt, asked: Asked, rng: Random, *, can_search: bool) -> Act:
    library = read_library(prompt)
    if not can_search and not library.pages:
        # What was a wrong answer to another question may be the right one to this.
        return _guess(asked, Advice.of(prompt.reflections), rng)
    # What notes from other tasks say of the things that this question is about is as good as its own.
    advice = Advice.of((*prompt.reflections, *prompt.recalled))
    return Reader(asked, library, slips_at(asked.text, SLIPS, rng), advice, can_search).next()


def _guess(asked: Asked, advice: Advice, rng: Random) -> Act:
    """Answer without having read anything, and avoid answers that were wrong before."""
    names = [target.name for target in asked.targets]
    if asked.closed:
        likely = ["yes", "no"]
    else:
        likely = names if asked.choice else [*(word for name in names for word in name.split()), "1900"]
    likely.sort(key=lambda each: habit(asked.text, each))
    if rng.random() < LUCK:
        rng.shuffle(likely)
    wrong = advice.wrong(names[0]) if names else []
    left = [each for each in likely if each not in wrong] or likely
    return Act(f"I do not know for certain. {left[0]} seems likeliest.", "finish", left[0])


def _reflect(prompt: Prompt, asked: Asked, rng: Random) -> str:
    last = prompt.turns[-1].action if prompt.turns else "nothing"
    if rng.random() < VAGUE:
        return f"My last action was {last}, and I failed. Next time I will read more carefully and think it through."
    said = look_back(asked, read_library(prompt), Advice.of(prompt.reflections))
    # What the last useful note says stays true.
    useful = [note for note in prompt.reflections if "more carefully" not in note]
    return " ".join(dict.fromkeys(sentences_of(" ".join([said, *useful[-1:]]))))


def _judge(prompt: Prompt, asked: Asked) -> str:
    library = read_library(prompt)
    given = library.answer
    if not given:
        return "No answer was handed in.\nVerdict: no"
    if not library.pages:
        return f"Nothing that was observed shows that it is {given}.\nVerdict: no"
    careful = carefully(asked, library)
    agreed = careful.known and careful.text.lower() == given.lower()
    return f"{careful.thought} What was handed in is {given}.\nVerdict: {'yes' if agreed else 'no'}"


def look_back(asked: Asked, library: Library, earlier: Advice) -> str:
    """Say what went wrong in a failed trial, unless `earlier` reflections have already dealt with it."""
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
    """Say what helps with other questions about the same things."""
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


def _in_a_sentence(asked: Asked, library: Library, earlier: Advice) -> str:
    bare = carefully(asked, library)
    if bare.name != "finish" or library.answer != in_a_sentence(bare.text):
        return ""
    return (
        f'I handed in "{library.answer}", a sentence where the bare answer is wanted. '
        f"Next time I will hand in {bare.text} and nothing else."
    )


def _halfway(asked: Asked, library: Library, earlier: Advice) -> str:
    for target in _targets(asked, library)[1:]:
        if target.name == library.answer and not asked.choice:
            return (
                f"I stopped halfway: {target.name} is not what the question asks for. "
                f"{target.name} is only on the way to the answer. Next time I will read on from {target.name}."
            )
    return ""


def _one_side(asked: Asked, library: Library, earlier: Advice) -> str:
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


def _namesake(asked: Asked, library: Library, earlier: Advice) -> str:
    for target in _targets(asked, library):
        titles = library.missed.get(target.name, [])
        right = closest(titles, target)
        if right and any(title in library.pages and title != right for title in titles):
            return (
                f"I took the page of another one for that of {target.known_as}, without checking that it fits. "
                f"Next time I will go straight to search[{right}]."
            )
    return ""


def _hasty(asked: Asked, library: Library, earlier: Advice) -> str:
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
    """Return the names in the question, and those that the pages lead to."""
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
