"""Lessons help with unseen tasks in rooms that were met, and other worlds' lessons do not."""

import pytest
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from langgraph_reflexion import Environment, Lessons, Memory, ModelOptions, create_reflexion, load_environment
from langgraph_reflexion.memory.store import LessonStore


async def solved_at_once(
    environment: Environment, split: str, limit: int, lessons: Lessons | None, store: BaseStore, trials: int = 1
) -> int:
    """Play the tasks of a split, and return how many were solved in the first trial."""
    options = ModelOptions(seed=environment.seed)  # type: ignore[attr-defined]
    graph = create_reflexion("demo", environment, memory=Memory(lessons=lessons), max_trials=trials, options=options)
    compiled = graph.compile(store=store)
    finals = [await compiled.ainvoke({"task": task}) for task in environment.tasks(split, limit)]
    return sum(final["trials"][0]["success"] for final in finals)


async def swapped(name: str, store: BaseStore, other: BaseStore) -> BaseStore:
    """Return a store with one store's lessons, recalled for the same tasks, in the words of the other's."""
    mixed = InMemoryStore()
    lessons = (await LessonStore(store, name).snapshot()).lessons.values()
    texts = [lesson.text for lesson in (await LessonStore(other, name).snapshot()).lessons.values()]
    await LessonStore(mixed, name).add(
        source.model_copy(update={"text": texts[number % len(texts)]})
        for number, lesson in enumerate(lessons)
        for source in lesson.sources
    )
    return mixed


@pytest.mark.parametrize(("name", "topic", "limit"), [("alfworld", "shared-rooms", 12), ("hotpotqa", "topics", 24)])
async def test_lessons_raise_first_trial_success_on_unseen_tasks_unless_swapped(
    name: str, topic: str, limit: int
) -> None:
    environments = [load_environment(name, seed=seed) for seed in (0, 1)]
    stores = InMemoryStore(), InMemoryStore()
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
