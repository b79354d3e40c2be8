"""Learning after the fact: `learn_from` a thread or a trace, with a late verdict and a person's words."""

from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.store.memory import InMemoryStore

from langgraph_reflexion import (
    Approval,
    ConfigurationError,
    Lessons,
    ReflexionMiddleware,
    alearn_from,
    create_reflexion,
    learn_from,
)
from langgraph_reflexion.memory.store import LessonStore
from langgraph_reflexion.support.checkpoints import LatestSaver
from langgraph_reflexion.testing import ScriptedChatModel

FIVE = "The office closes at five on all days of the week."
TRACE = [HumanMessage("When does the office close?"), AIMessage("At noon.")]


class Service:
    """A chat with two answers on one thread, each right according to its evaluator."""

    def __init__(self, *later: str, lessons: Lessons | None = None, saver: Any = None) -> None:
        self.model = ScriptedChatModel(replies=["At noon.", "Noon is right.", "On foot.", "Feet do it.", *later])
        self.store = InMemoryStore()
        self.graph = create_reflexion(
            actor=create_agent(self.model, []), evaluator=lambda result: True, memory=lessons or Lessons()
        )
        self.chat = self.graph.compile(checkpointer=saver or InMemorySaver(), store=self.store)
        self.thread: dict[str, Any] = {"configurable": {"thread_id": "1"}}
        self.answers: list[str] = []
        for question in ("When does the office close?", "How do I get there?"):
            final = self.chat.invoke({"messages": [("human", question)]}, self.thread)
            self.answers.append(final["messages"][-1].id)

    def shown(self) -> str:
        """Return the newest prompt."""
        return str(self.model.prompts[-1][-1].content)

    def answer(self, number: int) -> dict[str, Any]:
        """Return the config of an answer."""
        return {"configurable": {"thread_id": "1", "message_id": self.answers[number]}}

    async def lessons(self, user: str | None = None) -> Any:
        """Return the lessons as they are now."""
        return await LessonStore(self.store, "agent", user).snapshot()


async def test_an_earlier_answer_teaches_a_lesson_and_the_conversation_stays() -> None:
    service = Service(FIVE)
    before = service.chat.get_state(service.thread)
    learned = await alearn_from(service.chat, service.answer(0), success=False, words="It closes at five.")

    assert (learned["lesson"], learned["success"], learned["new"], learned["partial"]) == (FIVE, False, True, False)
    assert learned["usage"]["llm_calls"] == 1
    shown = service.shown()
    assert "At noon." in shown
    assert "It closes at five." in shown
    assert "On foot." not in shown
    assert service.chat.get_state(service.thread) == before
    lessons = await service.lessons()
    assert lessons.lessons[learned["lesson_id"]].sources[0].words == "It closes at five."
    # The lesson of that success is not recalled any more, and the trial is counted as failed.
    live = {lesson.text for lesson in lessons.live if not lesson.retired}
    assert live == {FIVE, "Feet do it."}
    assert (lessons.trials.trials, lessons.trials.succeeded) == (2, 1)


async def test_the_same_news_again_asks_no_model_and_changes_nothing() -> None:
    service = Service(FIVE)
    first = await alearn_from(service.chat, service.answer(0), success=False, words="It closes at five.")
    items = service.store.search(("reflexion",), limit=100)
    again = await alearn_from(service.chat, service.answer(0), success=False, words="It closes at five.")

    assert (again["lesson"], again["new"], again["usage"]["llm_calls"]) == (first["lesson"], False, 0)
    assert service.store.search(("reflexion",), limit=100) == items


async def test_the_verdict_of_the_evaluator_has_been_learned_already() -> None:
    service = Service()
    learned = await alearn_from(service.chat, service.answer(1))
    assert (learned["lesson"], learned["success"], learned["usage"]["llm_calls"]) == ("Feet do it.", True, 0)
    assert (await service.lessons()).trials.trials == 2


async def test_a_verdict_that_is_changed_often_is_counted_once() -> None:
    service = Service(FIVE)
    for success in (False, True, False, True, False):
        await alearn_from(service.chat, service.answer(0), success=success)
        lessons = await service.lessons()
        assert (lessons.trials.trials, lessons.trials.succeeded) == (2, 1 + success)
        live = {lesson.text for lesson in lessons.live if not lesson.retired}
        expected = {"Feet do it.", "Noon is right." if success else FIVE}
        assert live == expected


async def test_the_lesson_is_that_of_the_user() -> None:
    service = Service(FIVE)
    config = {"configurable": {**service.answer(0)["configurable"], "user_id": "ann"}}
    await alearn_from(service.chat, config, success=False, words="It closes at five.")
    assert [lesson.text for lesson in (await service.lessons("ann")).live] == [FIVE]
    assert FIVE not in {lesson.text for lesson in (await service.lessons()).live}


def test_it_works_synchronously_and_with_a_checkpointer_that_has_no_coroutines() -> None:
    with SqliteSaver.from_conn_string(":memory:") as saver:
        service = Service(FIVE, saver=saver)
        learned = learn_from(service.chat, service.answer(0), success=False, words="It closes at five.")
    assert learned["lesson"] == FIVE


async def test_where_the_checkpoint_is_gone_question_and_answer_are_learned_from(tmp_path: Path) -> None:
    with LatestSaver.open(tmp_path / "threads.db") as saver:
        service = Service(FIVE, saver=saver)
        learned = await alearn_from(service.chat, service.answer(0), success=False, words="It closes at five.")

    assert (learned["lesson"], learned["partial"]) == (FIVE, True)
    assert "When does the office close?" in service.shown()
    assert "On foot." not in service.shown()
    lessons = await service.lessons()
    assert lessons.lessons[learned["lesson_id"]].sources[0].partial
    # It is not known which lessons it was shown, so no number changes.
    assert (lessons.trials.trials, lessons.trials.succeeded) == (2, 2)


async def test_a_trace_from_elsewhere() -> None:
    service = Service(FIVE)
    call = {"name": "look_up", "args": {"what": "office"}, "id": "1"}
    trace = [
        {"role": "user", "content": "When does the office close?"},
        AIMessage("", tool_calls=[call]),
        ToolMessage("closed on Sundays", tool_call_id="1"),
        {"role": "assistant", "content": "At six."},
    ]
    learned = await alearn_from(service.chat, messages=trace, success=False, words="At five.")
    assert (learned["lesson"], learned["partial"]) == (FIVE, False)
    shown = service.shown()
    assert "look_up" in shown
    assert "closed on Sundays" in shown
    again = await alearn_from(service.chat, messages=trace, success=False, words="At five.")
    assert not again["new"]


async def test_the_middleware_learns_from_the_messages_of_its_agent() -> None:
    model = ScriptedChatModel(replies=[FIVE])
    middleware = ReflexionMiddleware(model, evaluator=lambda result: True, memory=Lessons())
    store = InMemoryStore()
    learned = await alearn_from(middleware, messages=TRACE, success=False, words="At five.", store=store)
    assert learned["lesson"] == FIVE
    with pytest.raises(ConfigurationError, match="pass messages="):
        await alearn_from(middleware, {"configurable": {"thread_id": "1"}}, success=False, store=store)


async def test_a_task_that_was_cut_off_is_learned_from_as_far_as_it_went() -> None:
    model = ScriptedChatModel(replies=["At noon.", FIVE])
    store = InMemoryStore()

    def breaks(result: str) -> bool:
        raise ZeroDivisionError

    graph = create_reflexion(actor=create_agent(model, []), evaluator=breaks, memory=Lessons())
    chat = graph.compile(checkpointer=InMemorySaver(), store=store)
    thread = {"configurable": {"thread_id": "1"}}
    with pytest.raises(ZeroDivisionError):
        await chat.ainvoke({"task": "When does the office close?"}, thread)
    with pytest.raises(ConfigurationError, match="say whether the answer was right"):
        await alearn_from(chat, thread)
    learned = await alearn_from(chat, thread, success=False)
    assert learned["lesson"] == FIVE
    lessons = await LessonStore(store, "agent", None).snapshot()
    assert (lessons.trials.trials, lessons.trials.succeeded) == (1, 0)


async def test_never_learning_by_itself_leaves_learning_to_learn_from() -> None:
    model = ScriptedChatModel(replies=["At noon.", FIVE])
    store = InMemoryStore()
    memory = Lessons(learn="never")
    graph = create_reflexion(actor=create_agent(model, []), evaluator=lambda result: True, memory=memory)
    chat = graph.compile(checkpointer=InMemorySaver(), store=store)
    thread = {"configurable": {"thread_id": "1"}}
    await chat.ainvoke({"task": "When does the office close?"}, thread)
    assert not store.search(("reflexion",))
    learned = await alearn_from(chat, thread, success=False, words="At five.")
    assert learned["lesson"] == FIVE
    assert (await LessonStore(store, "agent", None).snapshot()).trials.trials == 1


async def test_a_refusal_in_place_of_a_lesson_leaves_the_persons_words() -> None:
    service = Service("I'm sorry, but I can't assist with that.", "I'm sorry, but I can't assist with that.")
    learned = await alearn_from(service.chat, service.answer(0), success=False, words="It closes at five.")
    assert learned["lesson"] == "It closes at five."
    assert learned["usage"]["llm_calls"] == 2


@pytest.mark.parametrize(
    ("config", "said", "message"),
    [
        (None, {"success": False}, "needs a thread"),
        ({"configurable": {"thread_id": "2"}}, {"success": False}, "no thread '2'"),
        ({"configurable": {"thread_id": "1", "message_id": "x"}}, {"success": False}, "no message 'x'"),
        ({"configurable": {"thread_id": "1", "run_id": "x"}}, {"success": False}, "not the answer of run 'x'"),
        (None, {"messages": [], "success": False}, "no human message"),
        (None, {"messages": TRACE[:1], "success": False}, "no answer"),
        (None, {"messages": [3], "success": False}, "3 is not a message"),
        (None, {"messages": TRACE}, "say whether the answer was right"),
    ],
)
async def test_what_cannot_be_learned_from_is_said(config: Any, said: dict[str, Any], message: str) -> None:
    service = Service()
    with pytest.raises(ConfigurationError, match=message):
        await alearn_from(service.chat, config, **said)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "needs a graph with lessons"),
        ({"memory": Lessons(), "approval": Approval(reflections=True)}, "asks nobody"),
    ],
)
async def test_a_graph_that_cannot_learn_says_so(settings: dict[str, Any], message: str) -> None:
    model = ScriptedChatModel(replies=[FIVE])
    graph = create_reflexion(actor=create_agent(model, []), evaluator=lambda result: True, **settings)
    chat = graph.compile(store=InMemoryStore())
    with pytest.raises(ConfigurationError, match=message):
        await alearn_from(chat, messages=TRACE, success=False)


async def test_a_graph_without_a_store_says_so() -> None:
    graph = create_reflexion(
        actor=create_agent(ScriptedChatModel(replies=[]), []), evaluator=lambda result: True, memory=Lessons()
    )
    with pytest.raises(ConfigurationError, match="lessons need a store"):
        await alearn_from(graph.compile(), messages=TRACE, success=False)
