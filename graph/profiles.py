"""Profiles: the settings on which the papers and the original code differ, by name.

A profile changes numbers, rules and layouts, never wording. Every report names the one that it ran under.
"""

from dataclasses import dataclass, field

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.nodes.heuristic_check import Heuristic


@dataclass(frozen=True)
class Profile:
    """A named, frozen set of settings.

    Attributes:
        name: What it is called.
        heuristic: The rule by which a trial is stopped.
        memory_size: Ω, how many reflections are kept.
        max_trials: How many trials a task gets.
        examples: How many few-shot trajectories the actor sees.
        stop_without_improvement: Whether a sweep ends when a trial over all tasks solves nothing new.
    """

    name: str
    heuristic: Heuristic = field(default_factory=Heuristic)
    memory_size: int = 3
    max_trials: int = 12
    examples: int = 2
    stop_without_improvement: bool = False


PROFILES = {
    profile.name: profile
    for profile in (
        # Section 4.1: more than 3 cycles alike, or more than 30 actions; the last 3 reflections; 12 trials.
        Profile("paper"),
        # Section 3.1: two identical actions in a row with the same observation; "fails to improve performance
        # between two consecutive trials".
        Profile("preprint", heuristic=Heuristic(max_cycles=1, max_period=1), stop_without_improvement=True),
        # As coded: an action equal to the one before, whatever was observed; 49 steps, thoughts among them;
        # 10 trials in its script.
        Profile(
            "upstream",
            heuristic=Heuristic(
                max_actions=48, max_cycles=1, max_period=1, compare_observations=False, count_thoughts=True
            ),
            max_trials=10,
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
