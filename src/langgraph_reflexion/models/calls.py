"""A model call by its place in a run, and what came of it."""

import hashlib
from typing import NamedTuple

from langchain_core.messages import AIMessage

from langgraph_reflexion.models.usage import Usage

TASK, TRIAL, NAME = "reflexion_task", "reflexion_trial", "reflexion_call"
"""What a call's place is called in the metadata of its run."""


class Call(NamedTuple):
    """Which model call of a run this is."""

    run_seed: int
    task: str
    """The task's id."""
    trial: int
    """Counted from 1."""
    name: str
    """Which call of the trial: "act 3", "reflect"."""

    def seed(self, again: int = 0) -> int:
        """The call's own seed, below 2**31: a retry is a new sample, a rerun is the same run.

        Args:
            again: How often the call was answered with nothing before.
        """
        name = f"{self.name} again {again}" if again else self.name
        text = f"{self.run_seed}\n{self.task}\n{self.trial}\n{name}"
        return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=4).digest(), "big") >> 1

    @property
    def metadata(self) -> dict[str, str | int]:
        """The call's place for traces and callbacks, the keys of which are `TASK`, `TRIAL` and `NAME`."""
        return {TASK: self.task, TRIAL: self.trial, NAME: self.name}


class Answer(NamedTuple):
    """What came of a call."""

    reply: AIMessage
    usage: Usage
    notes: list[str]
    """What was not as it was meant to be, for the record."""


def storable(text: str) -> str:
    """A text without half surrogate pairs, which servers may send, and neither a checkpoint nor HTTP takes."""
    return text.encode("utf-8", "replace").decode()
