import json
import os
from pathlib import Path

import pytest

from langgraph_reflexion.envs import load_environment
from langgraph_reflexion.envs.hotpotqa.corpus import Corpus
from langgraph_reflexion.envs.hotpotqa.environment import HotPotQA
from langgraph_reflexion.envs.hotpotqa.episode import NO_MORE, NO_PAGE
from langgraph_reflexion.envs.hotpotqa.pages import Page
from langgraph_reflexion.errors import ConfigurationError
from tests.support.hotpotqa import OFFICIAL
from tests.support.toys import measured


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def environment(tmp_path):
    path = tmp_path / "questions.json"
    path.write_text(json.dumps(OFFICIAL), encoding="utf-8")
    environment = HotPotQA(path=path)
    yield environment
    environment.close()


def do(environment, *actions, task=0):
    episode = environment.start(environment.tasks()[task])
    return [episode.step(environment.parse(text)) for text in actions]


def say(environment, *actions):
    return [result.observation for result in do(environment, *actions)]


def test_search_shows_five_sentences_and_lookups_count_through_all(environment):
    page = Page("Oak", tuple(f" Sentence {i} is of oaks." for i in range(1, 8)))
    episode = environment.episode("Which?", "Oak", Corpus.in_memory([page]))
    texts = ["search[oak]", "lookup[OAKS]", "lookup[oaks]", "lookup[7]", "lookup[7]", "lookup[oaks]"]
    assert [episode.step(environment.parse(text)).observation for text in texts] == [
        " ".join(f"Sentence {i} is of oaks." for i in range(1, 6)),
        "(Result 1 / 7) Sentence 1 is of oaks.",
        "(Result 2 / 7) Sentence 2 is of oaks.",
        "(Result 1 / 1) Sentence 7 is of oaks.",
        NO_MORE,
        "(Result 1 / 7) Sentence 1 is of oaks.",
    ]


def test_a_search_that_finds_nothing_leaves_the_page_open_and_one_that_does_starts_lookups_anew(environment):
    texts = ["lookup[tree]", "search[Birch]", "lookup[tree]", "search[Wilow tree]", "lookup[tree]"]
    said = say(environment, *texts, "search[birch (tree)]", "lookup[tree]")
    assert said[0] == NO_PAGE
    assert said[3:] == [
        "Could not find Wilow tree. Similar: ['Birch (tree)', 'Willow'].",
        NO_MORE,
        "The birch is a tree. It was first felled in Ålmö. Its bark is white.",
        "(Result 1 / 1) The birch is a tree.",
    ]


def test_an_empty_argument_of_a_tool_ends_nothing(environment):
    for tool in environment.start(environment.tasks()[0]).tools:
        assert tool.invoke(dict.fromkeys(tool.args, "  ")).startswith(f"Invalid action: {tool.name} needs")


def test_measures_are_of_the_first_answer_that_was_one(environment):
    task = environment.tasks()[0]
    actions = [environment.parse(text) for text in ("search[Ket]", "finish[the river Ket]", "finish[Ket]")]
    empty, unread = ({"name": "finish", "args": args, "text": ""} for args in ({"answer": ""}, {}))
    actions[1:1] = [unread, empty]
    measures = {"exact_match": 0, "f1": 2 / 3, "precision": 1 / 2, "recall": 1}
    assert measured(environment, task, actions) == pytest.approx(measures)
    assert measured(environment, task, [empty]) == dict.fromkeys(measures, 0.0)
    assert measured(environment, task, actions[-1:]) == dict.fromkeys(measures, 1.0)


def test_the_answer_0_of_a_tool_call_is_an_answer(environment):
    task = environment.tasks()[0]
    task["data"]["answer"] = "0"
    finish = {"name": "finish", "args": {"answer": 0}, "text": "finish[0]"}
    assert environment.start(task).step(finish).reward == 1.0
    assert measured(environment, task, [finish])["exact_match"] == 1.0


STONES = [("Stone (film)", "A film."), ("Rolling Stone", "A paper."), ("Höhlenstein", "A cave of stone.")]


def test_a_page_that_a_search_has_opened_counts_as_read_however_it_was_written(environment):
    pages = Corpus.in_memory([Page(title, (text,)) for title, text in STONES])
    episode = environment.episode("Which?", "Oak", pages)
    steps = []
    for text in ("search[the stone]", "search[stone]", "search[HOHLENSTEIN]"):
        action = environment.parse(text)
        steps.append({"action": action, "observation": episode.step(action).observation})
    assert all(title in steps[0]["observation"] for title, _ in STONES)
    assert environment.trial_facts({}, "", steps) == [
        "Named by a search, and never read: Rolling Stone.",
        "There is no page with the title: the stone.",
    ]


def test_the_context_has_each_supporting_paragraph_once_and_in_order(environment):
    assert environment.context(environment.tasks()[0]) == (
        "Birch (tree): The birch is a tree. It was first felled in Ålmö. Its bark is white.\n\n"
        "Ålmö: Ålmö is a village. The river Ket runs through it. It has 12 houses."
    )


def test_pages_of_ones_own_for_questions_that_came_without(tmp_path):
    questions, pages = tmp_path / "questions.jsonl", tmp_path / "pages.jsonl"
    questions.write_text('{"question": "What is an elm?", "answer": "tree"}\n')
    with pytest.raises(ConfigurationError, match=r"questions.jsonl contains no pages: give some as corpus="):
        HotPotQA(path=questions).start(HotPotQA(path=questions).tasks()[0])
    pages.write_text('{"title": "Elm", "text": "The elm is a tree."}\n')
    environment = HotPotQA(path=questions, corpus=pages)
    assert say(environment, "search[Elm]") == ["The elm is a tree."]
    environment.close()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"pages": "web"}, "pages='web': choose one of corpus, wikipedia, langchain"),
        ({"pages": "wikipedia", "corpus": "x"}, "corpus= goes with pages='corpus'"),
        *(
            ({"pages": "wikipedia", "api": api}, "api is .*: give a URL")
            for api in ("http://[bad", "http://:80/x", 5, None)
        ),
        ({"pages": "wikipedia", "contact": "me\nX: 1"}, "contact is .*: give an e-mail"),
        ({"pages": "wikipedia", "timeout": -1}, "timeout is -1: give a number"),
        ({"api": "https://de.wikipedia.org/w/api.php"}, "api= goes with live pages"),
        ({"contact": "me@example.org"}, "contact= goes with live pages"),
        ({"timeout": -1}, "timeout= goes with live pages"),
    ],
)
def test_options_that_are_wrong_are_told(options, says):
    with pytest.raises(ConfigurationError, match=says):
        load_environment("hotpotqa", **options)


def test_a_task_of_something_else_is_refused(environment):
    with pytest.raises(ConfigurationError, match="'x' is neither a question nor a claim"):
        environment.start({"id": "x", "instruction": "?", "data": {"split": "own"}})
    with pytest.raises(ConfigurationError, match="give it as path="):
        HotPotQA().start(environment.tasks()[0])


SAMPLE = os.environ.get("HOTPOTQA_SAMPLE", "")


@pytest.mark.skipif(not Path(SAMPLE).is_dir() or not SAMPLE, reason="HOTPOTQA_SAMPLE names no folder")
def test_real_questions_load_and_can_be_answered():
    for path in sorted(Path(SAMPLE).glob("hotpot*.json")):
        entries = json.loads(path.read_text(encoding="utf-8"))
        environment = HotPotQA(path=path)
        tasks = environment.tasks()
        assert [task["id"] for task in tasks] == [entry["_id"] for entry in entries]
        for index, entry in enumerate(entries):
            titles = tasks[index]["data"]["supporting"]
            results = do(environment, *(f"search[{t}]" for t in titles), f"finish[{entry['answer']}]", task=index)
            paragraphs = dict(entry["context"])
            for title, result in zip(titles, results, strict=False):
                assert result.observation == " ".join("".join(paragraphs[title][:5]).split())
            assert (results[-1].reward, results[-1].terminated) == (1.0, True)
            assert all(title in environment.context(tasks[index]) for title in titles)
        environment.close()
