"""Profiles: the settings on which the papers and the original code differ, by name.

A profile changes numbers, rules and layouts, never wording. Every report names the one that it ran under.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, cast, get_args

from langgraph_reflexion.choices import Feedback, StrategyName
from langgraph_reflexion.errors import ConfigurationError, expect, one_of
from langgraph_reflexion.heuristic import Heuristic
from langgraph_reflexion.state import Strategy

UNLIMITED = 1_000_000
"""A number that no run reaches."""

Layout = Literal["react", "original", "original-numbered"]


ENVIRONMENT_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    # An agent's verifier is written for it, and its words help.
    "agent": {"feedback": "words"},
    # A failing command's output is what there is to learn from.
    "workspace": {"feedback": "words"},
    # Section 4.3: one program a trial, self-written tests for a verdict, and a memory of one reflection, beside the
    # program that it is about and what its tests came to; ten trials.
    "programming": {
        "actor": "code",
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
    """A named set of numbers and rules. `dataclasses.replace` makes a variant.

    Attributes:
        name: The name that reports print.
        actor: How the actor acts: `react`, `tools`, or one of the environment's variants.
        strategy: What a retry sees.
        evaluator: What scores a trial.
        feedback: How much of the evaluation is shown to the actor and the self-reflection.
        threshold: The score from which on a trial is a success.
        heuristic: The rule that stops a trial (h).
        memory_size: Ω, the number of reflections kept.
        memory_beside_attempt: Ω where the last attempt is shown as well; `memory_size` unless given.
        max_trials: The number of trials per task.
        examples: The number of few-shot trajectories that the actor sees.
        until_no_improvement: Whether a run ends when a trial over all tasks solves nothing new.
        layout: How the prompts of an actor that writes text are laid out: `react`, or thought and action asked one
            after the other as in the original HotPotQA code (`original`, `original-numbered`).
        truncation: The number of tokens of a finished trial that a prompt shows before its longest observations are
            left out; None for all.
        self_tests: The number of self-written tests that are kept.
        shows_reflections: Whether the actor sees the reflections.
        reflects_on_memory: Whether the self-reflection sees the earlier reflections.
        overrides: What differs for an environment (`hotpotqa`), or for an actor in it (`hotpotqa/cot`), whatever the
            fields above say. Unless given, what differs for an environment in every profile, where those fields have
            their defaults.
    """

    name: str
    actor: str = "react"
    strategy: StrategyName = "reflexion"
    evaluator: str = "environment"
    feedback: Feedback = "binary"
    threshold: float = 1.0
    heuristic: Heuristic = field(default_factory=Heuristic)
    memory_size: int = 3
    memory_beside_attempt: int | None = None
    max_trials: int = 12
    examples: int = 2
    until_no_improvement: bool = False
    layout: Layout = "react"
    truncation: int | None = None
    self_tests: int = 6
    shows_reflections: bool = True
    reflects_on_memory: bool = True
    overrides: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: ENVIRONMENT_DEFAULTS)

    def resolve(
        self,
        environment: str,
        *,
        actor: str | None = None,
        strategy: Strategy | StrategyName | None = None,
        evaluator: str | None = None,
        feedback: Feedback | None = None,
        heuristic: Heuristic | None = None,
        max_trials: int | None = None,
        memory_size: int | None = None,
    ) -> "Profile":
        """Return the values that hold in an environment. An argument that is None leaves the profile's own.

        Args:
            environment: The environment's name.
            actor: How the actor acts.
            strategy: What a retry sees.
            evaluator: The name of what scores a trial.
            feedback: How much of the evaluation is shown.
            heuristic: The rule that stops a trial.
            max_trials: The number of trials per task.
            memory_size: Ω, the number of reflections kept.

        Raises:
            ConfigurationError: a value is wrong.
        """
        overrides = self.overrides.get(environment, {})
        if self.overrides is ENVIRONMENT_DEFAULTS:
            overrides = {name: value for name, value in overrides.items() if getattr(self, name) == _DEFAULTS[name]}
        rules = replace(self, **overrides)
        actor = rules.actor if actor is None else actor
        rules = replace(rules, actor=actor, **self.overrides.get(f"{environment}/{actor}", {}))
        chosen = one_of("strategy", rules.strategy if strategy is None else strategy, Strategy)
        rules = replace(rules, strategy=cast(StrategyName, str(chosen)))
        if rules.memory_beside_attempt is not None and rules.strategy == "last_attempt_and_reflexion":
            rules = replace(rules, memory_size=rules.memory_beside_attempt)
        given: dict[str, Any] = {"evaluator": evaluator, "feedback": feedback, "heuristic": heuristic}
        given |= {"max_trials": max_trials, "memory_size": memory_size}
        rules = replace(rules, **{name: value for name, value in given.items() if value is not None})
        one_of("feedback", rules.feedback, get_args(Feedback))
        one_of("layout", rules.layout, get_args(Layout))
        for name in ("max_trials", "memory_size"):
            if expect(name, getattr(rules, name), int) < 1:
                raise ConfigurationError(f"{name}={getattr(rules, name)}: at least 1 is needed")
        return rules


_DEFAULTS = {each.name: each.default for each in fields(Profile)}

# Section 4.2: two examples for ReAct, six for chain of thought. Appendix B.1: WebShop was ended after four trials.
_PAPER: dict[str, Mapping[str, Any]] = {
    **ENVIRONMENT_DEFAULTS,
    "hotpotqa/cot": {"examples": 6},
    "hotpotqa/cot-gt": {"examples": 6},
    "webshop": {"max_trials": 4},
}

# Its notebooks: six steps and no other rule, 5 trials; every reflection is kept, but only the newest one beside the
# last attempt, and self-reflection does not see the earlier ones.
_NOTEBOOKS: dict[str, Any] = {
    "heuristic": Heuristic(max_actions=5, max_cycles=UNLIMITED),
    "max_trials": 5,
    "examples": 6,
    "memory_size": UNLIMITED,
    "memory_beside_attempt": 1,
    "reflects_on_memory": False,
    "layout": "original-numbered",
    "truncation": 1600,
}

# Fifteen turns, the reset among them, and no rule against repeating; one example. What its actor is asked with is put
# together without the memory, so that the reflections that it writes are never read.
_SHOP: dict[str, Any] = {
    "heuristic": Heuristic(max_actions=13, max_cycles=UNLIMITED, count_thoughts=True),
    "examples": 1,
    "shows_reflections": False,
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
            until_no_improvement=True,
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
                **ENVIRONMENT_DEFAULTS,
                # As coded, a single test is drawn from those that were written.
                "programming": {**ENVIRONMENT_DEFAULTS["programming"], "self_tests": 1},
                "hotpotqa": _NOTEBOOKS,
                "hotpotqa/cot": {"layout": "original"},
                "hotpotqa/cot-gt": {"layout": "original", "examples": 3},
                "webshop": _SHOP,
            },
        ),
    )
}
"""`paper` is the NeurIPS version, `preprint` the first version, `upstream` the original code."""


def load_profile(profile: str | Profile) -> Profile:
    """Return a profile by its name, or as it is.

    Raises:
        ConfigurationError: there is none of this name.
    """
    given = expect("profile", profile, Profile | str)
    return given if isinstance(given, Profile) else PROFILES[one_of("profile", given, PROFILES)]
