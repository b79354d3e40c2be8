"""Lessons around an agent of your own: any store, no user, the last failed trial, and feedback that comes later."""

import asyncio
import sqlite3

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from langgraph_reflexion import Approval, Lessons, Memory, ReflexionMiddleware, create_reflexion, load_environment
from langgraph_reflexion.loop.profiles import PROFILES
from langgraph_reflexion.memory.store import LessonStore, open_lessons
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import text_of

pytestmark = pytest.mark.slow

THREAD = {"configurable": {"thread_id": "1"}}
LATE = "I must say that the office closes at five."


def is_asked_for_a_note(text):
    return "this one got wrong?" in text[-120:] or text.rstrip().endswith(("Reflection:", "Lesson:"))


def replies(messages):
    """An agent that knows when the office closes once it has been told, and the model that reflects."""
    text = text_of(messages)
    if is_asked_for_a_note(text):
        return LATE
    return "At five." if LATE in text else "At noon."


def answers_five(result):
    return "five" in result, "That is not so."


def stubborn(messages):
    """An agent that learns nothing, and the model that has something new to say on each trial."""
    text = text_of(messages)
    if is_asked_for_a_note(text):
        return f"After {text.count('said: No')} refusals and {len(text)} letters I must ask somebody else."
    return "At noon."


def agent(says=replies, **options):
    return create_agent(ScriptedChatModel(replies=says), [], **options)


def graph(store, saver=None, **options):
    built = create_reflexion(actor=agent(), **{"evaluator": answers_five, "memory": Lessons()} | options)
    return built.compile(store=store, checkpointer=saver)


async def lessons_in(store, user=None, environment="agent"):
    return await LessonStore(store, environment, user).snapshot()


async def failures(store, **options):
    found = await lessons_in(store, **options)
    return [(each.trial, each.outcome) for lesson in found.lessons.values() for each in lesson.sources]


@pytest.mark.parametrize("user", ["", None])
async def test_a_server_without_users_keeps_everyones_lessons(user):
    store = InMemoryStore()
    config = {"configurable": {"user_id": user}}
    await graph(store).ainvoke({"task": "When does it close?"}, config)
    wrapped = agent(store=store, middleware=[ReflexionMiddleware(evaluator=answers_five, memory=Lessons())])
    final = await wrapped.ainvoke({"messages": [("human", "When does the shop close?")]}, config)
    assert final["messages"][-1].text == "At five."
    assert (await lessons_in(store)).lessons
    assert await LessonStore(store, "agent").users() == []


@pytest.mark.parametrize("memory", [Lessons(), Memory(lessons=Lessons())])
async def test_lessons_are_memory_by_themselves(memory):
    store = InMemoryStore()
    assert (await graph(store, memory=memory).ainvoke({"task": "When does it close?"}))["status"] == "solved"
    assert (await lessons_in(store)).lessons


@pytest.mark.parametrize("trials", [1, 2])
@pytest.mark.parametrize("how", ["graph", "middleware"])
async def test_the_last_failed_trial_teaches_as_well(how, trials):
    store = InMemoryStore()
    options = {"evaluator": lambda result: (False, "No."), "max_trials": trials, "memory": Lessons()}
    if how == "graph":
        built = create_reflexion(actor=agent(stubborn), **options).compile(store=store)
        assert (await built.ainvoke({"task": "When does it close?"}))["status"] == "failed"
    else:
        wrapped = agent(stubborn, store=store, middleware=[ReflexionMiddleware(**options)])
        final = await wrapped.ainvoke({"messages": [("human", "When does it close?")]})
        assert final["messages"][-1].response_metadata["reflexion"]["status"] == "failed"
    assert (trials, "failure") in await failures(store)


@pytest.mark.parametrize(
    "options",
    [
        {"memory": Lessons(learn=False)},
        {"memory": None},
        {"approval": Approval(reflections=True)},
        {"strategy": "retry"},
    ],
)
async def test_the_last_failed_trial_costs_no_reflection_that_teaches_nobody(options):
    model = ScriptedChatModel(replies=replies)
    built = create_reflexion(
        actor=create_agent(model, []),
        **{"evaluator": lambda result: False, "max_trials": 1, "memory": Lessons()} | options,
    )
    await built.compile(store=InMemoryStore(), checkpointer=InMemorySaver()).ainvoke({"task": "When?"}, THREAD)
    assert len(model.prompts) == 1


async def test_a_held_out_task_costs_no_reflection_on_its_last_trial():
    model = ScriptedChatModel(replies=replies)
    environment = load_environment("hotpotqa")
    task = environment.tasks(limit=1)[0]
    for held_out, reflections in (([task["id"]], 0), ([], 1)):
        model.prompts.clear()
        built = create_reflexion(model, environment, max_trials=1, memory=Lessons(held_out=held_out))
        await built.compile(store=InMemoryStore()).ainvoke({"task": task})
        assert sum("Reflection:" in text_of(prompt)[-20:] for prompt in model.prompts) == reflections


async def test_a_profile_that_reflects_at_the_end_does_so_once():
    model = ScriptedChatModel(replies=replies)
    built = create_reflexion(
        actor=create_agent(model, []),
        evaluator=lambda result: False,
        max_trials=1,
        memory=Lessons(),
        profile=PROFILES["upstream"],
    )
    await built.compile(store=InMemoryStore()).ainvoke({"task": "When?"})
    assert len(model.prompts) == 2


def embed(texts):
    """A toy embedding that, as a service that costs money, is asked for each text once."""
    assert len(set(texts)) == len(texts)
    return [[float(len(text)), 1.0] for text in texts]


@pytest.fixture(params=["memory", "SQLite"])
async def by_meaning(request):
    """A store with an index."""
    index = {"dims": 2, "embed": embed}
    if request.param == "memory":
        yield InMemoryStore(index=index)
        return
    pytest.importorskip("sqlite_vec")
    if not hasattr(sqlite3.Connection, "enable_load_extension"):
        pytest.skip("this Python's SQLite loads no extensions, such as that of the index")
    from langgraph.store.sqlite.aio import AsyncSqliteStore

    async with AsyncSqliteStore.from_conn_string(":memory:", index=index) as store:
        await store.setup()
        yield store


async def test_an_agent_learns_in_a_store_with_an_index(by_meaning):
    assert (await graph(by_meaning).ainvoke({"task": "When does it close?"}))["trial"] == 2
    assert (await graph(by_meaning).ainvoke({"task": "When does the shop close?"}))["trial"] == 1


@pytest.mark.parametrize("name", ["hotpotqa", "fever", "alfworld"])
async def test_an_environment_learns_in_a_store_with_an_index(by_meaning, name):
    environment = load_environment(name)
    built = create_reflexion("demo", environment, memory=Lessons(), max_trials=2).compile(store=by_meaning)
    told = []
    for task in environment.tasks(limit=3):
        final = await built.ainvoke({"task": task})
        assert not final["fault"]
        told.append(len(final["lessons"]))
    assert told[-1] > 0
    environment.close()


@pytest.mark.needs("sandbox")
async def test_programs_are_learned_in_a_store_with_an_index(by_meaning):
    environment = load_environment("programming")
    model = ScriptedChatModel(replies=lambda messages: "```python\npass\n```")
    built = create_reflexion(model, environment, memory=Lessons(), max_trials=2).compile(store=by_meaning)
    for task in environment.tasks(limit=2):
        final = await built.ainvoke({"task": task})
        assert (final["status"], final["fault"]) == ("failed", "")
    assert len(final["lessons"]) > 0
    environment.close()


async def test_many_lessons_on_one_task_are_added_to_a_store_with_an_index(by_meaning):
    from tests.support.lessons import source

    store = LessonStore(by_meaning, "house", limit=20)
    await store.add(source(f"Lesson {number}.", instruction="All the same.", run=f"{number}") for number in range(30))
    await store.tidy()
    assert len((await store.snapshot()).live) <= 20
    assert len(await store.recall({"id": "x", "instruction": "All the same."}, "", 3)) == 3


async def test_feedback_on_an_earlier_answer_teaches_and_leaves_the_conversation_as_it_is():
    """A thumbs-down on the first of three answers, as docs/memory.md describes it."""
    store, saver = InMemoryStore(), InMemorySaver()
    chat = graph(store, saver, evaluator=lambda result: True, max_trials=1)
    for question in ("When does it close?", "And the shop?", "And the bar?"):
        await chat.ainvoke({"messages": [HumanMessage(question)]}, THREAD)
    before = await chat.aget_state(THREAD)
    assert len(before.values["messages"]) == 6
    known = await lessons_in(store)
    assert (known.trials.trials, known.trials.succeeded) == (3, 3)

    history = [state async for state in chat.aget_state_history(THREAD)]
    first = next(state for state in history if not state.next and len(state.values["messages"]) == 2)
    copy = {"configurable": {"thread_id": "1:feedback"}}
    verdict = {"success": False, "score": 0.0, "feedback": "It closes at five."}
    await chat.aupdate_state(copy, {**first.values, "status": "failed", "evaluation": verdict}, as_node="evaluate")
    for _ in range(2):  # whoever is not sure does it again
        await chat.ainvoke(None, copy)

    after = await chat.aget_state(THREAD)
    assert (after.values, after.config) == (before.values, before.config)
    known = await lessons_in(store)
    assert (known.trials.trials, known.trials.succeeded) == (3, 2)
    [failed] = [each for lesson in known.lessons.values() for each in lesson.sources if each.outcome == "failure"]
    assert (failed.instruction, failed.text) == ("When does it close?", LATE)
    assert (await graph(store).ainvoke({"task": "When does it close?"}))["result"] == "At five."


async def test_the_lesson_from_a_success_that_was_none_is_retired():
    """Only where no other trial taught it."""
    store, saver = InMemoryStore(), InMemorySaver()

    def says(messages):
        text = text_of(messages)
        if "Lesson:" in text[-50:]:
            return "All is well." if "Sunday" in text else "Noon is a good answer."
        return "The answer must be checked." if is_asked_for_a_note(text) else "At noon."

    built = create_reflexion(
        actor=create_agent(ScriptedChatModel(replies=says), []), evaluator=lambda result: True, memory=Lessons()
    )
    chat = built.compile(store=store, checkpointer=saver)
    for thread, question in (("1", "When, on Sunday?"), ("2", "When does it close?"), ("3", "When do they close?")):
        await chat.ainvoke({"task": question}, {"configurable": {"thread_id": thread}})
    verdict = {"success": False, "score": 0.0, "feedback": "No."}
    for thread in ("1", "2"):
        values = (await chat.aget_state({"configurable": {"thread_id": thread}})).values
        copy = {"configurable": {"thread_id": f"{thread}:feedback"}}
        changed = {**values, "status": "failed", "evaluation": verdict}
        await chat.aupdate_state(copy, changed, as_node="evaluate")
        await chat.ainvoke(None, copy)
    retired = {lesson.text: lesson.retired for lesson in (await lessons_in(store)).lessons.values()}
    assert retired == {"All is well.": True, "Noon is a good answer.": False, "The answer must be checked.": False}


async def test_the_command_names_the_users_who_have_lessons(tmp_path):
    from typer.testing import CliRunner

    from langgraph_reflexion.lab.cli.lessons import lessons

    async with open_lessons(tmp_path / "tenants.db") as store:
        for user in ("acme", "bolt\x1b[2J"):
            await graph(store).ainvoke({"task": "When does it close?"}, context={"user_id": user})

    def listed(*words):
        return CliRunner().invoke(lessons, ["list", str(tmp_path / "tenants.db"), *words]).output

    shown = await asyncio.to_thread(listed)
    assert "acme" in shown
    assert "bolt" in shown
    assert "\x1b" not in shown
    own = await asyncio.to_thread(listed, "--user", "acme")
    assert "bolt" not in own
    assert LATE in own
