"""Search index with the scores of the original's Lucene: BM25 through `bm25s`, ties in the order of the catalogue.

Parameters, stemming and stop words are pyserini's defaults. One thing differs: Lucene stores lengths in one byte and
so rounds those above 39 words; here they are exact.
"""

import warnings
from array import array
from collections import defaultdict
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import open_memmap

from langgraph_reflexion.envs.webshop.lucene_analyzer import Analyzer

with warnings.catch_warnings():
    # In notebooks bm25s asks for ipywidgets, for progress bars that are not used here.
    warnings.filterwarnings("ignore", "IProgress not found")
    import bm25s

K1, B = 0.9, 0.4
MAX_RESULTS = 50
"""Maximum number of products that a search returns."""


class Index:
    """A search index, usable from any thread.

    Args:
        bm25: The scores of each word in each text.
    """

    def __init__(self, bm25: Any) -> None:
        self._bm25 = bm25
        self._words = Analyzer()

    @classmethod
    def open(cls, folder: Path) -> "Index":
        """Memory-map the index saved in a folder."""
        return cls(bm25s.BM25.load(folder, mmap=True))

    def save(self, folder: Path) -> None:
        self._bm25.save(folder)

    def search(self, query: str, limit: int = MAX_RESULTS) -> list[int]:
        """Return the numbers of the best texts, the best first, ties in the order of the texts.

        Args:
            query: Analyzer; how often each of them is there counts.
            limit: Maximum number of results.
        """
        terms = self._bm25.get_tokens_ids(self._words(query))
        if not terms:
            return []
        scores = self._bm25.get_scores_from_ids(terms)
        found = np.flatnonzero(scores)
        if len(found) > limit:
            least = np.partition(scores[found], -limit)[-limit]
            found = found[scores[found] >= least]
        ranked: list[int] = found[np.lexsort((found, -scores[found]))].tolist()
        return ranked[:limit]


class IndexBuilder:
    """Builder of an index in bounded memory, with the scores that bm25s computes from all texts at once.

    Args:
        folder: A folder for intermediate files; default none, in memory.
        chunk: Number of words per chunk.
    """

    def __init__(self, folder: Path | None = None, chunk: int = 4_000_000) -> None:
        self._folder = folder
        self._chunk = chunk
        self._words = Analyzer()
        self._terms: dict[str, int] = defaultdict(count().__next__)
        self._lengths = array("i")
        self._waiting = array("i")
        self._first = 0
        self._chunks: list[Path | np.ndarray] = []
        self._size = 0

    def add(self, text: str) -> None:
        """Add a text; texts are numbered in the order of addition."""
        words = self._words(text)
        self._lengths.append(len(words))
        self._waiting.extend([self._terms[word] for word in words])
        if len(self._waiting) >= self._chunk:
            self._flush()

    def finish(self) -> Index:
        """Return the index of all texts and invalidate the builder."""
        self._flush()
        texts, lengths = len(self._lengths), np.array(self._lengths, np.int32)
        holding = np.zeros(len(self._terms), np.int64)
        for terms, _, _ in map(_load, self._chunks):
            holding += np.bincount(terms, minlength=len(holding))
        starts = np.concatenate(([0], np.cumsum(holding)))
        data, indices = self._empty("data", np.float32), self._empty("indices", np.int32)
        idf = np.log1p((texts - holding + 0.5) / (holding + 0.5))
        norms = K1 * (1 - B + B * lengths / max(lengths.mean(), 1e-9)) if texts else lengths
        free = starts[:-1].copy()
        for terms, numbers, counts in map(_load, self._chunks):
            present, first, here = np.unique(terms, return_index=True, return_counts=True)
            places = free[terms] + np.arange(len(terms)) - np.repeat(first, here)
            data[places] = idf[terms] * counts / (norms[numbers] + counts)
            indices[places] = numbers
            free[present] += here
        bm25 = bm25s.BM25(k1=K1, b=B, method="lucene")
        bm25.scores = {"data": data, "indices": indices, "indptr": starts, "num_docs": texts}
        bm25.vocab_dict, bm25.nonoccurrence_array = dict(self._terms), None
        return Index(bm25)

    def _flush(self) -> None:
        """Store the sorted (term, text, count) triples of the waiting texts."""
        lengths = np.array(self._lengths[self._first :], np.int64)
        numbers = np.repeat(np.arange(self._first, len(self._lengths)), lengths)
        pairs = np.array(self._waiting, np.int64) << 32 | numbers
        pairs, counts = np.unique(pairs, return_counts=True)
        chunk = np.stack([pairs >> 32, pairs & 0xFFFFFFFF, counts]).astype(np.int32)
        self._size += chunk.shape[1]
        if self._folder is None:
            self._chunks.append(chunk)
        else:
            file = self._folder / f"chunk-{len(self._chunks)}.npy"
            np.save(file, chunk)
            self._chunks.append(file)
        self._first, self._waiting = len(self._lengths), array("i")

    def _empty(self, name: str, kind: type) -> np.ndarray:
        if self._folder is None or not self._size:
            return np.empty(self._size, kind)
        return open_memmap(self._folder / f"{name}.npy", "w+", kind, (self._size,))


def _load(chunk: Path | np.ndarray) -> np.ndarray:
    return np.load(chunk) if isinstance(chunk, Path) else chunk
