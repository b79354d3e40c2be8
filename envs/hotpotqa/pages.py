"""Pages, and the one thing that is asked of whatever has them: find one by its title."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, Self

SHOWN = 5
"""How many sentences of a page a search shows, and how many similar titles where there is no page."""

_CLOSING, _OPENING = "\"'\u201d\u2019)]", "\"'\u201c\u2018(["
# The full stops of Chinese, Japanese and Hindi, after which there need not be a blank.
_END = re.compile(rf"[.!?][{re.escape(_CLOSING)}]*(\s+)|[\u3002\uff01\uff1f\u0964]()")
_ABBREVIATIONS = (
    "adm ave brig bros ca capt cf cmdr co col corp dept dr est fr gen gov hon inc jr lt ltd maj mr mrs ms mt prof "
    "rep rev sen sgt sr st ste vol vs"
)
_ABBREVIATED = frozenset(_ABBREVIATIONS.split())


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its title, and its sentences, which joined are its text."""

    title: str
    sentences: tuple[str, ...]

    @classmethod
    def from_text(cls, title: str, text: str) -> Self:
        """A page of running text, a paragraph to a line; headings and lines of a word or two are left out."""
        paragraphs = [line.strip() for line in text.splitlines() if not _heading(line.strip())]
        # Written without blanks, as Chinese is, a whole paragraph is one word.
        told = " ".join(line for line in paragraphs if len(line.split()) > 2 or len(line) > 40)
        return cls(title, tuple(split_sentences(told or " ".join(filter(None, paragraphs)))))

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(self.sentences)

    @property
    def opening(self) -> str:
        """What a search shows: the first sentences."""
        return " ".join("".join(self.sentences[:SHOWN]).split())


@dataclass(frozen=True, slots=True)
class Missing:
    """No page of that title: there are these, the most similar first."""

    similar: tuple[str, ...] = ()


class Pages(Protocol):
    """Where pages come from."""

    replays: bool
    """Whether a search always finds the same, so that an episode can be rebuilt by its actions."""

    def find(self, entity: str) -> Page | Missing:
        """The page of that title, or the titles that come near.

        Args:
            entity: The title, as a model wrote it; not empty.

        Raises:
            EnvironmentFault: they cannot be searched now. That a page is missing is no fault.
        """

    def close(self) -> None:
        """Let go of what is held. Closing twice is fine."""


def fold(title: str) -> str:
    """A title without case, accents, underscores and surplus blanks."""
    plain = unicodedata.normalize("NFKD", title.replace("_", " ").casefold())
    return " ".join("".join(c for c in plain if not unicodedata.combining(c)).split())


def _heading(line: str) -> bool:
    return len(line) > 1 and line.startswith("=") and line.endswith("=")


def split_sentences(text: str) -> Iterator[str]:
    """The sentences of a paragraph; joined, they are the paragraph.

    A full stop ends none after an initial ("J. Doe"), a common abbreviation, or before a small letter.
    """
    begin = 0
    for match in _END.finditer(text):
        blank, after = match.start(match.lastindex or 0), match.end()
        if match[1] is not None and _goes_on(
            # A look at the words around is enough, and a whole book before or behind takes its time.
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


def _goes_on(before: str, mark: str, after: str) -> bool:
    following = after.lstrip(_OPENING)[:1]
    if following.islower():
        return True
    word = re.split(rf"[\s{re.escape(_OPENING)}]", before)[-1]
    return mark == "." and ((len(word) == 1 and word.isalpha()) or word.lower() in _ABBREVIATED)
