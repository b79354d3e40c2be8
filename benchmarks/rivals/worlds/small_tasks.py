"""Small tasks whose answer is a text: SQL queries, regular expressions, JSON, forms and units.

They are those of `tests.support.small_tasks`, with their check. An attempt leaves nothing behind.
"""

import json
from pathlib import Path

from benchmarks.rivals.protocol import Half, Move, Task, TaskWorld, Verdict, World
from tests.support.small_tasks import TUNING_FILE, UNTOUCHED_FILE
from tests.support.small_tasks.checks import check

FILES = {"train": TUNING_FILE, "test": UNTOUCHED_FILE}


class SmallTask(TaskWorld):
    """A task that needs no surroundings."""

    def verdict(self, answer: str) -> Verdict:
        accepted, words = check(answer, self.task.data)
        return Verdict(accepted, words)


class SmallTasks(World):
    """66 tasks in each half."""

    name = "small-tasks"
    changes = False
    steps = 1
    calls = 6

    def tasks(self, half: Half) -> list[Task]:
        found = []
        for line in FILES[half].read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            found.append(Task(row["id"], row["task"], row["answer"]))
        return found

    def open(self, task: Task, folder: Path) -> TaskWorld:
        return SmallTask(task, folder)

    def script(self, task: Task) -> tuple[Move, Move] | None:
        right = task.data.get("right")
        if right is None:
            return None
        if task.data["kind"] == "number":
            right = f"Answer: {right}"
        return Move("none"), Move(str(right))
