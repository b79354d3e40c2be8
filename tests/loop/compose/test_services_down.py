"""What a service that is down, a lost world, a bug or a hanging agent costs a wrapped agent's caller."""

import asyncio
import base64
import json
import socket
import sqlite3
import time
import urllib.request
from contextlib import closing, contextmanager

import httpx
import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware, SummarizationMiddleware
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command
from pydantic import BaseModel

from langgraph_reflexion import (
    Budget,
    Budgets,
    ModelOptions,
    ReflexionMiddleware,
    WrappedAgent,
    create_reflexion,
    resume_point,
)
from langgraph_reflexion.support.retries import Retries
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.loopback import Answer, Listener

pytestmark = pytest.mark.slow

CLOSED = {"Connection": "close"}
THREAD = {"configurable": {"thread_id": "1"}}
QUICK = ModelOptions(retries=Retries(attempts=2, first_wait=0.0))
APPROVE = Command(resume={"decisions": [{"type": "approve"}]})


def silent():
    """A model that nobody should ask."""
    return ScriptedChatModel(replies=["A lesson."] * 9)


class Service:
    """An HTTP service on loopback that counts its requests, and answers the first ones with errors."""

    def __init__(self, text="ok", broken=0):
        self.text, self.broken, self.requests = text, broken, 0

    def answer(self, call):
        self.requests += 1
        if self.requests <= self.broken:
            return Answer(b"out of order", status=503)
        return Answer(self.text.encode(), kind="text/plain")


@contextmanager
def serving(service):
    with closing(Listener(0, service.answer)) as listener:
        yield listener.url


def by_httpx(address):
    return httpx.get(address, headers=CLOSED).raise_for_status().text == "ok"


def by_urllib(address):
    with urllib.request.urlopen(address) as answer:
        return answer.read() == b"ok"


@pytest.mark.parametrize("ask", [by_httpx, by_urllib])
@pytest.mark.parametrize("how", ["graph", "middleware"])
def test_an_evaluator_whose_service_is_down_costs_no_answer(ask, how):
    check = Service(broken=9)
    with serving(check) as address:
        options = {"evaluator": lambda result: ask(address), "options": QUICK}
        if how == "graph":
            graph = create_reflexion(silent(), actor=lambda text: "Rome", **options).compile()
        else:
            graph = create_agent(
                ScriptedChatModel(replies=["Rome"]), [], middleware=[ReflexionMiddleware(silent(), **options)]
            )
        said = graph.invoke({"messages": [("human", "Where?")]})["messages"][-1]
    outcome = said.response_metadata["reflexion"]
    assert said.text == "Rome"
    assert (outcome["status"], outcome["best"]) == ("fault", None)
    assert outcome["fault"].startswith("the evaluator failed: ")
    assert check.requests == 2


def judged(how, judge):
    """Return a graph whose agent says "Rome", with a judge: the loop's own graph, or an agent with the middleware."""
    options = {"evaluator": "llm", "options": QUICK}
    if how == "graph":
        return create_reflexion(judge, actor=lambda text: "Rome", **options).compile()
    agent = ScriptedChatModel(replies=["Rome"])
    return create_agent(agent, [], middleware=[ReflexionMiddleware(judge, **options)])


@pytest.mark.parametrize("answers", ["closed", "503"])
@pytest.mark.parametrize("how", ["graph", "middleware"])
def test_a_judge_whose_server_is_down_costs_no_answer(how, answers):
    down = Service(broken=9)
    with serving(down) as address:
        if answers == "closed":
            with socket.socket() as unused:
                unused.bind(("127.0.0.1", 0))
                address = f"http://127.0.0.1:{unused.getsockname()[1]}"
        judge = ChatOpenAI(model="any", base_url=f"{address}/v1", api_key="none")
        graph = judged(how, judge)
        said = graph.invoke({"messages": [("human", "Where?")]})["messages"][-1]
    outcome = said.response_metadata["reflexion"]
    assert said.text == "Rome"
    assert (outcome["status"], outcome["best"]) == ("fault", None)
    assert outcome["fault"].startswith("the model could not answer: ")


def unused_address():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{unused.getsockname()[1]}"


def looking_up(kind, address):
    """An agent that asks a service by itself: a function, or one of `create_agent` with a tool."""

    @tool
    def look_up(word: str) -> str:
        """Look a word up."""
        return httpx.get(address, headers=CLOSED).raise_for_status().text

    if kind == "function":
        return lambda text: look_up.invoke({"word": "Rome"})
    calls = [{"name": "look_up", "args": {"word": "Rome"}, "id": "1"}]
    asks = ScriptedChatModel(replies=lambda messages: AIMessage("", tool_calls=calls))
    if kind == "create_agent":
        return create_agent(asks, [look_up])
    return create_agent(asks, [look_up], middleware=[ReflexionMiddleware(silent(), evaluator=lambda result: True)])


@pytest.mark.parametrize("status", [None, 503, 408, 425, 429])
@pytest.mark.parametrize("kind", ["function", "create_agent"])
def test_a_service_that_an_agents_own_call_finds_down_is_a_fault(kind, status):
    service = Service()
    service.answer = lambda call: Answer(b"later", status=status)
    with serving(service) as address:
        agent = looking_up(kind, address if status else unused_address())
        graph = create_reflexion(silent(), actor=agent, evaluator=lambda result: True, options=QUICK).compile()
        final = graph.invoke({"task": "Where?"})
    assert (final["status"], final["evaluation"]) == ("fault", None)
    assert final["fault"].startswith(f"the agent failed: {'HTTPStatusError' if status else 'ConnectError'}")


@pytest.mark.parametrize("status", [400, 401, 404])
@pytest.mark.parametrize("kind", ["function", "create_agent"])
def test_a_request_of_an_agent_that_a_service_refuses_is_a_bug(kind, status):
    service = Service()
    service.answer = lambda call: Answer(b"no", status=status)
    with serving(service) as address:
        agent = looking_up(kind, address)
        graph = create_reflexion(silent(), actor=agent, evaluator=lambda result: True, options=QUICK).compile()
        with pytest.raises(httpx.HTTPStatusError, match=str(status)):
            graph.invoke({"task": "Where?"})


@pytest.mark.parametrize("status", [None, 503, 404])
def test_the_middleware_leaves_what_the_agents_own_calls_raise(status):
    service = Service()
    service.answer = lambda call: Answer(b"no", status=status)
    with serving(service) as address:
        agent = looking_up("middleware", address if status else unused_address())
        with pytest.raises(httpx.HTTPStatusError if status else httpx.ConnectError):
            agent.invoke({"messages": [("human", "Where?")]})


def test_a_service_that_is_down_for_a_moment_is_asked_again():
    check = Service(broken=1)
    with serving(check) as address:
        graph = create_reflexion(
            silent(), actor=lambda text: "Rome", evaluator=lambda result: by_httpx(address), options=QUICK
        ).compile()
        final = graph.invoke({"task": "Where?"})
    assert (final["status"], check.requests) == ("solved", 2)


def in_a_group(*calls):
    async def check(result):
        async with asyncio.TaskGroup() as group:
            for call in calls:
                group.create_task(call())

    return check


async def unreachable():
    async with httpx.AsyncClient() as client:
        await client.get(unused_address())


async def mistaken():
    await asyncio.sleep(0)
    raise KeyError("no such key")


@pytest.mark.parametrize("where", ["evaluator", "agent"])
@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
def test_a_service_that_a_task_group_finds_down_is_a_fault(where, how):
    down = in_a_group(unreachable, unreachable)

    async def evaluator(result):
        await down(result)

    async def agent(text: str) -> str:
        await down(text)
        return "Rome"

    chosen = {"actor": agent} if where == "agent" else {"evaluator": evaluator}
    options = {"actor": lambda text: "Rome", "evaluator": lambda result: True, "options": QUICK} | chosen
    graph = create_reflexion(silent(), **options).compile()
    final = asyncio.run(graph.ainvoke({"task": "Where?"})) if how == "ainvoke" else graph.invoke({"task": "Where?"})
    assert final["status"] == "fault"
    assert final["fault"].startswith(f"the {where} failed: ConnectError: ")


def test_a_bug_in_a_task_group_is_raised_although_a_service_is_down_too():
    check = in_a_group(unreachable, mistaken)
    graph = create_reflexion(silent(), actor=lambda text: "Rome", evaluator=check, options=QUICK).compile()
    with pytest.raises(ExceptionGroup) as raised:
        graph.invoke({"task": "Where?"})
    assert raised.group_contains(KeyError)


def test_a_bug_in_an_evaluator_is_raised():
    def check(result):
        return result["no such key"]

    graph = create_reflexion(silent(), actor=lambda text: "Rome", evaluator=check).compile()
    with pytest.raises(TypeError, match="string indices"):
        graph.invoke({"task": "Where?"})


@pytest.mark.parametrize("where", ["reset", "make"])
def test_a_reset_whose_service_is_down_is_a_fault(where):
    def down(task):
        httpx.get("http://127.0.0.1:9/")

    options = {"agent": lambda text: "Rome", "reset": down} if where == "reset" else {"make": down}
    graph = create_reflexion(
        silent(), actor=WrappedAgent(**options), evaluator=lambda result: True, options=QUICK
    ).compile()
    final = graph.invoke({"task": "Where?"})
    assert final["status"] == "fault"
    assert f"{where} failed: ConnectError" in final["fault"]


def test_a_fault_of_the_evaluator_in_a_later_trial_returns_the_best_judged_answer():
    answers, asked = iter(["first", "second"]), []

    def check(result):
        asked.append(result)
        if result == "second":
            raise httpx.ConnectError("down")
        return 0.5, "Not this."

    model = ScriptedChatModel(replies=["The next attempt must not say first."])
    graph = create_reflexion(
        model, actor=lambda text: next(answers), evaluator=check, options=QUICK, max_trials=3
    ).compile()
    final = graph.invoke({"messages": [("human", "Where?")]})
    outcome = final["messages"][-1].response_metadata["reflexion"]
    assert final["messages"][-1].text == "first"
    assert (outcome["status"], outcome["best"], outcome["trials"]) == ("fault", 1, 2)
    assert asked == ["first", "second", "second"]


def test_resume_continues_at_the_evaluation(tmp_path):
    agent, check = Service(text="Rome"), Service(broken=2)
    with serving(agent) as asks, serving(check) as checks, SqliteSaver.from_conn_string(str(tmp_path / "s")) as saver:

        def build():
            return create_reflexion(
                silent(),
                actor=lambda text: httpx.get(asks, headers=CLOSED).text,
                evaluator=lambda result: by_httpx(checks) and result == "Rome",
                options=QUICK,
            ).compile(checkpointer=saver)

        assert build().invoke({"task": "Where?"}, THREAD)["status"] == "fault"
        assert (agent.requests, check.requests) == (1, 2)
        again = build()  # as in another process
        again.update_state(THREAD, *resume_point(again.get_state(THREAD).values))
        final = again.invoke(None, THREAD)
    assert (final["status"], final["result"]) == ("solved", "Rome")
    assert (agent.requests, check.requests) == (1, 3)
    assert [record["trial"] for record in final["trials"]] == [1]


@pytest.mark.parametrize("broken", [1, 2, 3])
def test_an_agent_with_the_middleware_resumes_at_the_evaluation(tmp_path, broken):
    """The check is down after the answer of this trial: it is asked again, and the agent's model is not."""
    model, check = Service(), Service()
    model.answer = lambda call: _completion(model)

    def accepts(result):
        if check.requests < broken - 1:
            check.requests += 1
            return False
        return by_httpx(checks) and result == f"answer {broken}"

    with serving(model) as asks, serving(check) as checks, SqliteSaver.from_conn_string(str(tmp_path / "s")) as saver:

        def build():
            around = ReflexionMiddleware(
                ScriptedChatModel(replies=["Say it otherwise, please.", "Say it in French, please."]),
                evaluator=accepts,
                options=QUICK,
            )
            chat = ChatOpenAI(model="any", base_url=asks, api_key="none", default_headers=CLOSED)
            return create_agent(chat, [], middleware=[around], checkpointer=saver)

        check.broken = broken + 1  # the two attempts at this evaluation
        said = build().invoke({"messages": [("human", "Where?")]}, THREAD)["messages"][-1]
        assert said.response_metadata["reflexion"]["status"] == "fault"
        assert (model.requests, check.requests) == (broken, broken + 1)
        again = build()  # as in another process
        again.update_state(THREAD, *resume_point(again.get_state(THREAD).values))
        final = again.invoke(None, THREAD)
        ended = again.get_state(THREAD).values
    outcome = final["messages"][-1].response_metadata["reflexion"]
    assert (outcome["status"], outcome["trials"]) == ("solved", broken)
    assert [message.text for message in final["messages"]] == ["Where?", f"answer {broken}"]
    assert (model.requests, check.requests) == (broken, broken + 2)
    assert [record["trial"] for record in ended["reflexion"]["trials"]["trials"]] == [*range(1, broken + 1)]
    assert resume_point(ended) is None


class Watching(AgentMiddleware):
    """Other middleware, with hooks after the model and after the agent."""

    def after_model(self, state, runtime):
        return None

    def after_agent(self, state, runtime):
        return None


class City(BaseModel):
    """A city."""

    name: str


def test_a_resumed_evaluation_may_fail_again_or_reject_the_answer():
    """With a structured response, and other middleware around: the state is that of the trial that is judged."""
    named = iter(["Rome", "Paris"])
    agent = ScriptedChatModel(
        replies=lambda messages: AIMessage(
            "", tool_calls=[{"name": "City", "args": {"name": next(named)}, "id": "1"}]
        )
    )
    check = Service(broken=4)
    judged = []

    def accepts(result):
        judged.append(result["name"])
        return by_httpx(checks) and result["name"] == "Paris"

    with serving(check) as checks:
        around = ReflexionMiddleware(silent(), evaluator=accepts, options=QUICK)
        graph = create_agent(
            agent,
            [],
            middleware=[Watching(), around],
            response_format=ToolStrategy(City),
            checkpointer=InMemorySaver(),
        )
        statuses = [graph.invoke({"messages": [("human", "Where?")]}, THREAD)]
        for _ in range(2):
            graph.update_state(THREAD, *resume_point(graph.get_state(THREAD).values))
            statuses.append(graph.invoke(None, THREAD))
    outcomes = [_outcome(each["messages"]) for each in statuses]
    assert [(each["status"], each["trials"]) for each in outcomes] == [("fault", 1), ("fault", 1), ("solved", 2)]
    assert judged == ["Rome"] * 5 + ["Paris"]
    assert len(agent.prompts) == 2
    assert statuses[-1]["structured_response"] == City(name="Paris")


def _outcome(messages):
    return next(each.response_metadata["reflexion"] for each in messages if "reflexion" in each.response_metadata)


def _completion(model):
    """The answer of a chat server, which counts its requests."""
    model.requests += 1
    message = {"role": "assistant", "content": f"answer {model.requests}"}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    said = {"id": "1", "object": "chat.completion", "created": 0, "model": "any", "choices": choices}
    return Answer(json.dumps(said).encode(), kind="application/json")


def test_a_world_is_evaluated_as_its_trial_left_it():
    class Page:
        text = "blank"

        def save(self):
            return {"text": self.text}

        def restore(self, saved):
            self.text = saved["text"]

    page, broken = Page(), [True, True]

    def write(text):
        page.text = "written"
        return "done"

    def check(world):
        if broken:
            broken.pop()
            raise httpx.ConnectError("down")
        return world.text == "written"

    graph = create_reflexion(silent(), actor=WrappedAgent(write, reset=page), evaluator=check, options=QUICK).compile(
        checkpointer=InMemorySaver()
    )
    assert graph.invoke({"task": "Write."}, THREAD)["status"] == "fault"
    page.text = "changed by somebody meanwhile"
    graph.update_state(THREAD, *resume_point(graph.get_state(THREAD).values))
    assert graph.invoke(None, THREAD)["status"] == "solved"
    assert page.text == "written"


class Table:
    """A world of its own for each trial: a database in memory, and an agent that writes a row and counts."""

    def __init__(self):
        self.made = 0

    def make(self, task):
        self.made += 1
        db = sqlite3.connect(":memory:", check_same_thread=False)
        db.execute("CREATE TABLE t (x)")

        @tool
        def write(x: str) -> str:
            """Write a row."""
            db.execute("INSERT INTO t VALUES (?)", [x])
            return "written"

        @tool
        def count(x: str) -> str:
            """Count the rows."""
            return str(db.execute("SELECT count(*) FROM t").fetchone()[0])

        def reply(messages):
            done = [message.name for message in messages if message.type == "tool"]
            if len(done) == 2:
                return f"rows: {messages[-1].text}"
            name = "count" if done else "write"
            return AIMessage("", tool_calls=[{"name": name, "args": {"x": "1"}, "id": name}])

        pausing = HumanInTheLoopMiddleware(interrupt_on={"count": True})
        return create_agent(ScriptedChatModel(replies=reply), [write, count], middleware=[pausing]), db


@pytest.mark.parametrize("restart", [False, True])
def test_a_world_of_make_that_is_gone_begins_the_trial_anew(tmp_path, restart):
    table = Table()

    def rows(world):
        return world.execute("SELECT count(*) FROM t").fetchone()[0] == 1

    with SqliteSaver.from_conn_string(str(tmp_path / "s")) as saver:

        def build():
            return create_reflexion(silent(), actor=WrappedAgent(make=table.make), evaluator=rows).compile(
                checkpointer=saver
            )

        graph = build()
        assert "__interrupt__" in graph.invoke({"task": "Write a row."}, THREAD)
        graph = build() if restart else graph
        final = graph.invoke(APPROVE, THREAD)
        if restart:
            assert "__interrupt__" in final, "the new trial asks again"
            final = graph.invoke(APPROVE, THREAD)
    assert (final["status"], final["result"]) == ("solved", "rows: 1")
    assert table.made == 1 + restart
    assert any("the trial starts over" in note for note in final["notes"]) == restart


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_a_run_that_raised_is_called_again_without_a_checkpointer(how):
    calls = []

    @tool
    def look(x: str) -> str:
        """Look something up."""
        calls.append(x)
        if len(calls) == 1:
            raise KeyError("a bug in the tool")
        return "29"

    def reply(messages):
        if messages[-1].type == "tool":
            return "29"
        return AIMessage("", tool_calls=[{"name": "look", "args": {"x": "1"}, "id": "1"}])

    agent = create_agent(ScriptedChatModel(replies=reply), [look])
    graph = create_reflexion(actor=agent, evaluator=lambda result: "29" in result).compile()

    async def call():
        final = getattr(graph, how)({"task": "q"})
        return final if how == "invoke" else await final

    with pytest.raises(KeyError, match="a bug in the tool"):
        await call()
    assert (await call())["status"] == "solved"


def test_the_summary_of_a_wrapped_agent_is_kept():
    def reply(messages):
        asked = messages[-1].text
        return "SUMMARY" if len(messages) == 1 and "extract" in asked.lower() else "29"

    model = ScriptedChatModel(replies=reply)
    shortening = SummarizationMiddleware(model=model, trigger=("messages", 20), keep=("messages", 4))
    graph = create_reflexion(
        model, actor=create_agent(model, [], middleware=[shortening]), evaluator=lambda result: True
    )
    compiled = graph.compile(checkpointer=InMemorySaver())
    history = [each for i in range(30) for each in (HumanMessage(f"old {i}"), AIMessage("a"))]
    sizes, calls = [], []
    for turn in range(3):
        before = len(model.prompts)
        given = [*(history if not turn else []), HumanMessage(f"question {turn}")]
        final = compiled.invoke({"messages": given}, THREAD)
        sizes.append(len(final["messages"]))
        calls.append(len(model.prompts) - before)
    assert calls == [2, 1, 1]
    assert sizes == [sizes[0], sizes[0] + 2, sizes[0] + 4]
    assert "SUMMARY" in final["messages"][0].text
    assert [each.text for each in final["messages"][-2:]] == ["question 2", "29"]


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
@pytest.mark.parametrize("kind", ["function", "graph"])
async def test_a_budget_of_seconds_ends_an_agent_that_hangs(how, kind):
    went_on = []

    def hang(text):
        time.sleep(2)
        went_on.append(text)
        return "late"

    agent = hang
    if kind == "graph":
        agent = StateGraph(MessagesState).add_node("hang", hang).add_edge(START, "hang").compile()
    graph = create_reflexion(
        silent(), actor=agent, evaluator=lambda result: True, budgets=Budgets(trial=Budget(seconds=0.3))
    ).compile()
    began = time.monotonic()
    final = graph.invoke({"task": "q"}) if how == "invoke" else await graph.ainvoke({"task": "q"})
    assert time.monotonic() - began < 1.8
    assert not went_on
    assert final["status"] == "budget"
    assert final["notes"] == ["trial budget of 0.3 seconds used up"]


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
@pytest.mark.parametrize("kind", ["function", "asynchronous"])
async def test_a_budget_of_seconds_ends_an_evaluator_that_hangs(how, kind):
    asked = []

    def answer(text):
        asked.append(text)
        return "29"

    def hang(result):
        time.sleep(2)
        return True

    async def hang_asynchronously(result):
        await asyncio.sleep(2)
        return True

    evaluator = hang
    if kind == "asynchronous":
        evaluator = hang_asynchronously
    saver = InMemorySaver()
    short = Budgets(trial=Budget(seconds=0.3))
    graph = create_reflexion(silent(), actor=answer, evaluator=evaluator, budgets=short).compile(checkpointer=saver)
    began = time.monotonic()
    if how == "invoke":
        final = graph.invoke({"task": "q"}, THREAD)
    else:
        final = await graph.ainvoke({"task": "q"}, THREAD)
    assert time.monotonic() - began < 1.8
    assert final["status"] == "fault"
    assert final["fault"] == "the evaluator had not ended when a budget of seconds was used up"
    assert final["messages"][-1].text == "29"
    # Without the budget, the evaluation alone is done.
    patient = create_reflexion(silent(), actor=answer, evaluator=lambda result: True).compile(checkpointer=saver)
    patient.update_state(THREAD, *resume_point(final))
    assert (await patient.ainvoke(None, THREAD))["status"] == "solved"
    assert len(asked) == 1


class Seeing(ScriptedChatModel):
    """A model that says that it takes pictures."""

    profile: dict = {"image_inputs": True}


def picture(name):
    data = base64.b64encode(name.encode()).decode()
    return {"type": "image", "base64": data, "mime_type": "image/png"}


def asked(words, *pictures):
    return HumanMessage([{"type": "text", "text": words}, *pictures])


@pytest.mark.parametrize("how", ["graph", "middleware"])
@pytest.mark.parametrize("sees", [True, False])
def test_judge_and_reflection_see_the_whole_conversation(how, sees):
    model = (Seeing if sees else ScriptedChatModel)(replies=["Verdict: no", "Name the day.", "Verdict: yes"])
    talk = [HumanMessage("Plan a party in Rome."), AIMessage("When?"), asked("The last one.", picture("map"))]
    options = {"evaluator": "llm", "max_trials": 2}
    if how == "graph":
        graph = create_reflexion(model, actor=lambda messages: "Friday", **options).compile()
    else:
        agent = ScriptedChatModel(replies=["Friday", "Friday"])
        graph = create_agent(agent, [], middleware=[ReflexionMiddleware(model, **options)])
    graph.invoke({"messages": talk})
    assert len(model.prompts) >= 2
    for prompt in model.prompts[:2]:
        shown = prompt[-1]
        assert "User: Plan a party in Rome." in shown.text
        assert "Assistant: When?" in shown.text
        pictures = [each for each in shown.content if isinstance(each, dict) and each["type"] == "image"]
        assert pictures == ([picture("map")] if sees else [])


@pytest.mark.parametrize("how", ["graph", "middleware"])
def test_no_file_or_address_of_a_conversation_reaches_the_client_of_the_judge(how, tmp_path):
    secret = tmp_path / "secret.png"
    secret.write_text("secret")
    elsewhere, bodies = Service(), []

    def completion(call):
        if call.content:  # and no question about what kind of server this is
            bodies.append(call.content.decode())
        message = {"role": "assistant", "content": "Verdict: yes"}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        return Answer(json.dumps({"id": "1", "object": "chat.completion", "choices": [choice]}).encode())

    with serving(elsewhere) as address, closing(Listener(0, completion)) as server:
        shown = [
            {"type": "image", "url": address},
            {"type": "image", "path": str(secret)},
            {"type": "image", "file_id": "file-of-another"},
            {"type": "image_url", "image_url": {"url": f"file://{secret}"}},
            {"type": "image_url", "image_url": {"url": address}},
            picture("map") | {"url": address},
            *(picture(f"old {number}") for number in range(30)),
            picture("new"),
        ]
        judge = ChatOpenAI(model="any", base_url=f"{server.url}/v1", api_key="none", profile={"image_inputs": True})
        graph = judged(how, judge)
        final = graph.invoke({"messages": [asked("Where?", *shown)]})
    assert final["messages"][-1].response_metadata["reflexion"]["status"] == "solved"
    assert elsewhere.requests == 0
    assert bodies
    for sent in bodies:
        assert not [place for place in (address, str(secret), "file-of-another") if place in sent]
        assert picture("new")["base64"] in sent
        assert sent.count("data:image/png;base64,") == 20


@pytest.mark.parametrize("how", ["graph", "middleware"])
def test_an_evaluator_sees_the_whole_conversation(how):
    seen = []

    def check(messages):
        seen.extend(message.text for message in messages)
        return True

    talk = [("human", "Rome"), ("ai", "When?"), ("human", "The last day.")]
    if how == "graph":
        graph = create_reflexion(silent(), actor=lambda text: "29", evaluator=check).compile()
    else:
        model = ScriptedChatModel(replies=["29"])
        graph = create_agent(model, [], middleware=[ReflexionMiddleware(silent(), evaluator=check)])
    graph.invoke({"messages": talk})
    assert seen[:3] == ["Rome", "When?", "The last day."]


def test_the_same_words_with_another_picture_are_another_task():
    graph = create_reflexion(silent(), actor=lambda text: "29", evaluator=lambda messages: True).compile()

    def task(*pictures):
        return graph.invoke({"messages": [asked("What is this?", *pictures)]})["task"]["id"]

    assert task(picture("cat")) == task(picture("cat"))
    assert len({task(), task(picture("cat")), task(picture("dog"))}) == 3


def test_a_stream_under_the_middleware_says_the_trial():
    model = ScriptedChatModel(replies=["28", "29"])
    agent = create_agent(
        model, [], middleware=[ReflexionMiddleware(silent(), evaluator=lambda result: (result == "29", "Not 28."))]
    )
    told = [
        (chunk.text, metadata.get("reflexion_trial"))
        for chunk, metadata in agent.stream({"messages": [("human", "q")]}, stream_mode="messages")
        if chunk.type in ("ai", "AIMessageChunk") and "reflexion_trial" in metadata
    ]
    assert {number for text, number in told if "28" in text} == {1}
    assert {number for text, number in told if "29" in text} == {2}
