"""A chat service with lessons, whose process is killed: what its users get, what is kept, and what a recall costs.

    python -m tests.support.chat_service [--users 1000 --requests 10000 --kills 20 --folder DIR]

The service is a process of its own, with SQLite files, behind HTTP on loopback. A customer asks where a parcel lies;
the agent knows once a lesson has told it, and otherwise guesses, hears from the check where it lies, and reflects.
Every text names its user, so that a lesson of another user is seen wherever it turns up. A fifth of the requests are
of one user, who asks about ever new parcels. A request that is cut off is sent again, on its thread.
"""

import argparse
import asyncio
import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx
from langchain_core.messages import BaseMessage
from langgraph.store.base import SearchOp

from langgraph_reflexion import Lessons, create_reflexion, open_checkpointer
from langgraph_reflexion.memory.store import LessonStore, open_lessons
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.loopback import Answer, Call, Listener
from tests.support.processes import free_port

BUSY = "user0"
"""The user with a fifth of the requests."""
CLIENTS = 24
"""Requests in flight."""
LIMIT = 500
"""Lessons of a user."""

NAME = re.compile(r"\buser\d+\b")
_PARCEL = re.compile(r"parcel (\d+)")


def depot_of(user: str, parcel: str) -> str:
    """Return where a user's parcel lies."""
    return f"depot {zlib.crc32(f'{user} {parcel}'.encode()) % 10_000}"


class Agents:
    """The agent, its check and the model that reflects. They keep the names of users whom a text should not have."""

    def __init__(self) -> None:
        self.strangers: list[str] = []
        self.model = ScriptedChatModel(replies=self._note)

    def answer(self, text: str) -> str:
        """Answer a customer, as far as lessons and notes say."""
        user, parcel = self._asked(text)
        known = re.findall(rf"parcel {parcel} of {user} lies in (depot \d+)", text)
        return known[-1] if known else "depot 0, I guess"

    def check(self, task: str, result: str) -> tuple[bool, str]:
        """Return whether an answer is right, and what is."""
        user, parcel = self._asked(task)
        right = depot_of(user, parcel)
        return result == right, f"The parcel {parcel} of {user} lies in {right}."

    def _note(self, messages: list[BaseMessage]) -> str:
        self.model.prompts.clear()  # which would grow for ever
        self.model.seeds.clear()
        user, parcel = self._asked("\n".join(message.text for message in messages))
        return f"I must remember that parcel {parcel} of {user} lies in {depot_of(user, parcel)}."

    def _asked(self, text: str) -> tuple[str, str]:
        [user, parcel] = re.findall(r"I am (user\d+)\. Where is my parcel (\d+)\?", text)[-1]
        self.strangers += {*NAME.findall(text)} - {user}
        return user, parcel


def question(user: str, parcel: int) -> str:
    """Return what a customer writes."""
    return f"I am {user}. Where is my parcel {parcel}?"


async def serve(folder: Path, port: int) -> None:
    """Serve the chat until the process is killed."""
    agents = Agents()
    loop = asyncio.get_running_loop()
    async with AsyncExitStack() as stack:
        saver = await stack.enter_async_context(open_checkpointer("latest", folder / "threads.db"))
        store = await stack.enter_async_context(open_lessons(folder / "lessons.db"))
        chat = create_reflexion(
            agents.model, actor=agents.answer, evaluator=agents.check, max_trials=2, memory=Lessons(limit=LIMIT)
        ).compile(checkpointer=saver, store=store)

        async def reply(request: dict[str, Any]) -> dict[str, Any]:
            config: Any = {"configurable": {"thread_id": request["thread"]}}
            state = await chat.aget_state(config)
            final = state.values
            # `next` leaves out a task whose result was saved before the process was killed.
            if state.tasks or not final:
                # A thread that was cut off goes on where it was.
                given = None if final.get("status") else {"task": request["text"]}
                context = {"user_id": request["user"]}
                final = await chat.ainvoke(given, config, context=context, durability="sync")
            shown = [lesson["text"] for lesson in final["lessons"]]
            trials = [record["verdict"] for record in final["trials"]]
            return {"answer": final["result"], "lessons": shown, "trials": trials, "strangers": agents.strangers}

        def answer(call: Call) -> Answer:
            if call.method == "GET":
                return Answer(b"{}")
            replied = asyncio.run_coroutine_threadsafe(reply(json.loads(call.content)), loop).result()
            return Answer(json.dumps(replied).encode())

        Listener(port, answer)
        await asyncio.Event().wait()


@dataclass
class Sample:
    """What one moment of the service looks like."""

    requests: int
    megabytes: float
    """Of the process."""
    recall: float
    """CPU seconds of a recall of the busy user."""
    lessons: int
    records: int
    """Of the busy user, as many as a recall reads."""


@dataclass
class Outcome:
    """What the customers got."""

    samples: list[Sample] = field(default_factory=list)
    trials: dict[str, list[bool]] = field(default_factory=dict)
    """The verdicts of each user's trials."""
    first: list[bool] = field(default_factory=list)
    """Whether the first trial solved each request, in the order of the answers."""
    wrong: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)
    kills: int = 0
    again: int = 0
    """Requests that were sent again."""


class Service:
    """The process of the service, which may be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        """Start the process, and wait until it answers."""
        command = [sys.executable, "-m", "tests.support.chat_service", "--serve", str(self.port)]
        self._launch(command)
        async with httpx.AsyncClient(trust_env=False) as client:
            while True:
                if self.process and self.process.poll() is not None:
                    raise RuntimeError((self.folder / "service.log").read_text()[-3000:])
                try:
                    await client.get(f"http://127.0.0.1:{self.port}/")
                    return
                except httpx.TransportError:
                    await asyncio.sleep(0.1)

    def _launch(self, command: list[str]) -> None:
        with (self.folder / "service.log").open("ab") as log:
            self.process = subprocess.Popen([*command, "--folder", str(self.folder)], stdout=log, stderr=log)

    def kill(self) -> None:
        """Kill the process, as `kill -9` does."""
        if self.process:
            self.process.kill()
            self.process.wait()

    @property
    def megabytes(self) -> float:
        """The memory of the process."""
        assert self.process
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024


async def play(folder: Path, users: int, requests: int, kills: int, samples: int = 10, say: Any = print) -> Outcome:
    """Send the requests, kill the service at random moments of the first three quarters, and look at what is left."""
    chance = random.Random(0)
    service, outcome = Service(folder), Outcome()
    pending = list(_requests(chance, users, requests))
    moments = sorted(chance.sample(range(1, requests * 3 // 4), kills))
    looks = [requests * number // samples for number in range(1, samples + 1)]
    running = asyncio.Event()
    answered = 0
    await service.start()
    running.set()

    async def restart() -> None:
        running.clear()
        await asyncio.sleep(chance.random() / 10)
        service.kill()
        outcome.kills += 1
        await service.start()
        running.set()

    async def customer(client: httpx.AsyncClient) -> None:
        nonlocal answered
        while pending:
            request = pending.pop()
            while True:
                await running.wait()
                try:
                    response = await client.post(f"http://127.0.0.1:{service.port}/", json=request, timeout=300)
                    break
                except httpx.TransportError:
                    outcome.again += 1
                    await asyncio.sleep(0.05)
            _note(outcome, request, response)
            answered += 1
            if moments and answered >= moments[0]:
                moments.pop(0)
                await restart()
            if looks and answered >= looks[0]:
                looks.pop(0)
                await running.wait()
                outcome.samples.append(await _look(service, answered))
                say(outcome.samples[-1])

    try:
        async with httpx.AsyncClient(trust_env=False) as client:
            await asyncio.gather(*(customer(client) for _ in range(CLIENTS)))
    finally:
        service.kill()
    return outcome


def _requests(chance: random.Random, users: int, requests: int) -> Iterator[dict[str, Any]]:
    for number in range(requests):
        user = BUSY if chance.random() < 0.2 else f"user{chance.randrange(1, users)}"
        parcel = number if user == BUSY else chance.randrange(4)
        yield {"user": user, "thread": f"{user}-{number}", "text": question(user, parcel)}


def _note(outcome: Outcome, request: dict[str, Any], response: httpx.Response) -> None:
    """Take down what a customer got."""
    user = request["user"]
    parcel = _PARCEL.findall(request["text"])[0]
    got = response.json()
    if response.status_code != 200 or got["answer"] != depot_of(user, parcel):
        outcome.wrong.append(response.text[:300])
        return
    outcome.trials.setdefault(user, []).extend(got["trials"])
    outcome.first.append(got["trials"][0])
    told = {*NAME.findall(" ".join(got["lessons"]))} - {user}
    outcome.strangers += [*told, *got["strangers"]]


async def _look(service: Service, requests: int) -> Sample:
    """Measure the service, and a recall in this process on the same file."""
    async with open_lessons(service.folder / "lessons.db") as opened:
        store = LessonStore(opened, "agent", BUSY, limit=LIMIT)
        seconds = []
        for number in range(5):
            began = time.process_time()
            await store.recall({"id": "x", "instruction": question(BUSY, number)}, "", 3)
            seconds.append(time.process_time() - began)
        snapshot = await store.snapshot()
        records = sum(len(found) for kind, found in snapshot.records.items() if kind != "archived")
    return Sample(requests, service.megabytes, statistics.median(seconds), len(snapshot.live), records)


async def strangers_in(folder: Path) -> list[str]:
    """Return the namespaces with a text that names another user."""
    async with open_lessons(folder / "lessons.db") as opened:
        [items] = await opened.abatch([SearchOp(("reflexion",), limit=10_000_000)])
    found = []
    for item in items:
        user = item.namespace[2].removeprefix("user-")
        if {*NAME.findall(json.dumps(item.value))} - {user}:
            found.append("/".join(item.namespace))
    return found


async def counted_in(folder: Path, users: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Return the trials of each user that the store has counted, and their successes."""
    found = {}
    async with open_lessons(folder / "lessons.db") as opened:
        for user in users:
            trials = (await LessonStore(opened, "agent", user).snapshot()).trials
            found[user] = (trials.trials, trials.succeeded)
    return found


async def check(folder: Path, outcome: Outcome) -> dict[str, Any]:
    """Return what there is to say of a whole run, with what is wrong with it."""
    expected = {user: (len(trials), sum(trials)) for user, trials in outcome.trials.items()}
    counted = await counted_in(folder, list(expected))
    differ = {user: (expected[user], counted[user]) for user in expected if expected[user] != counted[user]}
    trials = Counter(len(each) > 0 for each in outcome.trials.values())
    quarter = max(1, len(outcome.first) // 4)
    return {
        "answered": len(outcome.first),
        "users": trials[True],
        "kills": outcome.kills,
        "sent again": outcome.again,
        "wrong answers": len(outcome.wrong),
        "lessons of other users in prompts": len(outcome.strangers),
        "namespaces with other users' words": len(await strangers_in(folder)),
        "users whose trials are counted wrongly": len(differ),
        "solved at once, first quarter": round(sum(outcome.first[:quarter]) / quarter, 3),
        "solved at once, last quarter": round(sum(outcome.first[-quarter:]) / quarter, 3),
        "examples": [*outcome.wrong[:2], *map(str, list(differ.items())[:3])],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--serve", type=int, metavar="PORT", help="Be the service.")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--users", type=int, default=1000)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=20)
    given = parser.parse_args()
    folder = given.folder or Path(tempfile.mkdtemp(prefix="chat-"))
    if given.serve:
        asyncio.run(serve(folder, given.serve))
        return
    folder.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    say = partial(print, flush=True)
    outcome = asyncio.run(play(folder, given.users, given.requests, given.kills, say=say))
    for name, value in asyncio.run(check(folder, outcome)).items():
        say(f"{name}: {value}")
    say(f"seconds: {time.perf_counter() - began:.0f}")


if __name__ == "__main__":
    main()
