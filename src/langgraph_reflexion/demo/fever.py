"""The demo model on FEVER: it reads pages as it does on HotPotQA, and compares what they say with the claim.

Trials fail by the slips of `demo.hotpotqa.act`: it judges by the page on the way, by the wrong sentence or by the
page of a namesake, or it repeats a search that found nothing.
"""

import re
from dataclasses import dataclass, replace
from random import Random

from langgraph_reflexion.demo import hotpotqa
from langgraph_reflexion.demo.hotpotqa.act import SLIPS as ON_QUESTIONS
from langgraph_reflexion.demo.hotpotqa.act import Choice, Reader, give_up
from langgraph_reflexion.demo.hotpotqa.task import Asked, read_path
from langgraph_reflexion.demo.hotpotqa.world import (
    Target,
    Wanted,
    advised_word,
    content_words,
    names_in,
    read_library,
    stem,
)
from langgraph_reflexion.demo.persona import Act, slips_at
from langgraph_reflexion.demo.prompt import Advice, Prompt

SLIPS = {**ON_QUESTIONS, "halfway": 0.5, "hasty": 0.9, "namesake": 0.9, "again": 0.3}
"""Share of claims with each slip: two of three labels are often right by chance."""
_LABEL = re.compile(r"^Claim: (?P<claim>.*)", re.MULTILINE)
_STATED = "stated"


def recognises(prompt: Prompt) -> bool:
    """Return whether a prompt is about a claim."""
    return _LABEL.search(prompt.opening) is not None


def act(prompt: Prompt, rng: Random) -> Act:
    """Return the next action."""
    asked, value = _read(prompt)
    advice = Advice.of((*prompt.reflections, *prompt.recalled))
    choice = Verifier(asked, read_library(prompt), slips_at(asked.text, SLIPS, rng), advice, value=value).next()
    argument = {"search": "entity", "lookup": "string", "finish": "answer"}[choice.name]
    return Act(choice.thought, choice.name, {argument: choice.text}, f"{choice.name}[{choice.text}]")


def reflect(prompt: Prompt, rng: Random) -> str:
    """Name the action to blame, and what to do instead."""
    return hotpotqa.reflect(prompt, rng, _read(prompt)[0])


def learn(prompt: Prompt) -> str:
    """Say what helps with other claims about the same things."""
    return hotpotqa.learn(prompt, _read(prompt)[0])


def judge(prompt: Prompt) -> str:
    """Compare the label with a careful reader's."""
    (asked, value), library = _read(prompt), read_library(prompt)
    careful = Verifier(asked, library, lambda slip: False, Advice(()), tools=False, value=value).next()
    verdict = "yes" if careful.text == library.answer else "no"
    return f"{careful.thought} What was handed in is {library.answer or 'nothing'}.\nVerdict: {verdict}"


@dataclass(frozen=True)
class Verifier(Reader):
    """Chooses the next action on a claim: `value` is what it says last, or empty if it only says that it is so."""

    guesses: bool = False
    value: str = ""

    def next(self) -> Choice:
        choice = self._follow()
        if choice.name != "finish":
            return choice
        label = "SUPPORTS" if choice.text == (self.value or _STATED) else "REFUTES"
        return choice._replace(text=label if choice.known else "NOT ENOUGH INFO")

    def _find(self, target: Target, wanted: Wanted, *, careful: bool = False) -> Target | Choice:
        if self.value:
            return super()._find(target, wanted, careful=careful)
        page = self._page(target)
        if isinstance(page, Choice):
            return page
        words = {stem(word) for word in wanted.words}
        if any(words <= {stem(word) for word in re.findall(r"[\w-]+", sentence)} for sentence in page.sentences):
            return Target(_STATED)
        hint = advised_word(self.advice, page)
        if not self.tools or (self.slips("hasty") and not hint):
            return give_up(target)
        if self.library.open != page.title:
            return Choice(f"I go back to {page.title}.", "search", page.title)
        terms = [term for term in (hint, wanted.words[-1]) if term and term not in page.searched_for]
        return Choice(f"{page.title} may say so further down.", "lookup", terms[0]) if terms else give_up(target)


def _read(prompt: Prompt) -> tuple[Asked, str]:
    match = _LABEL.search(prompt.opening)
    return read_claim(match["claim"]) if match else read_claim(prompt.opening)


def read_claim(claim: str) -> tuple[Asked, str]:
    """Return what to read about in order to verify a claim, and the value that it says last, if any."""
    text = re.sub(r"^The (?=[a-z])", "the ", claim.strip()).rstrip(".")
    named = [target for _, target in names_in(text)]
    named = [target for target in named if target.name not in {each.where for each in named}]
    if not named:
        return Asked(text, (), (Wanted("", tuple(content_words(text))),)), ""
    if number := re.search(r"\b(?P<value>\d+)\b(?: (?P<unit>\w+))?", text):
        return _up_to(text, number.start(), named[0], number["unit"] or "year"), number["value"]
    if len(named) > 1:
        value = named[-1]
        return _up_to(text, text.rindex(value.name), named[0], value.role), value.name
    return read_path(text, named[0], asks=False), ""


def _up_to(text: str, end: int, target: Target, kind: str) -> Asked:
    """Return what to read about, with the kind of the value that begins at `end`."""
    asked = read_path(text[:end], target, asks=False)
    last = asked.hops[-1]
    number = text[end].isdigit()
    words = last.words if number or not kind else ()
    return replace(asked, text=text, hops=(*asked.hops[:-1], Wanted(kind or "person", words, number)))
