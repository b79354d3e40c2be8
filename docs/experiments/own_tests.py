"""Print what the tests that a model wrote for itself are worth.

python docs/experiments/own_tests.py runs/self_tests HumanEval.jsonl.gz

Each test is run against the data set's own solution: one that it fails is wrong. A first program is accepted by the
model's tests or rejected, and right or wrong by the hidden tests.
"""

import json
import sys
from collections import Counter
from pathlib import Path

from langgraph_reflexion.envs.programming.formats import load_problems
from langgraph_reflexion.envs.programming.grading import Grader
from langgraph_reflexion.envs.sandbox import Sandbox


def main() -> None:
    """Print the counts of a run's first trials."""
    run, path = map(Path, sys.argv[1:])
    problems = {problem.id: problem for problem in load_problems(path)}
    trials = map(json.loads, (run / "trials.jsonl").read_text().splitlines())
    rows = [row for row in trials if row["trial"] == 1]
    grader = Grader(Sandbox())
    valid, written = 0, 0
    verdicts: Counter[str] = Counter()
    for row in rows:
        problem = problems[row["task_id"]]
        tests = row.get("prepared", {}).get("tests", [])
        verdicts["problems without a test" if not tests else "problems with a test"] += 1
        assert problem.canonical, f"{path} has no solution for {problem.id}"
        [outcomes] = grader.run_tests(problem, problem.canonical, tests)
        written += len(tests)
        valid += sum(outcome.passed for outcome in outcomes)
        right = "right" if row["success"] else "wrong"
        accepted = "accepted" if row["verdict"] else "rejected"
        verdicts[f"{right} and {accepted}"] += 1
    print(f"{len(rows)} problems, {written} tests, of which {valid} agree with the data set's solution")
    for name, count in sorted(verdicts.items()):
        print(f"{count:4}  {name}")


if __name__ == "__main__":
    main()
