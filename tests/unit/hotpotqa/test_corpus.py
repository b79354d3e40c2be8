"""Pages offline: how titles are found, what comes near, and that a corpus is built once."""

import pytest

from langgraph_reflexion.envs.hotpotqa.corpus import Corpus
from langgraph_reflexion.envs.hotpotqa.pages import Missing, Page
from langgraph_reflexion.errors import EnvironmentUnavailable

PAGES = [
    Page("Kit", ("A kit is a young fox.",)),
    Page("KIT", ("KIT is an institute.",)),
    Page("Ålmö (village)", ("A village on the Ket.",)),
    Page("Willow (tree)", ("The willow is a tree.",)),
    Page("Willow (film)", ("Willow is a film.",)),
    Page("The Winter of Ålmö", ("A novel about snow.",)),
    Page("Kit", ("This comes second, and is not kept.",)),
]


@pytest.fixture
def corpus():
    corpus = Corpus.in_memory(PAGES)
    yield corpus
    corpus.close()


@pytest.mark.parametrize(
    ("entity", "title"),
    [
        ("Kit", "Kit"),
        ("KIT", "KIT"),
        ("kit", "Kit"),
        ("the  winter_of almo", "The Winter of Ålmö"),
        ("Ålmö", "Ålmö (village)"),
        ("almo", "Ålmö (village)"),
        ("willow (TREE)", "Willow (tree)"),
    ],
)
def test_a_title_is_found_as_written_or_else_but_for_case_accents_and_brackets(corpus, entity, title):
    assert corpus.find(entity).title == title


def test_a_title_that_two_pages_share_but_for_brackets_finds_neither(corpus):
    assert set(corpus.find("Willow").similar) == {"Willow (tree)", "Willow (film)"}


def test_a_title_comes_once_and_the_first_page_is_kept(corpus):
    assert len(corpus) == 6
    assert corpus.page("Kit").text == "A kit is a young fox."
    assert corpus.page("kit") is None


@pytest.mark.parametrize(
    ("entity", "first"),
    [("novel about snow", "The Winter of Ålmö"), ("institutes", "KIT"), ("snow in winters", "The Winter of Ålmö")],
)
def test_similar_titles_go_by_words_those_of_the_title_first(corpus, entity, first):
    assert corpus.find(entity).similar[0] == first


@pytest.mark.parametrize("entity", ['"', "NEAR(", "* OR :", "\u2014"])
def test_no_text_is_taken_for_a_query(corpus, entity):
    assert isinstance(corpus.find(entity), Missing)
    assert len(corpus) == 6


def test_the_words_that_nearly_every_page_has_find_pages_where_there_are_no_others(corpus):
    assert corpus.find("is a").similar
    assert corpus.find("zzz").similar == ()


def test_a_corpus_is_built_once_and_again_when_its_file_changes(tmp_path):
    source, cache, built = tmp_path / "pages.jsonl", tmp_path / "cache", []

    def pages():
        built.append(source.read_text())
        return PAGES

    source.write_text("one")
    for _ in range(2):
        corpus = Corpus.cached(source, pages, cache)
        assert corpus.find("almo").title == "Ålmö (village)"
        corpus.close()
        corpus.close()
    source.write_text("two")
    Corpus.cached(source, pages, cache).close()
    assert built == ["one", "two"]
    assert len(list(cache.iterdir())) == 2


def test_a_build_that_fails_leaves_nothing(tmp_path):
    def pages():
        yield PAGES[0]
        raise ZeroDivisionError

    source = tmp_path / "pages.jsonl"
    source.write_text("")
    with pytest.raises(ZeroDivisionError):
        Corpus.cached(source, pages, tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_place_that_cannot_be_written_to_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentUnavailable, match=r"cannot be written to .*Set XDG_CACHE_HOME"):
        Corpus.cached(tmp_path / "file", lambda: PAGES, tmp_path / "file" / "cache")


@pytest.mark.parametrize("left", [b"", b"junk" * 500])
def test_a_corpus_that_was_damaged_is_built_anew(tmp_path, left):
    source = tmp_path / "pages.jsonl"
    source.write_text("{}")
    pages = [Page("Elm", ("A tree.",))]
    Corpus.cached(source, lambda: pages, tmp_path).close()
    [kept] = tmp_path.glob("corpus-*.db")
    kept.write_bytes(left)
    assert Corpus.cached(source, lambda: pages, tmp_path).find("Elm") == pages[0]
