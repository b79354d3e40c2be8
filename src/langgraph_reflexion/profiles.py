"""Profiles: the settings on which the papers and the original code differ, by name.

A profile changes numbers, rules and layouts, never wording. Every report names the one that it ran under.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.heuristic import Heuristic
from langgraph_reflexion.strategies import Strategy

ALL = 1_000_000
"""A memory size that no run reaches."""


USUAL: Mapping[str, Mapping[str, Any]] = {
    # A failing command's output is what there is to learn from.
    "workspace": {"feedback": "words"},
    # Section 4.3: one program a trial, self-written tests for a verdict, and a memory of one reflection, beside the
    # program that it is about and what its tests came to; ten trials.
    "programming": {
        "agent": "code",
        "strategy": Strategy.LAST_ATTEMPT_AND_REFLEXION.value,
        "evaluator": "self-tests",
        "feedback": "words",
        "memory_size": 1,
        "max_trials": 10,
        "examples": 1,
    },
}
"""What differs for an environment in every profile."""


@dataclass(frozen=True)
class Profile:
    """A named, frozen set of settings.

    Attributes:
        name: What it is called.
        agent: How the actor acts, unless that is said.
        strategy: What a retry gets to see, unless that is said.
        evaluator: What passes the verdict, unless that is said.
        feedback: How much of it is told, unless that is said.
        heuristic: The rule by which a trial is stopped.
        memory_size: Ω, how many reflections are kept.
        memory_beside_attempt: The same where the last attempt is shown as well; `memory_size` unless given.
        max_trials: How many trials a task gets.
        examples: How many few-shot trajectories the actor sees.
        stop_without_improvement: Whether a sweep ends when a trial over all tasks solves nothing new.
        two_calls: Whether an actor that writes text is asked for thought and action one after the other, in the
            layout of the original HotPotQA code (`actors.original_react`).
        numbered: Whether the steps are numbered in that layout.
        truncation: How many tokens the trajectory of a finished trial may have in a prompt before its longest
            observations are left out.
        tests: How many self-written tests are kept, where these pass the verdict.
        shows_memory: Whether the actor is shown the reflections.
        reflects_on_memory: Whether the self-reflection is shown the earlier reflections.
        overrides: What differs for an environment (`hotpotqa`), or for an agent in it (`hotpotqa/cot`).
    """

    name: str
    agent: str = "react"
    strategy: str = Strategy.REFLEXION.value
    evaluator: str = "environment"
    feedback: str = "binary"
    heuristic: Heuristic = field(default_factory=Heuristic)
    memory_size: int = 3
    memory_beside_attempt: int | None = None
    max_trials: int = 12
    examples: int = 2
    stop_without_improvement: bool = False
    two_calls: bool = False
    numbered: bool = False
    truncation: int | None = None
    tests: int = 6
    shows_memory: bool = True
    reflects_on_memory: bool = True
    overrides: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: USUAL)

    def of(self, environment: str, agent: str | None = None, strategy: str | None = None) -> "Profile":
        """The settings that hold in an environment.

        Args:
            environment: Its name.
            agent: How the actor acts; what the settings say unless given.
            strategy: What a retry gets to see; what the settings say unless given.
        """
        settings = replace(self, **self.overrides.get(environment, {}))
        agent = agent or settings.agent
        settings = replace(settings, agent=agent, **self.overrides.get(f"{environment}/{agent}", {}))
        settings = replace(settings, strategy=strategy or settings.strategy)
        beside = settings.memory_beside_attempt
        if beside is not None and settings.strategy == Strategy.LAST_ATTEMPT_AND_REFLEXION:
            settings = replace(settings, memory_size=beside)
        return settings


# Section 4.2: two examples for ReAct, six for chain of thought. Appendix B.1: WebShop was ended after four trials.
_PAPER: dict[str, Mapping[str, Any]] = {
    **USUAL,
    "hotpotqa/cot": {"examples": 6},
    "hotpotqa/cot-gt": {"examples": 6},
    "webshop": {"max_trials": 4},
}

# Its notebooks: six steps and no other rule, 5 trials; every reflection is kept, but only the newest one beside the
# last attempt, and self-reflection does not see the earlier ones.
_NOTEBOOKS: dict[str, Any] = {
    "heuristic": Heuristic(max_actions=5, max_cycles=ALL),
    "max_trials": 5,
    "examples": 6,
    "memory_size": ALL,
    "memory_beside_attempt": 1,
    "reflects_on_memory": False,
    "two_calls": True,
    "numbered": True,
    "truncation": 1600,
}

# Fifteen turns, the reset among them, and no rule against repeating; one example. What its actor is asked with is put
# together without the memory, so that the reflections that it writes are never read.
_SHOP: dict[str, Any] = {
    "heuristic": Heuristic(max_actions=13, max_cycles=ALL, count_thoughts=True),
    "examples": 1,
    "shows_memory": False,
}

PROFILES = {
    profile.name: profile
    for profile in (
        # Section 4.1: more than 3 cycles alike, or more than 30 actions; the last 3 reflections; 12 trials.
        Profile("paper", overrides=_PAPER),
        # Section 3.1: two identical actions in a row with the same observation; "fails to improve performance
        # between two consecutive trials".
        Profile(
            "preprint",
            heuristic=Heuristic(max_cycles=1, max_period=1),
            stop_without_improvement=True,
            overrides=_PAPER,
        ),
        # As coded: an action equal to the one before, whatever was observed; 49 steps, thoughts among them;
        # 10 trials in its script.
        Profile(
            "upstream",
            heuristic=Heuristic(
                max_actions=48, max_cycles=1, max_period=1, compare_observations=False, count_thoughts=True
            ),
            max_trials=10,
            overrides={
                **USUAL,
                # As coded, a single test is drawn from those that were written.
                "programming": {**USUAL["programming"], "tests": 1},
                "hotpotqa": _NOTEBOOKS,
                "hotpotqa/cot": {"numbered": False},
                "hotpotqa/cot-gt": {"numbered": False, "examples": 3},
                "webshop": _SHOP,
            },
        ),
    )
}
"""`paper` is the NeurIPS version, `preprint` the first version, `upstream` the original code."""


def load_profile(profile: str | Profile) -> Profile:
    """A profile by name, or as it is.

    Raises:
        ConfigurationError: there is none of this name.
    """
    if isinstance(profile, Profile):
        return profile
    if profile not in PROFILES:
        raise ConfigurationError(f"no profile {profile!r}: choose one of {', '.join(PROFILES)}")
    return PROFILES[profile]
