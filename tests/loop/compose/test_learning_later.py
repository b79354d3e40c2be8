"""Lessons that are learned after the answer has left, and lessons that a person has to approve."""

import asyncio
import logging
from dataclasses import replace
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.store.memory import InMemoryStore

from langgraph_reflexion import (
    Approval,
    ConfigurationError,
    Environment,
    Episode,
    Lessons,
    Memory,
    ModelOptions,
    ReflexionMiddleware,
    StepResult,
    Task,
    action,
    alearn_from,
    create_reflexion,
)
from langgraph_reflexion.errors import Fault
from langgraph_reflexion.graph.later import alearn_queued, learn_queued
from langgraph_reflexion.lab.learner import learner
from langgraph_reflexion.loop.profiles import PROFILES
from langgraph_reflexion.memory.records import LateVerdict, LessonEdit, QueuedTrial, now
from langgraph_reflexion.memory.store import LessonStore, open_lessons
from langgraph_reflexion.models.usage import Price
from langgraph_reflexion.support.retries import Retries
from langgraph_reflexion.testing import ScriptedChatModel

LATER = Lessons(learn="later")
NOON = "The office closes at noon, as the sign at its door says."
ANN = {"configurable": {"thread_id": "1", "user_id": "ann"}}


class Held(ScriptedChatModel):
    """A model that reflects only when it may."""

    may: asyncio.Event

    async def _agenerate(self, *args: Any, **options: Any) -> Any:
        await self.may.wait()
        return await super()._agenerate(*args, **options)


def service(reflects: Any, store: Any, *, right: bool = True, memory: Lessons = LATER, **options: Any) -> Any:
    """A chat whose agent gives one answer, compiled."""
    agent = create_agent(ScriptedChatModel(replies=["At noon."] * 9), [])
    graph = create_reflexion(
        reflects, actor=agent, evaluator=lambda result: right, memory=memory, max_trials=1, **options
    )
    return graph.compile(checkpointer=InMemorySaver(), store=store)


async def queue(store: Any, user: str | None = "ann") -> list[QueuedTrial]:
    return await LessonStore(store, "agent", user).queued()


async def texts(store: Any, user: str | None = "ann") -> list[str]:
    """The lessons that are recalled."""
    live = (await LessonStore(store, "agent", user).snapshot()).live
    return [lesson.text for lesson in live if not (lesson.retired or lesson.pending)]


async def settled(store: Any) -> None:
    """Wait until nothing is queued."""
    async with asyncio.timeout(20):
        while await queue(store):  # noqa: ASYNC110 - the store tells nobody
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("right", [True, False])
async def test_the_answer_leaves_before_the_lesson_is_written(right: bool) -> None:
    model = Held(replies=[NOON], may=asyncio.Event())
    store = InMemoryStore()
    chat = service(model, store, right=right)
    final = await chat.ainvoke({"task": "When does the office close?"}, ANN)
    # The model cannot have answered yet.
    assert (final["status"], final["result"]) == ("solved" if right else "failed", "At noon.")
    assert await texts(store) == []
    trials = (await LessonStore(store, "agent", "ann").snapshot()).trials
    assert (trials.trials, trials.succeeded) == (1, int(right)), "the numbers are recorded at once"
    model.may.set()
    await settled(store)
    assert await texts(store) == [NOON]
    after = (await LessonStore(store, "agent", "ann").snapshot()).trials
    assert (after.trials, after.succeeded) == (1, int(right))
    shown = str(model.prompts[0][-1].content)
    assert "When does the office close?" in shown
    assert "At noon." in shown


@pytest.mark.parametrize(("feedback", "shown"), [("binary", False), ("words", True)])
async def test_of_the_check_the_model_is_shown_later_what_it_would_have_been_shown_now(
    feedback: Any, shown: bool
) -> None:
    prompts = []
    for learn in ("now", "later"):
        model = ScriptedChatModel(replies=[NOON])
        store = InMemoryStore()
        memory = Lessons(learn=learn)  # type: ignore[arg-type]
        agent = create_agent(ScriptedChatModel(replies=["At noon."]), [])
        graph = create_reflexion(
            model,
            actor=agent,
            evaluator=lambda result: (False, "The right answer is five."),
            memory=memory,
            feedback=feedback,
            max_trials=1,
        )
        await graph.compile(store=store).ainvoke({"task": "When?"}, ANN)
        await settled(store)
        prompts.append([str(message.content) for message in model.prompts[0]])
    now_shown, later_shown = prompts
    assert later_shown == now_shown
    assert ("The right answer is five." in str(later_shown)) == shown


async def test_under_invoke_the_library_learns_in_the_background() -> None:
    store = InMemoryStore()
    chat = service(ScriptedChatModel(replies=[NOON]), store)
    await asyncio.to_thread(chat.invoke, {"task": "When?"}, ANN)
    await settled(store)
    assert await texts(store) == [NOON]


@pytest.mark.slow
async def test_a_graph_with_two_stores_works_off_the_queues_of_both() -> None:
    model = Held(replies=[NOON] * 3, may=asyncio.Event())
    agent = create_agent(ScriptedChatModel(replies=["At noon."] * 3), [])
    graph = create_reflexion(model, actor=agent, evaluator=lambda result: True, memory=LATER)
    stores = [InMemoryStore(), InMemoryStore()]
    for number, place in enumerate((0, 1, 0)):
        await graph.compile(store=stores[place]).ainvoke({"task": f"When, {number}?"}, ANN)
        # The first worker has begun before the other answers are queued.
        await asyncio.sleep(0.05)
    model.may.set()
    for store in stores:
        await settled(store)
    assert len(model.prompts) == 3


@pytest.mark.parametrize("learn", ["now", "later"])
async def test_half_a_character_in_question_and_answer_is_stored_all_the_same(tmp_path: Any, learn: Any) -> None:
    async with open_lessons(tmp_path / "lessons.db") as store:
        agent = create_agent(ScriptedChatModel(replies=["At \ud800 noon.\0"]), [])
        model = ScriptedChatModel(replies=[NOON])
        memory = Lessons(learn=learn)
        graph = create_reflexion(model, actor=agent, evaluator=lambda result: True, memory=memory)
        await graph.compile(store=store).ainvoke({"messages": [("human", "When \ud83d?\0")]}, ANN)
        await settled(store)
        assert await texts(store) == [NOON]


async def test_the_middleware_learns_later_too() -> None:
    model = Held(replies=[NOON], may=asyncio.Event())
    store = InMemoryStore()
    middleware = ReflexionMiddleware(model, evaluator=lambda result: True, memory=LATER)
    agent = create_agent(ScriptedChatModel(replies=["At noon."]), [], middleware=[middleware], store=store)
    final = await agent.ainvoke({"messages": [("human", "When?")]}, {"configurable": {"user_id": "ann"}})
    assert final["messages"][-1].text == "At noon."
    assert await texts(store) == []
    model.may.set()
    await settled(store)
    assert await texts(store) == [NOON]


async def test_the_middleware_learns_later_with_the_model_that_its_agent_has_called() -> None:
    store = InMemoryStore()
    middleware = ReflexionMiddleware(evaluator=lambda result: True, memory=LATER)
    agent = create_agent(ScriptedChatModel(replies=["At noon.", NOON]), [], middleware=[middleware], store=store)
    await agent.ainvoke({"messages": [("human", "When?")]}, {"configurable": {"user_id": "ann"}})
    await settled(store)
    assert await texts(store) == [NOON]


@pytest.mark.slow
async def test_what_a_process_has_left_is_learned_by_another(tmp_path: Any) -> None:
    file = tmp_path / "lessons.db"
    async with open_lessons(file) as store:
        for user in ("ann", "bob", None):
            held = Held(replies=[], may=asyncio.Event())
            config: Any = {"configurable": {"thread_id": str(user)}}
            if user:
                config["configurable"]["user_id"] = user
            await service(held, store).ainvoke({"task": f"When, {user}?"}, config)
        # As after a crash: no process has begun with them.
        for user in ("ann", "bob", None):
            [left] = await queue(store, user)
            await LessonStore(store, "agent", user).add([left.model_copy(update={"leased_until": ""})])
    async with open_lessons(file) as store:
        model = ScriptedChatModel(replies=["Ann knows that it is noon.", "Bob knows that it is noon.", NOON])
        chat = service(model, store)
        counted = await alearn_queued(chat, concurrency=1)
        assert counted == {"learned": 3}
        assert sorted([*await texts(store), *await texts(store, "bob"), *await texts(store, None)]) == sorted(
            ["Ann knows that it is noon.", "Bob knows that it is noon.", NOON]
        )
        # Each prompt has the words of its user alone.
        for prompt in model.prompts:
            names = [name for name in ("ann", "bob") if f"When, {name}?" in str(prompt)]
            assert len(names) <= 1
        assert await alearn_queued(chat) == {}


async def put_in_queue(store: Any, **changes: Any) -> Any:
    """A chat that has queued a trial and cannot learn by itself, as its process has ended."""
    held = Held(replies=[], may=asyncio.Event())
    await service(held, store).ainvoke({"task": "When?"}, ANN)
    [left] = await queue(store)
    free = {"leased_until": "", **changes}
    await LessonStore(store, "agent", "ann").add([left.model_copy(update=free)])


class LoggedIn:
    """A user as a LangGraph server names who is logged in."""

    identity = "eve"
    display_name = "Eve"
    is_authenticated = True
    permissions: tuple[str, ...] = ()


async def test_in_a_run_of_another_user_the_lesson_is_still_that_of_who_was_answered() -> None:
    store = InMemoryStore()
    await put_in_queue(store)
    chat = service(ScriptedChatModel(replies=[NOON]), store)

    async def work(state: Any) -> Any:
        return {"done": await alearn_queued(chat)}

    builder = StateGraph(dict)
    builder.add_node("work", work)
    builder.add_edge(START, "work")
    config: Any = {"configurable": {"langgraph_auth_user": LoggedIn()}}
    final = await builder.compile().ainvoke({"begin": True}, config)
    assert final["done"] == {"learned": 1}
    assert await texts(store) == [NOON]
    assert await texts(store, "eve") == []


class Asks(ScriptedChatModel):
    """A model in the middle of whose reply a person says something."""

    meanwhile: Any

    async def _agenerate(self, *args: Any, **options: Any) -> Any:
        await self.meanwhile()
        return await super()._agenerate(*args, **options)


@pytest.mark.parametrize("when", ["before", "meanwhile"])
async def test_a_late_verdict_comes_before_the_queue(when: str) -> None:
    store = InMemoryStore()
    await put_in_queue(store)
    [left] = await queue(store)
    said = LateVerdict(run=left.run, task=left.task, trial=left.trial, success=False, words="At five.", date=now())

    async def speak() -> None:
        await LessonStore(store, "agent", "ann").add([said])

    async def nothing() -> None:
        pass

    if when == "before":
        await speak()
        speak = nothing
    chat = service(Asks(replies=[NOON], meanwhile=speak), store)
    await alearn_queued(chat)
    assert (await texts(store), await queue(store)) == ([], [])
    assert await LessonStore(store, "agent", "ann").late_verdict(left.key) == said


async def test_a_reply_that_came_too_late_is_paid_all_the_same() -> None:
    store = InMemoryStore()
    await put_in_queue(store)
    [left] = await queue(store)
    said = LateVerdict(run=left.run, task=left.task, trial=left.trial, success=False, cost=0.25, date=now())

    async def speak() -> None:
        await LessonStore(store, "agent", "ann").add([said])

    model = Asks(replies=[paid(NOON)], meanwhile=speak)
    await alearn_queued(service(model, store, options=PRICED))
    assert await LessonStore(store, "agent", "ann").spent() == 0.75


@pytest.mark.parametrize("when", ["before", "meanwhile"])
async def test_a_verdict_that_a_run_turns_leaves_no_praise_in_the_queue(when: str) -> None:
    store = InMemoryStore()
    held = Held(replies=[NOON], may=asyncio.Event())
    agent = create_agent(ScriptedChatModel(replies=["At noon."]), [])
    graph = create_reflexion(held, actor=agent, evaluator=lambda result: True, memory=LATER)
    chat = graph.compile(checkpointer=InMemorySaver(), store=store)
    final = await chat.ainvoke({"task": "When?"}, ANN)

    async def turn() -> None:
        other = create_agent(ScriptedChatModel(replies=["At five."]), [])
        reflects = ScriptedChatModel(replies=["I must say that the office closes at five."])
        turned = create_reflexion(reflects, actor=other, evaluator=lambda result: True, memory=LATER).compile(
            checkpointer=InMemorySaver(), store=store
        )
        verdict = {"success": False, "score": 0.0, "feedback": "It closes at five."}
        await turned.aupdate_state(ANN, {**final, "status": "running", "evaluation": verdict}, as_node="evaluate")
        await turned.ainvoke(None, ANN, interrupt_after=["reflect"])

    async def nothing() -> None:
        pass

    # As after a crash: the worker of the first graph is gone.
    [left] = await queue(store)
    await LessonStore(store, "agent", "ann").add([left.model_copy(update={"leased_until": ""})])
    meanwhile = turn
    if when == "before":
        await turn()
        meanwhile = nothing
    await alearn_queued(service(Asks(replies=[NOON], meanwhile=meanwhile), store))
    assert await queue(store) == []
    assert await texts(store) == ["I must say that the office closes at five."]


async def test_a_last_reflection_that_the_profile_writes_anyway_is_not_queued() -> None:
    at_end = replace(PROFILES["paper"], name="mine", reflects_at_end=True)
    store = InMemoryStore()
    model = ScriptedChatModel(replies=[NOON])
    await service(model, store, right=False, profile=at_end).ainvoke({"task": "When?"}, ANN)
    assert await queue(store) == []
    assert (await texts(store), len(model.prompts)) == ([NOON], 1)


async def test_a_graph_with_a_user_of_its_own_learns_for_that_one_alone() -> None:
    store = InMemoryStore()
    await put_in_queue(store)
    team = Lessons(learn="later", user="team")
    chat = service(ScriptedChatModel(replies=[NOON]), store, memory=team)
    assert await alearn_queued(chat) == {}
    assert (await texts(store, "team"), len(await queue(store))) == ([], 1)


@pytest.mark.slow
async def test_two_workers_pay_for_each_trial_once() -> None:
    store = InMemoryStore()
    for thread in ("1", "2", "3", "4"):
        config: Any = {"configurable": {"thread_id": thread, "user_id": "ann"}}
        await service(Held(replies=[], may=asyncio.Event()), store).ainvoke({"task": f"When, {thread}?"}, config)
    lessons = LessonStore(store, "agent", "ann")
    await lessons.add([each.model_copy(update={"leased_until": ""}) for each in await lessons.queued()])
    model = ScriptedChatModel(replies=[f"{NOON} Number {number} of many." for number in range(9)])
    chat = service(model, store)
    await asyncio.gather(alearn_queued(chat), alearn_queued(chat))
    assert (len(model.prompts), await queue(store)) == (4, [])


async def test_a_trial_is_left_to_the_process_that_has_begun_with_it() -> None:
    store = InMemoryStore()
    await put_in_queue(store, leased_until="9999")
    assert await alearn_queued(service(ScriptedChatModel(replies=[]), store)) == {"leased": 1}


async def test_a_trial_that_cannot_be_learned_from_is_given_up() -> None:
    store = InMemoryStore()
    await put_in_queue(store, attempts=0)

    def breaks(prompt: Any) -> str:
        raise ZeroDivisionError

    chat = service(ScriptedChatModel(replies=breaks), store)
    for attempt in range(1, 6):
        with pytest.raises(ZeroDivisionError):
            await alearn_queued(chat)
        [left] = await queue(store)
        assert (left.attempts, left.leased_until) == (attempt, "")
    assert await alearn_queued(chat) == {"given up": 1}


@pytest.mark.slow
async def test_a_trial_that_raises_keeps_nobody_from_learning_from_others() -> None:
    store = InMemoryStore()
    for user in ("ann", "bob"):
        config: Any = {"configurable": {"thread_id": user, "user_id": user}}
        for task in ("Broken?", "Whole?"):
            await service(Held(replies=[], may=asyncio.Event()), store).ainvoke({"task": f"{task} {user}"}, config)
        lessons = LessonStore(store, "agent", user)
        await lessons.add([each.model_copy(update={"leased_until": ""}) for each in await lessons.queued()])

    def reply(prompt: Any) -> str:
        if "Broken? ann" in str(prompt):
            raise ZeroDivisionError
        return NOON

    with pytest.raises(ZeroDivisionError):
        await alearn_queued(service(ScriptedChatModel(replies=reply), store))
    assert (await texts(store), await texts(store, "bob")) == ([NOON], [NOON])
    assert [len(await queue(store, user)) for user in ("ann", "bob")] == [1, 0]


async def test_a_server_that_is_down_leaves_the_trial_in_the_queue() -> None:
    store = InMemoryStore()
    await put_in_queue(store)

    def down(prompt: Any) -> str:
        raise ConnectionError("no route")

    once = ModelOptions(retries=Retries(attempts=1))
    for _ in range(6):
        with pytest.raises(Fault, match="no route"):
            await alearn_queued(service(ScriptedChatModel(replies=down), store, options=once))
    assert len(await queue(store)) == 1
    assert await alearn_queued(service(ScriptedChatModel(replies=[NOON]), store)) == {"learned": 1}
    assert await texts(store) == [NOON]


async def test_a_bug_in_the_background_is_logged_and_loses_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def breaks(prompt: Any) -> str:
        raise ZeroDivisionError

    store = InMemoryStore()
    with caplog.at_level(logging.ERROR):
        await service(ScriptedChatModel(replies=breaks), store).ainvoke({"task": "When?"}, ANN)
        async with asyncio.timeout(20):
            while not caplog.records:  # noqa: ASYNC110 - the log tells nobody
                await asyncio.sleep(0.01)
    assert "could not be learned in the background" in caplog.text
    assert "ZeroDivisionError" in caplog.text
    assert len(await queue(store)) == 1


async def test_a_user_who_has_spent_the_budget_learns_nothing_more() -> None:
    store = InMemoryStore()
    await put_in_queue(store)
    second = {"configurable": {"thread_id": "2", "user_id": "ann"}}
    await service(Held(replies=[], may=asyncio.Event()), store).ainvoke({"task": "Where?"}, second)
    for left in await queue(store):
        await LessonStore(store, "agent", "ann").add([left.model_copy(update={"leased_until": ""})])
    model = ScriptedChatModel(replies=[paid(NOON)] * 2)
    chat = service(model, store, options=PRICED)
    counted = await alearn_queued(chat, budget=0.4)
    assert counted == {"learned": 1, "over budget": 1}
    assert await LessonStore(store, "agent", "ann").spent() == 0.5


def paid(text: str) -> AIMessage:
    """A reply that costs 0.5 with `PRICED`."""
    usage: Any = {"input_tokens": 1_000_000, "output_tokens": 0, "total_tokens": 1_000_000}
    return AIMessage(text, usage_metadata=usage)


PRICED = ModelOptions(prices={"scripted": Price(0.5, 1.0)})


async def test_the_background_task_keeps_to_the_budget_of_a_user() -> None:
    store = InMemoryStore()
    model = ScriptedChatModel(replies=[paid(NOON)] * 3)
    chat = service(model, store, memory=Lessons(learn="later", budget=0.4), options=PRICED)
    await chat.ainvoke({"task": "When?"}, ANN)
    async with asyncio.timeout(20):
        while await queue(store):  # noqa: ASYNC110 - a background task tells nobody
            await asyncio.sleep(0.01)
    await chat.ainvoke({"task": "Where?"}, {"configurable": {"thread_id": "2", "user_id": "ann"}})
    await chat.ainvoke({"task": "When?"}, {"configurable": {"thread_id": "3", "user_id": "bob"}})
    async with asyncio.timeout(20):
        while await queue(store, "bob"):  # noqa: ASYNC110 - a background task tells nobody
            await asyncio.sleep(0.01)
    assert len(await queue(store)) == 1
    assert len(model.prompts) == 2

    # What is given to `learn_queued` counts more than that of the lessons.
    assert await alearn_queued(chat) == {"over budget": 1}
    assert await alearn_queued(chat, budget=5) == {"learned": 1}


async def test_a_larger_budget_learns_what_is_queued_and_not_an_empty_lesson() -> None:
    store = InMemoryStore()
    await put_in_queue(store)
    spent = LateVerdict(run="r", task="t", trial=1, success=True, cost=0.5, date=now())
    await LessonStore(store, "agent", "ann").add([spent])
    model = ScriptedChatModel(replies=[paid(NOON)])
    chat = service(model, store, memory=Lessons(learn="later", budget=0.4), options=PRICED)
    assert await alearn_queued(chat) == {"over budget": 1}
    assert await alearn_queued(chat, budget=5) == {"learned": 1}
    assert await texts(store) == [NOON]


async def test_after_the_budget_a_late_failure_teaches_what_a_person_said() -> None:
    store = InMemoryStore()
    model = ScriptedChatModel(replies=[paid("I must say five.")] * 3)
    chat = service(model, store, memory=Lessons(learn="never", budget=0.4), options=PRICED)
    for number in ("1", "2", "3"):
        await chat.ainvoke(
            {"task": f"When, on day {number}?"}, {"configurable": {"thread_id": number, "user_id": "ann"}}
        )
    first = await alearn_from(chat, ANN, success=False, words="Say five.")
    other = {"configurable": {"thread_id": "2", "user_id": "ann"}}
    second = await alearn_from(chat, other, success=False, words="At six.")
    praised = await alearn_from(chat, {"configurable": {"thread_id": "3", "user_id": "ann"}}, success=True)
    assert (first["lesson"], second["lesson"], praised["lesson"]) == ("I must say five.", "At six.", "")
    assert second["new"]
    assert len(model.prompts) == 1


async def test_a_budget_of_learning_needs_a_price() -> None:
    needed = "a budget of money needs the price of scripted"
    unpriced = service(ScriptedChatModel(replies=[]), InMemoryStore())
    with pytest.raises(ConfigurationError, match=needed):
        await alearn_queued(unpriced, budget=0.4)
    with pytest.raises(ConfigurationError, match=needed):
        service(ScriptedChatModel(replies=[]), InMemoryStore(), memory=Lessons(budget=0.4))


def test_a_negative_budget_of_learning_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="an amount of money is needed"):
        Lessons(budget=-1)


async def test_pending_lessons_are_recalled_once_they_are_approved() -> None:
    store = InMemoryStore()
    model = ScriptedChatModel(replies=[NOON] * 3)
    chat = service(model, store, memory=Lessons(review=True))
    await chat.ainvoke({"task": "When does the office close?"}, ANN)
    lessons = LessonStore(store, "agent", "ann")
    [lesson] = (await lessons.snapshot()).live
    assert (lesson.pending, await texts(store)) == (True, [])
    again = {"configurable": {"thread_id": "2", "user_id": "ann"}}
    final = await chat.ainvoke({"task": "When does the office close, please?"}, again)
    assert final["lessons"] == [], "taught twice, it is still pending"
    await lessons.add([LessonEdit(lesson=lesson.id, date=now(), approved=True, by="eve")])
    third = {"configurable": {"thread_id": "3", "user_id": "ann"}}
    final = await chat.ainvoke({"task": "When does the office close?"}, third)
    assert [each["id"] for each in final["lessons"]] == [lesson.id]
    assert await texts(store) == [NOON]


async def test_a_queued_lesson_is_reviewed_whoever_learns_it() -> None:
    store = InMemoryStore()
    held = Held(replies=[], may=asyncio.Event())
    reviewed = Lessons(learn="later", review=True)
    await service(held, store, memory=reviewed).ainvoke({"task": "When?"}, ANN)
    [left] = await queue(store)
    lessons = LessonStore(store, "agent", "ann")
    await lessons.add([left.model_copy(update={"leased_until": ""})])
    # As the nightly job, which does not know the graph.
    nightly = learner(ScriptedChatModel(replies=[NOON]), "agent").compile(store=store)
    assert await alearn_queued(nightly) == {"learned": 1}
    [lesson] = (await lessons.snapshot()).live
    assert (lesson.text, lesson.pending) == (NOON, True)


async def test_a_rejected_lesson_stays_out_and_older_lessons_stay_in() -> None:
    store = InMemoryStore()
    await service(ScriptedChatModel(replies=[NOON]), store, memory=Lessons()).ainvoke({"task": "When?"}, ANN)
    assert await texts(store) == [NOON]
    reviewed = service(ScriptedChatModel(replies=[NOON, "Ask at the counter."]), store, memory=Lessons(review=True))
    for thread, task in (("2", "When then?"), ("3", "Where?")):
        await reviewed.ainvoke({"task": task}, {"configurable": {"thread_id": thread, "user_id": "ann"}})
    assert await texts(store) == [NOON], "it was live before there was a review"
    lessons = LessonStore(store, "agent", "ann")
    [waiting] = [each for each in (await lessons.snapshot()).live if each.pending]
    await lessons.add([LessonEdit(lesson=waiting.id, date=now(), approved=False)])
    [rejected] = [each for each in (await lessons.snapshot()).live if each.id == waiting.id]
    assert (rejected.retired, rejected.pending) == (True, False)
    await lessons.tidy(force=True)
    await lessons.tidy(force=True)
    assert await texts(store) == [NOON]


async def test_what_a_person_teaches_after_the_fact_is_reviewed_too() -> None:
    store = InMemoryStore()
    chat = service(ScriptedChatModel(replies=["It closes at five on all days."]), store, memory=Lessons(review=True))
    trace = [{"role": "user", "content": "When?"}, {"role": "assistant", "content": "At noon."}]
    await alearn_from(chat, ANN, messages=trace, success=False, words="At five.")
    [lesson] = (await LessonStore(store, "agent", "ann").snapshot()).live
    assert lesson.pending


@pytest.mark.parametrize("memory", [Lessons(review=True)])
def test_a_review_beside_an_approval_is_refused(memory: Lessons) -> None:
    model = ScriptedChatModel(replies=[])
    with pytest.raises(ConfigurationError, match="ask twice about the same lessons"):
        service(model, InMemoryStore(), memory=memory, approval=Approval(reflections=True))
    with pytest.raises(ConfigurationError, match="wants a person to be asked"):
        service(model, InMemoryStore(), memory=LATER, approval=Approval(reflections=True))


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"learn"):
        Lessons(learn="sometimes")  # type: ignore[arg-type]
    chat = service(ScriptedChatModel(replies=[]), InMemoryStore())
    with pytest.raises(ConfigurationError, match="concurrency=0"):
        learn_queued(chat, concurrency=0)
    with pytest.raises(ConfigurationError, match="pass it as store="):
        learn_queued(service(ScriptedChatModel(replies=[]), None))


class Said(Episode):
    """An episode that ends with the first number."""

    observation = "Say the sum."

    @action("say {number}")
    def say(self, number: Annotated[int, "the sum"]) -> StepResult:
        """Say the sum."""
        return StepResult("No.", reward=0.0, terminated=True)


class Sums(Environment):
    """Sums whose facts are in the data of the task."""

    name, splits, episode = "sums", ("all",), Said

    def tasks(self, split: str | None = None, limit: int | None = None) -> list[Task]:
        return [Task(id="one", instruction="Add them.", kind="", data={"most": 100})]

    def start(self, task: Task) -> Episode:
        return Said()

    def facts(self, task: Task, steps: Any) -> list[str]:
        return [f"The sum is less than {task['data']['most']}."]

    def trial_facts(self, task: Task, opening: str, steps: Any) -> list[str]:
        return [f"The sum is more than {task['data']['most'] - 9}."]


@pytest.mark.parametrize("facts", [True, False])
async def test_what_is_learned_later_is_told_the_facts_that_an_environment_finds_in_the_task(facts: bool) -> None:
    prompts = []
    for learn in ("now", "later"):
        model = ScriptedChatModel(replies=["Action: say 3", "I must add them on paper."])
        store = InMemoryStore()
        memory = Memory(facts=facts, lessons=Lessons(learn=learn))  # type: ignore[arg-type]
        graph = create_reflexion(model, Sums(), memory=memory, max_trials=1).compile(store=store)
        await graph.ainvoke({"task": Sums().tasks()[0]})
        lessons = LessonStore(store, "sums", None)
        async with asyncio.timeout(20):
            while await lessons.queued():  # noqa: ASYNC110 - the store tells nobody
                await asyncio.sleep(0.01)
        prompts.append(str(model.prompts[-1][-1].content))
    assert prompts[0] == prompts[1]
    assert "less than 100" in prompts[1]
    assert ("more than 91" in prompts[1]) == facts
