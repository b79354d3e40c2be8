from itertools import pairwise
from random import Random

import pytest

from langgraph_reflexion.envs.webshop.store import STOP_WORDS, analyze
from tests.support.webshop import product, store_of


def built(texts):
    products = [product(f"B{n}", text, full_description="", small_description=[]) for n, text in enumerate(texts)]
    return store_of(products)


def written(number):
    random = Random("texts")
    words = [f"w{int(random.paretovariate(0.6)) % 300}" for _ in range(400)]
    return [" ".join(random.choices(words, k=random.randint(0, 30))) for _ in range(number)]


@pytest.mark.slow
def test_the_scores_are_those_of_bm25():
    bm25s = pytest.importorskip("bm25s")
    texts, random = written(300), Random(1)
    reference, ours = bm25s.BM25(k1=0.9, b=0.4, method="lucene"), built(texts)
    reference.index([analyze(text) for text in texts], show_progress=False)
    for _ in range(20):
        words = [*random.choice(texts).split()[:3], *random.choice(texts).split()[:1]] or ["w1"]
        scores, found = reference.get_scores(words), ours.search(" ".join(words), 300)
        assert set(found) == set(scores.nonzero()[0])
        # The reference rounds to single precision.
        assert all(scores[one] > scores[other] - 1e-5 for one, other in pairwise(found))
        assert ours.search(" ".join(words)) == found[:50]


def test_a_word_that_comes_twice_in_a_query_counts_twice():
    store = built(["soap", "dish dish", "soap dish"])
    assert [store.search(query)[:2] for query in ("soap soap dish", "soap dish dish")] == [[2, 0], [2, 1]]


def test_ties_come_in_the_order_of_the_catalogue():
    store = built([["soap", "soap dish", "soap bar"][place % 3] for place in range(90)])
    assert store.search("soap") == list(range(0, 90, 3)) + [n for n in range(90) if n % 3][:20]
    assert store.search("dish", 7) == list(range(1, 20, 3))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The Women's shoes, running", ["women", "shoe", "run"]),
        ("wi-fi 3.5 mm 1,000 a.b.c. x.5", ["wi", "fi", "3.5", "mm", "1,000", "a.b.c", "x", "5"]),
        ("don't o'neill's '90s", ["don't", "o'neil", "90"]),
        ("foot/ankle_brace (pack of 2)", ["foot", "ankle_brac", "pack", "2"]),
        ("Crème brûlée ÅLMÖ naïve", ["crème", "brûlée", "ålmö", "naïv"]),
        (" ".join(STOP_WORDS).upper(), []),
        ("\x00soap\x07bar\u200bsoap", ["soap", "bar", "soap"]),
    ],
)
def test_words_are_those_of_lucenes_english_analyzer(text, words):
    assert analyze(text) == words
