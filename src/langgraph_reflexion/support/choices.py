"""Values that several layers share: the choices of options, and the environments that ship."""

from typing import Literal

UNLIMITED = 1_000_000
"""A number that no run reaches."""

StrategyName = Literal["retry", "feedback", "last_attempt", "reflexion", "last_attempt_and_reflexion"]
"""The strategies by name; see `langgraph_reflexion.Strategy`."""

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
