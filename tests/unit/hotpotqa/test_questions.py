import gzip
import json

import pytest

from langgraph_reflexion.envs.hotpotqa.environment import HotPotQA
from langgraph_reflexion.envs.hotpotqa.pages import Page, split_sentences
from langgraph_reflexion.envs.hotpotqa.questions import read_pages, read_questions
from langgraph_reflexion.errors import ConfigurationError
from tests.support.hotpotqa import OFFICIAL, as_on_the_hub

HUB = [as_on_the_hub(entry) for entry in OFFICIAL]


def lines(entries):
    return "\n".join(json.dumps(entry) for entry in entries) + "\n\n"


@pytest.fixture
def file(tmp_path):
    def write(content):
        path = tmp_path / "questions.json"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.mark.parametrize(
    "content",
    [json.dumps(OFFICIAL), "\ufeff\n" + json.dumps(HUB, indent=1), lines(OFFICIAL), lines(HUB)],
    ids=["official", "hub", "official lines", "hub lines"],
)
def test_either_form_in_either_kind_of_file(file, content):
    first, second = read_questions(file(content))
    assert (first.id, first.answer) == ("a1", "Ket")
    assert first.supporting == ("Birch (tree)", "Ålmö")
    assert [page.title for page in first.pages] == ["Willow", "Birch (tree)", "Willow (film)", "Ålmö"]
    assert first.pages[1].text == "The birch is a tree. It was first felled in Ålmö. Its bark is white."
    assert second.pages[2].opening == "The Ket is a river of 40 km.It freezes."


def test_a_question_needs_no_more_than_an_answer(file):
    (question,) = read_questions(file(json.dumps([{"question": "Who?", "answer": "She."}])))
    assert (question.id, question.text, question.supporting, question.pages) == ("1", "Who?", (), ())


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[{", "questions.json: not JSON"),
        (lines(OFFICIAL[:1]) + "{oops}\n", r"line 3: not JSON: .*: column 2"),
        (gzip.compress(b"{oops}", mtime=0), "line 1: not JSON"),
        ("[]".encode("utf-16"), "line 1, is not UTF-8"),
        ("\n", "questions.json contains no tasks"),
        (json.dumps([OFFICIAL[0], OFFICIAL[0]]), "entry 2: another entry has the id .a1."),
        (json.dumps([{"question": "Who?", "answer": ["She."]}]), "entry 1: answer must be a string"),
        (json.dumps([OFFICIAL[0] | {"context": [["Elm", "A tree."]]}]), "entry 1: context"),
        (json.dumps([HUB[0] | {"context": {"title": ["Elm"]}}]), "entry 1: context"),
        (json.dumps([HUB[0] | {"supporting_facts": {"title": ["Elm"], "sent_id": []}}]), "supporting_facts"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_place(file, content, says):
    with pytest.raises(ConfigurationError, match=says):
        HotPotQA(path=file(content)).tasks()


def test_pages_from_a_file(file):
    elm, ash = {"title": "Elm", "text": "A tree grows. It is tall."}, {"title": "Ash", "sentences": ["No."]}
    pages = [Page("Elm", ("A tree grows.", " It is tall.")), Page("Ash", ("No.",))]
    assert list(read_pages(file(lines([elm, ash])))) == pages
    with pytest.raises(ConfigurationError, match=r"questions.json, line 2: a page needs a .title."):
        list(read_pages(file(lines([elm, {"name": "Ash"}]))))


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three? Four", ["One.", " Two!", " Three?", " Four"]),
        ("J. R. Doe met Dr. Roe in St. Ives. They left.", ["J. R. Doe met Dr. Roe in St. Ives.", " They left."]),
        ("It cost 3.5 m. and more. Much.", ["It cost 3.5 m. and more.", " Much."]),
        ('It said so. "the end" came.', ['It said so. "the end" came.']),
        ("A film of 1999. (uncredited) He", ["A film of 1999. (uncredited) He"]),
        ("He won group 5. She left the U.S. He", ["He won group 5.", " She left the U.S.", " He"]),
        ('From Warner Bros. (see "All") and ("Yes!") No', ['From Warner Bros. (see "All") and ("Yes!")', " No"]),
        ('He said "No." Then (he left.)', ['He said "No."', " Then (he left.)"]),
        ("\u7d42\u3002\u59cb\u3002", ["\u7d42\u3002", "\u59cb\u3002"]),
    ],
)
def test_sentences_end_where_one_would_say_so(text, sentences):
    assert split_sentences(text) == sentences
    assert "".join(sentences) == text


def test_a_page_of_running_text_leaves_headings_out():
    page = Page.from_text("Elm", "The elm is a tree.\nIt grows here.\n\n\n== Use ==\nBoats\nElms make good boats.")
    assert page.text == "The elm is a tree. It grows here. Elms make good boats."
