"""The programming problems with a plain prompt beside ours, and with the examples in the description as the tests.

    langgraph-reflexion run docs/experiments/programs.py:Programs --actor plain --model openai:any --base-url ...
    langgraph-reflexion run docs/experiments/programs.py:VisibleTests --model openai:any --base-url ...

The actor `plain` sends the description and a sentence or two, without a word about tests or hidden calls: it shows
whether our prompt helps or hurts in a first trial.
"""

from pathlib import Path

from langgraph_reflexion.envs.base import Environment, Task
from langgraph_reflexion.envs.programming.environment import CODE, Coding, Programming

PLAIN = "plain"
"""The actor with the plain prompt."""


class Programs(Programming):
    """The problems of `programming`, with one more actor."""

    actors = (CODE, PLAIN)

    def for_actor(self, name: str) -> Environment:
        played = super().for_actor(name)
        if name == PLAIN and isinstance(played, Coding):
            played.prompts = Path(__file__).with_name(PLAIN)
        return played


class VisibleTests(Programming):
    """The problems of `programming`, judged by the examples in their descriptions, which no model wrote.

    Where a description has none, the evaluator `self-tests` has the model write tests.
    """

    def for_actor(self, name: str) -> Environment:
        return JudgedByExamples(self)


class JudgedByExamples(Coding):
    """One program per trial, judged by the examples in the description."""

    def given_tests(self, task: Task) -> list[str]:
        return self.described_tests(task)
