"""Profiles: named sets of the settings on which the papers and the original code differ.

A profile changes numbers, rules and layouts, never wording. Every report names the one that it ran under.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, cast

from pydantic import NonNegativeFloat, NonNegativeInt, PositiveInt

from langgraph_reflexion.envs.base import Environment
from langgraph_reflexion.errors import checked, one_of
from langgraph_reflexion.loop.heuristic import Heuristic
from langgraph_reflexion.state import Strategy
from langgraph_reflexion.support.choices import Feedback, StrategyName


@checked
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
        first_examples: The number that it sees while there is nothing from earlier trials to show, so in the first
            trial and under `retry`; `examples` unless given.
        until_no_improvement: Whether a run ends when a trial over all tasks solves nothing new.
        layout: How prompts are laid out: the few-shot examples as chat turns (`turns`), or within the instruction
            (`text`), as for models that complete a text, and as always beside tool calls; or thought and action asked
            one after the other as in the original HotPotQA code (`original`, `original-numbered`), for actors that
            write text.
        truncation: The number of tokens of a finished trial that a prompt shows before its longest observations are
            left out; None for all.
        self_tests: The number of self-written tests that are kept.
        temperatures: The temperatures at which the actor is asked again, one after the other, while its reply has
            fewer than five characters.
        shows_reflections: Whether the actor sees the reflections.
        reflects_on_memory: Whether the self-reflection sees the earlier reflections.
        reflects_at_end: Whether the last trial of a failed task is reflected on, too, as in Algorithm 1: for trials
            that are added later, and for lessons.
    """

    name: str
    actor: str = "react"
    strategy: StrategyName = "reflexion"
    evaluator: str = "environment"
    feedback: Feedback = "binary"
    threshold: float = 1.0
    heuristic: Heuristic = field(default_factory=Heuristic)
    memory_size: PositiveInt = 3
    memory_beside_attempt: PositiveInt | None = None
    max_trials: PositiveInt = 12
    examples: NonNegativeInt = 2
    first_examples: NonNegativeInt | None = None
    until_no_improvement: bool = False
    layout: Literal["turns", "text", "original", "original-numbered"] = "turns"
    truncation: PositiveInt | None = None
    self_tests: PositiveInt = 6
    temperatures: tuple[NonNegativeFloat, ...] = ()
    shows_reflections: bool = True
    reflects_on_memory: bool = True
    reflects_at_end: bool = False

    def resolve(
        self,
        environment: type[Environment] | Environment,
        *,
        actor: str | None = None,
        strategy: Strategy | StrategyName | None = None,
        **given: Any,
    ) -> "Profile":
        """Return the values that hold in an environment. An argument that is None keeps the profile's own value.

        Args:
            environment: The environment, whose `profile_defaults` and `profile_overrides` are applied.
            actor: Replaces the field, before the overrides of the actor apply.
            strategy: Replaces the field, before `memory_beside_attempt` applies.
            **given: Replace other fields.

        Raises:
            ConfigurationError: a value is wrong.
        """
        unset = {name for name, default in _DEFAULTS.items() if getattr(self, name) == default}
        defaults = {name: value for name, value in environment.profile_defaults.items() if name in unset}
        rules = self._replaced(defaults, environment.profile_overrides.get(self.name, {}))
        actor = rules.actor if actor is None else actor
        rules = rules._replaced({"actor": actor}, environment.profile_overrides.get(f"{self.name}/{actor}", {}))
        if strategy is not None:
            rules = replace(rules, strategy=cast(StrategyName, str(one_of("strategy", strategy, Strategy))))
        if rules.memory_beside_attempt is not None and rules.strategy == "last_attempt_and_reflexion":
            rules = replace(rules, memory_size=rules.memory_beside_attempt)
        return replace(rules, **{name: value for name, value in given.items() if value is not None})

    def _replaced(self, *values: Mapping[str, Any]) -> "Profile":
        fields = {name: value for each in values for name, value in each.items()}
        if "heuristic" in fields:
            fields["heuristic"] = Heuristic(**fields["heuristic"])
        return replace(self, **fields)


_DEFAULTS = {each.name: each.default for each in fields(Profile)}

PROFILES = {
    profile.name: profile
    for profile in (
        # Section 4.1: more than 3 identical cycles or more than 30 actions; the last 3 reflections; 12 trials.
        Profile("paper"),
        # Section 3.1: two identical actions in a row with the same observation; "fails to improve performance
        # between two consecutive trials".
        Profile("preprint", heuristic=Heuristic(max_cycles=1, max_period=1), until_no_improvement=True),
        # As coded: two equal actions in a row, whatever the observations; 49 steps including thoughts; 10 trials.
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
    """Return the profile of this name; a `Profile` is returned unchanged.

    Raises:
        ConfigurationError: there is no such profile.
    """
    return profile if isinstance(profile, Profile) else PROFILES[one_of("profile", profile, PROFILES)]
