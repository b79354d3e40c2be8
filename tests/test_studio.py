"""`langgraph dev` takes the repository's langgraph.json, and runs its graphs without a key."""

import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("langgraph_api") is None,
    reason="needs the extra [studio]: pip install 'langgraph-reflexion[studio]'",
)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def call(address: str, body: dict[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data=data, headers={"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    port = free_port()
    folder = tmp_path_factory.mktemp("dev")
    log = (folder / "log").open("w")
    process = subprocess.Popen(
        [sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload", "--port", str(port)],
        cwd=ROOT,
        env={**os.environ, "LANGSMITH_TRACING": "false"},
        stdout=log,
        stderr=log,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            assert process.poll() is None, (folder / "log").read_text()[-3000:]
            try:
                call(f"{address}/ok")
                break
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        else:
            pytest.fail(f"the server did not start: {(folder / 'log').read_text()[-3000:]}")
        yield address
    finally:
        process.terminate()
        process.wait(20)
        log.close()


def test_graphs_of_langgraph_json_are_served(server: str) -> None:
    names = {assistant["graph_id"] for assistant in call(f"{server}/assistants/search", {})}
    assert names == set(json.loads((ROOT / "langgraph.json").read_text())["graphs"])


def test_a_task_runs_on_the_server(server: str) -> None:
    from langgraph_reflexion import load_environment

    task = load_environment("alfworld").tasks(limit=1)[0]
    final = call(f"{server}/runs/wait", {"assistant_id": "alfworld", "input": {"task": task}})
    assert final["status"] == "solved"
    assert final["trials"][-1]["success"] is True


def test_a_finished_run_is_forked_with_an_edited_action(server: str) -> None:
    """Over the API, as Studio does it: take a checkpoint, change what it holds, and go on from there."""
    from langgraph_reflexion import load_environment

    task = load_environment("alfworld").tasks(limit=1)[0]
    thread = f"{server}/threads/{call(f'{server}/threads', {})['thread_id']}"
    call(f"{thread}/runs/wait", {"assistant_id": "alfworld", "input": {"task": task}})
    history = call(f"{thread}/history", {"limit": 1000})
    second = [state for state in history if state["next"] == ["observe"]][-2]
    [first] = second["values"]["trajectory"]
    look = {"thought": "", "action": {"name": "look", "args": {}, "text": "look"}}
    body = {"checkpoint_id": second["checkpoint"]["checkpoint_id"], "values": {"decision": look}, "as_node": "act"}
    forked = call(f"{thread}/state", body)
    go_on = {"assistant_id": "alfworld", "input": None, "checkpoint": forked["checkpoint"]}
    paused = call(f"{thread}/runs/wait", {**go_on, "interrupt_after": ["observe"]})
    # The environment followed: it answers from where the first action had led.
    place = first["action"]["args"]["receptacle"]
    assert [step["observation"] for step in paused["trajectory"]] == [
        first["observation"],
        f"You are facing the {place}. Next to it, you see nothing.",
    ]
    assert call(f"{thread}/runs/wait", {"assistant_id": "alfworld", "input": None})["status"] == "solved"
