"""Programming problems as an environment: the model's own tests guide it, and hidden tests say the truth."""

import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

from langgraph_reflexion.envs.base import Action, Environment, Episode, FinishedTrial, Review, Task, choose_split
from langgraph_reflexion.envs.programming.episode import (
    OneShotEpisode,
    ProgrammingEpisode,
    block_in,
    program_in,
)
from langgraph_reflexion.envs.programming.formats import load_problems
from langgraph_reflexion.envs.programming.judging import Judge
from langgraph_reflexion.envs.programming.languages import LANGUAGES, language_of
from langgraph_reflexion.envs.programming.own import own_problems
from langgraph_reflexion.envs.programming.problems import Problem
from langgraph_reflexion.envs.programming.written import tests_in
from langgraph_reflexion.envs.sandbox import Sandbox
from langgraph_reflexion.envs.tested import Tested, TestOutcome
from langgraph_reflexion.errors import ConfigurationError

_BEGINS = re.compile(
    r"^(?:(?:from|import|def|async|class|use|pub|fn|func|function|package|public)\b|#include|@)", re.MULTILINE
)

CODE = "code"
"""The variant in which one reply is one program, as in the paper."""


class Programming(Tested):
    """Functions to be written (section 4.3 of the paper), in whatever language the problems are.

    The hidden tests are neither in a task nor in the graph's state: `review` runs them, when a trial is recorded.

    Args:
        path: A file of problems (`formats.load_problems` says which); the project's own ones unless given.
        language: Of the problems: `python`, `rust`, ...; a file mostly says so itself.
        seed: Draws the project's own problems.
        sandbox: Where programs run; the best one that works on this machine unless given.

    Raises:
        ConfigurationError: there are no such problems.
    """

    name = "programming"
    episode: ClassVar[type[Episode]] = ProgrammingEpisode
    variants: tuple[str, ...] = (CODE,)

    def __init__(
        self, *, path: str | None = None, language: str | None = None, seed: int = 0, sandbox: Sandbox | None = None
    ) -> None:
        chosen = language_of(language) if language else None
        file = Path(path).expanduser() if path else None
        self.splits = (file.name.partition(".")[0],) if file else ("own",)
        self.judge = Judge(sandbox)
        problems = load_problems(file, chosen) if file else own_problems(chosen or "python", seed)
        self.problems = {problem.id: problem for problem in problems}

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        """The problems in their file's order; see `Environment.tasks`."""
        choose_split(self, split)
        problems = list(self.problems.values())[:limit]
        return [Task(id=each.id, instruction=each.prompt.strip("\n"), kind=each.language) for each in problems]

    def problem(self, task: Task) -> Problem:
        """The problem that a task is about.

        Raises:
            ConfigurationError: it is none of these.
        """
        if task["id"] not in self.problems:
            raise ConfigurationError(f"{task['id']!r} is none of the {len(self.problems)} problems: see tasks()")
        return self.problems[task["id"]]

    def start(self, task: Task) -> Episode:
        """Start a fresh episode of a task; see `Environment.start`."""
        return self.restore(task, {"over": False})

    def restore(self, task: Task, snapshot: dict[str, Any]) -> Episode:
        """Bring back an episode; see `Environment.restore`."""
        self.problem(task)
        tests = task.get("prepared", {}).get("tests")
        if not tests:
            return ProgrammingEpisode(task["instruction"], None, snapshot["over"])
        return ProgrammingEpisode(
            task["instruction"], lambda program: self.run_tests(task, program, tests)[0], snapshot["over"]
        )

    def variant(self, name: str) -> Environment:
        """The same problems with one program a trial; see `Environment.variant`."""
        return Coding(self) if name in self.variants else super().variant(name)

    def review(self, task: Task, trial: FinishedTrial) -> Review:
        """Run the hidden tests; see `Environment.review`. What has none is not known to be right or wrong."""
        problem, program = self.problem(task), self.program(task, trial["actions"])
        if not problem.gradable:
            return Review(gradable=False)
        if program is None and trial["stop_reason"] in ("fault", "budget"):
            return Review()
        return Review(success=program is not None and self.judge.grade(problem, program).passed)

    def program(self, task: Task, actions: Sequence[Action]) -> str | None:
        """The program that was handed in; see `Tested.program`."""
        codes = [str(each["args"].get("code", "")) for each in actions if each["name"] == "submit"]
        written = next((code for each in codes if (code := program_in(each))), None)
        return self.judge.assemble(self.problem(task), written) if written else None

    def given_tests(self, task: Task) -> list[str]:
        """The tests that a problem without hidden ones shows (LeetCode's examples), as in the original code."""
        problem = self.problem(task)
        return [] if problem.gradable else list(problem.visible_tests)

    def test_form(self, task: Task) -> str:
        """How a test is written in the problem's language.

        Raises:
            ConfigurationError: tests in this language are not read.
        """
        problem = self.problem(task)
        if not (form := LANGUAGES[problem.language].test):
            raise ConfigurationError(
                f"self-written tests are read in Python and Rust, and {problem.id} is {problem.language}: "
                "take another evaluator, such as none"
            )
        return form.replace("NAME", problem.entry_point)

    def read_tests(self, task: Task, text: str) -> list[str]:
        """The valid tests in a reply; see `Tested.read_tests`."""
        problem = self.problem(task)
        language = LANGUAGES[problem.language]
        written = tests_in(block_in(text, language.name, *language.aliases) or text, language.name)
        return self.judge.valid_tests(problem, written)

    def run_tests(self, task: Task, program: str, tests: Sequence[str], times: int = 1) -> list[list[TestOutcome]]:
        """Run tests on a program; see `Tested.run_tests`."""
        return self.judge.run_tests(self.problem(task), program, tests, times)

    def close(self) -> None:
        """End what the judge has running."""
        self.judge.close()


class Coding(Programming):
    """The same problems, one program a trial: the reply is the program, in a block of code.

    Args:
        problems: Where the tasks come from.
    """

    episode = OneShotEpisode
    variants = ()
    prompts = Path(str(files("langgraph_reflexion.prompts").joinpath("programming", CODE)))

    def __init__(self, problems: Programming) -> None:
        # The same problems and the same judge, not others like them.
        self.splits, self.problems, self.judge = problems.splits, problems.problems, problems.judge

    def restore(self, task: Task, snapshot: dict[str, Any]) -> OneShotEpisode:
        """Bring back an episode; see `Environment.restore`."""
        self.problem(task)
        return OneShotEpisode(task["instruction"], snapshot["over"])

    def parse(self, text: str) -> Action | None:
        """Read a program out of a reply: its first block of code, or from the first line on that begins a program."""
        if written := super().parse(text):
            return written
        languages = [LANGUAGES[name] for name in {each.language for each in self.problems.values()}]
        names = [name for each in languages for name in (each.name, *each.aliases)]
        code = block_in(text, *names) or (_bare(text) if "```" not in text else "")
        if not code:
            return None
        return Action(name="submit", args={"code": code}, text=f"```\n{code}\n```")


def _bare(text: str) -> str:
    """What of a text is a program without a block around it; a single line is none."""
    begins = _BEGINS.search(text)
    return text[begins.start() :].strip("\n") if begins and "\n" in text.strip() else ""
