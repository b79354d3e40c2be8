"""`langgraph dev` takes the repository's langgraph.json, and people can do with its graphs what they do in Studio.

One server serves all tests. It runs without a key, and with its detector of blocking calls on.
"""

import json
import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.pregel.remote import RemoteGraph
from langgraph_sdk import get_client, get_sync_client
from langgraph_sdk.client import SyncLangGraphClient

from langgraph_reflexion import create_reflexion
from langgraph_reflexion.prompts import load_prompts
from langgraph_reflexion.state import ReflexionState
from langgraph_reflexion.testing import ScriptedChatModel
from langgraph_reflexion.testing.model_server import ModelServer
from tests.support.composing import THREAD
from tests.support.dev_server import serve
from tests.support.tools import lacking, need

ROOT = Path(__file__).parents[2]
GRAPHS = list(json.loads((ROOT / "langgraph.json").read_text())["graphs"])
NODES = {"reset", "act", "observe", "heuristic_check", "evaluate", "reflect"}
KEY = "sk-this-is-nobodys-business"
FAILS_FIRST = "Who was born earlier, the novelist Caska Kardinett or the choreographer Tassa Pellendorn?"

EXTRA = "needs the extra [studio]: pip install '.[studio]'"


def said(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


SANDBOXED = {"programming", "workspace"}
EDITED = "A person has written this."


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dev") / "log"


@pytest.fixture(scope="module")
def address(log: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    pytest.importorskip("langgraph_api", reason=EXTRA)
    empty = {name: str(tmp_path_factory.mktemp("empty")) for name in ("XDG_CACHE_HOME", "ALFWORLD_DATA")}
    environment = {**os.environ, **empty, "LANGSMITH_TRACING": "false", "OPENAI_API_KEY": KEY}
    # The server keeps its threads beside its log.
    with serve(ROOT / "langgraph.json", log, environment, "--n-jobs-per-worker", "8") as address:
        yield address


@pytest.fixture(scope="module")
def client(address: str) -> Iterator[SyncLangGraphClient]:
    with get_sync_client(url=address) as client:
        yield client


def wait(client: SyncLangGraphClient, thread: str | None, graph: str, **options: Any) -> dict[str, Any]:
    outcome = client.runs.wait(thread, graph, raise_error=False, **options)  # type: ignore[call-overload]
    assert isinstance(outcome, dict)
    return outcome


class Life:
    """What a user does with a graph in Studio, from opening it."""

    def __init__(self, address: str, graph: str) -> None:
        with get_sync_client(url=address) as client:
            self.client, self.graph = client, graph
            [found] = client.assistants.search(graph_id=graph, limit=1, metadata={"created_by": "system"})
            self.assistant = found["assistant_id"]
            self.look()
            self.run()
            self.fork()
            self.begin_again()
            self.approve()
            self.mend()

    def look(self) -> None:
        self.schemas: Any = self.client.assistants.get_schemas(self.assistant)
        self.drawing = {node["id"] for node in self.client.assistants.get_graph(self.assistant, xray=True)["nodes"]}

    def run(self) -> None:
        self.thread = self.client.threads.create()["thread_id"]
        stream = self.client.runs.stream(self.thread, self.graph, input={}, stream_mode=["updates", "values"])
        self.events = list(stream)
        self.state: Any = self.client.threads.get_state(self.thread)

    def fork(self) -> None:
        history = self.client.threads.get_history(self.thread, limit=1000)
        seen: Any = [state for state in history if state["next"] == ["heuristic_check"]][-1]
        edited = {**seen["values"]["trajectory"][0], "observation": EDITED}
        forked = self.client.threads.update_state(
            self.thread,
            {"trajectory": [edited]},
            as_node="observe",
            checkpoint_id=seen["checkpoint"]["checkpoint_id"],
        )
        rest = {"checkpoint": forked["checkpoint"], "interrupt_after": ["heuristic_check"]}
        self.forked = wait(self.client, self.thread, self.graph, input=None, **rest)

    def begin_again(self) -> None:
        """Runs on the thread that the fork has left in the middle of a trial."""
        other = {"split": "generated-12"} if self.graph == "workspace" else {"number": 4}
        self.begun = wait(self.client, self.thread, self.graph, input=other, interrupt_after=["reset"])

    def approve(self) -> None:
        known = self.schemas["context_schema"]["properties"]["approve_actions"]["items"]["enum"]
        context = {"approve_actions": known}
        thread = self.client.threads.create()["thread_id"]
        wait(self.client, thread, self.graph, input={}, context=context)
        self.paused: Any = self.client.threads.get_state(thread)
        self.resumed = wait(
            self.client,
            thread,
            self.graph,
            command={"resume": {"decisions": [{"type": "reject", "message": EDITED}]}},
            context=context,
            interrupt_after=["observe"],
        )

    def mend(self) -> None:
        wrong = {"max_trials": 0, "reflect_prompt": "{% if %}", "model": "openai:"}
        assistant = self.client.assistants.create(self.graph, context=wrong)["assistant_id"]
        self.refused = wait(self.client, None, assistant, input={})
        self.still_there: Any = self.client.assistants.get_schemas(assistant)
        self.client.assistants.update(assistant, context={"max_trials": 1, "strategy": "retry"})
        self.mended = wait(self.client, None, assistant, input={}, interrupt_after=["reset"])


@pytest.fixture(scope="module")
def lives(client: SyncLangGraphClient, address: str) -> Iterator[dict[str, Future[Life]]]:
    """All at once, because the server waits half a second before it starts a run."""
    possible = [name for name in GRAPHS if name not in SANDBOXED or not lacking("bubblewrap")]
    # The first to be read, for it parses problems, and some versions of Python cannot parse in two threads at once.
    [programming] = client.assistants.search(graph_id="programming", limit=1, metadata={"created_by": "system"})
    if "programming" in possible:
        client.assistants.get_schemas(programming["assistant_id"])
    with ThreadPoolExecutor(len(possible)) as pool:
        yield {name: pool.submit(Life, address, name) for name in possible}


@pytest.fixture(params=GRAPHS)
def life(request: pytest.FixtureRequest, lives: dict[str, Future[Life]]) -> Life:
    if request.param not in lives:
        need("bubblewrap")
    return lives[request.param].result()


def test_state_has_a_schema_and_is_plain_json(life: Life) -> None:
    assert life.drawing >= NODES
    assert life.schemas["output_schema"]["properties"]["result"]["description"]
    assert life.schemas["state_schema"]["$defs"]["Step"]["properties"]["observation"]["description"]
    # The outcome comes first; the form's fields are gone, and the live episode is not in the state.
    assert list(life.state["values"])[:2] == ["status", "result"]
    assert life.state["values"].keys() <= ReflexionState.__annotations__.keys()
    assert len(json.dumps(life.state["values"]["episode"])) < 2000


def test_run_is_streamed_node_by_node(life: Life) -> None:
    updates = [
        (name, update) for event in life.events if event.event == "updates" for name, update in event.data.items()
    ]
    assert [name for name, _ in updates[:3]] == ["reset", "act", "observe"]
    assert updates[-1][0] == "evaluate"
    assert all(updates[1][1]["decision"].values())  # the thought and the action
    assert all(update for _, update in updates)
    final = [event.data for event in life.events if event.event == "values"][-1]
    # An empty form is a task from which the demo model learns.
    assert (final["status"], final["reflections"] != []) == ("solved", True), final["fault"]
    assert [trial["verdict"] for trial in final["trials"]][-2:] == [False, True]


def test_fork_continues_from_an_edited_observation(life: Life) -> None:
    assert life.forked["trajectory"][0]["observation"] == EDITED
    assert life.forked["status"] == "running"


def test_second_run_on_a_thread_is_a_new_task(life: Life) -> None:
    assert life.begun["task"]["id"] != life.state["values"]["task"]["id"]
    assert (life.begun["status"], life.begun["trial"], life.begun["trials"]) == ("running", 1, [])
    assert (life.begun["trajectory"], life.begun["reflections"]) == ([], [])


def test_pause_shows_the_request_and_is_resumed(life: Life) -> None:
    [pause] = life.paused["tasks"][0]["interrupts"]
    [request] = pause["value"]["action_requests"]
    assert pause["value"]["review_configs"][0]["allowed_decisions"] == ["approve", "edit", "reject"]
    assert request["description"].startswith("Task: ")
    assert life.paused["next"] == ["observe"]
    [step] = life.resumed["trajectory"]
    assert request["description"].endswith(step["action"]["text"])
    assert step["observation"].endswith(EDITED)


def test_reflection_is_edited_in_a_pause(client: SyncLangGraphClient) -> None:
    thread, context = client.threads.create()["thread_id"], {"approve_reflections": True}
    wait(client, thread, "hotpotqa", input={}, context=context)
    assert client.threads.get_state(thread)["next"] == ["reset"]
    edited = {"type": "edit", "edited_action": {"name": "reflection", "args": {"text": EDITED}}}
    answer = {"resume": {"decisions": [edited]}}
    resumed = wait(client, thread, "hotpotqa", command=answer, context=context, interrupt_after=["reset"])
    assert ([each["text"] for each in resumed["reflections"]], resumed["trial"]) == ([EDITED], 2)


def test_an_environment_answers_messages(client: SyncLangGraphClient) -> None:
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


async def test_a_remote_graph_is_an_agent_with_a_thread_for_each_trial(address: str) -> None:
    seen: list[tuple[str, list[str]]] = []

    def second(result: str, messages: list[Any]) -> bool:
        seen.append((result, [message.type for message in messages]))
        return len(seen) == 2

    reflects = ScriptedChatModel(replies=["Once more."])
    async with get_client(url=address) as client:
        agent = RemoteGraph("hotpotqa", client=client)
        graph = create_reflexion(reflects, actor=agent, evaluator=second).compile(checkpointer=InMemorySaver())
        final = await graph.ainvoke({"task": "own/s0/003-river_length"}, THREAD)
        gone = create_reflexion(reflects, actor=RemoteGraph("nobody", client=client), evaluator=second)
        lost = await gone.compile().ainvoke({"task": "Hello?"})
    assert (final["status"], final["trial"]) == ("solved", 2)
    assert [(result.split("\n")[0], types) for result, types in seen] == [("finish[526]", ["human", "ai"])] * 2
    assert (lost["status"], lost["result"]) == ("fault", None)
    assert "nobody" in lost["fault"]


def test_assistant_with_an_invalid_setting_can_be_corrected(life: Life) -> None:
    assert "max_trials" in life.refused["__error__"]["message"]
    # Its forms are available nevertheless, and after the correction it runs.
    assert life.still_there == life.schemas
    assert life.mended["status"] == "running"


def test_settings_are_accepted_as_configurable_next_to_server_keys(client: SyncLangGraphClient) -> None:
    given = {"configurable": {"seed": 3, "user_id": "me", "langgraph_auth_user_id": "me"}}
    outcome = wait(client, None, "alfworld", input={}, config=given, interrupt_after=["reset"])
    assert outcome["status"] == "running", outcome
    refused = wait(client, None, "alfworld", input={}, config={"configurable": {"seeds": 3}})
    assert "unknown setting 'seeds'" in refused["__error__"]["message"]
    refused = wait(client, None, "alfworld", input={"numbers": 3})
    assert "unknown input field 'numbers'" in refused["__error__"]["message"]


def test_edited_prompt_reaches_the_model_and_no_key_is_returned(client: SyncLangGraphClient) -> None:
    """With a model called over HTTP, like real ones; the key belongs to the server."""
    with ModelServer(key=KEY) as served:
        context = {"model": "openai:any", "base_url": served.url}
        prompt = {"act_prompt": "You are a ferry that answers questions.\n" + load_prompts("hotpotqa").text("act")}
        thread = client.threads.create()["thread_id"]
        outcome = wait(client, thread, "hotpotqa", input={}, context=context | prompt)
        assert outcome["status"] == "solved", outcome
        assert "You are a ferry that answers questions." in json.dumps(served.requests[0].body)
    with ModelServer(key="sk-this-is-another-one") as served:
        refused = wait(client, None, "hotpotqa", input={}, context=context | {"base_url": served.url})
        assert "Error code: 401" in refused["__error__"]["message"]
        assert KEY not in str(refused)
    told = json.dumps([client.threads.get_history(thread, limit=100), client.runs.list(thread)], default=str)
    assert context["base_url"] in told
    assert KEY not in told


def test_event_loop_was_not_blocked(client: SyncLangGraphClient, log: Path) -> None:
    """Runs last, and reads the messages of the server's own detector."""
    written = log.read_text()
    assert "Starting background run" in written
    assert "BlockingError" not in written
    assert "synchronous blocking call" not in written


def test_langgraph_json_is_valid() -> None:
    config = pytest.importorskip("langgraph_cli.config", reason=EXTRA).validate_config_file(ROOT / "langgraph.json")
    assert list(config["graphs"]) == GRAPHS
