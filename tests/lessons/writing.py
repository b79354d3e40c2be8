"""A process that writes lessons: `python writing.py STORE NAME NUMBER`."""

import asyncio
import sys

from langgraph_reflexion.memory.bank import Bank
from langgraph_reflexion.memory.opening import open_lessons

DATE = "2026-01-02T03:04:05.000000+00:00"


async def main(where, name, number):
    async with open_lessons(where) as store:
        bank = Bank(store, "shared")
        for index in range(number):
            told = {"task": f"{name}{index}", "run": name, "date": DATE, "kind": ""}
            made = {"outcome": "failure", "instruction": "x", "observation": "", "profile": "", "model": ""}
            made |= {"step": 0, "evidence": ""}
            key = await bank.learn("All have this one.", {**told, **made, "trial": 1}, name)
            await bank.learn(f"Only {name} has {index}.", {**told, **made, "trial": 2}, name)
            await bank.use({"lessons": [key], "success": True, "trial": 1, **told}, name)


asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
