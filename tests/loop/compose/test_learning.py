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
from langgraph_reflexion.memory.records import LessonEdit, LessonSource, LessonUse, now
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
    learned = await alearn_from(service.chat, service.answer(0), success=False, words="The office closes at five.")

    assert (learned["lesson"], learned["success"], learned["new"], learned["partial"]) == (FIVE, False, True, False)
    assert learned["usage"]["llm_calls"] == 1
    shown = service.shown()
    assert "At noon." in shown
    assert "The office closes at five." in shown
    assert "On foot." not in shown
    assert service.chat.get_state(service.thread) == before
    lessons = await service.lessons()
    assert lessons.lessons[learned["lesson_id"]].sources[0].words == "The office closes at five."
    # The lesson of that success is not recalled any more, and the trial is counted as failed.
    live = {lesson.text for lesson in lessons.live if not lesson.retired}
    assert live == {FIVE, "Feet do it."}
    assert (lessons.trials.trials, lessons.trials.succeeded) == (2, 1)


async def test_the_same_news_again_asks_no_model_and_changes_nothing() -> None:
    service = Service(FIVE)
    first = await alearn_from(service.chat, service.answer(0), success=False, words="The office closes at five.")
    items = service.store.search(("reflexion",), limit=100)
    again = await alearn_from(service.chat, service.answer(0), success=False, words="The office closes at five.")

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


class Waits(ScriptedChatModel):
    """A model that, after its reply, lets somebody else say something of the trial before it returns."""

    meanwhile: Any = None

    async def _agenerate(self, *args: Any, **options: Any) -> Any:
        reply = await super()._agenerate(*args, **options)
        if self.meanwhile:
            said = self.meanwhile
            self.meanwhile = None
            await said()
        return reply


async def test_of_two_verdicts_at_once_the_later_counts_and_the_lesson_of_the_other_is_not_recalled() -> None:
    model = Waits(replies=["At noon.", "Noon is right.", "The sign said noon.", FIVE])
    store = InMemoryStore()
    graph = create_reflexion(actor=create_agent(model, []), evaluator=lambda result: True, memory=Lessons())
    chat = graph.compile(checkpointer=InMemorySaver(), store=store)
    thread = {"configurable": {"thread_id": "1"}}
    await chat.ainvoke({"task": "When does the office close?"}, thread)

    async def down() -> None:
        await alearn_from(chat, thread, success=False, words="The office closes at five.")

    model.meanwhile = down
    await alearn_from(chat, thread, success=True, words="Thank you.")
    lessons = await LessonStore(store, "agent", None).snapshot()
    assert (lessons.trials.trials, lessons.trials.succeeded) == (1, 1)
    assert FIVE not in {lesson.text for lesson in lessons.live if not lesson.retired}


async def test_a_button_that_is_pressed_again_while_the_model_writes_changes_nothing() -> None:
    model = Waits(replies=["It is not noon, when the office closes.", FIVE])
    store = InMemoryStore()
    graph = create_reflexion(model, actor=create_agent(model, []), evaluator=lambda result: True, memory=Lessons())
    chat = graph.compile(store=store)

    async def press() -> Any:
        return await alearn_from(chat, messages=TRACE, success=False, words="At five.")

    model.meanwhile = press
    learned = await press()
    assert (learned["new"], learned["lesson"], learned["usage"]["llm_calls"]) == (False, FIVE, 1)
    lessons = await LessonStore(store, "agent", None).snapshot()
    assert [lesson.text for lesson in lessons.live] == [FIVE]


async def test_a_verdict_that_is_turned_back_is_no_wish_of_a_person_to_keep_the_lesson() -> None:
    service = Service(FIVE)
    for success in (False, True):
        await alearn_from(service.chat, service.answer(0), success=success)
    [lesson] = [each for each in (await service.lessons()).live if each.text == "Noon is right."]
    assert (lesson.retired, lesson.kept) == (False, False)


@pytest.mark.parametrize("decision", [{"retired": True}, {"approved": False}])
async def test_a_lesson_that_a_person_has_taken_out_is_not_brought_back(decision: dict[str, bool]) -> None:
    service = Service(FIVE)
    learned = await alearn_from(service.chat, service.answer(0), success=False)
    # Turned, so that the lesson is retired by that as well.
    await alearn_from(service.chat, service.answer(0), success=True)
    taken_out = LessonEdit(lesson=learned["lesson_id"], date=now(), by="eve", **decision)
    await LessonStore(service.store, "agent", None).add([taken_out])
    await alearn_from(service.chat, service.answer(0), success=False)
    assert (await service.lessons()).lessons[learned["lesson_id"]].retired


async def test_a_task_that_is_held_out_records_nothing_after_the_fact_either() -> None:
    model = ScriptedChatModel(replies=["At noon."])
    store = InMemoryStore()
    memory = Lessons(held_out=["exam"])
    graph = create_reflexion(actor=create_agent(model, []), evaluator=lambda result: True, memory=memory)
    chat = graph.compile(checkpointer=InMemorySaver(), store=store)
    thread = {"configurable": {"thread_id": "1"}}
    await chat.ainvoke({"task": {"id": "exam", "instruction": "When?"}}, thread)
    with pytest.raises(ConfigurationError, match="'exam' is held out"):
        await alearn_from(chat, thread, success=False)
    assert store.search(("reflexion",)) == []


@pytest.mark.parametrize("what", ["calls", "pictures"])
async def test_conversations_with_the_same_texts_are_told_apart(what: str) -> None:
    def trace(name: str) -> list[Any]:
        picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{name}"}}
        call = {"name": "look_at", "args": {"what": name}, "id": "1"}
        if what == "pictures":
            return [HumanMessage("Why?"), AIMessage("I drew this."), HumanMessage("Right?"), AIMessage([picture])]
        return [HumanMessage("Why?"), AIMessage("", tool_calls=[call]), ToolMessage("ok", tool_call_id="1")]

    service = Service(FIVE, "The office opens at nine on all days of the week.")
    for name in ("AAAA", "BBBB"):
        learned = await alearn_from(service.chat, messages=trace(name), success=False, words="Wrong.")
        assert learned["new"]


async def test_the_lesson_is_that_of_the_user() -> None:
    service = Service(FIVE)
    config = {"configurable": {**service.answer(0)["configurable"], "user_id": "ann"}}
    await alearn_from(service.chat, config, success=False, words="The office closes at five.")
    assert [lesson.text for lesson in (await service.lessons("ann")).live] == [FIVE]
    assert FIVE not in {lesson.text for lesson in (await service.lessons()).live}


def test_it_works_synchronously_and_with_a_checkpointer_that_has_no_coroutines() -> None:
    with SqliteSaver.from_conn_string(":memory:") as saver:
        service = Service(FIVE, saver=saver)
        learned = learn_from(service.chat, service.answer(0), success=False, words="The office closes at five.")
    assert learned["lesson"] == FIVE


async def test_where_the_checkpoint_is_gone_question_and_answer_are_learned_from(tmp_path: Path) -> None:
    with LatestSaver.open(tmp_path / "threads.db") as saver:
        service = Service(FIVE, saver=saver)
        learned = await alearn_from(
            service.chat, service.answer(0), success=False, words="The office closes at five."
        )

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
    learned = await alearn_from(service.chat, service.answer(0), success=False, words="The office closes at five.")
    assert learned["lesson"] == "The office closes at five."
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


async def test_a_graph_without_a_checkpointer_says_so() -> None:
    graph = create_reflexion(
        actor=create_agent(ScriptedChatModel(replies=[]), []), evaluator=lambda result: True, memory=Lessons()
    )
    chat = graph.compile(store=InMemoryStore())
    for named in ({"thread_id": "1"}, {"thread_id": "1", "checkpoint_id": "2"}):
        with pytest.raises(ConfigurationError, match="this graph has no checkpointer"):
            await alearn_from(chat, {"configurable": named}, success=False)


async def test_a_graph_without_a_store_says_so() -> None:
    graph = create_reflexion(
        actor=create_agent(ScriptedChatModel(replies=[]), []), evaluator=lambda result: True, memory=Lessons()
    )
    with pytest.raises(ConfigurationError, match="lessons need a store"):
        await alearn_from(graph.compile(), messages=TRACE, success=False)


@pytest.mark.parametrize(
    ("words", "reflection", "lesson"),
    [
        # A small model may turn a correction around.
        ("A wish is\npraise.", "I must not say praise.", 'A person said: "A wish is praise." I must not say praise.'),
        ("Say praise!", "I must say praise.  Always.", "I must say praise.  Always."),
        ("x" * 600, "I must say praise.", f'A person said: "{"x" * 496} ..." I must say praise.'),
        ("", "I must say praise.", "I must say praise."),
    ],
)
async def test_what_a_person_said_stands_in_the_lesson_word_for_word(words, reflection, lesson):
    service = Service(reflection)
    learned = await alearn_from(service.chat, service.answer(0), success=False, words=words)
    assert learned["lesson"] == lesson
    assert lesson in {each.text for each in (await service.lessons()).live}


async def test_a_lesson_that_a_changed_verdict_has_withdrawn_comes_back_when_another_trial_teaches_it():
    same = "Noon is right."
    service = Service(FIVE, "At noon.", same)
    await alearn_from(service.chat, service.answer(0), success=False, words="At five.")
    [withdrawn] = [each for each in (await service.lessons()).live if each.text == same]
    assert (withdrawn.retired, withdrawn.by_person) == (True, False)

    other: Any = {"configurable": {"thread_id": "2"}}
    await service.chat.ainvoke({"messages": [("human", "When is lunch?")]}, other)
    [taught] = [each for each in (await service.lessons()).live if each.text == same]
    assert not taught.retired


class Unsure:
    """A task of two trials, of which the first is the better one: its answer is shown."""

    def __init__(self, *later: str, saver: Any = None, learn: Any = "never") -> None:
        note = "I must look at the sign at the door."
        self.model = ScriptedChatModel(replies=["At five, I think.", note, "At noon.", *later])
        self.store = InMemoryStore()
        graph = create_reflexion(
            actor=create_agent(self.model, []),
            evaluator=lambda result: (0.5 if "five" in result else 0.1, "unsure"),
            max_trials=2,
            memory=Lessons(learn=learn),
        )
        self.chat = graph.compile(checkpointer=saver or InMemorySaver(), store=self.store)

    def ask(self, given: Any = None) -> Any:
        config: Any = {"configurable": {"thread_id": "1", "run_id": "run-1"}}
        asked = {"messages": [("human", "When does the office close?")]}
        return self.chat.invoke(given or asked, config)


@pytest.mark.parametrize("named", ["nothing", "message_id", "run_id", "checkpoint_id"])
@pytest.mark.parametrize("saver", ["in memory", "without coroutines"])
async def test_the_answer_is_that_of_the_best_trial_and_so_is_what_is_learned(named: str, saver: str) -> None:
    with SqliteSaver.from_conn_string(":memory:") as sqlite:
        service = Unsure(FIVE, saver=sqlite if saver == "without coroutines" else None)
        answer = service.ask()["messages"][-1]
        assert answer.text == "At five, I think."
        state = service.chat.get_state({"configurable": {"thread_id": "1"}})
        ids = {"message_id": answer.id, "run_id": "run-1"}
        ids["checkpoint_id"] = state.config["configurable"]["checkpoint_id"]
        config: Any = {"configurable": {"thread_id": "1"}}
        if named != "nothing":
            config["configurable"][named] = ids[named]
        learned = await alearn_from(service.chat, config, success=True)
    assert (learned["lesson"], learned["partial"]) == (FIVE, False)
    shown = str(service.model.prompts[-1][-1].content)
    assert "At five, I think." in shown
    assert "At noon." not in shown
    assert "look at the sign" not in shown, "a reflection on this very trial, which was taken for a failure"
    [source] = (await LessonStore(service.store, "agent", None).snapshot()).records["sources"].values()
    assert source.trial == 1  # type: ignore[attr-defined]


async def test_the_numbers_of_the_best_trial_are_corrected() -> None:
    service = Unsure(FIVE, FIVE, FIVE, learn="now")
    service.ask()
    await alearn_from(service.chat, {"configurable": {"thread_id": "1"}}, success=True)
    snapshot = await LessonStore(service.store, "agent", None).snapshot()
    # Both trials have failed; only of the first one something else was said.
    assert (snapshot.trials.trials, snapshot.trials.succeeded) == (2, 1)
    assert (snapshot.trials.first, snapshot.trials.first_succeeded) == ({"": 1}, {"": 1})


@pytest.mark.parametrize("given", [None, {"task": {"id": "hours", "instruction": "When does the office close?"}}])
async def test_where_the_best_trial_is_gone_its_answer_is_learned_from(tmp_path: Path, given: Any) -> None:
    with LatestSaver.open(tmp_path / "threads.db") as saver:
        service = Unsure(FIVE, saver=saver)
        final = service.ask(given)
        learned = await alearn_from(service.chat, {"configurable": {"thread_id": "1"}}, success=True)
    assert (learned["lesson"], learned["partial"]) == (FIVE, True)
    shown = str(service.model.prompts[-1][-1].content)
    assert "When does the office close?" in shown
    assert "At five, I think." in shown
    assert "At noon." not in shown
    [source] = (await LessonStore(service.store, "agent", None).snapshot()).records["sources"].values()
    assert source.task == final["task"]["id"]  # type: ignore[attr-defined]


async def test_where_the_best_trial_is_gone_what_was_said_before_it_is_left_out(
    tmp_path: Path,
) -> None:
    with LatestSaver.open(tmp_path / "threads.db") as saver:
        service = Unsure(FIVE, saver=saver)
        config: Any = {"configurable": {"thread_id": "1"}}
        before = [HumanMessage("The capital of Peru?"), AIMessage("Lima, five million.")]
        service.chat.update_state(config, {"messages": before}, as_node="__start__")
        service.ask({"task": {"id": "hours", "instruction": "When does the office close?"}})
        await alearn_from(service.chat, config, success=True)
    shown = str(service.model.prompts[-1][-1].content)
    assert "At five, I think." in shown
    assert "Peru" not in shown
    assert "Lima" not in shown


async def test_where_the_best_trial_is_gone_and_so_is_its_answer_this_is_an_error(tmp_path: Path) -> None:
    with LatestSaver.open(tmp_path / "threads.db") as saver:
        service = Unsure(FIVE, saver=saver)
        service.ask()
        config: Any = {"configurable": {"thread_id": "1"}}
        service.chat.update_state(config, {"messages": [HumanMessage("And on Sundays?")]})
        with pytest.raises(ConfigurationError, match="is that of trial 1, and the checkpointer no longer has it"):
            await alearn_from(service.chat, config, success=True)


async def test_a_task_that_is_under_way_is_learned_from_where_it_is() -> None:
    service = Unsure(FIVE)
    config: Any = {"configurable": {"thread_id": "1"}}
    asked = {"messages": [("human", "When does the office close?")]}
    service.chat.invoke(asked, config, interrupt_before=["reflect"])
    service.chat.invoke(None, config, interrupt_before=["evaluate"])
    learned = await alearn_from(service.chat, config, success=False, words="At five.")
    assert learned["lesson"]
    [source] = (await LessonStore(service.store, "agent", None).snapshot()).records["sources"].values()
    assert source.trial == 2  # type: ignore[attr-defined]


async def live(store: Any, user: str | None = None) -> set[str]:
    """Return the lessons that are recalled."""
    snapshot = await LessonStore(store, "agent", user).snapshot()
    return {lesson.text for lesson in snapshot.live if not lesson.retired}


async def test_a_lesson_from_two_successes_is_withdrawn_when_both_turn_out_to_be_failures() -> None:
    same = "Noon is right."
    service = Service("At noon.", same, FIVE, "I must not say noon when I am asked about lunch.")
    other: Any = {"configurable": {"thread_id": "2"}}
    await service.chat.ainvoke({"messages": [("human", "When is lunch?")]}, other)
    await alearn_from(service.chat, service.answer(0), success=False)
    assert same in await live(service.store), "the other trial has taught it as well"
    await alearn_from(service.chat, other, success=False)
    assert same not in await live(service.store)


async def test_praise_of_the_same_trial_is_no_other_trial_that_has_taught_its_lesson() -> None:
    same = "Noon is right."
    service = Service(same, FIVE)
    await alearn_from(service.chat, service.answer(0), success=True, words="Thank you.")
    assert same in await live(service.store)
    await alearn_from(service.chat, service.answer(0), success=False, words="Sorry, at five.")
    assert same not in await live(service.store)


async def test_a_lesson_that_a_person_has_written_as_well_is_not_withdrawn() -> None:
    service = Service(FIVE)
    written = LessonSource(text="Noon is right.", date=now())
    await LessonStore(service.store, "agent", None).add([written])
    await alearn_from(service.chat, service.answer(0), success=False)
    assert "Noon is right." in await live(service.store)


async def test_an_old_trial_is_counted_once_though_the_store_no_longer_knows_its_key() -> None:
    service = Service(FIVE)
    store = LessonStore(service.store, "agent", None)

    async def played_later(number: int) -> None:
        about = {"success": True, "kind": "", "trial": 1, "date": now(), "lessons": []}
        played = [LessonUse(task=f"t{number}-{each}", run="r", **about) for each in range(550)]  # type: ignore[arg-type]
        await store.add(played)
        await store.tidy(force=True)

    for number in range(4):
        await played_later(number)
    before = (await store.snapshot()).trials
    await alearn_from(service.chat, service.answer(0), success=False, words="At five.")
    after = (await store.snapshot()).trials
    assert (after.trials, after.succeeded) == (before.trials, before.succeeded - 1)
