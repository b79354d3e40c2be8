"""Profiles: named sets of the settings on which the papers and the original code differ.

A profile changes numbers, rules and layouts, never wording. Every report names the one that it ran under. In an
environment it becomes `Rules`, in which every value is decided.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pydantic import NonNegativeFloat, NonNegativeInt, PositiveInt

from langgraph_reflexion.envs.base import Environment
from langgraph_reflexion.envs.protocols import HasProfileDefaults, HasProfileOverrides, Strict
from langgraph_reflexion.errors import checked, one_of
from langgraph_reflexion.loop.heuristic import Heuristic
from langgraph_reflexion.state import Strategy
from langgraph_reflexion.support.choices import Feedback, StrategyName

Layout = Literal["turns", "text", "original", "original-numbered"]


@checked
@dataclass(frozen=True)
class Profile:
    """A named set of numbers and rules. `dataclasses.replace` makes another one.

    What is not given, or None, is the environment's to say; where it says nothing, the value of `Rules` holds, which
    is in brackets below.

    Attributes:
        name: The name that reports print.
        actor: How the actor acts: `react`, `tools`, or one of the environment's own (`react`).
        strategy: What a retry sees (`reflexion`).
        evaluator: What scores a trial (`environment`).
        feedback: How much of the evaluation is shown to the actor and the self-reflection (`binary`; under the
            strategy `feedback`, which shows nothing else, `words`).
        threshold: The score from which on a trial is a success (1).
        heuristic: The rule that stops a trial (h) (that of the paper).
        memory_size: Ω, the number of reflections kept (3).
        memory_beside_attempt: Ω where the last attempt is shown as well (`memory_size`).
        max_trials: The number of trials per task (12).
        examples: The number of few-shot trajectories that the actor sees (2).
        first_examples: The number that it sees while there is nothing from earlier trials to show, so in the first
            trial and under `retry` (`examples`).
        until_no_improvement: Whether a run ends when a trial over all tasks solves nothing new (no). Compare
            `stop_at_no_gain`, which looks at one task and its scores.
        stop_at_no_gain: Whether a task stops, as failed, once its last three judged trials have the same score; the
            notes of the last one say so (no). Trials without a verdict, or in which nothing could be checked, are
            left out. Under an evaluator that says only yes or no, three failures are enough.
        layout: How prompts are laid out: the few-shot examples as chat turns (`turns`), or within the instruction
            (`text`), as for models that complete a text, and as always beside tool calls; or thought and action asked
            one after the other as in the original HotPotQA code (`original`, `original-numbered`), for actors that
            write text (`turns`).
        truncation: The number of tokens of a finished trial that a prompt shows before its longest observations are
            left out (all).
        self_tests: The number of self-written tests that are kept (6).
        accepts_untested: Whether a program is accepted if the model wrote no valid test for it, as in the original
            code. Then the model is not asked for tests again, and the examples in the description are not used (no).
        temperatures: The temperatures at which the actor is asked again, one after the other, while its reply has
            fewer than five characters (none).
        shows_check: Whether a retry with reflections also sees what the check said about the last trial, verbatim, as
            far as `feedback` allows (no; agents of your own: yes).
        rejects_reflections: Whether a useless reflection (a refusal, a copy of an earlier one, ...) is asked for once
            more, and left out if the second is useless as well (no; agents of your own: yes).
        rejects_answers: Whether an answer that a check of code has already rejected in this task is sampled again, at
            a higher temperature and at most twice, before it is evaluated. What a model judges is not a check of
            code. In environments that say what an action hands in (`SupportsFinalAnswer`), and not around agents of
            your own, which sample their answers themselves (no).
        strict: Whether wrong actions are answered as by the original code, without an explanation: "Invalid action!"
            in WebShop, where names have to match, and "Nothing happens." in ALFWorld. The option `strict` of these
            environments counts more (no).
        shows_reflections: Whether the actor sees the reflections (yes).
        reflects_on_memory: Whether the self-reflection sees the earlier reflections (yes).
        reflects_at_end: Whether the last trial of a failed task is reflected on, too, as in Algorithm 1: for trials
            that are added later, and for lessons (no).
    """

    name: str
    actor: str | None = None
    strategy: StrategyName | None = None
    evaluator: str | None = None
    feedback: Feedback | None = None
    threshold: float | None = None
    heuristic: Heuristic | None = None
    memory_size: PositiveInt | None = None
    memory_beside_attempt: PositiveInt | None = None
    max_trials: PositiveInt | None = None
    examples: NonNegativeInt | None = None
    first_examples: NonNegativeInt | None = None
    until_no_improvement: bool | None = None
    stop_at_no_gain: bool | None = None
    layout: Layout | None = None
    truncation: PositiveInt | None = None
    self_tests: PositiveInt | None = None
    accepts_untested: bool | None = None
    temperatures: tuple[NonNegativeFloat, ...] | None = None
    shows_check: bool | None = None
    rejects_reflections: bool | None = None
    rejects_answers: bool | None = None
    strict: bool | None = None
    shows_reflections: bool | None = None
    reflects_on_memory: bool | None = None
    reflects_at_end: bool | None = None

    def resolve(
        self,
        environment: type[Environment] | Environment,
        *,
        actor: str | None = None,
        strategy: Strategy | StrategyName | None = None,
        **given: Any,
    ) -> "Rules":
        """Return the values that hold in an environment. An argument that is None keeps the profile's own value.

        Args:
            environment: The environment, whose `profile_defaults` and `profile_overrides` are applied.
            actor: Replaces the profile's actor, before the overrides for the actor apply.
            strategy: Replaces the profile's strategy, before the values that depend on it are decided.
            **given: Values of other fields, which count most.

        Raises:
            ConfigurationError: a value is wrong.
        """
        overrides: Mapping[str, Mapping[str, Any]] = {}
        if isinstance(environment, HasProfileOverrides):
            overrides = environment.profile_overrides
        # From the weakest to the strongest: each step replaces values of the steps before it.
        rules = Rules(self.name)
        if isinstance(environment, HasProfileDefaults):
            rules = rules.with_values(environment.profile_defaults)
        rules = rules.with_values(_given(vars(self)))
        rules = rules.with_values(overrides.get(self.name, {}))
        if actor is not None:
            rules = replace(rules, actor=actor)
        rules = rules.with_values(overrides.get(f"{self.name}/{rules.actor}", {}))
        if strategy is not None:
            chosen = str(one_of("strategy", strategy, Strategy))
            rules = rules.with_values({"strategy": chosen})
        # The last attempt and the reflections share the prompt, so fewer reflections fit beside it.
        if rules.memory_beside_attempt is not None and rules.strategy == "last_attempt_and_reflexion":
            rules = replace(rules, memory_size=rules.memory_beside_attempt)
        # This strategy shows the actor what the evaluator said: without its words, it would be a plain retry.
        if rules.strategy == "feedback" and self.feedback is None:
            rules = replace(rules, feedback="words")
        return rules.with_values(_given(given))


@checked
@dataclass(frozen=True)
class Rules:
    """A profile in an environment: every value is decided. `Profile` describes the fields.

    None means: as many as `memory_size` (`memory_beside_attempt`) or `examples` (`first_examples`), or no limit
    (`truncation`).
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
    stop_at_no_gain: bool = False
    layout: Layout = "turns"
    truncation: PositiveInt | None = None
    self_tests: PositiveInt = 6
    accepts_untested: bool = False
    temperatures: tuple[NonNegativeFloat, ...] = ()
    shows_check: bool = False
    rejects_reflections: bool = False
    rejects_answers: bool = False
    strict: bool = False
    shows_reflections: bool = True
    reflects_on_memory: bool = True
    reflects_at_end: bool = False

    def with_values(self, values: Mapping[str, Any]) -> "Rules":
        """Return the rules with other values. Environments give a heuristic by its fields.

        Raises:
            ConfigurationError: a value is wrong.
        """
        changes = dict(values)
        heuristic = changes.get("heuristic")
        if isinstance(heuristic, Mapping):
            changes["heuristic"] = Heuristic(**heuristic)
        return replace(self, **changes)

    def applied_to(self, environment: Environment) -> Environment:
        """Return the environment as it is played under these rules."""
        if self.strict and isinstance(environment, Strict):
            return environment.strictly()
        return environment


def decide(profile: "Profile | Rules | str", environment: type[Environment] | Environment, **given: Any) -> Rules:
    """Return the rules that hold in an environment. Rules are decided already, and only what is given replaces them.

    Args:
        profile: A profile, its name, or rules.
        environment: The environment.
        **given: Replace fields unless they are None; see `Profile.resolve`.

    Raises:
        ConfigurationError: there is no such profile, or a value is wrong.
    """
    if isinstance(profile, Rules):
        changes = _given(given)
        if "strategy" in changes:
            changes["strategy"] = str(one_of("strategy", changes["strategy"], Strategy))
        return profile.with_values(changes)
    return load_profile(profile).resolve(environment, **given)


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that are given, which None says that they are not."""
    return {name: value for name, value in values.items() if value is not None}


PROFILES = {
    profile.name: profile
    for profile in (
        # Section 4.1: more than 3 identical cycles or more than 30 actions; the last 3 reflections; 12 trials.
        Profile("paper"),
        # Section 3.1: two identical actions in a row with the same observation; "fails to improve performance
        # between two consecutive trials".
        Profile(
            "preprint",
            heuristic=Heuristic(max_cycles=1, max_period=1),
            until_no_improvement=True,
            rejects_reflections=False,
        ),
        # As coded: two equal actions in a row, whatever the observations; 49 steps including thoughts; 10 trials.
        Profile(
            "upstream",
            heuristic=Heuristic(
                max_actions=48, max_cycles=1, max_period=1, compare_observations=False, count_thoughts=True
            ),
            max_trials=10,
            # Every reflection is kept, whatever it says.
            rejects_reflections=False,
            # A wrong action is not explained.
            strict=True,
        ),
    )
}
"""`paper` is the NeurIPS version, `preprint` the first version, `upstream` the original code."""


def load_profile(profile: str | Profile) -> Profile:
    """Return the profile of this name; a `Profile` is returned unchanged.

    Raises:
        ConfigurationError: there is no such profile.
    """
    if isinstance(profile, Profile):
        return profile
    return PROFILES[one_of("profile", profile, PROFILES)]
