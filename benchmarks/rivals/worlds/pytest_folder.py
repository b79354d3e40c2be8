"""A folder with tests, in which the agent writes a module, and which pytest judges.

The check takes the module alone from the folder, and runs the tests as the task has them, in the project's sandbox: a
model that rewrites the tests has rewritten a copy.
"""

import sys
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchmarks.rivals.protocol import Half, Move, Task, TaskWorld, Tool, Verdict, World
from langgraph_reflexion.envs.sandbox import Limits, Sandbox

FILE = Path(__file__).parent / "pytest_tasks.toml"

DESCRIPTION = """Write the file {name}.py in your folder by the tool write_file. It has a function {signature}:
{words}
The tests are in test_{name}.py, which you can read by the tool read_file. When the file is written, answer with the
word done."""

SECONDS = 60.0
"""Longest run of the tests, on a busy machine."""

MOST_WORDS = 400
"""Characters of what the check says."""

COMMAND = (sys.executable, "-B", "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider")


@dataclass(frozen=True)
class Function:
    """A function to write.

    Attributes:
        name: The name of its module.
        signature: How it is called.
        words: What it does.
        cases: A test for each: an expression that is true.
        right: The text of a right module.
    """

    name: str
    signature: str
    words: str
    cases: list[str]
    right: str

    @property
    def tests(self) -> str:
        """The test module."""
        called = self.signature.partition("(")[0]
        lines = [f"from {self.name} import {called}"]
        for number, case in enumerate(self.cases, 1):
            lines += ["", "", f"def test_{number}():", f"    assert {case}"]
        return "\n".join(lines) + "\n"


class Folder(TaskWorld):
    """The folder of one task."""

    def __init__(self, task: Task, folder: Path) -> None:
        super().__init__(task, folder)
        self.function: Function = task.data
        self.place = folder / "work"
        self._judged: dict[str, Verdict] = {}
        """The verdict on each text of the module so far: the tests give the same one again."""
        if not self.place.exists():
            self.reset()

    @property
    def tools(self) -> list[Tool]:
        def write_file(path: str, content: str) -> str:
            """Write a file into the folder, instead of the one that has this name.

            Args:
                path: The name of the file, such as module.py.
                content: The whole text of the file.
            """
            if not is_plain(path):
                return f"error: {path!r} is not the name of a Python file in the folder"
            (self.place / path).write_text(content, encoding="utf-8")
            return "written"

        def read_file(path: str) -> str:
            """Return the text of a file in the folder.

            Args:
                path: The name of the file, such as module.py.
            """
            if not is_plain(path) or not (self.place / path).is_file():
                names = sorted(each.name for each in self.place.iterdir())
                return f"error: there is no file {path!r}; the folder has {', '.join(names)}"
            return (self.place / path).read_text(encoding="utf-8")

        return [write_file, read_file]

    def reset(self) -> None:
        self.place.mkdir(parents=True, exist_ok=True)
        for each in self.place.iterdir():
            each.unlink()
        (self.place / f"test_{self.function.name}.py").write_text(self.function.tests, encoding="utf-8")

    def verdict(self, answer: str) -> Verdict:
        module = self.place / f"{self.function.name}.py"
        if not module.is_file():
            return Verdict(False, f"wanted: a file {module.name} / got: no such file")
        text = module.read_text(encoding="utf-8")
        if text not in self._judged:
            files = {module.name: text, f"test_{module.name}": self.function.tests}
            done = sandbox().run(COMMAND, files=files, limits=Limits(wall=SECONDS))
            self._judged[text] = Verdict(done.exit_code == 0, words_of(done.text))
        return self._judged[text]


@cache
def sandbox() -> Sandbox:
    """Return the sandbox, which is looked for once."""
    return Sandbox()


def is_plain(name: str) -> bool:
    """Return whether a model's path is the name of a Python file, and leads nowhere else."""
    stem, dot, ending = name.rpartition(".")
    return dot == "." and ending == "py" and stem.isidentifier()


def words_of(output: str) -> str:
    """Return pytest's lines on what failed, without times."""
    lines = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR", "E "))]
    return "\n".join(lines)[:MOST_WORDS]


class PytestFolder(World):
    """8 tasks to train on, and 16 to be measured on."""

    name = "pytest-folder"
    changes = True
    steps = 5
    calls = 10

    def tasks(self, half: Half) -> list[Task]:
        rows = tomllib.loads(FILE.read_text(encoding="utf-8"))[half]
        found = []
        for row in rows:
            function = Function(**row)
            text = DESCRIPTION.format(name=function.name, signature=function.signature, words=function.words)
            found.append(Task(function.name, text, function))
        return found

    def open(self, task: Task, folder: Path) -> TaskWorld:
        return Folder(task, folder)

    def script(self, task: Task) -> tuple[Move, Move] | None:
        name = f"{task.data.name}.py"
        wrong = f"def {task.data.signature}:\n    return None\n"
        return (
            Move(tool="write_file", args={"path": name, "content": wrong}),
            Move(tool="write_file", args={"path": name, "content": task.data.right}),
        )
