"""Self-written tests as the evaluator (section 4.3 of the paper).

The model writes the tests once per task, before the first trial. The hidden tests stay out of the loop.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol, runtime_checkable

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.actors.reply import LONGEST
from langgraph_reflexion.envs.base import Action, Task, TestOutcome, render_tests
from langgraph_reflexion.evaluators.base import Evaluator, Score, how_it_ended
from langgraph_reflexion.loop.prompting import Prompt
from langgraph_reflexion.models.calls import CallId, note
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.prompts import Prompts
from langgraph_reflexion.state import ReflexionState
from langgraph_reflexion.support.sync import to_thread

WRITING = "tests"
"""The name of the call that asks for tests."""

FROM = "tests_from"
"""The key, beside `tests`, for where they come from: `model`, `description`, `task`, or `task and model`."""

MAY_BE_WRONG = (
    "These tests were written without a solution: if one contradicts the description, the description counts."
)
NO_FUNCTION = "What was handed in is not a program that defines the function."
UNTESTED = "There was no test to run: nothing is known about this program, and it may be right."

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

    def described_tests(self, task: Task) -> list[str]:
        """Return the examples in the task's description as valid tests.

        Raises:
            EnvironmentFault: the compiler that checks them could not be run.
        """

    def contradicting(self, task: Task, tests: Sequence[str], examples: Sequence[str]) -> list[str]:
        """Return the tests that expect another value from a call than an example of the same call does."""

    def run_tests(self, task: Task, program: str, tests: Sequence[str], times: int = 1) -> list[list[TestOutcome]]:
        """Return, for each of several runs, the outcome of each test.

        Raises:
            EnvironmentFault: they could not be run.
        """


@dataclass
class SelfTestsEvaluator(Evaluator):
    """Asks the model for tests, draws a few of the valid ones, and runs them after every trial.

    The score is 1 if all of them pass and 0 otherwise. So no failed program is better than another, and a task that
    is not solved returns its last program, as in the paper. If a reply has no valid test, the model is asked once
    more; after that, the examples in the description are the tests. Tests that contradict these examples are dropped.
    Without any test a program is unverified: its score is 0, and the task goes on.

    Args:
        client: The model that writes the tests.
        environment: Validates and runs the tests.
        prompts: The domain's templates.
        seed: The run's seed, from which the draw is seeded per task.
        most: Maximum number of tests (n in the paper, at most 6).
        beside_given: Run the model's tests beside those that come with the task: the task's own, and the examples in
            its description. Otherwise the task's own tests replace the model's.
        accepts_untested: Take the tests of the first reply as they are, and accept a program without any if it
            defines the function, as the original code does.
    """

    client: Client
    environment: ProgramEnvironment
    prompts: Prompts
    seed: int
    most: int
    accepts_untested: bool = False
    beside_given: bool = False

    async def prepare(self, task: Task, config: RunnableConfig) -> dict[str, Any]:
        """Have the model write the tests, unless the task's own replace them."""
        own = self.environment.given_tests(task)
        if own and not self.beside_given:
            return {"tests": own, FROM: "task"}
        given: list[str] = []
        if self.beside_given:
            # In a thread, as a compiler may check the examples.
            given = await to_thread(self._given, task)
        valid = await self._written(task, config)
        if given:
            return await self._given_and_drawn(task, given, valid, config)
        source = "model"
        if not self.accepts_untested:
            valid, source = await self._agreeing_or_examples(task, valid, config)
        return {"tests": self._drawn(task, valid), FROM: source}

    def _given(self, task: Task) -> list[str]:
        """Return the tests that come with a task: its own, and the examples in its description."""
        own = self.environment.given_tests(task)
        examples = self.environment.described_tests(task)
        # Each once, in this order.
        return list(dict.fromkeys(own + examples))

    async def _given_and_drawn(
        self, task: Task, given: list[str], valid: list[str], config: RunnableConfig
    ) -> dict[str, Any]:
        """Return the given tests, and after them a draw of the written ones that contradict none of them."""
        agreeing = await self._agreeing(task, valid, given)
        # With `accepts_untested` it is asked only once, as in the original code.
        if not agreeing and not self.accepts_untested:
            second = await self._written(task, config, again=True)
            agreeing = await self._agreeing(task, second, given)
        further = [test for test in agreeing if test not in given]
        source = "task"
        if further:
            source = "task and model"
        return {"tests": given + self._drawn(task, further), FROM: source}

    def _drawn(self, task: Task, valid: list[str]) -> list[str]:
        """Return at most `most` of the tests, drawn by the seed, in their order."""
        # The seed of the call that asks for the tests: a run that starts over draws the same ones.
        call = CallId(self.seed, task["id"], trial=1, name=WRITING)
        draw = Random(call.seed())
        number = min(self.most, len(valid))
        places = draw.sample(range(len(valid)), number)
        return [valid[place] for place in sorted(places)]

    async def _agreeing_or_examples(
        self, task: Task, valid: list[str], config: RunnableConfig
    ) -> tuple[list[str], str]:
        """Return the tests without those that contradict the description, and their source.

        If none is left, the examples in the description are returned instead.
        """
        examples = await to_thread(self.environment.described_tests, task)
        agreeing = await self._agreeing(task, valid, examples)
        if not agreeing:
            second = await self._written(task, config, again=True)
            agreeing = await self._agreeing(task, second, examples)
        if not agreeing and examples:
            note("tests: the examples in the description are the tests")
            return examples, "description"
        return agreeing, "model"

    async def _written(self, task: Task, config: RunnableConfig, *, again: bool = False) -> list[str]:
        """Ask the model for tests, and return the valid ones."""
        # The name begins with `WRITING` in any case: its first word is the kind of call, which limits the reply.
        name = WRITING
        if again:
            name = f"{WRITING} again"
        # The tests are written before the first trial, and the call is counted as one of that trial.
        call = CallId(self.seed, task["id"], trial=1, name=name)
        # Neither argument is used: without steps, the prompt cannot be made shorter.
        prompt = Prompt(lambda steps, left_out: self._messages(task, again))
        reply = await prompt.ask(self.client, budget=None, config=config, call=call)
        # The reasoning may contain drafts of tests, which are not part of the answer.
        answer = reply.text.rpartition("</think>")[2]
        text = answer[:LONGEST]
        valid = await to_thread(self.environment.read_tests, task, text)
        if not valid:
            note("tests: no valid test was written")
        return valid

    def _messages(self, task: Task, again: bool) -> list[BaseMessage]:
        form = self.environment.test_form(task)
        asks = self.prompts.render("write_tests", form=form)
        messages: list[BaseMessage] = [SystemMessage(asks)]
        example = self.prompts.tests_for(task.get("kind"))
        if example is not None:
            shown = self.prompts.render("tests_of", observation=example.observation, again=False)
            messages.append(HumanMessage(shown))
            messages.append(AIMessage(example.reply.strip()))
        # The second time, the useless reply is not shown, as the model would repeat it.
        asked = self.prompts.render("tests_of", observation=task["instruction"], again=again)
        messages.append(HumanMessage(asked))
        return messages

    async def _agreeing(self, task: Task, tests: list[str], examples: list[str]) -> list[str]:
        """Return the tests that contradict no example, with a note on the others."""
        wrong = await to_thread(self.environment.contradicting, task, tests, examples)
        if wrong:
            note(f"tests, {len(wrong)} of {len(tests)}: dropped, as they contradict the description")
        return [test for test in tests if test not in wrong]

    async def evaluate(self, state: ReflexionState, config: RunnableConfig) -> Score:
        """Run the tests on the submitted program.

        A test with two outcomes is dropped for good: the score replaces the tests in the state.
        """
        task = state["task"]
        actions = [step["action"] for step in state["trajectory"] if step["action"]]
        program = self.environment.program(task, actions)
        if program is None:
            ended = how_it_ended(state)
            words = f"{ended} No program was handed in."
            # `ended` may be empty.
            return Score(0.0, words.strip())
        tests: list[str] = task["prepared"]["tests"]
        if not tests:
            return self._untested(task, program)
        runs = await to_thread(self.environment.run_tests, task, program, tests, TWICE)
        steady = _steady(runs)
        dropped = len(tests) - len(steady)
        prepared = None
        if dropped:
            note(f"tests, {dropped} of {len(tests)}: dropped, as they gave two outcomes")
            prepared = {"tests": [outcome.test for outcome in steady]}
        if not steady:
            return self._untested(task, program)._replace(prepared=prepared)
        words = render_tests(steady)
        if all(outcome.passed for outcome in steady):
            return Score(1.0, words, prepared=prepared)
        if await self._may_be_wrong(task, steady):
            words += f"\n{MAY_BE_WRONG}"
        return Score(0.0, words, prepared=prepared)

    async def _may_be_wrong(self, task: Task, outcomes: Sequence[TestOutcome]) -> bool:
        """Return whether none of the tests that failed came with the task or from its description."""
        source = task["prepared"].get(FROM)
        if source == "model":
            return True
        if source != "task and model":
            return False
        # The state does not say which of the tests were given, so they are read again. That runs in a thread, as a
        # compiler may check them.
        given = await to_thread(self._given, task)
        failed = [outcome.test for outcome in outcomes if not outcome.passed]
        return not any(test in given for test in failed)

    def _untested(self, task: Task, program: str) -> Score:
        """Score a program for which there is no test."""
        if not self.environment.is_complete(task, program):
            return Score(0.0, NO_FUNCTION)
        if self.accepts_untested:
            # The original code accepts it.
            return Score(1.0, "There was no test to run.", unverified=True)
        return Score(0.0, UNTESTED, unverified=True)


def _steady(runs: Sequence[Sequence[TestOutcome]]) -> list[TestOutcome]:
    """Return the outcomes of the first run that were the same in all of them."""
    steady: list[TestOutcome] = []
    for outcomes in zip(*runs, strict=True):
        verdicts = {outcome.passed for outcome in outcomes}
        if len(verdicts) == 1:
            steady.append(outcomes[0])
    return steady
