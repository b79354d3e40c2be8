"""The graphs of LangGraph Studio without its server, which tests/long/test_studio_server.py starts."""

import asyncio
import json
import re
import threading
from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from langgraph_reflexion import ConfigurationError, create_reflexion, load_environment
from langgraph_reflexion.envs import ENVIRONMENTS
from langgraph_reflexion.envs.workspace.environment import Workspace
from langgraph_reflexion.errors import EnvironmentUnavailable, validated
from langgraph_reflexion.lab import studio
from langgraph_reflexion.lab.studio import SERVED
from langgraph_reflexion.lab.studio.graphs import BuiltGraph, GraphFactory, environment_graphs
from langgraph_reflexion.lab.studio.settings import ALLOWED, ALLOWED_PAGES, WORKSPACE, SettingsForm, check_address
from langgraph_reflexion.prompts import load_prompts
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.model_server import ModelServer
from tests.support.scripts import SmallModel
from tests.support.tools import need
from tests.support.toys import Counter

ROOT = Path(__file__).parents[2]
NODES = {"reset", "act", "observe", "heuristic_check", "evaluate", "reflect"}
THREAD = {"configurable": {"thread_id": "1"}}
FAILS_FIRST = "Who was born earlier, the novelist Caska Kardinett or the choreographer Tassa Pellendorn?"


def message(text):
    return {"messages": [{"role": "user", "content": text}]}


def test_langgraph_json_names_every_graph():
    described = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))["graphs"]
    assert {name: graph["path"] for name, graph in described.items()} == {
        name: f"{studio.__name__}:{name}" for name in ENVIRONMENTS
    }
    # The server looks into the module's dictionary, and finds nothing that `__getattr__` would make.
    assert all(vars(studio)[name] == SERVED[name].serve for name in ENVIRONMENTS)


@pytest.mark.slow
@pytest.mark.parametrize("name", SERVED)
async def test_form_settings_and_diagram(name):
    factory = SERVED[name]
    written = (ROOT / "docs" / "studio.md").read_text(encoding="utf-8").splitlines()
    for field, schema in factory.form.model_json_schema()["properties"].items():
        assert schema["type"] in ("string", "integer", "boolean", "array"), field
        assert set(schema["langgraph_nodes"]) <= NODES, field
        rows = [line for line in written if line.startswith(f"| `{field}`") and line.count("|") == 5]
        end = f"| {', '.join(schema['langgraph_nodes'])} | {schema['description']} |"
        assert [row for row in rows if row.endswith(end)], field
    async with factory.graph(factory.form(), runs=False) as graph:
        form, drawing = graph.get_input_jsonschema(), graph.get_graph().nodes
    assert all(field["description"] for field in form["properties"].values())
    assert all(len((drawing[node].metadata or {})["description"]) > 20 for node in NODES)
    assert "required" not in form
    assert form["properties"]["split"]["default"] in form["properties"]["split"]["enum"]


@pytest.mark.parametrize(
    ("name", "evaluators"),
    [
        ("alfworld", ["environment", "llm", "self-consistency", "none"]),
        ("fever", ["environment", "llm", "self-consistency", "none"]),
        ("hotpotqa", ["environment", "meaning", "llm", "self-consistency", "none"]),
        ("programming", ["self-tests", "self-tests+given", "llm", "self-consistency", "none"]),
    ],
)
def test_a_form_offers_the_evaluators_for_its_tasks(name, evaluators):
    schema = SERVED[name].form.model_json_schema()["properties"]["evaluator"]
    assert schema["enum"] == evaluators
    for other in {"environment", "meaning", "self-tests+given"} - set(evaluators):
        assert f"`{other}`" not in schema["description"]


@pytest.mark.slow
async def test_answers_are_matched_by_meaning(monkeypatch):
    hotpotqa = SERVED["hotpotqa"]
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    replies = ["Thought: T\nAction: finish[the choreographer Tassa]", "The same person.\nVerdict: yes"]
    with ModelServer(ScriptedChatModel(replies=replies)) as server:
        monkeypatch.setenv(ALLOWED, server.url)
        settings = hotpotqa.form(evaluator="meaning", model="openai:small", base_url=server.url)
        async with hotpotqa.graph(settings) as graph:
            final = await graph.ainvoke({"task_id": FAILS_FIRST})
    assert (final["status"], final["trial"], final["evaluation"]["score"]) == ("solved", 1, 1.0)
    assert final["trials"][-1]["success"] is False, "by the exact match"


@pytest.mark.slow
async def test_criteria_in_words_replace_the_evaluator(monkeypatch):
    hotpotqa = SERVED["hotpotqa"]
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    verdicts = "Criterion: 1\nEvidence: none\nMissing: nothing\nMet: yes\nCriterion: 2\nMet: yes"
    with ModelServer(ScriptedChatModel(replies=["Thought: T\nAction: finish[by the river]", verdicts])) as server:
        monkeypatch.setenv(ALLOWED, server.url)
        criteria = "- It names a river.\n- It is short."
        settings = hotpotqa.form(criteria=criteria, model="openai:small", base_url=server.url)
        async with hotpotqa.graph(settings) as graph:
            final = await graph.ainvoke({"task_id": "Where is the river?"})
    assert (final["status"], final["evaluation"]["feedback"]) == ("solved", "2 of 2 criteria are met.")


async def test_criteria_are_a_text_and_no_file_of_the_host(tmp_path):
    hotpotqa = SERVED["hotpotqa"]
    (tmp_path / "goal.md").write_text("- secret")
    assert hotpotqa.form(criteria=f"rubric:{tmp_path}/goal.md").rubric().criteria == [f"rubric:{tmp_path}/goal.md"]
    with pytest.raises(ConfigurationError, match=r"criteria: criterion 1 .* 2001 characters"):
        async with hotpotqa.graph(hotpotqa.form(criteria="x" * 2001)):
            pass


async def test_a_question_without_a_known_answer_is_not_matched_by_meaning():
    hotpotqa = SERVED["hotpotqa"]
    async with hotpotqa.graph(hotpotqa.form(evaluator="meaning")) as graph:
        with pytest.raises(ConfigurationError, match="evaluator llm"):
            await graph.ainvoke({"task_id": "Where is the river?"})


def test_only_where_a_trial_can_go_on_a_form_offers_it():
    forms = {name: served.form.model_json_schema()["properties"] for name, served in SERVED.items()}
    offered = {name: fields["strategy"]["enum"] for name, fields in forms.items()}
    assert {name for name, strategies in offered.items() if "continue" in strategies} == {"programming", "workspace"}
    assert all("feedback" in strategies for strategies in offered.values())


@pytest.mark.parametrize("name", SERVED)
def test_a_description_names_no_value_that_its_list_lacks(name):
    for field, schema in SERVED[name].form.model_json_schema()["properties"].items():
        if "enum" in schema:
            assert set(re.findall(r"`([\w-]+)`", schema["description"])) <= {field, *schema["enum"]}, field


@pytest.mark.parametrize("name", SERVED)
def test_a_form_sent_whole_is_valid(name):
    form = SERVED[name].form
    whole = {field: schema["default"] for field, schema in form.model_json_schema()["properties"].items()}
    assert form.model_validate(whole).reflexion() == form().reflexion()


@pytest.fixture
def alfworld(monkeypatch, tmp_path):
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    return SERVED["alfworld"]


@pytest.mark.slow
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


async def test_a_verdict_waits_where_the_form_says_so(alfworld):
    async with alfworld.graph(alfworld.form(max_trials=1, max_actions=1, approve_verdicts=True)) as served:
        graph = served.builder.compile(checkpointer=InMemorySaver())
        paused = await graph.ainvoke({}, THREAD)
        assert paused["__interrupt__"][0].value["action_requests"][0]["name"] == "verdict"
        assert (await graph.ainvoke(Command(resume="approve"), THREAD))["status"] == "failed"


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
        ({"reflection_model": "file.py:model"}, "reflection_model.*no code"),
        # A folder of the server, or a download.
        ({"model": "huggingface:/srv/model"}, "no code"),
        ({"model": "openai:gpt-4o-mini,huggingface:/srv/model"}, "no code"),
        # A service of the server's machine.
        ({"model": "ollama:llama3"}, "no address"),
        ({"reflection_model": "litellm:ollama/llama3"}, "reflection_model.*no address"),
        ({"reflect_prompt": "Think.\n{% if %}"}, "reflect.*line 2"),
        ({"reflect_prompt": "{{ ''.__class__ }}"}, "unsafe"),
        ({"judge_prompt": '{% include "../README.md" %}'}, "README"),
        ({"model": "openai:any", "base_url": "https://example.com/v1"}, "not listed"),
        # Any service of the server's machine may listen there.
        ({"model": "openai:any", "base_url": "http://127.0.0.1:8000/v1"}, "not listed"),
        ({"model": "openai:any", "base_url": "http://me:secret@127.0.0.1/v1"}, "password"),
    ],
)
async def test_invalid_setting_ends_the_run(settings, word):
    hotpotqa = SERVED["hotpotqa"]
    with pytest.raises(ConfigurationError, match=word) as refused:
        async with hotpotqa.graph(validated(hotpotqa.form, settings | {"evaluator": "llm"}, "setting")) as graph:
            await graph.ainvoke({})
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("name", ["programming", "webshop", "workspace"])
async def test_a_world_that_the_demo_model_does_not_know_asks_for_a_model(name):
    factory = SERVED[name]
    assert factory.form().model == ""
    with pytest.raises(ConfigurationError, match=rf"not {name}: name another model .* needs no key"):
        async with factory.graph(validated(factory.form, {"model": ""}, "setting")):
            pass


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

    def build(settings: SettingsForm, runs: bool) -> BuiltGraph:
        made.append(Closing())
        building.set()
        proceed.wait(10)
        graph = create_reflexion(ScriptedChatModel(replies=[]), made[-1])
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
    monkeypatch.setenv(ALLOWED, "https://models.example/v1, http://localhost:11434/v1")
    for allowed in ("https://models.example/v1/", "http://localhost:11434/v1"):
        check_address(allowed)
    for other in ("https://models.example.evil/v1", "http://localhost:11434", "http://localhost:1/v1", "http://[::1"):
        with pytest.raises(ConfigurationError, match="base_url"):
            check_address(other)


def test_unedited_prompt_is_the_actors_default():
    programming = SERVED["programming"]
    base, settings = load_prompts("programming"), programming.form(actor="react")
    assert settings.prompts(base) is base
    edited = settings.model_copy(update={"act_prompt": "Write it."})
    assert edited.prompts(base).render("act") == "Write it."


CANARY = "PRIVATE-KEY-CANARY"


@pytest.fixture
def secret(tmp_path):
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_text(CANARY)
    return tmp_path / "secret"


@pytest.fixture
def small(monkeypatch):
    """The settings of a model that plays every world, on a server that is listed."""
    with ModelServer(SmallModel()) as server:
        monkeypatch.setenv(ALLOWED, server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "any")
        yield {"model": "openai:small", "base_url": server.url}


@pytest.fixture
def workspace(monkeypatch, tmp_path):
    """The served graph of workspaces, with a cache of its own."""
    need("bubblewrap")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return SERVED["workspace"]


def naming(folder):
    """A task of a client's own, which names a folder of the host, and commands."""
    data = {"path": str(folder), "verify": ["cat key; false"], "show": [str(folder)], "network": True}
    return {"id": "own", "instruction": "Read it.", "data": data}


@pytest.mark.slow
async def test_a_client_names_no_folder_of_the_host(workspace, small, secret):
    async with workspace.graph(workspace.form(**small, max_trials=1, max_actions=1)) as graph:
        with pytest.raises(ConfigurationError, match="not one of the tasks"):
            await graph.ainvoke({"task": naming(secret)})


async def edit(factory, model, change, as_node=None):
    """Change a thread's state after its first trial has begun, and continue it; returns the error and the state."""
    saver = InMemorySaver()
    form = factory.form(**model, max_trials=1, max_actions=2)
    async with factory.graph(form) as served:
        graph = served.builder.compile(checkpointer=saver)
        await graph.ainvoke({}, THREAD, interrupt_before=["observe"])
    # Each run of a server builds its graph anew.
    async with factory.graph(form) as served:
        graph = served.builder.compile(checkpointer=saver)
        state = (await graph.aget_state(THREAD)).values
        await graph.aupdate_state(THREAD, change(state), as_node=as_node)
        try:
            await graph.ainvoke(None, THREAD)
        except ConfigurationError as error:
            return str(error), (await graph.aget_state(THREAD)).values
        return "", (await graph.aget_state(THREAD)).values


@pytest.mark.slow
@pytest.mark.parametrize("as_node", [None, "reset", "observe", "reflect", "heuristic_check"])
async def test_a_task_that_was_replaced_in_the_state_is_refused(workspace, small, secret, as_node):
    def replaced(state):
        # After a reflection, the next trial of the task begins.
        ended = {"trials": [{"trial": 1}]} if as_node == "reflect" else {}
        return {"task": {**state["task"], "data": naming(secret)["data"]}, "stop_reason": "hallucination", **ended}

    said, state = await edit(workspace, small, replaced, as_node=as_node)
    assert "not one of the tasks" in said + state["fault"]
    assert CANARY not in str({**state, "task": None})


@pytest.mark.slow
async def test_a_snapshot_that_was_edited_in_the_state_is_refused(workspace, small, tmp_path):
    def edited(state):
        tree = f"--output={tmp_path / 'out'}"
        return {"episode": {**state["episode"], "snapshot": {**state["episode"]["snapshot"], "tree": tree}}}

    said, _ = await edit(workspace, small, edited)
    assert "tree" in said
    assert not (tmp_path / "out").exists()


async def test_the_server_lists_a_task_file_for_workspaces(monkeypatch, small, tmp_path, secret):
    need("bubblewrap")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    file = tmp_path / "task.toml"
    file.write_text('id = "mine"\npath = "secret"\ninstruction = "Read it."\nverify = ["grep -q CANARY key"]\n')
    monkeypatch.setenv(WORKSPACE, str(file))
    factory = environment_graphs(Workspace)
    async with factory.graph(factory.form(**small, max_trials=1)) as graph:
        final = await graph.ainvoke({}, interrupt_after=["reset"])
        assert (final["task"]["id"], final["task"]["data"]["path"]) == ("mine", str(secret))
        with pytest.raises(ConfigurationError, match="not one of the tasks"):
            await graph.ainvoke({"task": {**final["task"], "data": {**final["task"]["data"], "verify": ["id"]}}})


async def test_a_game_lies_below_the_folder_of_its_split(alfworld, tmp_path):
    """The splits of a download are read; a task's data does not lead out of them."""
    (tmp_path / "outside").mkdir()
    for folder in ("../../outside", str(tmp_path / "outside"), "a/../../../outside", "a\0b"):
        task = {"id": "valid_seen/x", "instruction": "x", "data": {"split": "valid_seen", "folder": folder}}
        async with alfworld.graph(alfworld.form()) as graph:
            with pytest.raises(ConfigurationError, match="does not lie below"):
                await graph.ainvoke({"task": task})


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("hotpotqa", {"split": "own", "question": "?", "answer": "", "supporting": [], "seed": "/etc"}),
        ("webshop", {"split": "own", "goal": 0, "seed": "/etc"}),
        ("webshop", {"split": ["own"], "goal": 0, "seed": 0}),
    ],
)
async def test_the_data_of_a_task_has_its_types(small, name, data):
    factory = SERVED[name]
    async with factory.graph(factory.form(**small)) as graph:
        with pytest.raises(ConfigurationError, match="task"):
            await graph.ainvoke({"task": {"id": "x", "instruction": "x", "data": data}})


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image_url", "image_url": "/etc/passwd"},
        {"type": "image", "source_type": "url", "url": "http://127.0.0.1:1/x"},
        {"type": "tool_result", "content": [{"type": "file", "url": "http://127.0.0.1:1/x"}]},
    ],
)
async def test_a_step_in_the_state_hands_no_file_to_a_model(small, block):
    """Some clients read the path, and call the address, that a block names."""
    hotpotqa = SERVED["hotpotqa"]
    form = hotpotqa.form(**small, actor="tools", max_trials=1)
    saver = InMemorySaver()
    async with hotpotqa.graph(form) as served:
        graph = served.builder.compile(checkpointer=saver)
        await graph.ainvoke({}, THREAD, interrupt_before=["act"])
        step = {"number": 1, "thought": "t", "action": None, "observation": [block]}
        await graph.aupdate_state(THREAD, {"trajectory": [step]}, as_node="reset")
        with pytest.raises(ConfigurationError, match="holds a file or its address"):
            await graph.ainvoke(None, THREAD)


@pytest.mark.parametrize("name", ["hotpotqa", "fever"])
async def test_pages_in_the_network_are_for_the_server_to_allow(monkeypatch, name):
    factory = SERVED[name]
    monkeypatch.delenv(ALLOWED_PAGES, raising=False)
    with pytest.raises(ConfigurationError, match=f"{ALLOWED_PAGES}=wikipedia"):
        async with factory.graph(factory.form(pages="wikipedia")):
            pass
    monkeypatch.setenv(ALLOWED_PAGES, "wikipedia")
    async with factory.graph(factory.form(pages="wikipedia")) as graph:
        assert graph.name == name
