"""Search compared with BM25 by definition, with the reference's parameters, words and order of ties."""

import math
from collections import Counter
from itertools import pairwise
from random import Random

import bm25s
import numpy as np
import pytest

from langgraph_reflexion.envs.webshop.index import Index, IndexBuilder
from langgraph_reflexion.envs.webshop.lucene_analyzer import STOP_WORDS, Analyzer

READ = Analyzer()
TEXTS = [
    "blue running shoes for women, size 8",
    "running shoe",
    "a red ceramic mug",
    "red red red mug with the blue rim",
    "",
    "women's shoes (blue)",
    "the and of",
]


def built(texts, folder=None, chunk=10_000):
    builder = IndexBuilder(folder, chunk)
    for text in texts:
        builder.add(text)
    return builder.finish()


def scores(texts, query, k1=0.9, b=0.4):
    """BM25 by its formula, without any library."""
    told = [READ(text) for text in texts]
    mean = sum(map(len, told)) / len(told)
    result = []
    for words in told:
        count, score = Counter(words), 0.0
        for word in READ(query):
            holding = sum(word in other for other in told)
            idf = math.log(1 + (len(told) - holding + 0.5) / (holding + 0.5))
            score += idf * count[word] / (count[word] + k1 * (1 - b + b * len(words) / mean))
        result.append(score)
    return result


def ranked(texts, query):
    """The numbers of the texts that hold any of the words, by score to float precision, then by number."""
    found = [(-round(score, 5), number) for number, score in enumerate(scores(texts, query)) if score > 0]
    return [number for _, number in sorted(found)]


def written(number, seed):
    random = Random(f"texts {seed}")
    words = [f"w{int(random.paretovariate(0.6)) % 300}" for _ in range(400)]
    return [" ".join(random.choices(words, k=random.randint(0, 30))) for _ in range(number)]


@pytest.mark.parametrize(
    "query", ["blue shoes", "RED mug", "running", "shoe shoe red", "nothing here", "the", "?", "8"]
)
def test_the_ranking_is_that_of_the_formula(query):
    assert built(TEXTS).search(query) == ranked(TEXTS, query)


@pytest.mark.parametrize("seed", range(1))
def test_and_so_on_many_texts(seed):
    texts = written(300, seed)
    index, random = built(texts), Random(seed)
    for _ in range(12):
        query = " ".join(random.choice(texts).split()[:3] + random.choice(texts).split()[:1])
        told, found = scores(texts, query), index.search(query, 300)
        assert set(found) == {number for number, score in enumerate(told) if score > 0}
        # Where scores are this close, what they are rounded to decides.
        assert all(told[one] > told[other] - 1e-5 for one, other in pairwise(found))
        assert index.search(query) == found[:50]


def test_the_scores_are_those_that_bm25s_computes_by_itself():
    texts, read = written(200, "bm25s"), Analyzer()
    theirs = bm25s.BM25(k1=0.9, b=0.4, method="lucene")
    theirs.index([read(text) for text in texts], show_progress=False)
    ours = built(texts)
    for query in texts[:8]:
        if words := [word for word in read(query) if word in theirs.vocab_dict]:
            told = theirs.get_scores(words)
            np.testing.assert_allclose(told, scores(texts, query), rtol=1e-4, atol=1e-6)
            assert set(ours.search(query, 200)) == set(np.flatnonzero(told))


def test_texts_that_fit_as_well_come_in_their_order_wherever_the_list_ends():
    texts = [["soap", "soap dish", "soap bar"][place % 3] for place in range(90)]
    index = built(texts)
    assert index.search("soap") == list(range(0, 90, 3)) + [n for n in range(90) if n % 3][:20]
    assert index.search("dish", 7) == list(range(1, 20, 3))


def test_an_index_that_was_put_down_piece_by_piece_and_saved_is_the_same(tmp_path):
    texts = written(120, "disk")
    (tmp_path / "aside").mkdir()
    built(texts, tmp_path / "aside").save(tmp_path / "kept")
    kept, direct = Index.open(tmp_path / "kept"), built(texts)
    for query in ["w1 w2 w3", *texts[:20]]:
        assert kept.search(query) == direct.search(query)


@pytest.mark.parametrize("chunk", [1, 50, 700])
def test_in_chunks_as_in_one(tmp_path, chunk):
    texts = written(150, "chunks")
    index, whole = built(texts, tmp_path, chunk), built(texts)
    assert len(list(tmp_path.glob("chunk-*.npy"))) > 2
    for query in texts[:20]:
        assert index.search(query, 150) == whole.search(query, 150)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The Women's shoes, running", ["women", "shoe", "run"]),
        ("women\u2019s", ["women"]),
        ("wi-fi 3.5 mm 1,000 a.b.c. x.5", ["wi", "fi", "3.5", "mm", "1,000", "a.b.c", "x", "5"]),
        ("don't o'neill's '90s", ["don't", "o'neil", "90"]),
        ("foot/ankle_brace (pack of 2)", ["foot", "ankle_brac", "pack", "2"]),
        ("Crème brûlée ÅLMÖ naïve", ["crème", "brûlée", "ålmö", "naïv"]),
        ("it is not for the with", []),
        ("___ -- [] <r>", ["r"]),
        ("\x00soap\x07bar\u200bsoap", ["soap", "bar", "soap"]),
    ],
)
def test_words_are_those_of_lucenes_english_analyzer(text, words):
    assert Analyzer()(text) == words


def test_all_stop_words_are_left_out():
    assert len(STOP_WORDS) == 33
    assert Analyzer()(" ".join(STOP_WORDS).upper()) == []


def test_nothing_can_be_searched_in_nothing():
    assert built([]).search("soap") == []
    assert built(["", "the"]).search("soap the") == []
