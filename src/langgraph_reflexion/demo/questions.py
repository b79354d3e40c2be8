"""The demo model at questions (HotPotQA), with pages to search, with paragraphs, or with nothing at all.

It holds no page, no question and no answer: what it reads in the prompt is all that it has. With nothing to read it
guesses.
"""

import re
from random import Random

from langchain_core.messages import AIMessage

from langgraph_reflexion.demo.answering import SLIPS, Act, Reader, carefully
from langgraph_reflexion.demo.asked import Asked, read_question
from langgraph_reflexion.demo.habits import LUCK, habit, slips_at
from langgraph_reflexion.demo.hindsight import look_back, way_found
from langgraph_reflexion.demo.lessons import Lessons
from langgraph_reflexion.demo.library import read_library
from langgraph_reflexion.demo.reading import sentences_of
from langgraph_reflexion.demo.replying import reply
from langgraph_reflexion.demo.transcript import Prompt

VAGUE = 0.4
"""How often a reflection holds nothing of use."""


def recognises(prompt: Prompt) -> bool:
    """Whether a prompt is about a question."""
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
        return _guess(asked, Lessons.of(prompt.lessons), rng)
    # What notes from other tasks say of the things that this question is about is as good as its own.
    lessons = Lessons.of((*prompt.lessons, *prompt.recalled))
    return Reader(asked, library, slips_at(asked.text, SLIPS, rng), lessons, can_search).next()


def _guess(asked: Asked, lessons: Lessons, rng: Random) -> Act:
    """Answer from nothing: what comes to mind first, and has not been wrong before."""
    names = [target.name for target in asked.targets]
    if asked.closed:
        likely = ["yes", "no"]
    else:
        likely = names if asked.choice else [*(word for name in names for word in name.split()), "1900"]
    likely.sort(key=lambda each: habit(asked.text, each))
    if rng.random() < LUCK:
        rng.shuffle(likely)
    wrong = lessons.wrong(names[0]) if names else []
    left = [each for each in likely if each not in wrong] or likely
    return Act(f"I do not know for certain. {left[0]} seems likeliest.", "finish", left[0])


def _reflect(prompt: Prompt, asked: Asked, rng: Random) -> str:
    last = prompt.turns[-1].action if prompt.turns else "nothing"
    if rng.random() < VAGUE:
        return f"My last action was {last}, and I failed. Next time I will read more carefully and think it through."
    said = look_back(asked, read_library(prompt), Lessons.of(prompt.lessons))
    # What the last useful note says stays true.
    useful = [note for note in prompt.lessons if "more carefully" not in note]
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
