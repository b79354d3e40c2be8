import pytest

from langgraph_reflexion.envs.hotpotqa.corpus import Corpus
from langgraph_reflexion.envs.hotpotqa.pages import Page

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
    [("KIT", "KIT"), ("kit", "Kit"), ("the  winter_of almo", "The Winter of Ålmö"), ("Ålmö", "Ålmö (village)")],
)
def test_a_title_is_found_as_written_or_else_but_for_case_accents_and_brackets(corpus, entity, title):
    assert corpus.find(entity).title == title


@pytest.mark.parametrize(
    ("entity", "similar"),
    [
        ("Willow", {"Willow (tree)", "Willow (film)"}),  # but for brackets, two pages have this title
        ("novel about snow", {"The Winter of Ålmö"}),
        ("institutes", {"KIT"}),
        ("snow in winters", {"The Winter of Ålmö"}),
        *((query, set()) for query in ('"', "* OR NEAR( :")),
    ],
)
def test_similar_titles_go_by_words_and_no_text_is_a_query(corpus, entity, similar):
    assert similar == set(corpus.find(entity).similar[: len(similar)])


def test_a_title_comes_once_and_the_first_page_is_kept(corpus):
    assert len(corpus) == 6
    assert corpus.page("Kit").text == "A kit is a young fox."
    assert corpus.page("kit") is None


def test_a_corpus_is_built_once_and_again_when_its_file_changes(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    source, built = tmp_path / "pages.jsonl", []

    def pages():
        built.append(source.read_text())
        return PAGES if built[-1] else 1 / 0

    source.write_text("")
    with pytest.raises(ZeroDivisionError):
        Corpus.cached(source, pages)
    assert list((tmp_path / "langgraph-reflexion").iterdir()) == []
    for text in ("one", "one", "and two"):
        if text != built[-1]:
            source.write_text(text)
        corpus = Corpus.cached(source, pages)
        assert corpus.find("almo").title == "Ålmö (village)"
        corpus.close()
        corpus.close()
    assert built == ["", "one", "and two"]
