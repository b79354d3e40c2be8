"""A process that writes lessons: `python lesson_writer.py STORE NAME NUMBER`."""

import asyncio
import sys

from langgraph_reflexion.memory.records import LessonSource
from langgraph_reflexion.memory.store import LessonStore, open_lessons


async def main(where, name, number):
    async with open_lessons(where) as opened:
        store = LessonStore(opened, "shared")
        for index in range(number):
            trial = {"task": f"{name}{index}", "run": name, "date": "2026-01-02"}
            shared = LessonSource(text="All have this one.", outcome="failure", trial=1, **trial)
            own = LessonSource(text=f"Only {name} has {index}.", outcome="failure", trial=2, **trial)
            await store.add([shared, own])


asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
