"""The graphs of LangGraph Studio without its server, which tests/long/test_studio_server.py starts."""

import asyncio
import threading
from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from langgraph_reflexion import ConfigurationError, EnvironmentUnavailable, create_reflexion, load_environment
from langgraph_reflexion.errors import validated
from langgraph_reflexion.lab.studio import SERVED
from langgraph_reflexion.lab.studio.graphs import BuiltGraph, GraphFactory
from langgraph_reflexion.lab.studio.settings import ALLOWED, SettingsForm, check_address
from langgraph_reflexion.prompts import load_prompts
from tests.support.toys import Counter

ROOT = Path(__file__).parents[2]
NODES = {"reset", "act", "observe", "heuristic_check", "evaluate", "reflect"}
THREAD = {"configurable": {"thread_id": "1"}}
FAILS_FIRST = "Who was born earlier, the novelist Caska Kardinett or the choreographer Tassa Pellendorn?"


def message(text):
    return {"messages": [{"role": "user", "content": text}]}


@pytest.mark.parametrize("name", SERVED)
async def test_form_settings_and_diagram(name):
    factory = SERVED[name]
    written = (ROOT / "docs" / "studio.md").read_text(encoding="utf-8").splitlines()
    for field, schema in factory.form.model_json_schema()["properties"].items():
        assert schema["type"] in ("string", "integer", "boolean", "array"), field
        assert set(schema["langgraph_nodes"]) <= NODES, field
        [row] = [line for line in written if line.startswith(f"| `{field}` |") and line.count("|") == 5]
        assert row.endswith(f"| {', '.join(schema['langgraph_nodes'])} | {schema['description']} |")
    async with factory.graph(factory.form()) as graph:
        form, drawing = graph.get_input_jsonschema(), graph.get_graph().nodes
    assert all(field["description"] for field in form["properties"].values())
    assert all(len((drawing[node].metadata or {})["description"]) > 20 for node in NODES)
    assert "required" not in form
    assert form["properties"]["split"]["default"] in form["properties"]["split"]["enum"]


@pytest.fixture
def alfworld(monkeypatch, tmp_path):
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    return SERVED["alfworld"]


async def test_several_runs_on_one_thread(alfworld):
    tasks = load_environment("alfworld").tasks(limit=3)
    settings = alfworld.form(max_trials=1, max_actions=1, approve_actions=["go_to"])
    async with alfworld.graph(settings) as served:
        graph = served.builder.compile(checkpointer=InMemorySaver())
        paused = await graph.ainvoke({}, THREAD)
        assert paused["task"]["id"] == tasks[2]["id"]
        [request] = paused["__interrupt__"]
        assert request.value["action_requests"][0]["name"] == "go_to"
        first = await graph.ainvoke(Command(resume="reject"), THREAD)
        while "__interrupt__" in first:
            first = await graph.ainvoke(Command(resume="approve"), THREAD)
        # A setting reaches the heuristic; the form's fields are gone from the state.
        assert first["trials"][-1]["stop_reason"] == "inefficient planning"
        assert not (await graph.aget_state(THREAD)).values.keys() & {"split", "number", "task_id"}
        for given, wanted in (({"number": 2}, 1), ({"task_id": tasks[0]["id"]}, 0), ({"task": dict(tasks[1])}, 1)):
            begun = await graph.ainvoke(given, THREAD, interrupt_after=["reset"])
            assert begun["task"]["id"] == tasks[wanted]["id"]
            assert (begun["status"], begun["trial"], begun["trials"]) == ("running", 1, [])


@pytest.mark.parametrize(
    ("name", "form", "word"),
    [
        ("alfworld", {"number": 135}, "134 tasks"),
        ("alfworld", {"split": "nowhere"}, "split"),
        ("alfworld", {"split": "valid_unseen"}, "ALFWORLD_DATA"),
        ("fever", {"task_id": "x"}, "no task of fever.*any claim"),
        ("alfworld", {"task_id": "x"}, "no task of alfworld"),
        ("hotpotqa", message("Where is the river?"), "no task of hotpotqa.*evaluator llm"),
        ("fever", {"claims": "The river is long."}, "unknown input field 'claims'"),
    ],
)
@pytest.mark.usefixtures("alfworld")
async def test_invalid_form_ends_the_run(name, form, word):
    factory = SERVED[name]
    async with factory.graph(factory.form()) as graph:
        with pytest.raises((ConfigurationError, EnvironmentUnavailable), match=word):
            await graph.ainvoke(form)


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"max_trials": 0}, "max_trials"),
        ({"max_trails": 3, "threshold": 1}, "max_trails.*threshold"),
        # A form may not name a file on the server.
        ({"cache": "/tmp/replies.sqlite"}, "cache"),
        ({"model": "nobody:nothing"}, "provider"),
        ({"model": "file.py:model"}, "no code"),
        ({"reflect_prompt": "Think.\n{% if %}"}, "reflect.*line 2"),
        ({"reflect_prompt": "{{ ''.__class__ }}"}, "unsafe"),
        ({"judge_prompt": '{% include "../README.md" %}'}, "README"),
        ({"model": "openai:any", "base_url": "https://example.com/v1"}, "not on this machine"),
        ({"model": "openai:any", "base_url": "http://me:secret@127.0.0.1/v1"}, "password"),
    ],
)
async def test_invalid_setting_ends_the_run(settings, word):
    hotpotqa = SERVED["hotpotqa"]
    with pytest.raises(ConfigurationError, match=word) as refused:
        async with hotpotqa.graph(validated(hotpotqa.form, settings | {"evaluator": "llm"}, "setting")) as graph:
            await graph.ainvoke({})
    assert "secret" not in str(refused.value)


async def test_chat_learns_from_its_reflections_and_continues():
    hotpotqa = SERVED["hotpotqa"]
    async with hotpotqa.graph(hotpotqa.form(evaluator="llm")) as graph:
        first = await graph.ainvoke(message(FAILS_FIRST))
        asked = "How long is the river that runs through Melarmouth?"
        second = await graph.ainvoke({"messages": [*first["messages"], *message(asked)["messages"]]})
    assert (first["status"], first["trial"] > 1) == ("solved", True)
    assert first["messages"][-1].text.startswith("finish[Tassa Pellendorn]")
    assert [each.text for each in second["messages"]][-2] == asked
    assert (second["status"], second["trials"][-1]["success"]) == ("solved", None)


class Closing(Counter):
    def __init__(self):
        super().__init__()
        self.closed = threading.Event()

    def close(self):
        self.closed.set()


async def test_graph_is_closed_after_use():
    made, building, proceed = list[Closing](), threading.Event(), threading.Event()
    alfworld = SERVED["alfworld"]

    def build(settings: SettingsForm) -> BuiltGraph:
        made.append(Closing())
        building.set()
        proceed.wait(10)
        graph = create_reflexion("demo", made[-1])
        return BuiltGraph(graph.compile(), made[-1], graph.pool)

    async def use() -> None:
        async with GraphFactory(alfworld.form, build).graph(alfworld.form()) as graph:
            await graph.ainvoke({"task": made[-1].tasks()[0]}, interrupt_after=["reset"])

    # The first client leaves while the graph is being built.
    leaving = asyncio.create_task(use())
    await asyncio.to_thread(building.wait, 10)
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    proceed.set()
    assert await asyncio.to_thread(made[0].closed.wait, 10)
    await use()
    assert made[1].closed.is_set()
    # The episode of the run that was stopped halfway.
    assert [episode.closed for episode in made[1].started] == [1]


def test_only_allowed_model_servers_are_accepted(monkeypatch):
    monkeypatch.setenv(ALLOWED, "https://models.example/v1, https://other.example")
    for allowed in ("https://models.example/v1/", "http://localhost:11434/v1"):
        check_address(allowed)
    for other in ("https://models.example.evil/v1", "http://[::1].evil/v1", "http://[::1]:80evil/v1", "http://[::1"):
        with pytest.raises(ConfigurationError, match="base_url"):
            check_address(other)


def test_unedited_prompt_is_the_actors_default():
    programming = SERVED["programming"]
    base, settings = load_prompts("programming"), programming.form(actor="react")
    assert settings.prompts(base) is base
    edited = settings.model_copy(update={"act_prompt": "Write it."})
    assert edited.prompts(base).render("act") == "Write it."
