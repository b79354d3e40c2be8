"""Questions that share their topics."""

from collections import Counter

from langgraph_reflexion import load_environment
from langgraph_reflexion.envs.hotpotqa.asking import own_world
from langgraph_reflexion.envs.hotpotqa.topics import QUESTIONS, TOPIC_SPLITS, TOPICS, topic_questions

TRAIN, TEST = TOPIC_SPLITS


def test_there_are_enough_questions_and_none_twice():
    for seed in range(12):
        questions = [*topic_questions(TRAIN, seed), *topic_questions(TEST, seed)]
        assert len(questions) == 2 * TOPICS * QUESTIONS
        assert len({question.text for question in questions}) == len(questions)
        assert len({question.id for question in questions}) == len(questions)


def test_every_topic_of_a_split_is_one_of_the_other():
    for seed in range(12):
        train, test = topic_questions(TRAIN, seed), topic_questions(TEST, seed)
        for number in range(TOPICS):
            about = [*train[number::TOPICS], *test[number::TOPICS]]
            pages = Counter(title for question in about for title in question.supporting)
            [(topic, times)] = pages.most_common(1)
            assert times == 2 * QUESTIONS
            name = topic.partition(" (")[0]
            assert all(set(name.split()) & set(question.text.replace("'s", "").split()) for question in about)


def test_the_answers_stand_on_the_pages_of_the_same_country():
    environment = load_environment("hotpotqa", seed=4)
    pages = {page.title: page.text for page in own_world(4).pages}
    for split in TOPIC_SPLITS:
        for task in environment.tasks(split):
            data = task["data"]
            told = " ".join(pages[title] for title in data["supporting"])
            assert data["type"] == "comparison" or data["answer"] in told
            assert environment.pages(task).find(data["supporting"][0]).text == pages[data["supporting"][0]]
    environment.close()


def test_an_episode_is_played_like_any_other():
    environment = load_environment("hotpotqa")
    task = environment.tasks(TEST, limit=1)[0]
    episode = environment.start(task)
    assert episode.observation == task["instruction"]
    finish = environment.parse(f"finish[{task['data']['answer']}]")
    assert episode.step(finish).reward == 1.0
    environment.close()
