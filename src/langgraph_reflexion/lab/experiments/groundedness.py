"""Groundedness: how much of what a reflection names occurs in its trial or in the check's words.

Most words of a reflection are prose, which is neither right nor wrong. So only its *specific* words count:

* numbers, and words with a digit, an underscore or an inner capital letter: `12`, `get_item`, `parseAll`;
* names, which have a capital letter within a sentence;
* words in double quotes or backticks.

Where a trial numbers its things, as in `cabinet 1`, the number and the word before it count as one.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from langgraph_reflexion.lab.experiments.rows import TrialRow
from langgraph_reflexion.lab.experiments.run_files import answer_in
from langgraph_reflexion.support.copies import WORD, words_of

_QUOTED = re.compile(r'"[^"\n]{1,200}"|\u201c[^\u201d\n]{1,200}\u201d|`[^`\n]{1,200}`')
_SENTENCE_ENDS = ".!?:;\n"
_WORD_OR_END = re.compile(rf"{WORD.pattern}|[{_SENTENCE_ENDS}]")

Named = tuple[str, ...]
"""A specific word, or a word and its number."""


def specific_words(note: str, seen: str) -> tuple[int, int]:
    """Return how many of a reflection's specific words occur in what was seen, and how many it has; each counts once.

    Args:
        note: The reflection.
        seen: The trial and the check's words (`what_was_seen`).
    """
    words = words_of(seen)
    pairs = set(pairwise(words))
    numbered = {word for word, number in pairs if number.isdecimal()}
    named = set(_named(note, numbered))
    there: set[Named] = {(word,) for word in words}
    there.update(pairs)
    return len(named & there), len(named)


def what_was_seen(row: TrialRow, goal: str) -> str:
    """Return the texts of a trial, one below the other: the task, its steps, its result and the check's words.

    Args:
        row: The trial, with its trajectory.
        goal: The task's instruction.
    """
    texts = [goal, row.get("observation", "")]
    for step in row.get("steps", []):
        texts.append(f"step {step['number']}")
        texts.append(step["thought"])
        if step["action"]:
            texts.append(step["action"]["text"])
        texts.append(step["observation"])
    texts.append(answer_in(row))
    evaluation = row.get("evaluation")
    if evaluation:
        texts.append(evaluation["feedback"])
    return "\n".join(texts)


def _named(note: str, numbered: set[str]) -> Iterator[Named]:
    """Yield the specific words of a reflection, where the words in `numbered` belong to the number after them."""
    for quoted in _QUOTED.findall(note):
        for word in words_of(quoted):
            yield (word,)
    before = ""
    begins_sentence = True
    for part in _WORD_OR_END.findall(note):
        if part in _SENTENCE_ENDS:
            begins_sentence = True
            continue
        word = part.casefold()
        if word.isdecimal() and before in numbered:
            yield before, word
        elif _is_specific(part, begins_sentence=begins_sentence):
            yield (word,)
        before = word
        begins_sentence = False


def _is_specific(word: str, *, begins_sentence: bool) -> bool:
    """Return whether a word outside of quotes names something, by its characters."""
    if any(character.isdigit() or character == "_" for character in word):
        return True
    has_inner_capital = any(character.isupper() for character in word[1:])
    is_name = word[0].isupper() and len(word) > 1 and not begins_sentence
    return has_inner_capital or is_name
