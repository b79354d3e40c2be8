"""The measurement of the corpus: on few pages, that it measures what it says."""

from tests.performance.corpus_speed import measure, pages


def test_few_pages_are_built_and_searched():
    result = measure(300, 25)
    assert result["pages"] == 300
    assert all(value > 0 for value in result.values())
    assert result["similar titles, ms"] > result["exact title, ms"]


def test_the_paragraphs_are_the_same_every_time_and_no_title_comes_twice():
    made = list(pages(500))
    assert made == list(pages(500))
    assert len({page.title for page in made}) == 500
    assert 30 < sum(len(page.text.split()) for page in made) / 500 < 120
