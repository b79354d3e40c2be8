"""`langgraph dev` takes the repository's langgraph.json, and people can do with its graphs what they do in Studio.

One server serves all tests. It runs without a key, and with its detector of blocking calls on.
"""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.pregel.remote import RemoteGraph
from langgraph_sdk import get_client, get_sync_client

from langgraph_reflexion import WrappedAgent, create_reflexion
from langgraph_reflexion.lab.studio.settings import ALLOWED
from langgraph_reflexion.prompts import load_prompts
from langgraph_reflexion.state import ReflexionState
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.composing import THREAD
from tests.support.model_server import ModelServer
from tests.support.processes import free_port, langgraph_dev
from tests.support.scripts import SmallModel
from tests.support.tools import lacking, need

ROOT = Path(__file__).parents[2]
GRAPHS = list(json.loads((ROOT / "langgraph.json").read_text())["graphs"])
NODES = {"reset", "act", "observe", "heuristic_check", "evaluate", "reflect"}
KEY = "sk-this-is-nobodys-business"
FAILS_FIRST = "Who was born earlier, the novelist Caska Kardinett or the choreographer Tassa Pellendorn?"
SANDBOXED = {"programming", "workspace"}
NAMED = {"programming", "webshop", "workspace"}
"""The graphs whose model has to be named."""
EDITED = "A person has written this."


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    return tmp_path_factory.mktemp("dev") / "log"


@pytest.fixture(scope="module")
def models():
    """The port of the model server that the graphs' server allows."""
    return free_port()


@pytest.fixture(scope="module")
def small():
    """The settings of a model that plays every world, on a server that the graphs' server allows, too."""
    with ModelServer(SmallModel()) as served:
        yield {"model": "openai:small", "base_url": served.url}


@pytest.fixture(scope="module")
def address(log, models, small, tmp_path_factory):
    pytest.importorskip("langgraph_api", reason="needs the extra [studio]: pip install '.[studio]'")
    empty = {name: str(tmp_path_factory.mktemp("empty")) for name in ("XDG_CACHE_HOME", "ALFWORLD_DATA")}
    environment = {**os.environ, **empty, "LANGSMITH_TRACING": "false", "OPENAI_API_KEY": KEY}
    environment[ALLOWED] = f"http://127.0.0.1:{models}/v1, {small['base_url']}"
    # The server keeps its threads beside its log.
    with langgraph_dev(ROOT / "langgraph.json", log, environment, "--n-jobs-per-worker", "8") as address:
        yield address


@pytest.fixture(scope="module")
def client(address):
    with get_sync_client(url=address) as client:
        yield client


def wait(client, thread, graph, **options):
    outcome = client.runs.wait(thread, graph, raise_error=False, **options)
    assert isinstance(outcome, dict)
    return outcome


def said(text):
    return {"messages": [{"role": "user", "content": text}]}


class Life:
    """What a user does with a graph in Studio, from opening it."""

    def __init__(self, client, graph, model):
        self.client, self.graph = client, graph
        self.model = model
        [found] = client.assistants.search(graph_id=graph, limit=1, metadata={"created_by": "system"})
        self.schemas = client.assistants.get_schemas(found["assistant_id"])
        drawing = client.assistants.get_graph(found["assistant_id"], xray=True)
        assert {node["id"] for node in drawing["nodes"]} >= NODES
        assert self.schemas["output_schema"]["properties"]["result"]["description"]
        assert self.schemas["state_schema"]["$defs"]["Step"]["properties"]["observation"]["description"]

    def run(self):
        """Runs with an empty form: a task that the model solves after a reflection."""
        self.thread = self.client.threads.create()["thread_id"]
        shown = {"stream_mode": ["updates", "values"], "context": self.model}
        stream = list(self.client.runs.stream(self.thread, self.graph, input={}, **shown))
        updates = [pair for event in stream if event.event == "updates" for pair in event.data.items()]
        assert [name for name, _ in updates[:3]] == ["reset", "act", "observe"]
        assert updates[-1][0] == "evaluate"
        assert all(updates[1][1]["decision"].values())  # the thought and the action
        assert all(update for _, update in updates)
        final = [event.data for event in stream if event.event == "values"][-1]
        assert (final["status"], final["reflections"] != []) == ("solved", True), final["fault"]
        assert [trial["verdict"] for trial in final["trials"]][-2:] == [False, True]
        self.values = self.client.threads.get_state(self.thread)["values"]
        # The outcome comes first; the form's fields are gone, and the live episode is not in the state.
        assert list(self.values)[:2] == ["status", "result"]
        assert self.values.keys() <= ReflexionState.__annotations__.keys()
        assert len(json.dumps(self.values["episode"])) < 2000

    def fork(self):
        """Continues from an edited observation."""
        history = self.client.threads.get_history(self.thread, limit=1000)
        seen = [state for state in history if state["next"] == ["heuristic_check"]][-1]
        forked = self.client.threads.update_state(
            self.thread,
            {"trajectory": [{**seen["values"]["trajectory"][0], "observation": EDITED}]},
            as_node="observe",
            checkpoint_id=seen["checkpoint"]["checkpoint_id"],
        )
        rest = {"checkpoint": forked["checkpoint"], "interrupt_after": ["heuristic_check"], "context": self.model}
        begun = wait(self.client, self.thread, self.graph, input=None, **rest)
        assert (begun["trajectory"][0]["observation"], begun["status"]) == (EDITED, "running")

    def begin_again(self):
        """Begins a new task on the thread that the fork has left in the middle of a trial."""
        other = {"split": "generated-12"} if self.graph == "workspace" else {"number": 4}
        given = {"interrupt_after": ["reset"], "context": self.model}
        begun = wait(self.client, self.thread, self.graph, input=other, **given)
        assert begun["task"]["id"] != self.values["task"]["id"]
        assert (begun["status"], begun["trial"], begun["trials"]) == ("running", 1, [])
        assert (begun["trajectory"], begun["reflections"]) == ([], [])

    def approve(self):
        """Rejects the action that a pause shows."""
        known = self.schemas["context_schema"]["properties"]["approve_actions"]["items"]["enum"]
        given = {"context": {**self.model, "approve_actions": known}}
        thread = self.client.threads.create()["thread_id"]
        wait(self.client, thread, self.graph, input={}, **given)
        paused = self.client.threads.get_state(thread)
        [pause] = paused["tasks"][0]["interrupts"]
        [request] = pause["value"]["action_requests"]
        assert pause["value"]["review_configs"][0]["allowed_decisions"] == ["approve", "edit", "reject"]
        assert request["description"].startswith("Task: ")
        assert paused["next"] == ["observe"]
        rejects = {"resume": {"decisions": [{"type": "reject", "message": EDITED}]}}
        [step] = wait(self.client, thread, self.graph, command=rejects, interrupt_after=["observe"], **given)[
            "trajectory"
        ]
        assert request["description"].endswith(step["action"]["text"])
        assert step["observation"].endswith(EDITED)

    def mend(self):
        """Corrects invalid settings, with which the forms are available nevertheless."""
        wrong = {"max_trials": 0, "reflect_prompt": "{% if %}", "model": "openai:"}
        assistant = self.client.assistants.create(self.graph, context=wrong)["assistant_id"]
        assert "max_trials" in wait(self.client, None, assistant, input={})["__error__"]["message"]
        assert self.client.assistants.get_schemas(assistant) == self.schemas
        self.client.assistants.update(assistant, context={**self.model, "max_trials": 1, "strategy": "retry"})
        assert wait(self.client, None, assistant, input={}, interrupt_after=["reset"])["status"] == "running"


def live(address, graph, model):
    with get_sync_client(url=address) as client:
        life = Life(client, graph, model)
        for part in (life.run, life.fork, life.begin_again, life.approve, life.mend):
            part()


@pytest.fixture(scope="module")
def lives(client, address, small):
    """All at once, because the server waits half a second before it starts a run."""
    possible = [name for name in GRAPHS if name not in SANDBOXED or not lacking("bubblewrap")]
    # The first to be read, for it parses problems, and some versions of Python cannot parse in two threads at once.
    [programming] = client.assistants.search(graph_id="programming", limit=1, metadata={"created_by": "system"})
    if "programming" in possible:
        client.assistants.get_schemas(programming["assistant_id"])
    models = {name: small if name in NAMED else {} for name in possible}
    with ThreadPoolExecutor(len(possible)) as pool:
        yield {name: pool.submit(live, address, name, models[name]) for name in possible}


@pytest.mark.parametrize("graph", GRAPHS)
def test_graph_is_run_forked_paused_and_configured(lives, graph):
    if graph not in lives:
        need("bubblewrap")
    lives[graph].result()


@pytest.mark.parametrize("graph", sorted(NAMED - SANDBOXED))
def test_a_graph_without_a_model_says_how_to_get_one(client, graph):
    refused = wait(client, None, graph, input={})
    assert "name another model" in refused["__error__"]["message"]
    assert "ollama pull" in refused["__error__"]["message"]


def test_an_environment_answers_messages(client):
    thread = client.threads.create()["thread_id"]
    parts = client.runs.stream(thread, "hotpotqa", input=said(FAILS_FIRST), stream_mode="messages-tuple")
    [(streamed, about)] = [part.data for part in parts if part.event == "messages"]
    assert about["langgraph_node"] == "evaluate"
    assert streamed["content"].startswith("finish[Tassa Pellendorn]")
    context = {"approve_actions": ["finish"]}
    paused = wait(client, thread, "hotpotqa", input=said("own/s0/000-birthplace"), context=context)
    assert [request["value"]["action_requests"][0]["name"] for request in paused["__interrupt__"]] == ["finish"]
    approve = {"resume": {"decisions": [{"type": "approve"}]}}
    final = wait(client, thread, "hotpotqa", command=approve, context=context)
    assert [message["type"] for message in final["messages"]] == ["human", "ai", "human", "ai"]
    assert final["messages"][-1]["content"].endswith("Solved after 1 trial.")
    assert final["messages"][-1]["response_metadata"]["reflexion"]["status"] == "solved"
    answered = wait(client, thread, "hotpotqa", input=said("Where am I?"), context={"evaluator": "llm"})
    assert (answered["task"]["instruction"], answered["trials"][-1]["success"]) == ("Question: Where am I?", None)


async def test_a_remote_graph_is_an_agent_with_a_thread_for_each_trial(address):
    seen = []

    def second(result, messages):
        seen.append((result, [message.type for message in messages]))
        return len(seen) == 2

    reflects = ScriptedChatModel(replies=["Once more."])
    async with get_client(url=address) as client:
        # The served graph looks its task up by its id, so the message holds nothing else.
        agent = WrappedAgent(RemoteGraph("hotpotqa", client=client), make_input=lambda task, lessons: said(task))
        graph = create_reflexion(reflects, actor=agent, evaluator=second).compile(checkpointer=InMemorySaver())
        final = await graph.ainvoke({"task": "own/s0/003-river_length"}, THREAD)
        gone = create_reflexion(reflects, actor=RemoteGraph("nobody", client=client), evaluator=second)
        lost = await gone.compile().ainvoke({"task": "Hello?"})
    assert (final["status"], final["trial"]) == ("solved", 2)
    assert [(result.split("\n")[0], types) for result, types in seen] == [("finish[526]", ["human", "ai"])] * 2
    assert (lost["status"], lost["result"]) == ("fault", None)
    assert "nobody" in lost["fault"]


STREAMS = {
    "alone": {"stream_mode": "messages"},
    "several modes": {"stream_mode": ["updates", "messages"]},
    "with subgraphs": {"stream_mode": "messages", "subgraphs": True},
    "several modes with subgraphs": {"stream_mode": ["updates", "messages"], "subgraphs": True},
    "version 2": {"stream_mode": "messages", "version": "v2"},
    "version 2 with subgraphs": {"stream_mode": "messages", "version": "v2", "subgraphs": True},
}


def streamed(chunk):
    """Return what a chunk of any form of stream has as its message; None for a chunk of another mode."""
    if isinstance(chunk, dict):
        return chunk["data"][0] if chunk["type"] == "messages" else None
    if "updates" in chunk:
        return None
    if isinstance(chunk[-1], tuple | list):
        chunk = chunk[-1]
    return chunk[0]


@pytest.mark.parametrize("how", STREAMS)
@pytest.mark.parametrize("waits", ["stream", "astream"])
async def test_the_messages_of_a_remote_graph_are_streamed_as_messages(address, how, waits):
    async with get_client(url=address) as client:
        with get_sync_client(url=address) as blocking:
            remote = RemoteGraph("hotpotqa", client=client, sync_client=blocking)
            agent = WrappedAgent(remote, make_input=lambda task, lessons: said(task))
            graph = create_reflexion(
                ScriptedChatModel(replies=[]), actor=agent, evaluator=lambda result: True
            ).compile()
            given = {"task": "own/s0/003-river_length"}
            if waits == "stream":
                chunks = list(graph.stream(given, **STREAMS[how]))
            else:
                chunks = [chunk async for chunk in graph.astream(given, **STREAMS[how])]
    messages = [message for message in map(streamed, chunks) if message is not None]
    assert messages
    assert [type(message) for message in messages if not isinstance(message, BaseMessage)] == []


def test_settings_are_accepted_as_configurable_next_to_server_keys(client):
    given = {"configurable": {"seed": 3, "user_id": "me", "langgraph_auth_user_id": "me"}}
    outcome = wait(client, None, "alfworld", input={}, config=given, interrupt_after=["reset"])
    assert outcome["status"] == "running", outcome
    refused = wait(client, None, "alfworld", input={"numbers": 3}, config={"configurable": {"seeds": 3}})
    assert "unknown setting 'seeds'" in refused["__error__"]["message"]


def test_edited_prompt_reaches_the_model_and_no_key_is_returned(client, models):
    """With a model called over HTTP, like real ones; the key belongs to the server."""
    with ModelServer(faults=lambda request: None if request.key == KEY else "wrong-key", port=models) as served:
        context = {"model": "openai:any", "base_url": served.url}
        prompt = {"act_prompt": "You are a ferry that answers questions.\n" + load_prompts("hotpotqa").text("act")}
        thread = client.threads.create()["thread_id"]
        outcome = wait(client, thread, "hotpotqa", input={}, context=context | prompt)
        assert outcome["status"] == "solved", outcome
        assert "You are a ferry that answers questions." in json.dumps(served.requests[0].body)
    with ModelServer(faults=["wrong-key"], port=models) as served:
        refused = wait(client, None, "hotpotqa", input={}, context=context | {"base_url": served.url})
        assert "Error code: 401" in refused["__error__"]["message"]
        assert KEY not in str(refused)
    told = json.dumps([client.threads.get_history(thread, limit=100), client.runs.list(thread)], default=str)
    assert context["base_url"] in told
    assert KEY not in told


CANARY = "PRIVATE-KEY-CANARY"


@pytest.fixture
def secret(tmp_path):
    """A task that names a folder of the host, and commands."""
    need("bubblewrap")
    (tmp_path / "key").write_text(CANARY)
    data = {"path": str(tmp_path), "verify": ["cat key; false"], "show": [str(tmp_path)], "network": True}
    data |= {"protect": [], "allow": [], "timeout": 60.0, "memory": 512, "env": {}}
    return {"id": "ledger-py", "instruction": "Read it.", "data": data}


def test_any_page_may_call_the_server_and_reads_nothing_of_the_host(address, small, secret):
    """The development server has no login and answers every origin: that is why."""
    context = {**small, "max_trials": 1, "max_actions": 3}
    asked = {"assistant_id": "workspace", "input": {"task": secret}, "context": context}
    evil = {"Origin": "https://evil.example"}
    answer = httpx.post(f"{address}/runs/wait", json=asked, headers=evil, timeout=120)
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "not one of the tasks" in answer.text
    assert CANARY not in answer.text


def test_an_edited_state_reads_and_writes_nothing_of_the_host(client, small, secret, tmp_path):
    def attempt(change):
        thread = client.threads.create()["thread_id"]
        begun = wait(client, thread, "workspace", input={}, interrupt_before=["observe"], context=small)
        client.threads.update_state(thread, change(begun["task"], begun["episode"]))
        return str(wait(client, thread, "workspace", input=None, context=small))

    def prepared(**changes):
        return lambda task, _: {"task": {**task, "prepared": {**task["prepared"], **changes}}}

    def snapshot(tree):
        return lambda _, episode: {"episode": {**episode, "snapshot": {**episode["snapshot"], "tree": tree}}}

    out = tmp_path / "out"
    up = "../" * 20
    assert "not one of the tasks" in attempt(lambda task, _: {"task": {**task, "data": secret["data"]}})
    assert "12 hexadecimal" in attempt(prepared(run=f"{up}{out}"))
    assert "below the workspace's root" in attempt(prepared(dependencies=[f"{up}{tmp_path}"]))
    assert "git object" in attempt(prepared(tree=f"--output={out}"))
    assert "git object" in attempt(snapshot(f"--output={out}"))
    assert not out.exists()


def test_event_loop_was_not_blocked(client, log):
    """Runs last, and reads the messages of the server's own detector."""
    written = log.read_text()
    assert "Starting background run" in written
    assert "BlockingError" not in written
    assert "synchronous blocking call" not in written
