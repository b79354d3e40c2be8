"""Which lessons fit a task: BM25 over the tasks that taught them and what they say."""

from collections.abc import Mapping, Sequence

import bm25s
import numpy as np
from Stemmer import Stemmer


class Words:
    """The words of texts, as numbers. What was read once is not read again when an index is built anew."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self._stemmer = Stemmer("english")
        self._known: dict[str, list[int]] = {}

    def of(self, texts: Sequence[str]) -> list[list[int]]:
        """The stems of each text, without stop words. Only these texts are kept in mind."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        read = {text: [self._number(stem) for stem in stems] for text, stems in zip(new, self.read(new), strict=True)}
        self._known = {text: read[text] if text in read else self._known[text] for text in texts}
        return [self._known[text] for text in texts]

    def read(self, texts: list[str]) -> list[list[str]]:
        """The stems themselves."""
        options = {"stopwords": "en", "stemmer": self._stemmer, "return_ids": False, "show_progress": False}
        return list(bm25s.tokenize(texts, **options)) if texts else []

    def _number(self, stem: str) -> int:
        return self.numbers.setdefault(stem, len(self.numbers))


class Index:
    """The lessons that may be recalled, searchable by words.

    Args:
        texts: What each lesson is found by, by its id, in the order that decides between equals.
        words: Reads their words.
    """

    def __init__(self, texts: Mapping[str, str], words: Words | None = None) -> None:
        self.texts = texts
        self._ids = list(texts)
        self._words = words or Words()
        self._bm25: bm25s.BM25 | None = None
        numbers = self._words.of(list(texts.values()))
        if any(numbers):
            self._bm25 = bm25s.BM25()
            self._bm25.index((numbers, dict(self._words.numbers)), show_progress=False)

    def search(self, query: str) -> list[str]:
        """The ids of the lessons that share words with a query, the most fitting first."""
        if self._bm25 is None:
            return []
        [stems] = self._words.read([query])
        known = [self._bm25.vocab_dict[stem] for stem in stems if stem in self._bm25.vocab_dict]
        if not known:
            return []
        # Rounded, so that the order of lessons that fit as well does not hang on the last bit.
        scores = np.round(self._bm25.get_scores(known), 4)
        order = np.argsort(-scores, kind="stable")
        return [self._ids[index] for index in order[: np.count_nonzero(scores)]]
