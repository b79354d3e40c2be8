"""Lessons across tasks in the graph: written, recalled, charged, and kept apart by user."""

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from langgraph_reflexion import Approval, Budget, Budgets, ConfigurationError, Memory, ModelOptions
from langgraph_reflexion.errors import Fault
from langgraph_reflexion.memory.lessons import Lessons
from langgraph_reflexion.memory.store import LessonStore
from langgraph_reflexion.support.retries import Retries
from tests.support.toys import INPUT, THREAD, Counter, compiled, count_to, text_of

COUNTED = "Adding the whole goal at once brings the counter there."
FAILED = "I added one instead of the goal; next time I add the goal."


def counting(prompt):
    """Adds 1 until a reflection or a lesson tells better; then the goal."""
    text = text_of(prompt)
    if text.endswith("Reflection:"):
        return FAILED
    if text.endswith("Lesson:"):
        return COUNTED
    better = FAILED in text or COUNTED in text
    goal = text.rpartition("Bring it to ")[2].partition(".")[0]
    return f"Action: add {goal if better else 1}"


OTHER = {"task": count_to(4)}


def build(store, lessons=None, saver=None, **options):
    options = {"max_trials": 3, "memory": Memory(lessons=lessons or Lessons()), **options}
    return compiled(counting, Counter(limit=1), saver, store, **options)


async def book(store, user=None):
    return await LessonStore(store, "counter", user).snapshot()


async def test_lessons_from_failure_and_success_are_written_with_their_source():
    store = InMemoryStore()
    graph, _ = build(store)
    final = await graph.ainvoke(INPUT, THREAD)
    assert [trial["verdict"] for trial in final["trials"]] == [False, True]
    known = await book(store)
    sources = {lesson.text: lesson.sources for lesson in known.lessons.values()}
    assert sources.keys() == {FAILED, COUNTED}
    [failure], [success] = sources[FAILED], sources[COUNTED]
    where = [getattr(failure, key) for key in ("outcome", "task", "trial", "profile", "model", "thread")]
    assert where == ["failure", "c3", 1, "paper", "scripted", "1"]
    assert (success.outcome, success.trial) == ("success", 2)
    assert [(use.trial, use.success, use.lessons) for use in known.uses] == [(1, False, []), (2, True, [])]
    assert final["trials"][-1]["usage"]["evaluate"]["llm_calls"] == 1
    assert final["usage"] == final["trials"][-1]["usage"]


async def test_the_next_task_is_shown_the_lessons_and_solved_at_once():
    store = InMemoryStore()
    graph, model = build(store)
    await graph.ainvoke(INPUT)
    model.prompts.clear()
    final = await graph.ainvoke(OTHER)
    assert (final["status"], len(final["trials"]), len(final["lessons"])) == ("solved", 1, 2)
    assert all(f'"{said}"' in text_of(model.prompts[0]) for said in (FAILED, COUNTED))
    lessons = (await book(store)).lessons
    assert all((lesson.recalled, lesson.succeeded) == (1, 1) for lesson in lessons.values())
    assert sum(len(lesson.sources) for lesson in lessons.values()) == 3, "the same lesson is one, with two sources"


async def test_lessons_that_are_switched_off_change_no_prompt():
    (plain, model), (off, unused) = build(None, memory=3), build(InMemoryStore(), Lessons(recall=False, learn=False))
    assert "lessons" not in await plain.ainvoke(INPUT)
    assert (await off.ainvoke(INPUT))["lessons"] == []
    assert list(map(text_of, model.prompts)) == list(map(text_of, unused.prompts))
    with pytest.raises(ConfigurationError, match=r"compile\(store="):
        await build(None)[0].ainvoke(INPUT)


async def test_held_out_tasks_write_nothing_and_recall_no_lessons_of_their_own():
    store = InMemoryStore()
    await build(store)[0].ainvoke(INPUT)
    written = (await book(store)).records
    graph, model = build(store, Lessons(held_out=["c3", "c4"]))
    assert [len((await graph.ainvoke(task))["lessons"]) for task in (INPUT, OTHER)] == [0, 2]
    assert not any(text_of(prompt).endswith("Lesson:") for prompt in model.prompts), "there is nothing to pay for"
    assert (await book(store)).records == written


async def test_each_user_has_lessons_of_their_own():
    graph, _ = build(InMemoryStore())
    await graph.ainvoke(INPUT, {"configurable": {"user_id": "ann"}})
    for user, lessons in (("bob", 0), ("ann", 2)):
        final = await graph.ainvoke(OTHER, {"configurable": {"user_id": user}})
        assert len(final["lessons"]) == lessons


async def test_a_node_that_is_run_again_adds_nothing():
    store = InMemoryStore()
    graph, _ = build(store, saver=InMemorySaver())
    await graph.ainvoke(INPUT, THREAD)
    once = (await book(store)).records
    for state in [state async for state in graph.aget_state_history(THREAD)]:
        if state.next in (("reflect",), ("evaluate",)):
            await graph.ainvoke(None, state.config, interrupt_after=["reflect", "evaluate"])
    twice = (await book(store)).records
    assert {part: set(items) for part, items in twice.items()} == {part: set(items) for part, items in once.items()}


async def test_only_approved_reflections_become_lessons():
    store = InMemoryStore()
    graph, _ = build(store, saver=InMemorySaver(), approval=Approval(reflections=True))
    edited = {"name": "reflection", "args": {"text": "Count before you add."}}
    for given in (INPUT, Command(resume="reject")):
        await graph.ainvoke(given, THREAD)
        assert not (await book(store)).lessons
    await graph.ainvoke(Command(resume={"decisions": [{"type": "edit", "edited_action": edited}]}), THREAD)
    assert [lesson.text for lesson in (await book(store)).lessons.values()] == ["Count before you add."]


async def test_a_task_stays_solved_without_its_lesson():
    def model_says(prompt):
        return ConnectionError("gone") if text_of(prompt).endswith("Lesson:") else "Action: add 3"

    store, once = InMemoryStore(), ModelOptions(retries=Retries(1))
    graph, _ = compiled(model_says, store=store, options=once, memory=Memory(lessons=Lessons()))
    final = await graph.ainvoke(INPUT)
    assert final["status"] == "solved"
    assert final["trials"][0]["notes"][0].startswith("lesson: none, ")
    known = await book(store)
    assert (known.lessons, [use.success for use in known.uses]) == ({}, [True])


@pytest.mark.parametrize(("limit", "calls"), [(4, 4), (3, 3)])  # two acts, a reflection, a lesson
async def test_the_lesson_from_success_is_charged_and_left_out_when_the_budget_is_used_up(limit, calls):
    store = InMemoryStore()
    graph, model = build(store, budgets=Budgets(task=Budget(llm_calls=limit)))
    assert (await graph.ainvoke(INPUT))["status"] == "solved"
    assert len(model.prompts) == calls
    assert len((await book(store)).lessons) == calls - 2


class Failing(InMemoryStore):
    """A store that fails as often as `left` says."""

    left = 0

    async def abatch(self, ops):
        if self.left:
            self.left -= 1
            raise OSError("the disk is on holiday")
        return await super().abatch(ops)


async def test_a_failing_store_is_retried_then_stops_the_run_which_can_be_resumed():
    store = Failing()
    options = ModelOptions(retries=Retries(2, first_wait=0.0))
    graph, _ = build(store, saver=InMemorySaver(), options=options)
    store.left = 1
    await graph.ainvoke(INPUT, THREAD, interrupt_after=["heuristic_check"])
    store.left = 2
    with pytest.raises(Fault, match="the store of lessons failed: OSError: the disk is on holiday"):
        await graph.ainvoke(None, THREAD)
    assert (await graph.ainvoke(None, THREAD))["status"] == "solved"
    assert len((await book(store)).uses) == 2
