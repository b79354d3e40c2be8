"""Environments whose answers are programs, which can be run against tests that a model has written."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from langgraph_reflexion.envs.base import Action, Environment, Task


@dataclass(frozen=True, slots=True)
class TestOutcome:
    """What one test came to."""

    __test__ = False  # it is no test of pytest's

    test: str
    passed: bool
    output: str = ""
    """What came out instead, as the language shows it (`repr`, Debug); empty where nothing came out."""
    error: str = ""
    """What was raised, or what ended the candidate, in one line; empty where it returned."""

    def told(self) -> str:
        """The test, and where it failed what came out instead."""
        if self.passed:
            return self.test
        instead = f"came out: {self.output}" if self.output else self.error or "nothing came out"
        return f"{self.test}  -- {instead}"


class Tested(Environment):
    """An environment whose tasks are solved by a program."""

    @abstractmethod
    def program(self, task: Task, actions: Sequence[Action]) -> str | None:
        """The program that a trial has handed in; None where it has not.

        Args:
            task: The task.
            actions: What was done in the trial, in order.
        """

    @abstractmethod
    def given_tests(self, task: Task) -> list[str]:
        """Tests that come with the task, and take the place of self-written ones; mostly none."""

    @abstractmethod
    def test_form(self, task: Task) -> str:
        """How a test of this task is written, as an example."""

    @abstractmethod
    def read_tests(self, task: Task, text: str) -> list[str]:
        """The valid tests in what a model wrote, in their order, none twice.

        Raises:
            EnvironmentFault: the compiler that knows what is valid could not be run.
        """

    @abstractmethod
    def run_tests(self, task: Task, program: str, tests: Sequence[str], times: int = 1) -> list[list[TestOutcome]]:
        """Run tests on a program.

        Args:
            task: The task.
            program: The program.
            tests: The tests.
            times: How often all of them are run.

        Returns:
            For each time, what each test came to.

        Raises:
            EnvironmentFault: they could not be run.
        """


def tests_told(outcomes: Sequence[TestOutcome]) -> str:
    """What tests came to, in words."""
    passed = [outcome.told() for outcome in outcomes if outcome.passed]
    failed = [outcome.told() for outcome in outcomes if not outcome.passed]
    parts = [f"{len(passed)} of {len(outcomes)} tests passed."]
    if passed:
        parts += ["Tests that passed:", *passed]
    if failed:
        parts += ["Tests that failed:", *failed]
    return "\n".join(parts)
