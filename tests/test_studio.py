"""`langgraph dev` takes the repository's langgraph.json, and people can do with its graphs what they do in Studio.

One server serves all tests. It runs without a key, and with its detector of blocking calls on.
"""

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient

from langgraph_reflexion import ConfigurationError, create_reflexion, load_environment
from langgraph_reflexion.prompts import load_prompts
from langgraph_reflexion.studio import SERVED
from langgraph_reflexion.studio.served import KEPT, Built, Served
from langgraph_reflexion.studio.settings import ALLOWED, Settings, allowed_address
from langgraph_reflexion.testing.model_server import ModelServer
from tests.tools import lacking, need
from tests.toys import Counter

ROOT = Path(__file__).parent.parent
GRAPHS = list(json.loads((ROOT / "langgraph.json").read_text())["graphs"])
NODES = {"reset", "act", "observe", "heuristic_check", "evaluate", "reflect"}
KEY = "sk-this-is-nobodys-business"
FAILS_FIRST = "Who was born earlier, the novelist Caska Kardinett or the choreographer Tassa Pellendorn?"

EXTRA = "needs the extra [studio]: pip install 'langgraph-reflexion[studio]'"


def said(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


# The task that a run on each graph begins with, and another one: both small.
FIRST: dict[str, dict[str, Any]] = {name: {} for name in GRAPHS} | {
    "workspace": {"split": "generated-12", "number": 3},
    "chat": said("In which town was the novelist who made the novel The Harvest of Osstow born?"),
}
SECOND: dict[str, dict[str, Any]] = {name: {"number": 2} for name in GRAPHS} | {
    "chat": said("How many kilometres long is the river that runs through Melarmouth?"),
}
SANDBOXED = {"programming", "workspace"}
EDITED = "A person has written this."


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dev") / "log"


@pytest.fixture(scope="module")
def address(log: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    pytest.importorskip("langgraph_api", reason=EXTRA)
    port = free_port()
    command = [sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload", "--port", str(port)]
    empty = {name: str(tmp_path_factory.mktemp("empty")) for name in ("XDG_CACHE_HOME", "ALFWORLD_DATA")}
    with log.open("w") as written:
        process = subprocess.Popen(
            [*command, "--n-jobs-per-worker", "8", "--config", str(ROOT / "langgraph.json")],
            # Here it keeps its threads.
            cwd=log.parent,
            env={**os.environ, **empty, "LANGSMITH_TRACING": "false", "OPENAI_API_KEY": KEY},
            stdout=written,
            stderr=written,
        )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(1800):
            assert process.poll() is None, log.read_text()[-3000:]
            try:
                httpx.get(f"{address}/ok")
                break
            except httpx.TransportError:
                time.sleep(0.1)
        else:
            pytest.fail(f"the server did not start: {log.read_text()[-3000:]}")
        yield address
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture(scope="module")
def client(address: str) -> Iterator[SyncLangGraphClient]:
    with get_sync_client(url=address) as client:
        yield client


def wait(client: SyncLangGraphClient, thread: str | None, graph: str, **options: Any) -> dict[str, Any]:
    outcome = client.runs.wait(thread, graph, raise_error=False, **options)  # type: ignore[call-overload]
    assert isinstance(outcome, dict)
    return outcome


class Life:
    """What a person does with a graph in Studio, from the first look at it on."""

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
        self.drawing, self.seen_through = (
            {node["id"]: node for node in self.client.assistants.get_graph(self.assistant, xray=xray)["nodes"]}
            for xray in (False, True)
        )

    def run(self) -> None:
        self.thread = self.client.threads.create()["thread_id"]
        stream = self.client.runs.stream(
            self.thread, self.graph, input=FIRST[self.graph], stream_mode=["updates", "values"]
        )
        self.events = list(stream)
        self.history: list[Any] = list(self.client.threads.get_history(self.thread, limit=1000))
        self.state: Any = self.client.threads.get_state(self.thread)

    def fork(self) -> None:
        seen = [state for state in self.history if state["next"] == ["heuristic_check"]][-1]
        edited = {**seen["values"]["trajectory"][0], "observation": EDITED}
        forked = self.client.threads.update_state(
            self.thread,
            {"trajectory": [edited]},
            as_node="observe",
            checkpoint_id=seen["checkpoint"]["checkpoint_id"],
        )
        goes_on = {"checkpoint": forked["checkpoint"], "interrupt_after": ["heuristic_check"]}
        self.forked = wait(self.client, self.thread, self.graph, input=None, **goes_on)

    def begin_again(self) -> None:
        """On the thread that the fork has left in the middle of a trial."""
        self.begun = wait(self.client, self.thread, self.graph, input=SECOND[self.graph], interrupt_after=["reset"])
        if self.graph == "chat":
            self.answered = wait(self.client, self.thread, self.graph, input=None)

    def approve(self) -> None:
        answer: dict[str, Any]
        if self.graph == "chat":
            context: dict[str, Any] = {"approve_reflections": True}
            given, answer, last = said(FAILS_FIRST), {"decision": "edit", "edit": EDITED}, "reset"
        else:
            known = self.schemas["context_schema"]["properties"]["approve_actions"]["items"]["enum"]
            context = {"approve_actions": known}
            given, answer, last = {}, {"decision": "reject", "reason": EDITED}, "observe"
        thread = self.client.threads.create()["thread_id"]
        wait(self.client, thread, self.graph, input=given, context=context)
        self.paused: Any = self.client.threads.get_state(thread)
        self.paused_status = self.client.threads.get(thread)["status"]
        self.resumed = wait(
            self.client, thread, self.graph, command={"resume": answer}, context=context, interrupt_after=[last]
        )

    def mend(self) -> None:
        wrong = {"max_trials": 101, "reflect_prompt": "{% if %}", "model": "openai:"}
        assistant = self.client.assistants.create(self.graph, context=wrong)["assistant_id"]
        self.refused = wait(self.client, None, assistant, input={})
        self.still_there: Any = self.client.assistants.get_schemas(assistant)
        self.client.assistants.update(assistant, context={"max_trials": 1, "strategy": "retry"})
        self.mended = wait(self.client, None, assistant, input=FIRST[self.graph], interrupt_after=["reset"])


@pytest.fixture(scope="module")
def lives(address: str) -> Iterator[dict[str, Future[Life]]]:
    """All of them at once: a run waits half a second before the server begins it."""
    possible = [name for name in GRAPHS if name not in SANDBOXED or not lacking("bubblewrap")]
    with ThreadPoolExecutor(len(possible)) as pool:
        yield {name: pool.submit(Life, address, name) for name in possible}


@pytest.fixture(params=GRAPHS)
def life(request: pytest.FixtureRequest, lives: dict[str, Future[Life]]) -> Life:
    if request.param not in lives:
        need("bubblewrap")
    return lives[request.param].result()


def test_the_graphs_of_langgraph_json_are_served(client: SyncLangGraphClient) -> None:
    system = client.assistants.search(limit=100, metadata={"created_by": "system"})
    assert {assistant["graph_id"] for assistant in system} == set(GRAPHS)


def test_the_form_has_described_fields_and_needs_none_of_them(life: Life) -> None:
    form = life.schemas["input_schema"]
    assert all(field["description"] and field["title"] for field in form["properties"].values())
    if life.graph == "chat":
        assert list(form["properties"]) == ["messages"]
        return
    assert list(form["properties"])[:3] == ["split", "number", "task_id"]
    assert "required" not in form
    assert form["properties"]["number"] | {"minimum": 1, "default": 1} == form["properties"]["number"]
    assert form["properties"]["split"]["default"] in form["properties"]["split"]["enum"]


def test_settings_have_types_limits_defaults_and_nodes(life: Life) -> None:
    fields = life.schemas["context_schema"]["properties"]
    for name, field in fields.items():
        assert field["description"], name
        assert "default" in field, name
        assert field["type"] in ("string", "integer", "boolean", "array"), name
        assert set(field["langgraph_nodes"]) <= NODES, name
        assert {"minimum", "maximum"} <= field.keys() or field["type"] != "integer", name
    assert fields["model"]["default"] == "demo"
    prompts = [field for field in fields.values() if field.get("langgraph_type") == "prompt"]
    assert [node for field in prompts for node in field["langgraph_nodes"]] == ["act", "reflect", "evaluate"]
    assert all(len(field["default"]) > 100 for field in prompts)


def test_the_drawing_has_six_nodes_with_a_word_on_each(life: Life) -> None:
    assert set(life.drawing) == {*NODES, "__start__", "__end__"}
    assert all(len(life.drawing[name]["metadata"]["description"]) > 20 for name in NODES)
    # Seen through, the agent of the chat has nodes of its own.
    assert ({"act:model", "act:tools"} <= set(life.seen_through)) == (life.graph == "chat")


def test_the_state_is_described_and_plain(life: Life) -> None:
    assert all(field["description"] for field in life.schemas["output_schema"]["properties"].values())
    assert life.schemas["state_schema"]["$defs"]["Step"]["properties"]["observation"]["description"]
    # What was filled in is gone, and nothing of a live episode is there.
    assert not life.state["values"].keys() & {"split", "number", "task_id", "question", "path", "verify"}
    assert len(json.dumps(life.state["values"]["episode"])) < 2000


def test_a_run_is_streamed_node_by_node(life: Life) -> None:
    nodes = [name for event in life.events if event.event == "updates" for name in event.data]
    assert nodes[:3] == ["reset", "act", "observe"]
    assert nodes[-1] == "evaluate"
    final = [event.data for event in life.events if event.event == "values"][-1]
    assert final["status"] == "solved", final["fault"]
    assert final["trials"][-1]["verdict"] is True
    if life.graph == "chat":
        assert (final["messages"][-1]["content"], final["messages"][-1]["name"]) == ("Golarbrook", "chat")


@pytest.mark.parametrize("name", [name for name in GRAPHS if name != "chat"])
def test_an_empty_form_begins_the_first_task_of_the_environments_own(
    name: str, lives: dict[str, Future[Life]]
) -> None:
    if name not in lives:
        need("bubblewrap")
    assert lives[name].result().paused["values"]["task"]["id"] == load_environment(name).tasks(limit=1)[0]["id"]


def test_the_history_goes_back_to_the_beginning(life: Life) -> None:
    assert life.history[0]["next"] == []
    waiting = [name for state in reversed(life.history) for name in state["next"]]
    assert waiting[:4] == ["__start__", "reset", "act", "observe"]
    assert "heuristic_check" in waiting


def test_a_fork_goes_on_from_an_edited_observation(life: Life) -> None:
    assert life.forked["trajectory"][0]["observation"] == EDITED
    assert life.forked["status"] == "running"


def test_a_second_run_on_a_thread_is_a_new_task(life: Life) -> None:
    assert life.begun["task"]["id"] != life.state["values"]["task"]["id"]
    assert (life.begun["status"], life.begun["trial"], life.begun["trials"]) == ("running", 1, [])
    assert (life.begun["trajectory"], life.begun["reflections"]) == ([], [])
    if life.graph == "chat":
        assert life.answered["messages"][-1]["content"] == "526"


def test_a_pause_shows_what_is_asked_and_is_resumed(life: Life) -> None:
    [pause] = life.paused["tasks"][0]["interrupts"]
    request = pause["value"]
    assert life.paused_status == "interrupted"
    assert request["answers"] == ["approve", "edit", "reject"]
    assert request["task"]
    if life.graph == "chat":
        assert life.paused["next"] == ["reset"]
        assert [reflection["text"] for reflection in life.resumed["reflections"]] == [EDITED]
        assert life.resumed["trial"] == 2
    else:
        assert life.paused["next"] == ["observe"]
        [step] = life.resumed["trajectory"]
        assert step["action"]["text"] == request["action"]
        assert step["observation"].endswith(EDITED)


def test_an_assistant_with_a_bad_setting_is_mended(life: Life) -> None:
    assert "max_trials: input should be less than or equal to 100" in life.refused["__error__"]["message"]
    # Its forms are there all the same, and once it is right, it runs.
    assert life.still_there == life.schemas
    assert life.mended["status"] == "running"


BAD_SETTINGS: list[tuple[dict[str, Any], str]] = [
    ({"max_trials": 0}, "the setting max_trials: input should be greater than or equal to 1"),
    ({"strategy": "luck"}, "the setting strategy: input should be 'retry'"),
    ({"model": "nobody:nothing"}, "unknown provider in the model 'nobody:nothing'"),
    ({"reflect_prompt": "Think.\n{% if %}"}, "the template 'reflect', line 2: "),
    ({"reflect_prompt": "{{ ''.__class__ }}", "max_trials": 2}, "'__class__' of 'str' object is unsafe"),
    ({"model": "openai:any", "base_url": "https://example.com/v1"}, "https://example.com/v1 is not on this machine"),
    ({"model": "openai:any", "base_url": "http://me:secret@127.0.0.1/v1"}, "no user, password or query belongs"),
    ({"model": "openai:any", "base_url": "http://[::1"}, "base_url: this is no address"),
    ({"reflect_prompt": "{{ 1 / 0 }}"}, "the template 'reflect': ZeroDivisionError: division by zero"),
    ({"judge_prompt": '{% include "../README.md" %}'}, "the template 'judge': there is no template '../README.md'"),
]
WRONG_FORMS: list[tuple[str, dict[str, Any], str]] = [
    ("alfworld", {"number": 135}, "alfworld's split generated-134 has 134 tasks, and no number 135"),
    ("alfworld", {"split": "nowhere"}, "the field split: input should be"),
    ("alfworld", {"split": "valid_unseen"}, "ALFWORLD_DATA"),
    ("webshop", {"task_id": "x"}, "webshop's split own has no task 'x'"),
    ("hotpotqa", {"question": "Where is the river?"}, "give it, or set evaluator to llm"),
    ("workspace", {"path": "/nowhere", "instruction": "x", "verify": ["true"]}, "there is no folder /nowhere"),
    ("chat", {}, "human message"),
]


def test_bad_settings_and_wrong_forms_end_the_run_with_a_clear_error(client: SyncLangGraphClient) -> None:
    cases = [("chat", said(FAILS_FIRST), context, message) for context, message in BAD_SETTINGS]
    cases += [(graph, given, {}, message) for graph, given, message in WRONG_FORMS]
    with ThreadPoolExecutor(4) as pool:
        outcomes = pool.map(lambda case: wait(client, None, case[0], input=case[1], context=case[2]), cases)
    for (*_, message), outcome in zip(cases, outcomes, strict=True):
        error = outcome["__error__"]
        assert message in error["message"]
        assert error["error"] in ("ConfigurationError", "EnvironmentUnavailable")
        assert "secret" not in error["message"]


def test_a_whole_task_a_task_id_and_a_question_of_ones_own(client: SyncLangGraphClient) -> None:
    task = load_environment("alfworld").tasks(limit=3)[2]
    question = {"question": "Which river runs through  Frosegarth?", "answer": "the Nobody"}
    used = client.threads.create()["thread_id"]
    prepared, _ = (wait(client, used, "webshop", input={"number": n}, interrupt_after=["reset"]) for n in (2, 1))
    given = {"input": {"task": prepared["task"]}, "interrupt_after": ["reset"]}
    assert wait(client, used, "webshop", **given)["task"]["id"] == prepared["task"]["id"]
    forms = [("alfworld", {"task": task}), ("alfworld", {"task_id": task["id"]}), ("hotpotqa", question)]
    with ThreadPoolExecutor(3) as pool:
        begun = pool.map(lambda form: wait(client, None, form[0], input=form[1], interrupt_after=["reset"]), forms)
    whole, by_id, asked = (each["task"] for each in begun)
    assert whole["id"] == by_id["id"] == task["id"]
    assert asked["instruction"] == "Question: Which river runs through Frosegarth?"


def test_an_edited_prompt_reaches_its_model_and_no_key_comes_back(client: SyncLangGraphClient) -> None:
    """With a model that is called over HTTP, as real ones are; the key is the server's."""
    with ModelServer(key=KEY) as served:
        context = {"model": "openai:any", "base_url": served.url}
        prompt = {"agent_prompt": "You are a ferry that answers questions."}
        thread = client.threads.create()["thread_id"]
        outcome = wait(client, thread, "chat", input=FIRST["chat"], context=context | prompt)
        assert outcome["status"] == "solved", outcome
        systems = {message["content"] for request in served.requests for message in request.body["messages"][:1]}
        assert "You are a ferry that answers questions." in systems
    with ModelServer(key="sk-this-is-another-one") as served:
        refused = wait(client, None, "chat", input=FIRST["chat"], context=context | {"base_url": served.url})
        assert "Error code: 401" in refused["__error__"]["message"]
        assert KEY not in str(refused)
    told = json.dumps([client.threads.get_history(thread, limit=100), client.runs.list(thread)], default=str)
    assert context["base_url"] in told
    assert KEY not in told


def test_nothing_blocked_the_event_loop(client: SyncLangGraphClient, log: Path) -> None:
    """Comes last, and reads what the server's own detector has said all along."""
    written = log.read_text()
    assert "Starting background run" in written
    assert "BlockingError" not in written
    assert "synchronous blocking call" not in written


def test_langgraph_json_is_valid_for_the_command_line() -> None:
    config = pytest.importorskip("langgraph_cli.config", reason=EXTRA).validate_config_file(ROOT / "langgraph.json")
    assert {name: graph["path"] for name, graph in config["graphs"].items()} == {
        name: f"langgraph_reflexion.studio:{name}" for name in GRAPHS
    }


# Without a server.


async def test_the_chat_learns_from_its_reflections_and_goes_on() -> None:
    async with SERVED["chat"].graph({"configurable": {}}) as graph:
        first = await graph.ainvoke(said(FAILS_FIRST))
        again = {"messages": [*first["messages"], *SECOND["chat"]["messages"]]}
        second = await graph.ainvoke(again)
    assert (first["status"], first["trial"] > 1) == ("solved", True)
    assert first["messages"][-1].text == "Tassa Pellendorn"
    assert [message.text for message in second["messages"]][-2:] == [SECOND["chat"]["messages"][0]["content"], "526"]


class Closing(Counter):
    """A world that says when it is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.closed = False

    def close(self) -> None:
        self.closed = True


async def test_graphs_are_kept_by_their_settings_and_closed_when_nobody_uses_them() -> None:
    made: list[Closing] = []

    def build(settings: Settings) -> Built:
        made.append(Closing())
        graph = create_reflexion("demo", made[-1])
        return Built(graph.compile(), made[-1], graph.pool)

    served = Served(Settings, build)
    async with served.graph({"configurable": {"seed": 0}}) as used:
        await used.ainvoke({"task": made[0].tasks()[0]}, interrupt_after=["reset"])
        for seed in range(1, KEPT + 3):
            async with served.graph({"configurable": {"seed": seed, "thread_id": "any"}}):
                pass
        async with served.graph({"configurable": {"seed": 0, "thread_id": "other"}}) as same:
            assert same is used
        assert [world.closed for world in made] == [False, True, True] + [False] * KEPT
    assert [episode.closed for episode in made[0].started] == [0]
    served.close()
    assert all(world.closed for world in made)
    # The one of the run that was left in the middle.
    assert [episode.closed for episode in made[0].started] == [1]


async def test_a_graph_that_nobody_waits_for_any_more_is_given_back() -> None:
    made: list[Closing] = []
    building, go_on = threading.Event(), threading.Event()

    def build(settings: Settings) -> Built:
        made.append(Closing())
        building.set()
        go_on.wait(10)
        graph = create_reflexion("demo", made[-1])
        return Built(graph.compile(), made[-1], graph.pool)

    async def use() -> None:
        async with served.graph({"configurable": {}}):
            pass

    served = Served(Settings, build)
    using = asyncio.create_task(use())
    await asyncio.to_thread(building.wait, 10)
    using.cancel()
    with pytest.raises(asyncio.CancelledError):
        await using
    go_on.set()
    # The next one to ask waits until it is built, and given back.
    await use()
    await asyncio.to_thread(served.close)
    assert [world.closed for world in made] == [True]


def test_the_servers_own_may_name_more_model_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ALLOWED, "https://models.example/v1, https://other.example")
    assert allowed_address("https://models.example/v1/") == "https://models.example/v1/"
    assert allowed_address("http://localhost:11434/v1") == "http://localhost:11434/v1"
    assert allowed_address("") is None
    with pytest.raises(ConfigurationError, match="is not on this machine"):
        allowed_address("https://models.example.evil/v1")
    for other in ("http://[::1].evil/v1", "http://[::1]:80evil/v1", "http://[::1"):
        with pytest.raises(ConfigurationError, match="this is no address"):
            allowed_address(other)


@pytest.mark.parametrize("agent", ["react", "tools", "code"])
def test_a_prompt_that_nobody_has_edited_is_the_agents_own(agent: str) -> None:
    folder = load_prompts("programming").folder
    assert folder is not None
    base = load_prompts(folder / agent if agent == "code" else "programming")
    settings = SERVED["programming"].settings(agent=agent)
    assert settings.prompts(base) is base
    edited = settings.model_copy(update={"act_prompt": "Write it."})
    assert edited.prompts(base).render("act") == "Write it."


def rows() -> Iterator[str]:
    """The tables of docs/studio.md, from the settings: what there is, and the defaults that differ."""
    schemas = [served.settings.model_json_schema()["properties"] for served in SERVED.values()]
    fields = {name: field for schema in schemas for name, field in schema.items()}
    for name, field in fields.items():
        yield f"| `{name}` | {allowed(field)} | {', '.join(field['langgraph_nodes'])} | {field['description']} |"
    for name in (name for name in fields if not name.endswith("_prompt")):
        defaults = [schema[name]["default"] if name in schema else "" for schema in schemas]
        if len({str(default) for default in defaults} - {""}) > 1:
            yield f"| `{name}` | {' | '.join(map(str, defaults))} |"


def allowed(field: dict[str, Any]) -> str:
    match field:
        case {"minimum": least, "maximum": most}:
            return f"{least} to {most}"
        case {"enum": [*words]}:
            return ", ".join(words)
        case {"type": "array"}:
            return "names of actions"
        case {"type": "boolean"}:
            return "true, false"
    return "text"


def test_the_docs_name_every_setting() -> None:
    written = (ROOT / "docs" / "studio.md").read_text(encoding="utf-8")
    for row in rows():
        assert row in written
