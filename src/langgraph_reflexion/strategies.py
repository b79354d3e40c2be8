"""What a retry gets to see: strategies, episodic memory, and how much of the verdict is told."""

from enum import StrEnum
from typing import Literal

from langgraph_reflexion.state import Evaluation, Reflection

Feedback = Literal["binary", "scalar", "words"]
"""How much of the verdict the actor and the self-reflection are told: that the trial failed, the score too, or the
evaluator's words as well."""


Memory = Literal["window", "full", "summarised"]
"""What is kept of the reflections: the last Ω, all, or the last Ω of which the oldest sums up what was before it."""


class Strategy(StrEnum):
    """What a retry gets to see (section 4.2, episodic memory ablation)."""

    RETRY = "retry"
    """Nothing: the baseline."""
    LAST_ATTEMPT = "last_attempt"
    """The previous trajectory (EPM)."""
    REFLEXION = "reflexion"
    """The last reflections."""
    LAST_ATTEMPT_AND_REFLEXION = "last_attempt_and_reflexion"
    """Both."""

    @property
    def reflects(self) -> bool:
        """Whether a failed trial is reflected on."""
        return self in (Strategy.REFLEXION, Strategy.LAST_ATTEMPT_AND_REFLEXION)

    @property
    def shows_last_attempt(self) -> bool:
        """Whether the actor sees its previous trajectory."""
        return self in (Strategy.LAST_ATTEMPT, Strategy.LAST_ATTEMPT_AND_REFLEXION)


def remember(memory: list[Reflection], reflection: Reflection, size: int) -> list[Reflection]:
    """The memory with one more reflection, of which the last `size` are kept (Ω in the paper)."""
    return [*memory, reflection][-size:]


def status_line(evaluation: Evaluation | None, feedback: Feedback) -> str:
    """The verdict on a failed trial, as far as it is told."""
    line = "Status: FAILED"
    if evaluation is None or feedback == "binary":
        return line
    line += f", score {evaluation['score']:g}"
    return f"{line}\n{evaluation['feedback']}" if feedback == "words" and evaluation["feedback"] else line
