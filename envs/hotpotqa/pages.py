"""Pages, and the protocol of their sources."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, Self

SHOWN = 5
"""The number of sentences that a search shows, or of similar titles if there is no page."""

_CLOSING, _OPENING = "\"'\u201d\u2019)]", "\"'\u201c\u2018(["
# The full stops of Chinese, Japanese and Hindi need no blank after them.
_END = re.compile(rf"[.!?][{re.escape(_CLOSING)}]*(\s+)|[\u3002\uff01\uff1f\u0964]()")
_ABBREVIATIONS = (
    "adm ave brig bros ca capt cf cmdr co col corp dept dr est fr gen gov hon inc jr lt ltd maj mr mrs ms mt prof "
    "rep rev sen sgt sr st ste vol vs"
)
_ABBREVIATED = frozenset(_ABBREVIATIONS.split())


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its title and its sentences, whose concatenation is its text."""

    title: str
    sentences: tuple[str, ...]

    @classmethod
    def from_text(cls, title: str, text: str) -> Self:
        """Make a page of running text, one paragraph per line, without headings and lines of one or two words."""
        paragraphs = [line.strip() for line in text.splitlines() if not _heading(line.strip())]
        # Text without blanks, as in Chinese, is one long word.
        body = " ".join(line for line in paragraphs if len(line.split()) > 2 or len(line) > 40)
        return cls(title, tuple(split_sentences(body or " ".join(filter(None, paragraphs)))))

    @property
    def text(self) -> str:
        return "".join(self.sentences)

    @property
    def opening(self) -> str:
        """The first sentences, which a search shows."""
        return " ".join("".join(self.sentences[:SHOWN]).split())


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
    plain = unicodedata.normalize("NFKD", title.replace("_", " ").casefold())
    return " ".join("".join(c for c in plain if not unicodedata.combining(c)).split())


def _heading(line: str) -> bool:
    return len(line) > 1 and line.startswith("=") and line.endswith("=")


def split_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a paragraph, whose concatenation is the paragraph.

    A full stop ends no sentence after an initial ("J. Doe") or a common abbreviation, or before a small letter.
    """
    begin = 0
    for match in _END.finditer(text):
        blank, after = match.start(match.lastindex or 0), match.end()
        if match[1] is not None and _continues(
            # The words around are enough; slicing a whole book is slow.
            text[max(begin, match.start() - 60) : match.start()],
            text[match.start()],
            text[after : after + 60],
        ):
            continue
        if after < len(text):
            yield text[begin:blank]
            begin = blank
    if begin < len(text):
        yield text[begin:]


def _continues(before: str, mark: str, after: str) -> bool:
    following = after.lstrip(_OPENING)[:1]
    if following.islower():
        return True
    word = re.split(rf"[\s{re.escape(_OPENING)}]", before)[-1]
    return mark == "." and ((len(word) == 1 and word.isalpha()) or word.lower() in _ABBREVIATED)
