"""Measures what the sandbox costs: a small Python program in it, and as a plain subprocess, by turns.

python tests/support/sandbox/speed.py [ROUNDS]
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from langgraph_reflexion.envs.sandbox import Sandbox

SOURCE = "import json\nprint(json.dumps([n * n for n in range(10)]))\n"
ARGV = [sys.executable, "main.py"]


def cost(run: Callable[[], str]) -> tuple[float, float]:
    """Return the wall and CPU seconds of a program, including those of this process."""
    wall, cpu = time.perf_counter(), sum(os.times()[:4])
    assert run().endswith("81]\n")
    return time.perf_counter() - wall, sum(os.times()[:4]) - cpu


def main(rounds: int = 100) -> None:
    sandbox = Sandbox()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "main.py").write_text(SOURCE)
        kinds: dict[str, Callable[[], str]] = {
            "plain": lambda: subprocess.run(ARGV, cwd=folder, capture_output=True, text=True, check=True).stdout,
            sandbox.backend: lambda: sandbox.run(ARGV, files={"main.py": SOURCE}).text,
        }
        costs: dict[str, list[tuple[float, float]]] = {name: [] for name in kinds}
        for _ in range(rounds):
            for name, run in kinds.items():
                costs[name].append(cost(run))
    walls, cpus = ([[each[what] for each in costs[name]] for name in kinds] for what in (0, 1))
    wall, cpu = [statistics.median(each) for each in walls], [statistics.mean(each) for each in cpus]
    print(f"wall (median): {wall[0] * 1000:.1f} and {wall[1] * 1000:.1f} ms, {wall[1] / wall[0]:.2f} times")
    print(f"CPU (mean): {cpu[0] * 1000:.1f} and {cpu[1] * 1000:.1f} ms, {cpu[1] / cpu[0]:.2f} times")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
