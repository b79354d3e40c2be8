"""Values that several layers share: the choices of options, and the environments that ship."""

from enum import StrEnum
from typing import Literal

ATTEMPTS = 5
"""Attempts of a model call or an action, the first one included."""

UNLIMITED = 1_000_000
"""A number that no run reaches."""

StrategyName = Literal["retry", "feedback", "last_attempt", "reflexion", "last_attempt_and_reflexion", "continue"]
"""The strategies by name; see `langgraph_reflexion.state.Strategy`."""

Feedback = Literal["binary", "scalar", "words"]
"""What the actor and the self-reflection see of an evaluation: that the trial failed, also the score, or also the
evaluator's words."""

Keep = Literal["window", "full", "summary"]
"""Which reflections are kept: the last Ω, all, or the last Ω, the oldest of which condenses all earlier ones."""

Checkpoints = Literal["history", "latest"]
"""Whether a checkpointer keeps every step, or the latest, which resuming needs."""

ENVIRONMENTS = {
    "alfworld": "langgraph_reflexion.envs.alfworld.environment:ALFWorld",
    "programming": "langgraph_reflexion.envs.programming.environment:Programming",
    "hotpotqa": "langgraph_reflexion.envs.hotpotqa.environment:HotPotQA",
    "fever": "langgraph_reflexion.envs.fever.environment:FEVER",
    "webshop": "langgraph_reflexion.envs.webshop.environment:WebShop",
    "workspace": "langgraph_reflexion.envs.workspace.environment:Workspace",
}
"""The environments that ship: name to `module:Class`, imported when asked for."""


class Strategy(StrEnum):
    """What a retry sees: nothing, the previous trajectory, the last reflections, or both (section 4.2).

    Two are not from the paper. `FEEDBACK` shows what the check said about the last trial, and no reflection. Under
    `CONTINUE` nothing is reset: the next trial goes on in the same conversation and the same world.
    """

    RETRY = "retry"
    FEEDBACK = "feedback"
    LAST_ATTEMPT = "last_attempt"
    REFLEXION = "reflexion"
    LAST_ATTEMPT_AND_REFLEXION = "last_attempt_and_reflexion"
    CONTINUE = "continue"

    @property
    def reflects(self) -> bool:
        """Whether a failed trial is reflected on."""
        return self in (Strategy.REFLEXION, Strategy.LAST_ATTEMPT_AND_REFLEXION)

    @property
    def shows_last_attempt(self) -> bool:
        """Whether the actor sees its previous trajectory."""
        return self in (Strategy.LAST_ATTEMPT, Strategy.LAST_ATTEMPT_AND_REFLEXION)

    @property
    def continues(self) -> bool:
        """Whether a trial goes on where the one before it has ended."""
        return self == Strategy.CONTINUE
