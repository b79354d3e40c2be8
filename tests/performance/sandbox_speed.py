"""Programs per second: a plain subprocess, cold in the sandbox, and warm, in one run.

    python -m tests.performance.sandbox_speed [--seconds 12] [--at-once 1] [--backend NAME] [--json]

The three take turns, so that other work on the machine slows them alike; a ratio is the median of the rounds. Plain
is `subprocess.run` of the same interpreter on a file that lies there already; cold is `Sandbox.run`, which hands the
file over; warm is `WarmPython.run`. Times are wall time: compare the ratios of one run.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from langgraph_reflexion.envs.sandbox import Sandbox, WarmPython

SOURCE = "import json\nprint(json.dumps([n * n for n in range(10)]))\n"
ROUNDS = 6


def per_second(run: Callable[[], bool], seconds: float, at_once: int) -> float:
    """How many programs are run, or solutions graded, in a second.

    Args:
        run: Runs one, and says whether it came out right.
        seconds: For so long.
        at_once: By so many threads.
    """
    begin = time.perf_counter()

    def work() -> int:
        done = 0
        while time.perf_counter() - begin < seconds:
            assert run()
            done += 1
        return done

    with ThreadPoolExecutor(at_once) as pool:
        total = sum(future.result() for future in [pool.submit(work) for _ in range(at_once)])
    return total / (time.perf_counter() - begin)


def measure(backend: str | None, seconds: float, at_once: int) -> dict[str, float | str]:
    """Programs per second of each kind, and their ratios.

    Args:
        backend: The sandbox's; the first that works unless given.
        seconds: For all of it together.
        at_once: So many programs at once.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Landlock is said to be weaker
        sandbox = Sandbox(backend)
    with tempfile.TemporaryDirectory() as folder, WarmPython(sandbox) as warm:
        (Path(folder) / "main.py").write_text(SOURCE, encoding="utf-8")
        command = [sys.executable, "main.py"]
        kinds: dict[str, Callable[[], str]] = {
            "plain": lambda: subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout,
            "cold": lambda: sandbox.run(command, files={"main.py": SOURCE}).text,
            "warm": lambda: warm.run(SOURCE).text,
        }
        for run in kinds.values():
            run()
        share = seconds / ROUNDS / len(kinds)

        def right(run: Callable[[], str]) -> Callable[[], bool]:
            return lambda: bool(json.loads(run())[-1] == 81)

        rounds = [
            {kind: per_second(right(run), share, at_once) for kind, run in kinds.items()} for _ in range(ROUNDS)
        ]
    row: dict[str, float | str] = {kind: statistics.median(each[kind] for each in rounds) for kind in kinds}
    row["cold_over_plain"] = statistics.median(each["plain"] / each["cold"] for each in rounds)
    row["warm_over_cold"] = statistics.median(each["warm"] / each["cold"] for each in rounds)
    return {"backend": sandbox.backend, "at_once": at_once, **row}


def main() -> None:
    """Measure, and print it."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--seconds", type=float, default=12.0)
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--backend")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    row = measure(options.backend, options.seconds, options.at_once)
    if options.json:
        print(json.dumps(row, indent=2))
        return
    print(f"{row['backend']}, {row['at_once']} at once, programs per second:")
    print(f"  plain {row['plain']:.0f}, cold {row['cold']:.0f}, warm {row['warm']:.0f}")
    print(f"  a cold program takes {row['cold_over_plain']:.2f} times as long as a plain one")
    print(f"  warm programs are {row['warm_over_cold']:.1f} times as fast as cold ones")


if __name__ == "__main__":
    main()
