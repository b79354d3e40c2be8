import collections
import re

from langgraph_reflexion.envs.hotpotqa.corpus import Corpus
from langgraph_reflexion.envs.hotpotqa.environment import HotPotQA
from langgraph_reflexion.envs.hotpotqa.pages import Missing
from langgraph_reflexion.envs.hotpotqa.world.generator import draw_country
from langgraph_reflexion.envs.hotpotqa.world.questions import (
    OWN,
    QUESTIONS,
    TOPIC_SPLITS,
    TOPICS,
    own_world,
    topic_questions,
)

SEED = 7919


def mentions(question, world):
    """By what names the question and its first page call the pages that answer it."""
    told = {page.title: page.text for page in world.pages}
    before = question.text + " " + told[question.supporting[0]]
    called = {}
    for title in question.supporting:
        known = re.search(r"known as ([^,]+),", told[title])
        names = [title, re.sub(r" \(.*", "", title), *([known[1]] if known else [])]
        called[title] = next(name for name in names if name in before)
    return called


def test_the_shipped_set_has_what_it_promises():
    world = own_world(0)
    assert len(world.questions) == OWN >= 24
    assert len(world.pages) == len({page.title for page in world.pages}) >= 60
    answers = [question.answer for question in world.questions]
    assert min(answers.count("yes"), answers.count("no")) >= 3
    # Any few from the start have both types.
    assert {question.type for question in world.questions[:2]} == {"bridge", "comparison"}
    assert HotPotQA().tasks("own") == HotPotQA(seed=0).tasks()


def test_a_seed_gives_one_world_and_another_seed_one_without_its_names():
    again, other = own_world.__wrapped__(0), own_world(SEED)
    assert again == own_world(0)
    names, others = (
        {thing.name for thing in draw_country(seed).things} | {page.title for page in world.pages}
        for seed, world in ((0, again), (SEED, other))
    )
    assert not names & others


def test_every_answer_stands_on_the_pages_that_support_it():
    world = own_world(SEED)
    told = {page.title: page.text for page in world.pages}
    for question in world.questions:
        assert len(set(question.supporting)) == 2
        text = " ".join(told[title] for title in question.supporting)
        assert question.answer in ("yes", "no") or question.answer in text
        if question.type == "bridge":
            # The last page alone has the answer, and the question does not.
            assert question.answer in told[question.supporting[1]]
            assert not re.search(rf"\b{re.escape(question.answer)}\b", question.text)


def test_every_page_is_found_by_its_name_or_among_the_similar_titles():
    world, only_similar = own_world(SEED), 0
    corpus = Corpus.in_memory(world.pages)
    for question in world.questions:
        for title, name in mentions(question, world).items():
            found = corpus.find(name)
            if isinstance(found, Missing):
                assert title in found.similar, (question.id, name)
                only_similar += 1
            else:
                assert found.title == title
    corpus.close()
    assert only_similar >= OWN / 6


def test_every_topic_of_a_split_is_one_of_the_other():
    for seed in range(2):
        train, test = topic_questions(TOPIC_SPLITS[0], seed), topic_questions(TOPIC_SPLITS[1], seed)
        assert len({question.text for question in (*train, *test)}) == 2 * TOPICS * QUESTIONS
        for number in range(TOPICS):
            about = [*train[number::TOPICS], *test[number::TOPICS]]
            pages = collections.Counter(title for question in about for title in question.supporting)
            [(topic, times)] = pages.most_common(1)
            assert times == 2 * QUESTIONS
            name = topic.partition(" (")[0]
            assert all(set(name.split()) & set(question.text.replace("'s", "").split()) for question in about)
