"""Learning after the fact over a real LangGraph server, with a login and without one."""

import json
import os
from contextlib import ExitStack
from pathlib import Path

import pytest
from langgraph_sdk import get_sync_client

from tests.support.processes import langgraph_dev, until

SERVED = Path(__file__).parents[1] / "support" / "served_learning"
GRAPHS = {
    "agent": "graph",
    "feedback": "feedback",
    "chat": "chat",
    "chat_feedback": "chat_feedback",
    "later": "later",
}
QUESTION = "When does the office close?"
WRONG = {"success": False, "words": "The office closes at five."}
LESSON = "I must say that the office closes at five."
NOBODYS = "01a22235-03e8-7318-aafb-bedae99db34f"


@pytest.fixture(scope="module", params=[True, False], ids=["login", "open"])
def server(request, tmp_path_factory):
    """The address of a server, and whether one has to log in."""
    pytest.importorskip("langgraph_api", reason="needs the extra [studio]: pip install '.[studio]'")
    folder = tmp_path_factory.mktemp("served")
    served = {"dependencies": ["."], "graphs": {}}
    for name, variable in GRAPHS.items():
        served["graphs"][name] = f"{SERVED / 'support_agent.py'}:{variable}"
    if request.param:
        served["auth"] = {"path": f"{SERVED / 'login.py'}:auth"}
    config = folder / "langgraph.json"
    config.write_text(json.dumps(served), encoding="utf-8")
    environment = {**os.environ, "LANGSMITH_TRACING": "false"}
    with langgraph_dev(config, folder / "log", environment) as address:
        yield address, request.param


@pytest.fixture
def login(server):
    """Where there is a login."""
    _, has_login = server
    if not has_login:
        pytest.skip("is about users")


@pytest.fixture
def user(server):
    """Returns the user of a name."""
    address, _ = server
    with ExitStack() as stack:

        def log_in(name):
            headers = {"Authorization": f"Bearer {name}"}
            return User(stack.enter_context(get_sync_client(url=address, headers=headers)))

        yield log_in


class User:
    """What a user of the server does, each in a conversation of their own."""

    def __init__(self, client):
        self.client = client

    def ask(self, graph="agent", thread=None, question=QUESTION, **options):
        """Ask a question. Returns the thread and the answer."""
        thread = thread or self.client.threads.create()["thread_id"]
        said = {"messages": [{"role": "user", "content": question}]}
        final = self.client.runs.wait(thread, graph, input=said, **options)
        return thread, final["messages"][-1]

    def learn(self, graph="feedback", *, context=None, config=None, metadata=None, **said):
        """Say something of an answer. Returns what was learned, or the error."""
        outcome = self.client.runs.wait(
            None, graph, input=said, context=context, config=config, metadata=metadata, raise_error=False
        )
        if "__error__" in outcome:
            return outcome["__error__"]["message"]
        return outcome["learned"]


@pytest.mark.parametrize(("graph", "feedback"), [("agent", "feedback"), ("chat", "chat_feedback")])
def test_an_earlier_answer_is_learned_from_over_the_server(user, graph, feedback):
    ann = user("ann")
    thread, answer = ann.ask(graph)
    assert answer["content"] == "At noon."
    ann.ask(graph, thread, "And how do I get there?")
    learned = ann.learn(feedback, thread_id=thread, message_id=answer["id"], **WRONG)
    assert (learned["lesson"], learned["new"], learned["success"]) == (LESSON, True, False)
    again = ann.learn(feedback, thread_id=thread, message_id=answer["id"], **WRONG)
    assert (again["lesson"], again["new"], again["usage"]["llm_calls"]) == (LESSON, False, 0)
    assert len(ann.client.threads.get_state(thread)["values"]["messages"]) == 4
    # A day later, in another conversation.
    assert ann.ask(graph)[1]["content"] == "At five."


def test_an_answer_is_named_by_its_checkpoint_or_its_run(user):
    cat = user("cat")
    thread, answer = cat.ask()
    [run] = cat.client.runs.list(thread)
    checkpoint = cat.client.threads.get_state(thread)["checkpoint"]["checkpoint_id"]
    cat.ask(thread=thread, question="And how do I get there?")
    by_message = cat.learn(thread_id=thread, message_id=answer["id"], **WRONG)
    assert not by_message["partial"]
    for named in ({"run_id": run["run_id"]}, {"checkpoint": checkpoint}):
        again = cat.learn(thread_id=thread, **named, **WRONG)
        assert (again["lesson_id"], again["new"]) == (by_message["lesson_id"], False)


def test_an_answer_of_many_turns_ago_is_found(login, user):
    kim = user("kim")
    thread, answer = kim.ask()
    for number in range(5):
        kim.ask(thread=thread, question=f"And on day {number}?")
    learned = kim.learn(thread_id=thread, message_id=answer["id"], **WRONG)
    assert (learned["lesson"], learned["partial"]) == (LESSON, False)


def test_a_conversation_from_elsewhere_is_learned_from(user):
    talk = [{"role": "user", "content": "When is lunch?"}, {"role": "assistant", "content": "At one."}]
    learned = user("dan").learn(messages=talk, **WRONG)
    assert learned["lesson"] == LESSON


def test_the_thread_of_another_user_is_not_found_in_the_words_for_no_thread(login, user):
    ann, bob = user("ann"), user("bob")
    thread, answer = ann.ask()
    [run] = ann.client.runs.list(thread)
    checkpoint = ann.client.threads.get_state(thread)["checkpoint"]["checkpoint_id"]
    for named in ({}, {"message_id": answer["id"]}, {"run_id": run["run_id"]}, {"checkpoint": checkpoint}):
        refused = bob.learn(thread_id=thread, **named, **WRONG)
        unknown = bob.learn(thread_id=NOBODYS, **named, **WRONG)
        assert "there is no thread" in refused
        assert refused.replace(thread, NOBODYS) == unknown
    for graph in ("feedback", "chat_feedback"):
        assert "there is no thread" in bob.learn(graph, thread_id=thread, **WRONG)


@pytest.mark.parametrize(
    "named",
    [
        {"context": {"user_id": "eve"}},
        {"config": {"configurable": {"user_id": "eve"}}},
        {"config": {"configurable": {"langgraph_auth_user": {"identity": "eve"}, "langgraph_auth_user_id": "eve"}}},
        {"config": {"configurable": {"langgraph_auth_user_id": "eve", "user_id": "eve"}}},
        {"metadata": {"user_id": "eve", "owner": "eve"}},
    ],
)
def test_nobody_writes_or_reads_the_lessons_of_another_user(login, user, named):
    eve, mallory = user("eve"), user("mallory")
    talk = [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": "At noon."}]
    assert mallory.learn(messages=talk, **named, **WRONG)["lesson"] == LESSON
    assert eve.ask()[1]["content"] == "At noon."

    # And what mallory has learned is not eve's, whom the request names.
    assert mallory.ask(**named)[1]["content"] == "At five."


def test_an_assistant_with_another_users_name_uses_the_lessons_of_who_is_logged_in(login, user):
    fay, gus = user("fay"), user("gus")
    talk = [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": "At noon."}]
    fay.learn(messages=talk, **WRONG)
    assistant = gus.client.assistants.create("agent", context={"user_id": "fay"})["assistant_id"]
    assert gus.ask(assistant)[1]["content"] == "At noon."


def test_a_thread_that_began_for_another_user_uses_the_lessons_of_who_is_logged_in(login, user):
    liv, moe = user("liv"), user("moe")
    talk = [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": "At noon."}]
    liv.learn(messages=talk, **WRONG)
    # The server keeps a run's settings for the next run on the thread.
    thread, _ = moe.ask(config={"configurable": {"user_id": "liv"}})
    assert moe.ask(thread=thread)[1]["content"] == "At noon."


def test_without_a_login_the_caller_names_the_user(server, user):
    _, has_login = server
    if has_login:
        pytest.skip("is about a server that only another service calls")
    service = user("any")
    named = {"context": {"user_id": "ned"}}
    talk = [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": "At noon."}]
    assert service.ask(context={"user_id": "oda"})[1]["content"] == "At noon."
    assert service.learn(messages=talk, **WRONG, **named)["new"]
    assert service.ask(**named)[1]["content"] == "At five."
    assert service.ask(context={"user_id": "oda"})[1]["content"] == "At noon."


def test_what_is_learned_later_is_the_lesson_of_who_was_logged_in(login, user):
    pia, quin = user("pia"), user("quin")
    assert pia.ask("later", context={"user_id": "quin"})[1]["content"] == "At noon."
    assert until(lambda: pia.ask("later")[1]["content"] == "At five.")
    assert quin.ask("later")[1]["content"] == "At noon."


def test_a_command_in_place_of_an_input_is_checked_as_well(user):
    ray = user("ray")
    thread = ray.client.threads.create()["thread_id"]
    command = {"update": {"thread_id": NOBODYS, "success": "no"}, "goto": "learn"}
    outcome = ray.client.runs.wait(thread, "feedback", input=None, command=command, raise_error=False)
    assert "success must be a valid boolean" in outcome["__error__"]["message"]


DEEP: list = []
for _ in range(60):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({}, "name the answer by thread_id"),
        ({"thread_id": "../../assistants", **WRONG}, "there is no thread '../../assistants'"),
        ({"thread_id": NOBODYS, "checkpoint": "../../x", **WRONG}, "there is no thread"),
        ({"thread_id": NOBODYS, "user_id": "eve", **WRONG}, "unknown input field 'user_id'"),
        ({"thread_id": 3, **WRONG}, "thread_id must be a string, not 3"),
        ({"thread_id": "1" * 10_000, **WRONG}, "thread_id must have at most 200 characters"),
        ({"thread_id": NOBODYS, "messages": [], **WRONG}, "not both"),
        ({"message_id": "x", "messages": [], **WRONG}, "not both"),
        ({"thread_id": NOBODYS, "message_id": "x", "run_id": "y", **WRONG}, "by one of message_id, run_id"),
        ({"messages": "At noon.", **WRONG}, "messages must be"),
        ({"messages": [], **WRONG}, "no human message"),
        ({"messages": ["At noon."], **WRONG}, "'At noon.' is not a message"),
        ({"messages": [{"type": "ai", "content": 3}], **WRONG}, "is not a message"),
        ({"messages": [{"role": "root", "content": "x"}], **WRONG}, "is not a message"),
        ({"messages": DEEP, **WRONG}, "nested more than 50 levels deep"),
        ({"messages": [{"role": "user", "content": "x"}] * 1001, **WRONG}, "has 1,001 of them: at most 1,000"),
        ({"messages": [{"role": "user", "content": "x" * 1_000_001}], **WRONG}, "has 1,000,"),
        ({"messages": [], "success": "no"}, "success must be a valid boolean, not 'no'"),
        ({"messages": [], "success": 0}, "success must be a valid boolean, not 0"),
        ({"messages": [], "success": False, "words": ["no"]}, "words must be"),
        ({"messages": [], "success": False, "words": "x" * 4001}, "words must have at most 4000 characters"),
    ],
)
def test_what_a_stranger_sends_is_refused_in_one_line(login, user, said, message):
    refused = user("zoe").learn(**said)
    assert message in refused
    assert "\n" not in refused
    assert len(refused) < 500


def test_control_characters_in_words_are_left_out(user):
    hal = user("hal")
    talk = [{"role": "user", "content": "When is tea?"}, {"role": "assistant", "content": "At one."}]
    said = "\u202eThe office closes\x1b[31m at five.\x07"
    learned = hal.learn(messages=talk, success=False, words=said)
    its_own = "I must say that the office closes at some other hour."
    assert learned["lesson"] == f'A person said: "The office closes [31m at five." {its_own}'


@pytest.mark.parametrize(
    "edit",
    [
        {"episode": 3},
        {"evaluation": {"success": "maybe"}},
        {"trajectory": [{"number": "x"}]},
        {"attempt": {"messages": [{"type": "root"}]}},
        {"task": {"id": 3}},
        {"reflections": ["I learn nothing."]},
    ],
)
def test_an_edited_state_that_is_none_is_refused(login, user, edit):
    ida = user("ida")
    thread, _ = ida.ask()
    ida.client.threads.update_state(thread, edit, as_node="evaluate")
    refused = ida.learn(thread_id=thread, **WRONG)
    assert f"the state of thread '{thread}' cannot be read" in refused


def test_a_thread_of_another_graph_is_refused(user):
    joe = user("joe")
    thread, _ = joe.ask("chat")
    assert "has not an answer" in joe.learn(thread_id=thread, **WRONG)
