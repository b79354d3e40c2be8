"""The values of options that are chosen from a few."""

from typing import Literal

StrategyName = Literal["retry", "last_attempt", "reflexion", "last_attempt_and_reflexion"]
"""The strategies by name; see `langgraph_reflexion.Strategy`."""

Feedback = Literal["binary", "scalar", "words"]
"""How much of the evaluation the actor and the self-reflection see: that the trial failed, the score too, or the
evaluator's words as well."""

Keep = Literal["window", "full", "summary"]
"""How reflections are kept: the last Ω, all of them, or the last Ω of which the oldest condenses those before it."""

Checkpoints = Literal["history", "latest"]
"""What a checkpointer keeps: every step, or what resuming needs."""
