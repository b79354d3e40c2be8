import collections
import re

from langgraph_reflexion.envs.hotpotqa.corpus import Corpus
from langgraph_reflexion.envs.hotpotqa.pages import Missing
from langgraph_reflexion.envs.hotpotqa.world import questions as made
from langgraph_reflexion.envs.hotpotqa.world.country import words
from langgraph_reflexion.envs.hotpotqa.world.generator import draw_country

SEED = 7919


def mentions(question, told):
    """By what names the question and its first page call the pages that answer it."""
    before = question.text + " " + told[question.supporting[0]]
    called = {}
    for title in question.supporting:
        names = [title, re.sub(r" \(.*", "", title), *re.findall(r"known as ([^,]+),", told[title])]
        called[title] = next(name for name in names if name in before)
    return called


def test_a_seed_gives_one_world_and_another_seed_one_without_its_names():
    again, other = made.own_world.__wrapped__(0), made.own_world(SEED)
    assert again == made.own_world(0)
    names, others = (
        {thing.name for thing in draw_country(seed).things} | {page.title for page in world.pages}
        for seed, world in ((0, again), (SEED, other))
    )
    assert not names & others


def test_every_answer_stands_on_the_pages_that_support_it():
    world = made.own_world(SEED)
    told = {page.title: page.text for page in world.pages}
    for question in world.questions:
        assert len(set(question.supporting)) == 2
        assert question.answer in ("yes", "no") or any(question.answer in told[page] for page in question.supporting)
        if question.id.rpartition("-")[2] in words()["bridge"]:
            # The last page alone has the answer, and the question does not.
            assert question.answer in told[question.supporting[1]]
            assert not re.search(rf"\b{re.escape(question.answer)}\b", question.text)


def test_every_page_is_found_by_its_name_or_among_the_similar_titles():
    world = made.own_world(SEED)
    told = {page.title: page.text for page in world.pages}
    corpus, only_similar = Corpus.in_memory(world.pages), 0
    for question in world.questions:
        for title, name in mentions(question, told).items():
            found = corpus.find(name)
            assert title in (found.similar if isinstance(found, Missing) else [found.title]), (question.id, name)
            only_similar += isinstance(found, Missing)
    corpus.close()
    assert only_similar >= made.OWN / 6


def test_every_topic_of_a_split_is_one_of_the_other():
    for seed in range(2):
        train, test = (made.topic_questions(split, seed) for split in made.TOPIC_SPLITS)
        assert len({question.text for question in (*train, *test)}) == 2 * made.TOPICS * made.QUESTIONS
        for number in range(made.TOPICS):
            about = [*train[number :: made.TOPICS], *test[number :: made.TOPICS]]
            pages = collections.Counter(title for question in about for title in question.supporting)
            [(topic, times)] = pages.most_common(1)
            assert times == 2 * made.QUESTIONS
            name = topic.partition(" (")[0]
            assert all(set(name.split()) & set(question.text.replace("'s", "").split()) for question in about)
