import json
import os
import sys
from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from langgraph_reflexion import Approval, ConfigurationError, ModelOptions, ToolEnvironment, create_reflexion
from langgraph_reflexion.adapters.mcp import mcp_tools
from langgraph_reflexion.errors import EnvironmentUnavailable
from langgraph_reflexion.support.retries import Retries
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.processes import free_port, serving

pytestmark = pytest.mark.extra("mcp")

SERVER = str(Path(__file__).parents[1] / "support" / "mcp_server.py")
LOCAL = {"command": sys.executable, "args": [SERVER]}


def environment(servers, check=lambda task, answer: answer == "yes", **task):
    return ToolEnvironment(mcp_tools(servers), [{"instruction": "Write.", **task}], check)


def graph_of(environment, replies, **options):
    model = ScriptedChatModel(replies=[f"Action: {each}" for each in replies])
    given = {"strategy": "retry", "max_trials": 1, "options": ModelOptions(retries=Retries(attempts=1)), **options}
    return create_reflexion(model, environment, **given)


def played(environment, replies, **options):
    return graph_of(environment, replies, **options).compile().invoke({"task": environment.tasks()[0]})


def observations(final):
    return [step["observation"] for step in final["trajectory"]]


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def started(tmp_path, monkeypatch):
    """A server that writes down its process, and these processes."""
    log = tmp_path / "started"
    monkeypatch.setenv("LOG_OF_SERVERS", str(log))
    return {**LOCAL, "env": {"STARTED": "${LOG_OF_SERVERS}"}}, lambda: [*map(int, log.read_text().split())]


def test_each_trial_has_a_process_of_its_own_which_ends_with_it(started):
    """The check asks the server."""
    server, processes = started

    async def check(tools):
        (block,) = await tools["count"].ainvoke({})
        return json.loads(block["text"]) == {"lines": 2}

    replies = ["write[a]", "finish[no]", "write[b]", "write[c]", "finish[yes]"]
    final = played(environment({"n": server}, check), replies, max_trials=2)
    assert observations(final) == ["1 lines", "2 lines", "The task is solved."]
    pids = processes()
    assert len({*pids}) == 3  # the first one for the schemas
    assert not any(map(alive, pids))


def test_texts_of_the_servers_results_and_errors():
    replies = ["write[a]", 'write[{"text": ""}]', "write[b, c]", "count[]", "show[]", "finish[yes]"]
    assert observations(played(environment({"notes": LOCAL}), replies)) == [
        "1 lines",
        "Error executing tool write: a line is not empty",
        "2 lines",
        '{\n  "lines": 2\n}',
        "[image: image/png]\n[audio: audio/wav]\n[the note: note://1] It is short.\n[note://2]\nSome\ntext.",
        "The task is solved.",
    ]


def test_a_trial_that_pauses_goes_on_with_its_process(started):
    server, processes = started
    approval, config = Approval(actions=["finish"]), {"configurable": {"thread_id": "1"}}
    tools = environment({"n": server})
    graph = graph_of(tools, ["write[a]", "finish[yes]"], approval=approval).compile(InMemorySaver())
    graph.invoke({"task": tools.tasks()[0]}, config)
    last = processes()[-1]
    assert alive(last)
    final = graph.invoke(Command(resume="approve"), config)
    assert observations(final) == ["1 lines", "The task is solved."]
    assert processes()[-1] == last
    assert not alive(last)


def test_servers_may_depend_on_the_task_and_share_names_of_tools(started):
    server, processes = started
    tools = environment(lambda task: dict.fromkeys(task["data"]["names"], server), data={"names": ["a", "b"]})
    final = played(tools, ["a_write[x]", "a_write[y]", "b_write[z]", "finish[yes]"])
    assert observations(final)[:3] == ["1 lines", "2 lines", "1 lines"]
    assert not any(map(alive, processes()))


def test_a_process_that_dies_is_a_fault_with_its_last_words():
    final = played(environment({"n": LOCAL}), ["write[a]", "die[0.5]", "finish[yes]"])
    assert final["status"] == "fault"
    assert final["fault"].startswith("the MCP server 'n' (")
    assert final["fault"].endswith("was lost: the disk is full")
    assert observations(final) == ["1 lines"]


@pytest.mark.parametrize(
    ("server", "error", "why"),
    [
        ({"command": "no-such-server", "args": []}, EnvironmentUnavailable, "no-such-server"),
        ({"transport": "pigeon", "url": "x"}, ConfigurationError, "pigeon"),
        ({}, ConfigurationError, "url"),
    ],
)
def test_a_connection_that_cannot_work(server, error, why):
    with pytest.raises(error, match=why):
        environment({"n": server}).actions()


@pytest.mark.parametrize(
    ("server", "why"),
    [
        ({"command": sys.executable, "args": ["-c", "raise SystemExit('no folder is given')"]}, "no folder is given"),
        ({"url": "http://127.0.0.1:9/mcp"}, "ConnectError"),
    ],
)
def test_a_server_that_does_not_start_is_a_fault(server, why):
    final = played(environment({"n": server}), ["finish[yes]"])
    assert final["status"] == "fault"
    assert "did not start" in final["fault"]
    assert why in final["fault"]


def test_a_server_over_http_which_is_a_fault_when_it_dies(tmp_path):
    port = free_port()
    with serving([sys.executable, SERVER, str(port)], port, tmp_path / "log") as address:
        notes = {"n": {"url": f"{address}/mcp"}}
        final = played(environment(notes), ["write[a]", "count[]", "finish[yes]"])
        assert observations(final) == ["1 lines", '{\n  "lines": 1\n}', "The task is solved."]
        final = played(environment(notes), ["write[a]", "die[0]"])
    assert (final["status"], observations(final)) == ("fault", ["2 lines"])
    assert "was lost: ConnectError" in final["fault"]
