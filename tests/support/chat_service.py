"""A chat service with lessons, whose process is killed: what its users get, what is kept, and what a recall costs.

    python -m tests.support.chat_service [--users 1000 --requests 10000 --kills 20 --limit 500 --folder DIR]

The service is a process of its own, with SQLite files, behind HTTP on loopback. A customer asks where a parcel lies;
the agent knows once a lesson has told it, and otherwise guesses, hears from the check where it lies, and reflects.
Every text names its user, so that a lesson of another user is seen wherever it turns up. A fifth of the requests are
of one user, who asks about ever new parcels. A request that is cut off is sent again, on its thread.

The last lines say what is wrong; the exit status is 1 if anything is.
"""

import argparse
import asyncio
import json
import random
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import httpx
from langchain_core.messages import BaseMessage
from langgraph.store.base import SearchOp

from langgraph_reflexion import Lessons, create_reflexion, open_checkpointer
from langgraph_reflexion.memory.store import LATEST_USES, LessonStore, open_lessons
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.loopback import Answer, Call, Listener
from tests.support.processes import free_port

BUSY = "user0"
"""The user with a fifth of the requests."""
CLIENTS = 24
"""Requests in flight."""
LIMIT = 500
"""Lessons of a user, unless the command says otherwise."""
RECALL = 0.05
"""CPU seconds that a recall among `LIMIT` lessons may need."""
FLAT = 1.1
"""How many times as much memory the service may need at the end as after the last kill."""

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


async def serve(folder: Path, port: int, limit: int) -> None:
    """Serve the chat until the process is killed."""
    agents = Agents()
    loop = asyncio.get_running_loop()
    async with AsyncExitStack() as stack:
        saver = await stack.enter_async_context(open_checkpointer("latest", folder / "threads.db"))
        store = await stack.enter_async_context(open_lessons(folder / "lessons.db"))
        chat = create_reflexion(
            agents.model, actor=agents.answer, evaluator=agents.check, max_trials=2, memory=Lessons(limit=limit)
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
    kills: int
    """How often the process has been killed before."""
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

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder = folder
        self.limit = limit
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        """Start the process, and wait until it answers."""
        command = [sys.executable, "-m", "tests.support.chat_service", "--serve", str(self.port)]
        command += ["--limit", str(self.limit)]
        self._launch(command)
        async with httpx.AsyncClient(trust_env=False) as client:
            while True:
                self.expect_alive()
                try:
                    await client.get(f"http://127.0.0.1:{self.port}/")
                    return
                except httpx.TransportError:
                    await asyncio.sleep(0.1)

    def _launch(self, command: list[str]) -> None:
        with (self.folder / "service.log").open("ab") as log:
            self.process = subprocess.Popen([*command, "--folder", str(self.folder)], stdout=log, stderr=log)

    def expect_alive(self) -> None:
        """Raise RuntimeError with the end of its log if the process has ended by itself."""
        if self.process and self.process.poll() is not None:
            raise RuntimeError((self.folder / "service.log").read_text()[-3000:])

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


class Customers:
    """They send requests all at the same time, except while the service is started again or looked at.

    Args:
        service: The service, which runs.
        chance: When exactly the service is killed.
        pending: The requests.
    """

    def __init__(self, service: Service, chance: random.Random, pending: list[dict[str, Any]]) -> None:
        self.service = service
        self.chance = chance
        self.pending = pending
        self.outcome = Outcome()
        self.answered = 0
        self._in_flight = 0
        self._running = asyncio.Event()
        self._running.set()
        self._idle = asyncio.Event()
        self._alone = asyncio.Lock()
        """The service is not looked at while it is killed, or killed twice at once."""

    async def restart(self) -> None:
        """Kill the service among the requests that are in flight, and start it again."""
        async with self._alone:
            # At any moment of the requests that are in flight.
            await asyncio.sleep(self.chance.random() / 10)
            self._running.clear()
            self.service.kill()
            self.outcome.kills += 1
            await self.service.start()
            self._running.set()

    async def look(self) -> Sample:
        """Measure the service while nobody asks, so that the customers' own CPU is not measured."""
        async with self._alone:
            self._running.clear()
            await self._idle.wait()
            sample = await _look(self.service, self.outcome.kills, self.answered)
            self.outcome.samples.append(sample)
            self._running.set()
        return sample

    async def next(self, client: httpx.AsyncClient) -> None:
        """Send the next request until it is answered, and take down the answer."""
        request = self.pending.pop()
        response = None
        while response is None:
            await self._running.wait()
            response = await self._sent(client, request)
        _note(self.outcome, request, response)
        self.answered += 1

    async def _sent(self, client: httpx.AsyncClient, request: dict[str, Any]) -> httpx.Response | None:
        """Return the response to a request; None if it was cut off."""
        self._in_flight += 1
        self._idle.clear()
        try:
            return await client.post(f"http://127.0.0.1:{self.service.port}/", json=request, timeout=300)
        except httpx.TransportError:
            self.outcome.again += 1
        finally:
            self._in_flight -= 1
            if not self._in_flight:
                self._idle.set()
        if self._running.is_set():
            self.service.expect_alive()
        await asyncio.sleep(0.05)
        return None


async def play(
    folder: Path, users: int, requests: int, kills: int, *, limit: int = LIMIT, say: Any = print
) -> Outcome:
    """Send the requests, kill the service at random moments of the first three quarters, and look at what is left.

    It is looked at ten times, or less often where there are few requests: nobody asks meanwhile.
    """
    chance = random.Random(0)
    service = Service(folder, limit)
    await service.start()
    customers = Customers(service, chance, _requests(chance, users, requests))
    moments = sorted(chance.sample(range(1, requests * 3 // 4), kills))
    between = max(requests // 10, 2 * CLIENTS)
    looks = [*range(between, requests, between), requests]

    async def customer(client: httpx.AsyncClient) -> None:
        while customers.pending:
            await customers.next(client)
            if moments and customers.answered >= moments[0]:
                moments.pop(0)
                await customers.restart()
            if looks and customers.answered >= looks[0]:
                looks.pop(0)
                say(await customers.look())

    try:
        async with httpx.AsyncClient(trust_env=False) as client:
            await asyncio.gather(*(customer(client) for _ in range(CLIENTS)))
    finally:
        service.kill()
    return customers.outcome


def _requests(chance: random.Random, users: int, requests: int) -> list[dict[str, Any]]:
    """Return the requests in a random order: a fifth of the busy user, and as many of each other user."""
    asked = []
    others = cycle(range(1, users))
    for number in range(requests):
        if number % 5 == 0:
            user, parcel = BUSY, number
        else:
            user, parcel = f"user{next(others)}", chance.randrange(4)
        asked.append({"user": user, "thread": f"{user}-{number}", "text": question(user, parcel)})
    chance.shuffle(asked)
    return asked


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


async def _look(service: Service, kills: int, requests: int) -> Sample:
    """Measure the service, and a recall in this process on the same file."""
    async with open_lessons(service.folder / "lessons.db") as opened:
        store = LessonStore(opened, "agent", BUSY, limit=service.limit)
        seconds = []
        for number in range(5):
            began = time.process_time()
            await store.recall({"id": "x", "instruction": question(BUSY, number)}, "", 3)
            seconds.append(time.process_time() - began)
        snapshot = await store.snapshot()
        records = sum(len(found) for kind, found in snapshot.records.items() if kind != "archived")
    return Sample(requests, kills, service.megabytes, statistics.median(seconds), len(snapshot.live), records)


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


def strangers_on_threads(folder: Path) -> list[str]:
    """Return the threads on which a text names another user."""
    query = (
        "SELECT thread_id, checkpoint FROM checkpoints UNION ALL SELECT thread_id, metadata FROM checkpoints "
        "UNION ALL SELECT thread_id, value FROM writes"
    )
    found = set()
    with closing(sqlite3.connect(folder / "threads.db")) as threads:
        for thread, saved in threads.execute(query):
            user = thread.partition("-")[0]
            # Texts are saved as they are, between bytes of the format.
            text = bytes(saved or b"").decode("ascii", "replace")
            if {*NAME.findall(text)} - {user}:
                found.add(thread)
    return sorted(found)


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
    quarter = max(1, len(outcome.first) // 4)
    return {
        "answered": len(outcome.first),
        "users": len(outcome.trials),
        "kills": outcome.kills,
        "sent again": outcome.again,
        "wrong answers": len(outcome.wrong),
        "lessons of other users in prompts": len(outcome.strangers),
        "namespaces with other users' words": len(await strangers_in(folder)),
        "threads with other users' words": len(strangers_on_threads(folder)),
        "users whose trials are counted wrongly": len(differ),
        "solved at once, first quarter": round(sum(outcome.first[:quarter]) / quarter, 3),
        "solved at once, last quarter": round(sum(outcome.first[-quarter:]) / quarter, 3),
        "examples": [*outcome.wrong[:2], *map(str, list(differ.items())[:3])],
    }


NONE_OF_THESE = (
    "wrong answers",
    "lessons of other users in prompts",
    "namespaces with other users' words",
    "threads with other users' words",
    "users whose trials are counted wrongly",
)
"""What `check` counts, and there should be none of."""


def faults(
    found: Mapping[str, Any], samples: Sequence[Sample], *, users: int, requests: int, kills: int, limit: int
) -> list[str]:
    """Return what contradicts the claims about a run, in sentences.

    Args:
        found: What `check` has found.
        samples: The moments that were looked at.
        users: The number of users who should have got answers.
        requests: The number of requests that should have been answered.
        kills: How often the service should have been killed.
        limit: The most lessons of a user.
    """
    wrong = [f"{name}: {found[name]}" for name in NONE_OF_THESE if found[name]]
    for name, number in (("answered", requests), ("users", users), ("kills", kills)):
        if found[name] != number:
            wrong.append(f"{name}: {found[name]}, and not {number}")
    if found["sent again"] < kills:
        wrong.append("a kill cut off no request")
    if found["solved at once, last quarter"] <= found["solved at once, first quarter"]:
        wrong.append("nothing was learnt")
    return wrong + _memory_faults(samples, kills) + _recall_faults(samples, limit)


def _memory_faults(samples: Sequence[Sample], kills: int) -> list[str]:
    """Return what is wrong with the memory of the last process, which is never killed under load."""
    last = [sample.megabytes for sample in samples if sample.kills == kills]
    if len(last) < 2:
        return ["memory was not measured twice after the last kill"]
    if last[-1] > FLAT * last[0]:
        return [f"memory has grown from {last[0]:.0f} to {last[-1]:.0f} MB since the last kill"]
    return []


def _recall_faults(samples: Sequence[Sample], limit: int) -> list[str]:
    """Return what is wrong with recalls of the busy user, whose lessons have reached the limit."""
    most = max(sample.lessons for sample in samples)
    if most > limit:
        return [f"{most} lessons of a user are kept, and not {limit}"]
    # Archiving leaves a twentieth of room.
    full = [sample for sample in samples if sample.lessons >= 0.9 * limit]
    if len(full) < 2:
        return ["a full store was not looked at twice: play more requests, or with a lower limit"]
    slowest = max(sample.recall for sample in full)
    wrong = []
    if slowest > RECALL:
        wrong.append(f"a recall needs {1000 * slowest:.0f} ms of CPU")
    # Uses are added up once there are `LATEST_USES` of them.
    if full[-1].records > full[0].records + LATEST_USES:
        wrong.append(f"a recall reads {full[-1].records} records, and {full[0].records} when the store became full")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--serve", type=int, metavar="PORT", help="Be the service.")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--users", type=int, default=1000)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--limit", type=int, default=LIMIT, help="Lessons of a user, at most.")
    given = parser.parse_args()
    folder = given.folder or Path(tempfile.mkdtemp(prefix="chat-"))
    if given.serve:
        asyncio.run(serve(folder, given.serve, given.limit))
        return
    folder.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    say = partial(print, flush=True)
    outcome = asyncio.run(play(folder, given.users, given.requests, given.kills, limit=given.limit, say=say))
    found = asyncio.run(check(folder, outcome))
    for name, value in found.items():
        say(f"{name}: {value}")
    say(f"seconds: {time.perf_counter() - began:.0f}")
    wrong = faults(
        found,
        outcome.samples,
        users=given.users,
        requests=given.requests,
        kills=given.kills,
        limit=given.limit,
    )
    for sentence in wrong:
        say(f"WRONG: {sentence}")
    if wrong:
        sys.exit(1)
    say("nothing is wrong")


if __name__ == "__main__":
    main()
