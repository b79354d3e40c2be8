"""Self-written tests as an evaluator (section 4.3 of the paper): the model's own tests pass the verdict.

The tests are made once per task, before its first trial. The truth, which hidden tests know, is not needed.
"""

from random import Random
from typing import cast

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.context import ask_about
from langgraph_reflexion.envs.base import Environment, Task
from langgraph_reflexion.envs.tested import Tested, tests_told
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.evaluators.base import STOPPED, Evaluator, Prepared, Scored
from langgraph_reflexion.models.calls import Call, storable
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.prompts import Prompts
from langgraph_reflexion.state import ReflexionState, Step
from langgraph_reflexion.sync import to_thread

TWICE = 2
"""How often tests are run on the same program: what gives two outcomes tells nothing."""


class SelfTestsEvaluator(Evaluator):
    """Asks the model for tests, keeps the valid ones, draws a few of them, and runs them after every trial.

    The score is 1 where all of them pass and 0 otherwise, so that what a task returns in the end is its last program,
    as in the paper. Where no valid test was written there is nothing to fail, and the first program is accepted.

    Args:
        client: The model that writes the tests.
        environment: Knows which tests are valid, and runs them.
        prompts: The domain's templates.
        seed: The run's seed; by it and the task the tests are drawn.
        most: How many tests are kept (n in the paper, at most 6).

    Raises:
        ConfigurationError: the environment's tasks are not solved by programs.
    """

    def __init__(self, client: Client, environment: Environment, prompts: Prompts, seed: int, most: int) -> None:
        if not isinstance(environment, Tested):
            raise ConfigurationError(f"evaluator='self-tests' is for programs, and {environment.name} has none")
        self.client = client
        self.environment = environment
        self.prompts = prompts
        self.seed = seed
        self.most = most

    async def prepare(self, task: Task, config: RunnableConfig) -> Prepared:
        """Have the tests written, unless some come with the task.

        Raises:
            Fault: the model gave none, or the compiler could not be run.
        """
        if given := self.environment.given_tests(task):
            return Prepared({"tests": given})
        call = Call(self.seed, task["id"], 1, "tests")

        def render(_: list[Step]) -> list[BaseMessage]:
            asks = self.prompts.render("write_tests", form=self.environment.test_form(task))
            return [SystemMessage(asks), HumanMessage(f"{task['instruction']}\n\nTests:")]

        asked = await ask_about(self.client, render, [], None, config, call)
        valid = await to_thread(self.environment.read_tests, task, storable(asked.reply.text))
        drawn = sorted(Random(call.seed()).sample(range(len(valid)), min(self.most, len(valid))))
        notes = list(asked.notes) if valid else [*asked.notes, "tests: none that is valid was written"]
        return Prepared({"tests": [valid[number] for number in drawn]}, asked.usage, notes)

    async def evaluate(self, state: ReflexionState, config: RunnableConfig) -> Scored:
        """Run the tests on the program that was handed in. One that gives two outcomes on it is dropped for good.

        Raises:
            Fault: they could not be run.
        """
        task = state["task"]
        actions = [step["action"] for step in state["trajectory"] if step["action"]]
        program = self.environment.program(task, actions)
        if program is None:
            return Scored(0.0, f"{STOPPED.get(state['stop_reason'] or '', '')} No program was handed in.".strip())
        tests = cast(list[str], task["prepared"]["tests"])
        if not tests:
            return Scored(1.0, "There was no test to run.")
        runs = await to_thread(self.environment.run_tests, task, program, tests, TWICE)
        steady = [each[0] for each in zip(*runs, strict=True) if len({outcome.passed for outcome in each}) == 1]
        passed = float(all(outcome.passed for outcome in steady))
        if len(steady) == len(tests):
            return Scored(passed, tests_told(steady))
        kept = {"tests": [outcome.test for outcome in steady]}
        notes = [f"tests: dropped, as they gave two outcomes: {len(tests) - len(steady)}"]
        return Scored(passed, tests_told(steady), notes=notes, prepared=kept)
