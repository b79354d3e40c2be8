"""Files of solutions: samples of a model for the problems of a benchmark, graded by the hidden tests."""

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph_reflexion.envs.programming.assemble import assemble
from langgraph_reflexion.envs.programming.formats import load_problems
from langgraph_reflexion.envs.programming.grading import Grader
from langgraph_reflexion.envs.programming.problems import Problem
from langgraph_reflexion.envs.sandbox import Sandbox
from langgraph_reflexion.errors import ConfigurationError, did_you_mean
from langgraph_reflexion.support.files import Row, read_rows

KS = (1, 10, 100)
"""The k of the pass@k that are reported, as HumanEval's and EvalPlus's own programs do."""

_ONE = ("solution", "completion")
_SEVERAL = ("samples", "completions")
_SHOWN = 5
"""The number of problems that a message names."""


@dataclass(frozen=True, slots=True)
class ProblemGrade:
    """The grades of the samples for one problem."""

    id: str
    failures: tuple[str | None, ...]
    """For each sample, in the order of the file: why it failed, in one line, or None if it passed."""

    @property
    def n(self) -> int:
        """The number of samples."""
        return len(self.failures)

    @property
    def c(self) -> int:
        """The number of samples that passed."""
        return self.failures.count(None)

    def pass_at(self, k: int) -> float:
        """Estimate the chance that one of k samples passes, without bias (Chen et al. 2021, section 2.1).

        Raises:
            ValueError: there are fewer than k samples.
        """
        if not 1 <= k <= self.n:
            raise ValueError(f"pass@{k} needs {k} samples, but {self.id} has {self.n}")
        # The share of the choices of k samples in which none passes.
        all_fail = math.comb(self.n - self.c, k) / math.comb(self.n, k)
        return 1.0 - all_fail


@dataclass(frozen=True, slots=True)
class Grades:
    """The grades of a file of solutions.

    Attributes:
        problems: The problems with samples, in the order of their file.
        missing: Problems without a sample, which count in no rate; only with `ignore_incomplete`.
        ungradable: Problems without hidden tests that can be run here. They need no sample, and count in no rate.
    """

    problems: tuple[ProblemGrade, ...]
    missing: tuple[str, ...] = ()
    ungradable: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """The number of samples."""
        return sum(each.n for each in self.problems)

    @property
    def c(self) -> int:
        """The number of samples that passed."""
        return sum(each.c for each in self.problems)

    def pass_at(self, k: int = 1) -> float:
        """Return pass@k: the mean of the problems' estimates.

        Raises:
            ValueError: a problem has fewer than k samples.
        """
        rates = [each.pass_at(k) for each in self.problems]
        return math.fsum(rates) / len(rates)

    def rates(self) -> dict[str, float]:
        """Return `pass@1`, `pass@10` and `pass@100`, as far as every problem has so many samples."""
        fewest = min(each.n for each in self.problems)
        rates = {}
        for k in KS:
            if k <= fewest:
                rates[f"pass@{k}"] = self.pass_at(k)
        return rates

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON: the rates, `n` and `c`, and each problem with its samples."""
        written: dict[str, Any] = {}
        written.update(self.rates())
        written["n"] = self.n
        written["c"] = self.c
        written["problems"] = [_as_json(each) for each in self.problems]
        written["missing"] = list(self.missing)
        written["ungradable"] = list(self.ungradable)
        return written


def _as_json(grade: ProblemGrade) -> dict[str, Any]:
    samples = []
    for failure in grade.failures:
        samples.append({"passed": failure is None, "reason": failure})
    return {"id": grade.id, "n": grade.n, "c": grade.c, "samples": samples}


def grade_file(
    problems: Path | str,
    solutions: Path | str,
    *,
    ignore_incomplete: bool = False,
    concurrency: int | None = None,
    sandbox: str | None = None,
    on_sample: Callable[[int, int], None] | None = None,
) -> Grades:
    """Grade a file of solutions by the hidden tests of their problems, in the sandbox.

    A row of solutions names its problem in `task_id` or `name`. It has one program in `completion` or `solution` (of
    both, the solution counts), or a list of programs in `samples` or `completions`. Several rows for a problem are
    several samples. A program is a whole function, or continues the prompt.

    Args:
        problems: A file of problems in a form of `formats.load_problems`.
        solutions: JSON Lines or a JSON list, optionally compressed with gzip, or a folder of such files, as MultiPL-E
            writes it: one `.json.gz` for each problem.
        ignore_incomplete: Leave problems without a sample out of the rates, instead of refusing the file.
        concurrency: The number of programs that are graded at once; the number of processors unless given.
        sandbox: The sandbox's backend; the first that works if None.
        on_sample: Called after each sample with the number of graded samples and that of all.

    Raises:
        ConfigurationError: a file cannot be read, a row is not a solution, its problem is unknown, or problems have
            no sample; the message names the place or the problems.
        EnvironmentUnavailable: the sandbox does not work here, or a language's toolchain is missing.
        EnvironmentFault: the sandbox failed.
    """
    known = {problem.id: problem for problem in load_problems(problems)}
    samples = _read_samples(Path(solutions), known, str(problems))
    attempted = []
    missing = []
    ungradable = []
    for problem in known.values():
        if not problem.gradable:
            ungradable.append(problem.id)
        elif samples.get(problem.id):
            attempted.append(problem)
        else:
            missing.append(problem.id)
    if not attempted:
        raise ConfigurationError(f"{solutions} has no solution of a problem that can be graded")
    if missing and not ignore_incomplete:
        raise ConfigurationError(
            f"{solutions} has no solution of {_named(missing)}: add them (an empty one counts as a failure), or "
            "leave these problems out of the rates with ignore_incomplete (--ignore-incomplete)"
        )

    grader = Grader(Sandbox(sandbox))
    grader.expect_toolchains({problem.language for problem in attempted})
    jobs = []
    for problem in attempted:
        for program in samples[problem.id]:
            jobs.append((problem, program))
    failures = _grade(grader, jobs, concurrency, on_sample)

    grades = []
    # The failures are in the order of the jobs, problem by problem.
    begin = 0
    for problem in attempted:
        end = begin + len(samples[problem.id])
        grades.append(ProblemGrade(problem.id, tuple(failures[begin:end])))
        begin = end
    return Grades(tuple(grades), tuple(missing), tuple(ungradable))


def _grade(
    grader: Grader,
    jobs: Sequence[tuple[Problem, str]],
    concurrency: int | None,
    on_sample: Callable[[int, int], None] | None,
) -> list[str | None]:
    """Return why each program failed, in order."""

    def failure(job: tuple[Problem, str]) -> str | None:
        problem, program = job
        whole = assemble(problem, program)
        return grader.failure(problem, whole)

    threads = concurrency or os.cpu_count() or 1
    failures: list[str | None] = []
    with ThreadPoolExecutor(threads) as pool:
        try:
            for each in pool.map(failure, jobs):
                failures.append(each)
                if on_sample is not None:
                    on_sample(len(failures), len(jobs))
        finally:
            # After an error or Ctrl-C, what has not begun is not graded.
            pool.shutdown(wait=False, cancel_futures=True)
    return failures


def _read_samples(path: Path, known: Mapping[str, Problem], problems: str) -> dict[str, list[str]]:
    """Return the programs for each problem, by the problem's id."""
    samples: dict[str, list[str]] = {}
    for place, row in _rows(path):
        problem = _problem_of(place, row, known, problems)
        samples.setdefault(problem, []).extend(_programs(place, row))
    if not samples:
        raise ConfigurationError(f"{path} has no solutions")
    return samples


def _rows(path: Path) -> Iterator[tuple[str, Row]]:
    if not path.is_dir():
        yield from read_rows(path)
        return
    for file in sorted(path.iterdir()):
        # MultiPL-E puts the results of its own grading beside the completions.
        if ".results." in file.name:
            continue
        if file.name.removesuffix(".gz").endswith((".json", ".jsonl")):
            yield from read_rows(file)


def _problem_of(place: str, row: Row, known: Mapping[str, Problem], problems: str) -> str:
    name = row.get("task_id", row.get("name"))
    if isinstance(name, bool) or not isinstance(name, str | int):
        raise ConfigurationError(f"{place}: a solution names its problem in 'task_id' (or 'name')")
    # MBPP itself numbers its problems, EvalPlus writes Mbpp/2, and here the id is mbpp/2.
    for spelt in (str(name), str(name).lower(), f"mbpp/{name}"):
        if spelt in known:
            return spelt
    hint = did_you_mean(name, known)
    raise ConfigurationError(f"{place}: {problems} has no problem {str(name)!r:.200}{hint}")


def _programs(place: str, row: Row) -> list[str]:
    """Return the programs of a row."""
    given = {key: value for key, value in row.items() if value is not None}
    for key in _ONE:
        if key in given:
            program = given[key]
            if not isinstance(program, str):
                raise ConfigurationError(f"{place}: {key!r} is not a text")
            return [program]
    for key in _SEVERAL:
        if key in given:
            programs = given[key]
            if not isinstance(programs, list) or not all(isinstance(each, str) for each in programs):
                raise ConfigurationError(f"{place}: {key!r} is not a list of texts")
            return programs
    keys = ", ".join(map(repr, _ONE + _SEVERAL))
    raise ConfigurationError(f"{place}: a solution has its program in one of {keys}")


def _named(ids: Sequence[str]) -> str:
    """Return how many problems these are, and the first of their names."""
    count = f"{len(ids)} problems"
    if len(ids) == 1:
        count = "1 problem"
    names = ", ".join(ids[:_SHOWN])
    if len(ids) > _SHOWN:
        names += f" and {len(ids) - _SHOWN} more"
    return f"{count} ({names})"
