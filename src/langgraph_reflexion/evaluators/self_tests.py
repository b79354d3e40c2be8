"""Self-written tests as the evaluator (section 4.3 of the paper).

The model writes the tests once per task, before the first trial. The hidden tests stay out of the loop.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol, cast, runtime_checkable

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.actors.reply import LONGEST
from langgraph_reflexion.envs.base import Action, Task, TestOutcome, render_tests
from langgraph_reflexion.evaluators.base import STOPPED, Evaluator, Score
from langgraph_reflexion.loop.prompting import Prompt
from langgraph_reflexion.models.calls import CallId, note
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.prompts import Prompts
from langgraph_reflexion.state import ReflexionState, Step
from langgraph_reflexion.support.sync import to_thread

TWICE = 2
"""Number of runs of each test on a program: a test with two outcomes is dropped."""


@runtime_checkable
class ProgramEnvironment(Protocol):
    """An environment whose tasks are solved by a program."""

    def program(self, task: Task, actions: Sequence[Action]) -> str | None:
        """Return the program that a trial submitted, or None."""

    def is_complete(self, task: Task, program: str) -> bool:
        """Return whether a program defines the task's function."""

    def given_tests(self, task: Task) -> list[str]:
        """Return the tests that come with the task and replace self-written ones; usually none."""

    def test_form(self, task: Task) -> str:
        """Return an example of a test of this task."""

    def read_tests(self, task: Task, text: str) -> list[str]:
        """Return the valid tests in a model's reply, in order and without duplicates.

        Raises:
            EnvironmentFault: the compiler that checks them could not be run.
        """

    def run_tests(self, task: Task, program: str, tests: Sequence[str], times: int = 1) -> list[list[TestOutcome]]:
        """Return, for each of several runs, the outcome of each test.

        Raises:
            EnvironmentFault: they could not be run.
        """


@dataclass
class SelfTestsEvaluator(Evaluator):
    """Asks the model for tests, draws a few of the valid ones, and runs them after every trial.

    The score is 1 if all of them pass and 0 otherwise, so that a task returns its last program, as in the paper.
    Without a valid test, the first program that defines the function is accepted.

    Args:
        client: The model that writes the tests.
        environment: Validates and runs the tests.
        prompts: The domain's templates.
        seed: The run's seed, from which the draw is seeded per task.
        most: Maximum number of tests (n in the paper, at most 6).
    """

    client: Client
    environment: ProgramEnvironment
    prompts: Prompts
    seed: int
    most: int

    async def prepare(self, task: Task, config: RunnableConfig) -> dict[str, Any]:
        """Have the model write the tests, unless some come with the task."""
        if given := self.environment.given_tests(task):
            return {"tests": given}
        call = CallId(self.seed, task["id"], 1, "tests")

        def render(_: list[Step], __: int) -> list[BaseMessage]:
            asks = self.prompts.render("write_tests", form=self.environment.test_form(task))
            return [SystemMessage(asks), HumanMessage(f"{task['instruction']}\n\nTests:")]

        reply = await Prompt(render).ask(self.client, None, config, call)
        text = reply.text.rpartition("</think>")[2][:LONGEST]
        valid = await to_thread(self.environment.read_tests, task, text)
        drawn = sorted(Random(call.seed()).sample(range(len(valid)), min(self.most, len(valid))))
        if not valid:
            note("tests: no valid test was written")
        return {"tests": [valid[number] for number in drawn]}

    async def evaluate(self, state: ReflexionState, config: RunnableConfig) -> Score:
        """Run the tests on the submitted program. A test with two outcomes is dropped for good."""
        task = state["task"]
        actions = [step["action"] for step in state["trajectory"] if step["action"]]
        program = self.environment.program(task, actions)
        if program is None:
            return Score(0.0, f"{STOPPED.get(state['stop_reason'] or '', '')} No program was handed in.".strip())
        tests = cast(list[str], task["prepared"]["tests"])
        if not tests and not self.environment.is_complete(task, program):
            return Score(0.0, "What was handed in is no program that defines the function.")
        if not tests:
            return Score(1.0, "There was no test to run.")
        runs = await to_thread(self.environment.run_tests, task, program, tests, TWICE)
        steady = [each[0] for each in zip(*runs, strict=True) if len({outcome.passed for outcome in each}) == 1]
        passed = float(all(outcome.passed for outcome in steady))
        if len(steady) == len(tests):
            return Score(passed, render_tests(steady))
        note(f"tests: dropped, as they gave two outcomes: {len(tests) - len(steady)}")
        return Score(passed, render_tests(steady), {"tests": [outcome.test for outcome in steady]})
