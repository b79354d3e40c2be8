"""How long a large workspace takes to begin with, to change, and to go on with.

    python -m tests.performance.workspace_speed [--files 50000] [--repeat 3] [--json]

The repository is generated: so many files of one to eight kilobytes, a hundred to a folder. Its verification reads
one of them. Every figure is wall time in seconds, the median of the repetitions; taking the files in happens once per
task.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from typing import TypeVar

from langgraph_reflexion.envs.base import Action, Task
from langgraph_reflexion.envs.workspace.environment import Workspace

Value = TypeVar("Value")

_FOLDER = 100


def write_repository(folder: Path, files: int, seed: int = 0) -> int:
    """Write a repository of so many files, and say how many bytes they have."""
    random = Random(f"workspace speed {seed}")
    words = ["".join(random.choices("abcdefghijklmnop", k=random.randint(3, 9))) for _ in range(2000)]
    size = 0
    for number in range(files):
        path = folder / f"part{number // (_FOLDER * 50)}" / f"folder{number // _FOLDER}" / f"file{number}.txt"
        if number % _FOLDER == 0:
            path.parent.mkdir(parents=True, exist_ok=True)
        text = f"{number}\n" + " ".join(random.choices(words, k=random.randint(150, 1200))) + "\n"
        path.write_text(text, encoding="utf-8")
        size += len(text)
    return size


def measure(files: int, repeat: int) -> dict[str, float]:
    """Everything, by name.

    Args:
        files: How many files the repository has.
        repeat: How often each is done.
    """
    with TemporaryDirectory() as temporary:
        folder = Path(temporary, "repository")
        size = write_repository(folder, files)
        environment = Workspace(
            path=folder,
            instruction="Make the first file say so.",
            verify=["grep -q done part0/folder0/file0.txt"],
            store=Path(temporary, "store"),
        )
        task = environment.tasks()[0]
        told: dict[str, float] = {"files": float(files), "megabytes": size / 1e6}
        told["take the files in, s"], prepared = _timed(lambda: environment.prepare(task))
        rounds = [_round(environment, Task(**{**task, "prepared": prepared})) for _ in range(repeat)]
        environment.close()
    return told | {name: median(each[name] for each in rounds) for name in rounds[0]}


def _round(environment: Workspace, task: Task) -> dict[str, float]:
    told: dict[str, float] = {}
    told["start a trial, s"], episode = _timed(lambda: environment.start(task))
    name = "part0/folder0/file0.txt"
    edit = Action(name="edit_file", args={"path": name, "old": "0\n", "new": "done\n"}, text="")
    told["an edit and its tree, s"], _ = _timed(lambda: episode.step(edit))
    command = Action(name="run_command", args={"command": "echo done > part0/new.txt"}, text="")
    told["a command and its tree, s"], _ = _timed(lambda: episode.step(command))
    told["verify, s"], verified = _timed(lambda: episode.step(Action(name="verify", args={}, text="")))
    snapshot = episode.snapshot()
    told["go on with a trial, s"], again = _timed(lambda: environment.restore(task, snapshot))
    told["end a trial, s"], _ = _timed(episode.close)
    same = again.snapshot()["tree"] == snapshot["tree"] and verified.reward == 1.0
    again.close()
    if not same:
        raise AssertionError("what was gone on with is not what was left")
    return told


def _timed(work: Callable[[], Value]) -> tuple[float, Value]:
    begin = time.perf_counter()
    value = work()
    return time.perf_counter() - begin, value


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n\n")[0])
    parser.add_argument("--files", type=int, default=50_000, help="of the repository (50000)")
    parser.add_argument("--repeat", type=int, default=3, help="so often (3)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args()
    told = measure(args.files, args.repeat)
    if args.json:
        print(json.dumps(told, indent=2))
        return
    for name, value in told.items():
        print(f"{name:28}{value:12.2f}")


if __name__ == "__main__":
    main()
