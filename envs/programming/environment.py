"""The programming environment: self-written tests guide the agent, and hidden tests decide."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

from langgraph_reflexion.envs.base import Action, Environment, Episode, FinishedTrial, Review, Task, TestOutcome
from langgraph_reflexion.envs.grammar import parse_forms
from langgraph_reflexion.envs.programming.assemble import assemble
from langgraph_reflexion.envs.programming.described import contradicts, examples_in
from langgraph_reflexion.envs.programming.episode import (
    CODE_BEGINS,
    OneShotEpisode,
    ProgrammingEpisode,
    bare_code,
    block_in,
    looks_like_code,
    program_in,
)
from langgraph_reflexion.envs.programming.formats import load_problems
from langgraph_reflexion.envs.programming.grading import Grader
from langgraph_reflexion.envs.programming.languages import LANGUAGES, language_of
from langgraph_reflexion.envs.programming.problems import Problem
from langgraph_reflexion.envs.programming.python_source import defines
from langgraph_reflexion.envs.programming.test_extraction import tests_in_reply
from langgraph_reflexion.envs.sandbox import Sandbox
from langgraph_reflexion.errors import ConfigurationError

CODE = "code"
"""The actor whose reply is a program, as in the paper."""

OWN = ("python", "rust")
"""The languages of our own problems, which are the same in each."""


class Programming(Environment):
    """Functions to write (section 4.3 of the paper), in the language of the problems.

    The hidden tests are neither in a task nor in the graph's state: `review` runs them on finished trials.

    Args:
        path: A file of problems in a form of `formats.load_problems`; by default our own.
        language: The language of the problems: `python`, `rust`, ...; most files contain it.
        sandbox: The sandbox's backend; the first that works if None.

    Raises:
        ConfigurationError: there are no such problems, or no such backend.
        EnvironmentUnavailable: the backend does not work here, or none does.
    """

    name = "programming"
    episode: ClassVar[type[Episode]] = ProgrammingEpisode
    # A thought and a program take a few hundred tokens. A small model that does not stop writes some 20 tokens a
    # second on one core of a laptop: it is cut after less than two minutes, and not after seven as with 8192.
    reply_tokens = 2048
    actors: tuple[str, ...] = (CODE,)
    # Section 4.3: one program per trial, judged by self-written tests; a memory of one reflection, beside the program
    # that it is about and its test results; ten trials.
    profile_defaults: ClassVar[Mapping[str, Any]] = {
        "actor": CODE,
        "strategy": "last_attempt_and_reflexion",
        "evaluator": "self-tests",
        "feedback": "words",
        "memory_size": 1,
        "max_trials": 10,
        "examples": 1,
    }
    # Table 1 is zero-shot: only an improvement is asked for with an example. The original code draws a single test
    # from those that were written, accepts a program without any, and reflects on a program without the reflection
    # before.
    profile_overrides: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        f"paper/{CODE}": {"first_examples": 0},
        "upstream": {"self_tests": 1, "accepts_untested": True, "reflects_on_memory": False},
        f"upstream/{CODE}": {"first_examples": 0},
    }

    def __init__(self, *, path: str | None = None, language: str | None = None, sandbox: str | None = None) -> None:
        chosen: str | None = None
        if language:
            chosen = language_of(language)
        file: Path | None = None
        self.splits = ("own",)
        if path:
            file = Path(path).expanduser()
            self.splits = (file.name.partition(".")[0],)
        self.grader = Grader(Sandbox(sandbox))
        problems = _problems(file, chosen)
        self.problems = {problem.id: problem for problem in problems}

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        self.choose_split(split)
        tasks = []
        for problem in list(self.problems.values())[:limit]:
            instruction = problem.prompt.strip("\n")
            tasks.append(Task(id=problem.id, instruction=instruction, kind=problem.language))
        return tasks

    def expect_programs(self, tasks: Sequence[Task]) -> None:
        self.grader.expect_toolchains({self.problem(task).language for task in tasks})

    def problem(self, task: Task) -> Problem:
        """Return the problem of a task.

        Raises:
            ConfigurationError: there is none.
        """
        if task["id"] not in self.problems:
            raise ConfigurationError(f"{task['id']!r} is not one of the {len(self.problems)} problems: see tasks()")
        return self.problems[task["id"]]

    def answer(self, task: Task) -> str:
        return self.problem(task).canonical or ""

    def start(self, task: Task) -> Episode:
        return self.restore(task, {"over": False})

    def restore(self, task: Task, snapshot: dict[str, Any]) -> Episode:
        self.problem(task)

        def run(program: str) -> list[TestOutcome]:
            tests = self._tests_to_see(task)
            if not tests:
                return []
            return self.run_tests(task, program, tests)[0]

        return ProgrammingEpisode(task["instruction"], run, snapshot["over"])

    def go_on(self, task: Task, snapshot: dict[str, Any]) -> Episode:
        """Return an episode in which another program can be handed in; see `SupportsGoOn`."""
        return self.start(task)

    def _tests_to_see(self, task: Task) -> list[str]:
        """Return the tests that a trial may run: those written for the task, or else those that the model may see."""
        written: list[str] | None = task.get("prepared", {}).get("tests")
        # An empty list means that an evaluator has looked for tests and found none.
        if written is not None:
            return written
        given = self.given_tests(task)
        if given or not LANGUAGES[self.problem(task).language].test:
            return given
        return self.described_tests(task)

    def for_actor(self, name: str) -> Environment:
        if name not in self.actors:
            raise ConfigurationError(f"{self.name} has no actor {name!r} of its own")
        return Coding(self)

    def review(self, task: Task, trial: FinishedTrial) -> Review:
        """Run the hidden tests on the program that was handed in."""
        problem = self.problem(task)
        program = self.program(task, trial["actions"])
        if not problem.gradable:
            return Review(gradable=False)
        if program is not None:
            return Review(success=not self.grader.failure(problem, program))
        # A trial that was cut off says nothing about the agent.
        if trial["stop_reason"] in ("fault", "budget"):
            return Review()
        return Review(success=False)

    def program(self, task: Task, actions: Sequence[Action]) -> str | None:
        """Return the first program that was handed in, with what belongs around it; None if there is none."""
        for action in actions:
            if action["name"] != "submit":
                continue
            written = program_in(str(action["args"].get("code", "")))
            if written:
                return assemble(self.problem(task), written)
        return None

    def final_answer(self, task: Task, action: Action) -> str | None:
        """Return the program that an action hands in, without empty lines; see `SupportsFinalAnswer`."""
        program = self.program(task, [action])
        if program is None:
            return None
        # Blanks at the beginning of a line may be the difference between two programs.
        lines = [line.rstrip() for line in program.splitlines()]
        return "\n".join(line for line in lines if line)

    def is_complete(self, task: Task, program: str) -> bool:
        problem = self.problem(task)
        if problem.language == "python":
            return defines(program, problem.entry_point)
        return bool(re.search(rf"\b{re.escape(problem.entry_point)}\b", program))

    def given_tests(self, task: Task) -> list[str]:
        """Return the tests in the prompt of a problem without hidden ones, as in the original code."""
        problem = self.problem(task)
        if problem.gradable:
            return []
        return list(problem.visible_tests)

    def test_form(self, task: Task) -> str:
        """Return an example of a test.

        Raises:
            ConfigurationError: tests in this language are not supported.
        """
        problem = self.problem(task)
        form = LANGUAGES[problem.language].test
        if not form:
            raise ConfigurationError(
                f"self-written tests are supported in Python and Rust, but {problem.id} is {problem.language}: "
                "choose another evaluator, such as none"
            )
        return form.replace("NAME", problem.entry_point)

    def read_tests(self, task: Task, text: str) -> list[str]:
        problem = self.problem(task)
        language = LANGUAGES[problem.language]
        written = tests_in_reply(text, language.name, language.name, *language.aliases)
        return self.grader.valid_tests(problem, written)

    def described_tests(self, task: Task) -> list[str]:
        problem = self.problem(task)
        return self.grader.valid_tests(problem, examples_in(problem))

    def contradicting(self, task: Task, tests: Sequence[str], examples: Sequence[str]) -> list[str]:
        problem = self.problem(task)
        return [test for test in tests if contradicts(problem, test, examples)]

    def run_tests(self, task: Task, program: str, tests: Sequence[str], times: int = 1) -> list[list[TestOutcome]]:
        return self.grader.run_tests(self.problem(task), program, tests, times)


class Coding(Programming):
    """The same problems with one program per trial: the reply is the program, in a code block."""

    episode = OneShotEpisode
    actors = ()
    prompts = Path(str(files("langgraph_reflexion.prompts").joinpath("programming", CODE)))

    def __init__(self, problems: Programming) -> None:
        # The same problems and grader, not copies.
        self.splits = problems.splits
        self.problems = problems.problems
        self.grader = problems.grader

    def restore(self, task: Task, snapshot: dict[str, Any]) -> OneShotEpisode:
        self.problem(task)
        return OneShotEpisode(task["instruction"], snapshot["over"])

    def parse(self, text: str) -> Action | None:
        """Read the program in a reply: its first code block, or from the first line on that looks like code."""
        written = parse_forms(self.actions(), text)
        if written:
            return written
        code = block_in(text, *self._names_of_languages())
        if not code and "```" not in text:
            code = _bare(text)
        if not code:
            return None
        return Action(name="submit", args={"code": code}, text=f"```\n{code}\n```")

    def _names_of_languages(self) -> list[str]:
        """Return what may stand after the backticks of a block."""
        names: list[str] = []
        for name in {problem.language for problem in self.problems.values()}:
            language = LANGUAGES[name]
            names += [language.name, *language.aliases]
        return names


def _problems(file: Path | None, language: str | None) -> Sequence[Problem]:
    """Return the problems of a file, or our own."""
    if file is None:
        return _own_problems(language or "python")
    return load_problems(file, language)


@cache
def _own_problems(language: str) -> Sequence[Problem]:
    if language not in OWN:
        raise ConfigurationError(f"our own problems are in {' and '.join(OWN)}, not in {language}: give a --path")
    return load_problems(Path(str(files("langgraph_reflexion.envs.programming") / f"own_{language}.jsonl")))


def _bare(text: str) -> str:
    """Return the program in a text without code blocks; a single line is not one."""
    if "\n" not in text.strip():
        return ""
    if looks_like_code(text):
        return bare_code(text)
    begins = CODE_BEGINS.search(text)
    if begins is None:
        return ""
    return text[begins.start() :].strip("\n")
