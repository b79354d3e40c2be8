"""Graded solutions per second, and what judging a Rust candidate costs beside one `rustc` of it, in one run.

    python -m tests.performance.grading_speed [--seconds 12] [--at-once 2] [--json]

Python: a right solution with six calls as hidden tests, and one whose checks run in a process of their own. Rust: a
candidate with six hidden tests, compiled once and run, against plain `rustc -Copt-level=0` of a file with the same
candidate and its six asserts, which is compiled and not run. The two take turns, so that other work on the machine
slows both alike; the ratio is that of the quickest of each, which other work has slowed least. Times are wall time.
"""

import argparse
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from langgraph_reflexion.envs.programming.grading import Grader
from langgraph_reflexion.envs.programming.problems import Case, Problem
from tests.performance.sandbox_speed import per_second

ANSWERS = {"[3, 1, 9]": 8, "[]": 0, "[-2, 5, 5]": 7, "[4]": 0, "[10, -10, 3, 2]": 20, "[1, 2]": 1}
CALLS = Problem(
    id="spread",
    source="own",
    language="python",
    prompt="def spread(numbers):\n",
    entry_point="spread",
    cases=tuple(Case(f"spread({given})", str(answer)) for given, answer in ANSWERS.items()),
)
CHECKS = replace(
    CALLS,
    cases=(),
    test="def check(candidate):\n"
    + "".join(f"    assert sorted([candidate({given})]) == [{answer}]\n" for given, answer in ANSWERS.items()),
)
PYTHON = "def spread(numbers):\n    return max(numbers) - min(numbers) if numbers else 0\n"
RUST = replace(
    CALLS,
    language="rust",
    cases=tuple(Case(f"spread(vec!{given})", str(answer)) for given, answer in ANSWERS.items()),
)
RUST_CODE = (
    "fn spread(numbers: Vec<i64>) -> i64 {\n    match (numbers.iter().max(), numbers.iter().min()) {\n"
    "        (Some(largest), Some(smallest)) => largest - smallest,\n        _ => 0,\n    }\n}\n"
)


def _timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def rust_ratio(grader: Grader, seconds: float) -> dict[str, float]:
    """Milliseconds of judging a candidate and of one plain compilation, quickest of each, and their ratio."""
    asserts = "\n".join(f"    assert_eq!({case.call}, {case.expected});" for case in RUST.cases)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "plain.rs").write_text(f"{RUST_CODE}\nfn main() {{\n{asserts}\n}}\n", encoding="utf-8")
        command = ["rustc", "-Copt-level=0", "plain.rs"]

        def plain() -> None:
            subprocess.run(command, cwd=folder, check=True, capture_output=True)

        def judged() -> None:
            assert grader.grade(RUST, RUST_CODE).passed

        plain()
        judged()
        rounds: list[tuple[float, float]] = []
        begin = time.perf_counter()
        while time.perf_counter() - begin < seconds or len(rounds) < 3:
            rounds.append((_timed(plain), _timed(judged)))
    alone, whole = min(one for one, _ in rounds), min(other for _, other in rounds)
    return {"rustc_ms": 1000 * alone, "rust_ms": 1000 * whole, "rust_over_rustc": whole / alone}


def measure(seconds: float, at_once: int) -> dict[str, float]:
    """Python solutions per second, and the Rust ratio where there is a compiler.

    Args:
        seconds: For all of it together.
        at_once: So many Python solutions at once.
    """
    share = seconds / 3
    with Grader() as grader:
        row = {"at_once": float(at_once)}
        for name, problem in (("calls", CALLS), ("checks", CHECKS)):
            grader.grade(problem, PYTHON)
            row[f"{name}_per_second"] = per_second(lambda p=problem: grader.grade(p, PYTHON).passed, share, at_once)  # type: ignore[misc]
        if shutil.which("rustc"):
            row |= rust_ratio(grader, share)
    return row


def main() -> None:
    """Measure, and print it."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--seconds", type=float, default=12.0)
    parser.add_argument("--at-once", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    row = measure(options.seconds, options.at_once)
    if options.json:
        print(json.dumps(row, indent=2))
        return
    print(f"Python, {options.at_once} at once, solutions per second:")
    print(
        f"  {row['calls_per_second']:.0f} with calls, {row['checks_per_second']:.0f} with checks of their own process"
    )
    if "rust_over_rustc" in row:
        print(f"Rust, six tests: {row['rust_ms']:.0f} ms, rustc alone {row['rustc_ms']:.0f} ms")
        print(f"  judging takes {row['rust_over_rustc']:.2f} times as long as one rustc -Copt-level=0")


if __name__ == "__main__":
    main()
