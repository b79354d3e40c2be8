"""A support agent that learns after the fact, whose process is killed: what it has learned, and of whom.

    python -m tests.support.support_agent [--conversations 100 --users 20 --kills 20 --folder DIR]

Each conversation is a question and an answer, which is accepted; the lesson of it is learned later. A third of the
answers are called wrong afterwards, with a person's words. Both are done by a process of its own, with SQLite files,
that is killed with signal 9 at random moments and started again. In the end the lessons, the numbers and the users
must be those of a service that was never killed. The exit status is 1 if anything is wrong.
"""

import argparse
import asyncio
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from langchain.agents import create_agent

from langgraph_reflexion import Lessons, alearn_from, create_reflexion, open_checkpointer
from langgraph_reflexion.graph.later import alearn_queued
from langgraph_reflexion.graph.reflexion import ReflexionGraph
from langgraph_reflexion.memory.store import LessonStore, open_lessons
from langgraph_reflexion.testing import ScriptedChatModel

ROOT = Path(__file__).parents[2]
SLOW = 0.05
"""Seconds that the reflecting model needs."""

_NUMBER = re.compile(r"conversation (\d+)")


def user_of(number: int, users: int) -> str:
    """Return the user of a conversation."""
    return f"user{number % users}"


def is_wrong(number: int) -> bool:
    """Return whether the answer is called wrong afterwards."""
    return number % 3 == 0


def correction(number: int) -> str:
    """Return what a person says of a wrong answer."""
    return f"The office of case {number} closes at five, as I have said."


def reply(prompt: Any) -> str:
    """Answer, or reflect: whatever is said names the conversation alone."""
    text = "\n".join(str(message.content) for message in prompt)
    numbers = set(_NUMBER.findall(text))
    if len(numbers) != 1:
        return f"MIXED {sorted(numbers)}"
    [number] = numbers
    if "You review" in text:
        time.sleep(SLOW)
        return correction(number)
    if "You have just solved" in text:
        time.sleep(SLOW)
        return f"It worked in case {number} to answer at once."
    return f"At noon, says conversation {number}."


def support_agent() -> ReflexionGraph:
    """Return the agent: all of its answers are accepted at first, and learned from later."""
    model = ScriptedChatModel(replies=reply)
    return create_reflexion(
        actor=create_agent(model, []), evaluator=lambda result: True, memory=Lessons(learn="later")
    )


async def work(folder: Path, users: int, numbers: list[int], *, feedback: bool) -> None:
    """Hold the conversations, or give the feedback on them, and say which are done."""
    async with (
        open_lessons(folder / "lessons.db") as store,
        open_checkpointer("history", folder / "threads.db") as saver,
    ):
        chat = support_agent().compile(checkpointer=saver, store=store)
        for number in numbers:
            config: Any = {"configurable": {"thread_id": str(number), "user_id": user_of(number, users)}}
            if feedback:
                await alearn_from(chat, config, success=False, words=correction(number))
            else:
                await hold(chat, number, config)
            print(number, flush=True)


async def hold(chat: Any, number: int, config: Any) -> None:
    """Hold a conversation; one that a killed process had begun goes on where it stopped."""
    before = await chat.aget_state(config)
    # Killed at the very beginning, a thread has a checkpoint and not yet the question.
    if not before.values.get("task"):
        await chat.ainvoke({"task": f"When does it close, in conversation {number}?"}, config)
    # Not `next`: a node that had run when the process was killed is left out there.
    elif before.tasks:
        await chat.ainvoke(None, config)


def play(folder: Path, users: int, numbers: list[int], kills: int, chance: random.Random, *, feedback: bool) -> int:
    """Let processes do the work, and kill them; return how often one was killed."""
    left = list(numbers)
    killed = 0
    while left:
        words = [sys.executable, "-m", "tests.support.support_agent", "--work", str(folder), "--users", str(users)]
        if feedback:
            words.append("--feedback")
        words += ["--numbers", *map(str, left)]
        with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            quota = len(left)
            if killed < kills:
                quota = chance.randint(0, max(1, len(numbers) // kills))
            for _ in range(quota):
                line = process.stdout.readline()
                if not line:
                    raise RuntimeError("the process has ended by itself")
                left.remove(int(line))
            if killed < kills and left:
                # In the middle of the next one, or of what goes on behind it.
                time.sleep(chance.random() * 2 * SLOW)
                process.kill()
                killed += 1
    return killed


async def faults(place: str | Path, conversations: int, users: int) -> list[str]:
    """Return what is wrong with the lessons there, after what was left in the queue has been learned."""
    found: list[str] = []
    async with open_lessons(place) as store:
        for number in range(users):
            lessons = LessonStore(store, "agent", f"user{number}")
            # As if the leases of the killed processes had ended.
            await lessons.add([each.model_copy(update={"leased_until": ""}) for each in await lessons.queued()])
        outcomes = await alearn_queued(support_agent().compile(store=store))
        print("left to be learned:", outcomes)
        for number in range(users):
            own = [each for each in range(conversations) if user_of(each, users) == f"user{number}"]
            wrong = [each for each in own if is_wrong(each)]
            right = [each for each in own if not is_wrong(each)]
            expected = {correction(each) for each in wrong}
            expected |= {f"It worked in case {each} to answer at once." for each in right}
            lessons = LessonStore(store, "agent", f"user{number}")
            snapshot = await lessons.snapshot()
            live = {each.text for each in snapshot.live if not each.retired}
            if live != expected:
                found.append(f"user{number}: {sorted(live ^ expected)}")
            counted = (snapshot.trials.trials, snapshot.trials.succeeded)
            if counted != (len(own), len(right)):
                found.append(f"user{number}: counted {counted}, played {(len(own), len(right))}")
            if await lessons.queued():
                found.append(f"user{number}: something is still queued")
    return found


def run(folder: Path, conversations: int, users: int, kills: int) -> list[str]:
    """Play the service, and return what is wrong."""
    chance = random.Random(0)
    numbers = list(range(conversations))
    first = play(folder, users, numbers, kills // 2, chance, feedback=False)
    wrong = [number for number in numbers if is_wrong(number)]
    second = play(folder, users, wrong, kills - kills // 2, chance, feedback=True)
    print("conversations:", conversations, "feedback:", len(wrong), "killed:", first + second)
    return asyncio.run(faults(folder / "lessons.db", conversations, users))


def main() -> int:
    """Play the service, or be its process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--conversations", type=int, default=100)
    parser.add_argument("--users", type=int, default=20)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--feedback", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--numbers", type=int, nargs="*", default=[], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        asyncio.run(work(given.work, given.users, given.numbers, feedback=given.feedback))
        return 0
    with tempfile.TemporaryDirectory() as made:
        wrong = run(given.folder or Path(made), given.conversations, given.users, given.kills)
    for line in wrong:
        print("WRONG:", line)
    print("as without kills:", not wrong)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
