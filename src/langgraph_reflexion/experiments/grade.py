"""Grading of files of solutions: verdicts, and unbiased pass@k."""

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph_reflexion.envs.programming.assemble import assemble
from langgraph_reflexion.envs.programming.formats import load_problems, read_rows
from langgraph_reflexion.envs.programming.grading import Grader
from langgraph_reflexion.envs.programming.problems import Problem, Verdict
from langgraph_reflexion.errors import ConfigurationError

_CODE = ("completion", "solution")
_KS = (1, 10, 100)


@dataclass(frozen=True, slots=True)
class Graded:
    """One solution and its verdict."""

    task_id: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Grades:
    """The verdicts of a file of solutions, in its order."""

    rows: Sequence[Graded]
    ungradable: Sequence[str] = ()
    """Tasks without hidden tests that can run here; they are not counted."""

    @property
    def passed(self) -> int:
        """N solutions that passed."""
        return sum(row.verdict.passed for row in self.rows)

    def pass_at(self) -> dict[int, float]:
        """Return the chance that one of k samples passes, for each k up to the samples of every task."""
        samples: dict[str, list[bool]] = {}
        for row in self.rows:
            samples.setdefault(row.task_id, []).append(row.verdict.passed)
        fewest = min(map(len, samples.values()), default=0)
        ks = sorted({k for k in (*_KS, fewest) if 0 < k <= fewest})
        return {k: sum(pass_at_k(len(each), sum(each), k) for each in samples.values()) / len(samples) for k in ks}

    def as_json(self) -> dict[str, Any]:
        return {
            "passed": self.passed,
            "total": len(self.rows),
            "failures": [
                {"task_id": row.task_id, "reason": row.verdict.reason} for row in self.rows if not row.verdict.passed
            ],
            "ungradable": list(self.ungradable),
            "pass_at": {str(k): rate for k, rate in self.pass_at().items()},
        }


def pass_at_k(samples: int, passed: int, k: int) -> float:
    """Return the unbiased chance that one of k samples passes (Chen et al. 2021, section 2.1)."""
    return 1.0 - math.comb(samples - passed, k) / math.comb(samples, k)


def grade(
    problems: Path | str,
    solutions: Path | str,
    *,
    language: str | None = None,
    jobs: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Grades:
    """Grade solutions, several at once.

    Args:
        problems: A file of problems.
        solutions: JSON Lines, perhaps gzipped. A row names its problem as `task_id` or `name`, and has a
            `completion` or `solution`: a whole function, or a body.
        language: Problems in this language only.
        jobs: N solutions at once; the number of processors unless given.
        progress: Called with the numbers of graded and of all solutions.

    Raises:
        ConfigurationError: a file has another format, or lacks the problem of a row.
        EnvironmentUnavailable: a file cannot be read, or there is no sandbox or toolchain.
        EnvironmentFault: the sandbox failed.
    """
    known = {problem.id: problem for problem in load_problems(problems, language)}
    pairs = [_pair(place, row, known, problems) for place, row in read_rows(Path(solutions))]
    if not pairs:
        raise ConfigurationError(f"{solutions} holds no solutions")
    gradable = [(problem, code) for problem, code in pairs if problem.gradable]
    ungradable = list(dict.fromkeys(problem.id for problem, _ in pairs if not problem.gradable))
    grader = Grader()
    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:

        def work(pair: tuple[Problem, str]) -> Graded:
            problem, code = pair
            return Graded(problem.id, grader.grade(problem, assemble(problem, code)))

        rows: list[Graded] = []
        try:
            for row in pool.map(work, gradable):
                rows.append(row)
                progress(len(rows), len(gradable))
        finally:
            pool.shutdown(cancel_futures=True)
    return Grades(rows, ungradable)


def _pair(
    place: str, row: Mapping[str, Any], known: Mapping[str, Problem], problems: Path | str
) -> tuple[Problem, str]:
    name = row.get("task_id", row.get("name"))
    if name is None:
        raise ConfigurationError(f"{place}: a solution names its problem as 'task_id' or 'name'")
    problem = known.get(str(name)) or known.get(f"mbpp/{name}")
    if problem is None:
        raise ConfigurationError(f"{place}: {problems} has no problem {json.dumps(name)}")
    code = next((row[key] for key in _CODE if row.get(key) is not None), None)
    if not isinstance(code, str):
        raise ConfigurationError(f"{place}: a solution has its code as 'completion' or 'solution'")
    return problem, code
