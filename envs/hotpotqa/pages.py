"""Pages, and the protocol of their sources."""

import re
import unicodedata
from dataclasses import dataclass
from typing import Protocol, Self

SHOWN = 5
"""The number of sentences that a search shows, or of similar titles if there is no page."""

_BRACKETS_AT_END = re.compile(r"\s*\([^()]*\)$")
_ABBREVIATIONS = (
    "adm|ave|brig|bros|ca|capt|cf|cmdr|co|col|corp|dept|dr|est|fr|gen|gov|hon|inc|jr|lt|ltd|maj|mr|mrs|ms|mt|prof|"
    "rep|rev|sen|sgt|sr|st|ste|vol|vs"
)
_OPENING, _CLOSING = r"""["'\u201c\u2018(\[]""", r"""["'\u201d\u2019)\]]"""
# The first alternative skips what ends no sentence; the group is what follows an end.
_END = re.compile(
    rf"(?:(?<!\S)|(?<={_OPENING}))(?i:[^\W\d_]|{_ABBREVIATIONS})\."
    rf"|[.!?]{_CLOSING}*+(?=\s++(?!\Z){_OPENING}*+(.?))"
    # The full stops of Chinese, Japanese and Hindi need no blank after them.
    r"|[\u3002\uff01\uff1f\u0964](?=(.))",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its title and its sentences, whose concatenation is its text."""

    title: str
    sentences: tuple[str, ...]

    @classmethod
    def from_text(cls, title: str, text: str) -> Self:
        """Make a page of running text, one paragraph per line, without headings and lines of one or two words."""
        paragraphs = []
        long_ones = []
        for line in text.splitlines():
            paragraph = line.strip()
            if not paragraph or _heading(paragraph):
                continue
            paragraphs.append(paragraph)
            # Text without blanks, as in Chinese, is one long word.
            if len(paragraph.split()) > 2 or len(paragraph) > 40:
                long_ones.append(paragraph)
        body = " ".join(long_ones or paragraphs)
        return cls(title, tuple(split_sentences(body)))

    @property
    def text(self) -> str:
        return "".join(self.sentences)

    @property
    def opening(self) -> str:
        """The first sentences, which a search shows."""
        first = "".join(self.sentences[:SHOWN])
        return " ".join(first.split())


@dataclass(frozen=True, slots=True)
class Missing:
    """No page has the title; these titles are similar, the most similar first."""

    similar: tuple[str, ...] = ()


class Pages(Protocol):
    """A source of pages."""

    replays: bool
    """Whether searches are repeatable, so that an episode can be rebuilt by its actions."""

    def find(self, entity: str) -> Page | Missing:
        """Return the page of this title, as a model wrote it, or similar titles.

        Raises:
            EnvironmentFault: the search failed. A missing page is not a fault.
        """

    def close(self) -> None:
        """Release resources. May be called twice."""


def normalize_title(title: str) -> str:
    """Return a title without case, accents, underscores and surplus blanks."""
    folded = title.replace("_", " ").casefold()
    # Letters and their accents become characters of their own.
    decomposed = unicodedata.normalize("NFKD", folded)
    letters = "".join(c for c in decomposed if not unicodedata.combining(c))
    return " ".join(letters.split())


def before_brackets(title: str) -> str:
    """Return a title without the brackets at its end, which tell it from others, as in `Ada (film)`."""
    return _BRACKETS_AT_END.sub("", title)


def _heading(line: str) -> bool:
    return len(line) > 1 and line.startswith("=") and line.endswith("=")


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a paragraph, whose concatenation is the paragraph.

    A full stop ends no sentence after an initial ("J. Doe") or a common abbreviation, or before a small letter.
    """
    if not text:
        return []
    sentences = []
    begin = 0
    for match in _END.finditer(text):
        next_letter = match[1]
        # Where there is neither of the groups, the match is an abbreviation.
        ends_here = next_letter is not None and not next_letter.islower()
        if ends_here or match[2]:
            sentences.append(text[begin : match.end()])
            begin = match.end()
    sentences.append(text[begin:])
    return sentences
