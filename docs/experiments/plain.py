"""The programming problems with a plain prompt beside ours, to see what our prompt costs in a first trial.

    langgraph-reflexion run docs/experiments/plain.py:Programs --actor plain --model openai:any --base-url ...

The actor `plain` sends the description and one sentence, without a word on tests or hidden calls.
"""

from pathlib import Path

from langgraph_reflexion.envs.base import Environment
from langgraph_reflexion.envs.programming.environment import CODE, Coding, Programming

PLAIN = "plain"
"""The actor with the plain prompt."""


class Programs(Programming):
    """The problems of `programming`, with one more actor."""

    actors = (CODE, PLAIN)

    def for_actor(self, name: str) -> Environment:
        played = super().for_actor(name)
        if name == PLAIN and isinstance(played, Coding):
            played.prompts = Path(__file__).with_suffix("")
        return played
