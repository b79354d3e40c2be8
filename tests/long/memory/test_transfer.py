import pytest
from langgraph.store.memory import InMemoryStore

from langgraph_reflexion import Lessons, Memory, ModelOptions, create_reflexion, load_environment
from langgraph_reflexion.memory.store import LessonStore


async def solved_at_once(environment, split, limit, lessons, store, trials=1):
    """Play the tasks of a split, and return how many were solved in the first trial."""
    options = ModelOptions(seed=environment.seed)
    graph = create_reflexion("demo", environment, memory=Memory(lessons=lessons), max_trials=trials, options=options)
    compiled = graph.compile(store=store)
    finals = [await compiled.ainvoke({"task": task}) for task in environment.tasks(split, limit)]
    return sum(final["trials"][0]["success"] for final in finals)


async def swapped(name, store, other):
    """Return a copy of a store whose lessons, recalled for the same tasks, have the texts of another store."""
    mixed = InMemoryStore()
    lessons, others = [(await LessonStore(each, name).snapshot()).lessons.values() for each in (store, other)]
    texts = [lesson.text for lesson in others]
    await LessonStore(mixed, name).add(
        source.model_copy(update={"text": texts[number % len(texts)]})
        for number, lesson in enumerate(lessons)
        for source in lesson.sources
    )
    return mixed


@pytest.mark.parametrize(("name", "topic", "limit"), [("alfworld", "shared-rooms", 12), ("hotpotqa", "topics", 24)])
async def test_lessons_raise_first_trial_success_on_unseen_tasks_unless_swapped(name, topic, limit):
    environments, stores = [load_environment(name, seed=seed) for seed in (0, 1)], (InMemoryStore(), InMemoryStore())
    for environment, store in zip(environments, stores, strict=True):
        await solved_at_once(environment, f"{topic}-train", limit, Lessons(recall=False), store, trials=5)
    test = (environments[0], f"{topic}-test", limit)
    without = await solved_at_once(*test, None, stores[0])
    helped = await solved_at_once(*test, Lessons(learn=False), stores[0])
    fooled = await solved_at_once(*test, Lessons(learn=False), await swapped(name, *stores))
    for environment in environments:
        environment.close()
    assert helped - without >= limit / 6
    assert abs(fooled - without) < (helped - without) / 2
