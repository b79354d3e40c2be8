"""The support agent on a LangGraph server that is killed: what it has learned, and of whom.

    python -m tests.support.served_support_agent [--conversations 100 --users 20 --kills 20 --postgres]

As `tests.support.support_agent`, but served by `langgraph dev`, with a login, and asked by LangGraph's own client.
Threads and lessons are kept in SQLite files, or in a Postgres server that is started for it; what the server keeps of
its own, it may lose. It is killed with signal 9 among conversations and feedback, and started again. The exit status
is 1 if anything is wrong.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import httpx
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient

from tests.support.postgres_server import postgres_server
from tests.support.processes import free_port
from tests.support.support_agent import correction, faults, is_wrong, user_of

ROOT = Path(__file__).parents[2]
SERVED = Path(__file__).parent / "served_learning"
PATIENCE = 120
"""Seconds that a server may need until it answers."""
BETWEEN = 2.0
"""Seconds at most from one start to the next kill."""


class Server:
    """A LangGraph server whose process may be killed and started again."""

    def __init__(self, folder: Path, kept: str) -> None:
        self.folder = folder
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.environment = {
            **os.environ,
            "KEPT": kept,
            "LANGSMITH_TRACING": "false",
            # The served files import from the folder of tests.
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        }
        self.process: subprocess.Popen[bytes] | None = None
        served = {
            "dependencies": ["."],
            "graphs": {"support": f"{SERVED / 'office.py'}:graph", "feedback": f"{SERVED / 'office.py'}:feedback"},
            "auth": {"path": f"{SERVED / 'login.py'}:auth"},
            "store": {"path": f"{SERVED / 'kept.py'}:lessons"},
            "checkpointer": {"path": f"{SERVED / 'kept.py'}:threads"},
        }
        self.config = folder / "langgraph.json"
        self.config.write_text(json.dumps(served), encoding="utf-8")

    def start(self) -> None:
        """Start the process, and wait until it answers."""
        command = [sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload", "--allow-blocking"]
        command += ["--port", str(self.port), "--config", str(self.config)]
        log = self.folder / "log"
        with log.open("ab") as written:
            self.process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=self.environment,
                stdout=written,
                stderr=written,
                # With whatever the command starts, it is killed as one.
                start_new_session=True,
            )
        end = time.monotonic() + PATIENCE
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(log.read_text()[-3000:])
            time.sleep(0.1)

    def _answers(self) -> bool:
        try:
            return httpx.get(f"{self.address}/ok", trust_env=False).status_code == httpx.codes.OK
        except httpx.TransportError:
            return False

    def kill(self) -> None:
        """Kill the process, as `kill -9` does."""
        if self.process is None:
            return
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def thread_of(number: int) -> str:
    """Return the thread of a conversation, which the client names, so that it is found again."""
    return str(uuid5(NAMESPACE_URL, f"conversation {number}"))


def hold(client: SyncLangGraphClient, number: int) -> None:
    """Hold a conversation; one that a killed server had begun goes on where it stopped."""
    thread = thread_of(number)
    client.threads.create(thread_id=thread, graph_id="support", if_exists="do_nothing")
    state: Any = client.threads.get_state(thread)
    given: dict[str, Any] | None = None
    if not state["values"]:
        question = f"When does it close, in conversation {number}?"
        given = {"messages": [{"role": "user", "content": question}]}
    elif not state["tasks"]:
        return
    client.runs.wait(thread, "support", input=given)


def say(client: SyncLangGraphClient, number: int) -> None:
    """Call an answer wrong."""
    thread = thread_of(number)
    # A development server may have lost that there is such a thread, though not what is in it.
    client.threads.create(thread_id=thread, graph_id="support", if_exists="do_nothing")
    words = correction(number)
    client.runs.wait(None, "feedback", input={"thread_id": thread, "success": False, "words": words})


def play(
    server: Server, work: Callable[[SyncLangGraphClient, int], None], users: int, numbers: list[int], kills: int
) -> None:
    """Let a client work through the numbers while the server is killed; whatever fails is done again."""
    chance = random.Random(len(numbers))
    is_done = threading.Event()

    def kill_again_and_again() -> None:
        for _ in range(kills):
            is_done.wait(chance.random() * BETWEEN)
            server.kill()
            server.start()

    killer = threading.Thread(target=kill_again_and_again)
    killer.start()
    for number in numbers:
        name = user_of(number, users)
        with get_sync_client(url=server.address, headers={"Authorization": f"Bearer {name}"}) as client:
            _until_done(lambda client=client, number=number: work(client, number))
    is_done.set()
    killer.join()


def _until_done(work: Callable[[], None]) -> None:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            work()
            return
        except httpx.HTTPError:
            # Killed meanwhile, or not yet there again.
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def run(folder: Path, conversations: int, users: int, kills: int, *, postgres: bool) -> list[str]:
    """Play the service, and return what is wrong."""
    numbers = list(range(conversations))
    wrong = [number for number in numbers if is_wrong(number)]
    with ExitStack() as stack:
        kept = str(folder)
        place: str | Path = folder / "lessons.db"
        if postgres:
            kept = stack.enter_context(postgres_server())
            place = kept
        server = Server(folder, kept)
        server.start()
        try:
            play(server, hold, users, numbers, kills // 2)
            play(server, say, users, wrong, kills - kills // 2)
        finally:
            server.kill()
        print("conversations:", conversations, "feedback:", len(wrong), "killed:", kills)
        return asyncio.run(faults(place, conversations, users))


def main() -> int:
    """Play the service."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--conversations", type=int, default=100)
    parser.add_argument("--users", type=int, default=20)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--postgres", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        wrong = run(Path(folder), given.conversations, given.users, given.kills, postgres=given.postgres)
    for line in wrong:
        print("WRONG:", line)
    print("as without kills:", not wrong)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
