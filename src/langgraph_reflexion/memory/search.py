"""Full-text search over lessons: BM25."""

import warnings
from collections.abc import Mapping

import numpy as np
from Stemmer import Stemmer

with warnings.catch_warnings():
    # In notebooks bm25s asks for ipywidgets, for progress bars that are not used here.
    warnings.filterwarnings("ignore", "IProgress not found")
    import bm25s


class TextSearch:
    """A BM25 index of texts by id; among equal scores the order of `texts` decides."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._ids = list(texts)
        self._stemmer = Stemmer("english")
        self._bm25: bm25s.BM25 | None = None
        stems = self._stems(list(texts.values()))
        if any(stems):
            self._bm25 = bm25s.BM25()
            self._bm25.index(stems, show_progress=False)

    def search(self, query: str) -> list[str]:
        """Return the ids of the texts that share words with the query, the best match first."""
        [stems] = self._stems([query])
        if self._bm25 is None or not (known := [stem for stem in stems if stem in self._bm25.vocab_dict]):
            return []
        scores = np.round(self._bm25.get_scores(known), 4)  # so that the last bit decides no order
        order = np.argsort(-scores, kind="stable")
        return [self._ids[index] for index in order[: np.count_nonzero(scores)]]

    def _stems(self, texts: list[str]) -> list[list[str]]:
        options = {"stopwords": "en", "stemmer": self._stemmer, "return_ids": False, "show_progress": False}
        return list(bm25s.tokenize(texts, **options)) if texts else []
