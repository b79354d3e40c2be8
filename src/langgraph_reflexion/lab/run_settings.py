"""Settings of a run as plain JSON: those of the agent, and which tasks are played; `run.json` records them."""

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from pydantic import Field

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.declared import option, rule
from langgraph_reflexion.lab.settings import ReflexionSettings
from langgraph_reflexion.support.choices import ENVIRONMENTS, Checkpoints
from langgraph_reflexion.support.secrets import public_database, public_url

# Imported where they are used, as in `settings`.
if TYPE_CHECKING:
    from langgraph_reflexion.envs.base import Environment
    from langgraph_reflexion.graph.reflexion import ReflexionGraph
    from langgraph_reflexion.loop.profiles import Rules
    from langgraph_reflexion.memory.lessons import Lessons


DECIDED_BY_PROFILE = (
    "actor",
    "strategy",
    "evaluator",
    "feedback",
    "max_trials",
    "until_no_improvement",
    "memory_size",
)
"""The settings that the profile fills in, by the names that they have in `Rules`, too."""


class RunSettings(ReflexionSettings):
    """A run: the agent on the tasks of an environment. A new option of runs is a field here and its use."""

    environment: str = Field(description=f"{', '.join(ENVIRONMENTS)}, or your own as MODULE:NAME or FILE.py:NAME.")
    options: dict[str, Any] = option({}, "An option of the environment, as --KEY VALUE gives it.")
    split: str | None = option(
        None, "Set of tasks.  [default: the environment's first]", metavar="NAME", min_length=1
    )
    limit: int | None = option(None, "Number of tasks.  [default: all]", resume="raise", ge=1)
    until_no_improvement: bool | None = rule("Run each trial over all tasks, until one solves nothing new.")
    first_trial_of: str | None = option(
        None,
        "Begin with the first trials of this run, so that both share them.",
        metavar="RUN",
        min_length=1,
    )
    truth: str | None = option(
        None,
        "Records whether an agent of your own has truly solved its task: exact, FILE.py:FUNCTION or 'command: LINE'.",
        node="evaluate",
        metavar="NAME",
        min_length=1,
    )
    concurrency: int = option(8, "Tasks to run concurrently, over all workers.", resume="free", ge=1)
    workers: int = option(
        1,
        "Processes that share the tasks, as Ray workers (extra ray); one already runs --concurrency tasks at once.",
        resume="free",
        ge=1,
    )
    ray_address: str | None = option(
        None,
        "Ray cluster of the workers; needs --database.  [default: this machine]",
        resume="free",
        metavar="ADDRESS",
        min_length=1,
    )
    checkpoints: Checkpoints = option("latest", "Checkpoints to keep: the latest, which resuming needs, or all.")
    database: str | None = option(
        None,
        "Record in Postgres instead of the run folder: postgresql://user:password@host/name.",
        metavar="URL",
        pattern="^postgres(ql)?://",
    )
    lessons: str | None = option(
        None,
        "Keep lessons from task to task: a SQLite file, or postgresql://user:password@host/name.",
        metavar="FILE|URL",
        min_length=1,
    )
    user: str | None = option(None, "Use the lessons of this user.  [default: everyone's]", metavar="NAME")
    recall: bool = option(
        True, "Show stored lessons to the agent, running tasks one at a time; --no-recall only records new ones."
    )
    frozen: bool = option(False, "Only read lessons; tasks may then run concurrently.")

    def make_environment(self) -> "Environment":
        """Make the environment, or that of an agent. It gets the run's seed if it takes one, unless `options` do.

        Raises:
            ConfigurationError: there is no such environment, or an option is wrong.
            EnvironmentUnavailable: something that it needs is missing.
        """
        from langgraph_reflexion.agents import load_tasks

        options = {"seed": self.seed} | self.options
        return load_tasks(self.environment, **options)

    def changed(self, given: dict[str, Any]) -> Self:
        """Return the settings with some values replaced: of `budgets` limit by limit, where None lifts one.

        Raises:
            ConfigurationError: a name is unknown or a value is wrong.
        """
        before = self.model_dump()
        changed = before | given
        changed["budgets"] = merge_budgets(before["budgets"], given.get("budgets") or {})
        return type(self).read(changed)

    def public(self) -> dict[str, Any]:
        """Return the settings as `run.json` has them: plain JSON without passwords."""
        return self.model_dump(mode="json") | {
            "base_url": public_url(self.base_url),
            "database": public_database(self.database),
            "lessons": public_database(self.lessons),
        }

    def rules(self, environment: "Environment | None") -> "Rules":
        """See `ReflexionSettings.rules`; a run also says whether it ends early."""
        rules = super().rules(environment)
        if self.until_no_improvement is None:
            return rules
        return replace(rules, until_no_improvement=self.until_no_improvement)

    def build(self, environment: "Environment | None", rules: "Rules", **parts: Any) -> "ReflexionGraph":
        """See `ReflexionSettings.build`; a run may also record the truth."""
        parts.setdefault("truth", self.truth)
        return super().build(environment, rules, **parts)

    def resolved(self, environment: "Environment", rules: "Rules") -> Self:
        """Return the settings as a run records them: what the profile and the environment decide is filled in.

        Args:
            environment: The tasks and actions.
            rules: What `rules` returns for this environment.

        Raises:
            ConfigurationError: there is no such split, or what is said of lessons does not go together.
        """
        from langgraph_reflexion.agents import AgentTasks

        self._expect_lessons_go_together()
        update: dict[str, Any] = {name: getattr(rules, name) for name in DECIDED_BY_PROFILE}
        update["split"] = environment.choose_split(self.split)
        if isinstance(environment, AgentTasks):
            update |= environment.settled(rules, vars(self) | update)
        update["max_actions"] = rules.heuristic.max_actions
        update["max_cycles"] = rules.heuristic.max_cycles
        if self.memory == "full":
            del update["memory_size"]
        teaches = self.lessons and not self.frozen
        if teaches and self.recall:
            # The next task sees what one teaches: the record depends on their order.
            update["concurrency"] = 1
        return self.model_copy(update=update)

    def _expect_lessons_go_together(self) -> None:
        """Raise ConfigurationError if options of lessons are given without lessons, or contradict each other."""
        about_lessons = self.frozen or not self.recall or self.user is not None
        if self.lessons is None and about_lessons:
            raise ConfigurationError("--no-recall, --frozen and --user need --lessons")
        if self.frozen and not self.recall:
            raise ConfigurationError("--frozen lessons with --no-recall change nothing: leave one out")

    def lessons_of(self, tasks: Collection[str]) -> "Lessons | None":
        """Return how lessons are used for these tasks, by their ids; None without any."""
        if self.lessons is None:
            return None
        from langgraph_reflexion.memory.lessons import Lessons

        held_out = frozenset[str]()
        if self.frozen:
            held_out = frozenset(tasks)
        return Lessons(user=self.user, recall=self.recall, learn=not self.frozen, held_out=held_out)


def merge_budgets(below: dict[str, Any], above: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return limits by scope in which those of `above` replace the same ones of `below`."""
    merged: dict[str, dict[str, Any]] = {}
    for limits_of in (below, above):
        for scope, limits in limits_of.items():
            merged.setdefault(scope, {}).update(limits)
    return merged
