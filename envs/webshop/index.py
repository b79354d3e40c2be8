"""Search as the original's Lucene does it: BM25 through `bm25s`, with ties in the order of the catalogue.

The parameters, stemming and stop words are those of pyserini's default. One thing differs: Lucene keeps the length of
a text of more than 39 words in one byte, and so rounds it; here it is exact.
"""

import warnings
from array import array
from collections import defaultdict
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import open_memmap

from langgraph_reflexion.envs.webshop.words import Words

with warnings.catch_warnings():
    # In a notebook it wants widgets, for progress bars that nobody sees here.
    warnings.filterwarnings("ignore", "IProgress not found")
    import bm25s

K1, B = 0.9, 0.4
FOUND = 50
"""How many products a search finds at most."""


class Index:
    """What products are searched with. May be used from any thread.

    Args:
        bm25: The scores of every word in every text.
    """

    def __init__(self, bm25: Any) -> None:
        self._bm25 = bm25
        self._words = Words()

    @classmethod
    def open(cls, folder: Path) -> "Index":
        """The index that was saved in a folder. It stays on the disk, and is read where a search looks at it."""
        return cls(bm25s.BM25.load(folder, mmap=True))

    def save(self, folder: Path) -> None:
        """Save it in a folder."""
        self._bm25.save(folder)

    def search(self, query: str, most: int = FOUND) -> list[int]:
        """The numbers of the texts that fit best, the best first, and of two that fit as well the earlier one.

        Args:
            query: Words; how often each of them is there counts.
            most: How many to give at most.
        """
        terms = self._bm25.get_tokens_ids(self._words(query))
        if not terms:
            return []
        scores = self._bm25.get_scores_from_ids(terms)
        found = np.flatnonzero(scores)
        if len(found) > most:
            least = np.partition(scores[found], -most)[-most]
            found = found[scores[found] >= least]
        ranked: list[int] = found[np.lexsort((found, -scores[found]))].tolist()
        return ranked[:most]


class IndexBuilder:
    """Builds an index text by text, and so that a million of them fit into the memory.

    bm25s builds one, too, from the words of all texts at once. This gives the same scores.

    Args:
        folder: Where to put down what is needed only later; in memory unless given.
        chunk: How many words are worked on at once.
    """

    def __init__(self, folder: Path | None = None, chunk: int = 4_000_000) -> None:
        self._folder = folder
        self._chunk = chunk
        self._words = Words()
        self._terms: dict[str, int] = defaultdict(count().__next__)
        self._lengths = array("i")
        self._waiting = array("i")
        self._first = 0
        self._chunks: list[Path | np.ndarray] = []
        self._size = 0

    def add(self, text: str) -> None:
        """Add a text; its number is how many there were before."""
        words = self._words(text)
        self._lengths.append(len(words))
        self._waiting.extend([self._terms[word] for word in words])
        if len(self._waiting) >= self._chunk:
            self._put_down()

    def finish(self) -> Index:
        """The index of all texts. The builder is of no use any more."""
        self._put_down()
        texts, lengths = len(self._lengths), np.array(self._lengths, np.int32)
        holding = np.zeros(len(self._terms), np.int64)
        for terms, _, _ in map(_picked_up, self._chunks):
            holding += np.bincount(terms, minlength=len(holding))
        starts = np.concatenate(([0], np.cumsum(holding)))
        data, indices = self._empty("data", np.float32), self._empty("indices", np.int32)
        idf = np.log1p((texts - holding + 0.5) / (holding + 0.5))
        norms = K1 * (1 - B + B * lengths / max(lengths.mean(), 1e-9)) if texts else lengths
        free = starts[:-1].copy()
        for terms, numbers, counts in map(_picked_up, self._chunks):
            present, first, here = np.unique(terms, return_index=True, return_counts=True)
            places = free[terms] + np.arange(len(terms)) - np.repeat(first, here)
            data[places] = idf[terms] * counts / (norms[numbers] + counts)
            indices[places] = numbers
            free[present] += here
        bm25 = bm25s.BM25(k1=K1, b=B, method="lucene")
        bm25.scores = {"data": data, "indices": indices, "indptr": starts, "num_docs": texts}
        bm25.vocab_dict, bm25.nonoccurrence_array = dict(self._terms), None
        return Index(bm25)

    def _put_down(self) -> None:
        """Count the words of the texts since the last time: term, text and count, sorted."""
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


def _picked_up(chunk: Path | np.ndarray) -> np.ndarray:
    return np.load(chunk) if isinstance(chunk, Path) else chunk
