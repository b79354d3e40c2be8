"""Lucene's English analyzer, which the original's search uses."""

import re
import threading

import Stemmer

_NOT_INDEXED = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they "
    "this to was will with"
)
STOP_WORDS = frozenset(_NOT_INDEXED.split())
"""Lucene's English stop words, which are not indexed."""

# Unicode's word breaks: an apostrophe, full stop or colon joins letters, a full stop or comma joins digits.
_WORD = re.compile(r"\w+(?:(?:(?<=[^\W\d_])['\u2019.:\u00b7](?=[^\W\d_])|(?<=\d)['\u2019.,;](?=\d))\w+)*")
_CACHED = 500_000
"""Maximum number of cached words: large catalogues have many, most of them only once."""


class Analyzer:
    """Returns the stems of a text's words, cached. Usable from any thread."""

    def __init__(self) -> None:
        self._stemmer = Stemmer.Stemmer("porter", 0)
        self._stems: dict[str, str | None] = {}
        self._lock = threading.Lock()

    def __call__(self, text: str) -> list[str]:
        """Return the stems of a text's words, in order, without stop words."""
        stems, found = self._stems, []
        with self._lock:
            for word in _WORD.findall(text.lower()):
                if word not in stems:
                    self._stem(word)
                if stem := stems[word]:
                    found.append(stem)
        return found

    def _stem(self, word: str) -> None:
        if len(self._stems) >= _CACHED:
            self._stems.clear()
        base = word[:-2] if word.endswith(("'s", "\u2019s")) else word
        known = base not in STOP_WORDS and any(c.isalnum() for c in base)
        self._stems[word] = self._stemmer.stemWord(base) if known else None
