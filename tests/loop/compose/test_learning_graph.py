"""The graph that learns from feedback, outside of a server: it learns from the threads of the graph beside it."""

from typing import Any

import pytest
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from langgraph_reflexion import (
    ConfigurationError,
    Lessons,
    ReflexionMiddleware,
    create_reflexion,
    learning_graph,
)
from langgraph_reflexion.memory.store import LessonStore
from langgraph_reflexion.testing import ScriptedChatModel

FIVE = "The office closes at five on all days of the week."
WRONG = {"success": False, "words": "The office closes at five."}

TALK = [{"role": "user", "content": "When does it close?"}, {"role": "assistant", "content": "At noon."}]


class LoggedIn:
    """A user as a LangGraph server names who is logged in."""

    identity = "ann"
    display_name = "Ann"
    is_authenticated = True
    permissions: tuple[str, ...] = ()


class Service:
    """An agent that has given one answer, on a thread."""

    def __init__(self, *later: str) -> None:
        self.store = InMemoryStore()
        model = ScriptedChatModel(replies=["At noon.", *later])
        memory = Lessons(learn="never")
        made = create_reflexion(actor=create_agent(model, []), evaluator=lambda result: True, memory=memory)
        self.chat = made.compile(checkpointer=InMemorySaver(), store=self.store)
        self.thread = {"configurable": {"thread_id": "1"}}
        final = self.chat.invoke({"messages": [("human", "When does the office close?")]}, self.thread)
        self.answer = final["messages"][-1].id

    async def lessons(self, user: str | None = None) -> list[str]:
        """Return the lessons of a user as they are now."""
        snapshot = await LessonStore(self.store, "agent", user).snapshot()
        return [lesson.text for lesson in snapshot.live]


@pytest.mark.slow
async def test_an_answer_is_learned_from_and_the_thread_of_the_feedback_is_not_its_source() -> None:
    service = Service(FIVE)
    graph = learning_graph(service.chat)
    said = {"thread_id": "1", "message_id": service.answer, **WRONG}
    output = await graph.ainvoke(said, {"configurable": {"thread_id": "feedback"}})
    assert output.keys() == {"learned"}
    assert output["learned"]["lesson"] == FIVE
    snapshot = await LessonStore(service.store, "agent", None).snapshot()
    assert snapshot.lessons[output["learned"]["lesson_id"]].sources[0].thread == "1"


def test_it_works_synchronously() -> None:
    service = Service(FIVE)
    output = learning_graph(service.chat).invoke({"thread_id": "1", **WRONG})
    assert output["learned"]["lesson"] == FIVE


async def test_the_words_of_an_earlier_call_on_its_thread_are_not_said_again() -> None:
    service = Service(FIVE)
    made = learning_graph(service.chat)
    graph = made.copy(update={"checkpointer": InMemorySaver()})
    await graph.ainvoke({"thread_id": "1", **WRONG}, service.thread)
    with pytest.raises(ConfigurationError, match="name the answer"):
        await graph.ainvoke({"success": True}, service.thread)


async def test_lessons_are_those_of_who_is_logged_in_whoever_else_is_named() -> None:
    service = Service(FIVE)
    # As the server does; clients cannot set it.
    named = {"langgraph_auth_user": LoggedIn(), "user_id": "bob"}
    await learning_graph(service.chat).ainvoke({"messages": TALK, **WRONG}, {"configurable": named})
    assert await service.lessons("ann") == [FIVE]
    assert await service.lessons("bob") == []


@pytest.mark.parametrize("where", ["context", "configurable"])
async def test_a_task_uses_the_lessons_of_who_is_logged_in(where: str) -> None:
    model = ScriptedChatModel(replies=["At noon.", FIVE])
    store = InMemoryStore()
    made = create_reflexion(actor=create_agent(model, []), evaluator=lambda result: True, memory=Lessons())
    graph = made.compile(store=store)
    configurable: dict[str, Any] = {"langgraph_auth_user": LoggedIn()}
    options: dict[str, Any] = {}
    if where == "context":
        options["context"] = {"user_id": "bob"}
    else:
        configurable["user_id"] = "bob"
    await graph.ainvoke({"task": "When does it close?"}, {"configurable": configurable}, **options)
    assert await LessonStore(store, "agent", None).users() == ["ann"]


async def test_a_middleware_learns_from_messages_and_has_no_threads_outside_of_a_server() -> None:
    middleware = ReflexionMiddleware(
        ScriptedChatModel(replies=[FIVE]), evaluator=lambda result: True, memory=Lessons()
    )
    graph = learning_graph(middleware).copy(update={"store": InMemoryStore()})
    output = await graph.ainvoke({"messages": TALK, **WRONG})
    assert output["learned"]["lesson"] == FIVE
    with pytest.raises(ConfigurationError, match="give messages"):
        await graph.ainvoke({"thread_id": "1", **WRONG})


def test_only_a_graph_that_reflects_can_be_learned_for() -> None:
    with pytest.raises(ConfigurationError, match="needs a compiled graph"):
        learning_graph(create_agent(ScriptedChatModel(replies=[]), []))


@pytest.mark.parametrize("field", ["sucess", "user_id", "configurable"])
def test_a_field_that_is_not_known_is_refused(field: str) -> None:
    graph = learning_graph(Service().chat)
    with pytest.raises(ConfigurationError, match=f"unknown input field '{field}'"):
        graph.invoke({"messages": TALK, "success": False, field: "x"})
