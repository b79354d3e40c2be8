"""The first trials of another run, from which a run goes on.

In the preprint (section 3.1) two strategies start from one shared initial trial. A model above temperature 0 plays
another one each time. Here the recorded steps of a first trial are taken again in the environment, and its tests, its
verdict and its usage are those of the record: no model is asked before the second trial.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.actors.base import Actor
from langgraph_reflexion.envs.base import Task
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.evaluators.base import Evaluator, Score
from langgraph_reflexion.graph.reflexion import ReflexionGraph
from langgraph_reflexion.lab.experiments.rows import TrialRow
from langgraph_reflexion.lab.experiments.runs import Run, read_run
from langgraph_reflexion.lab.run_settings import RunSettings
from langgraph_reflexion.models.calls import CallId, Reply, charge
from langgraph_reflexion.state import Decision, ReflexionState, Step, Update

SHARED = (
    "environment",
    "options",
    "seed",
    "profile",
    "model",
    "temperature",
    "max_tokens",
    "actor",
    "evaluator",
    "max_actions",
    "max_cycles",
    "memory_map",
)
"""The settings that decide how a first trial goes."""


@dataclass
class FirstTrials:
    """The first trials of a run, by task.

    Attributes:
        run: The run.
    """

    run: Run

    def __post_init__(self) -> None:
        self._rows: dict[str, TrialRow] = {}

    def row(self, task: str) -> TrialRow:
        """Return the first trial of a task, with its steps."""
        if task not in self._rows:
            self._rows[task] = self.run.whole_trials(task)[0]
        return self._rows[task]

    def charge(self, task: str, node: str) -> None:
        """Charge what the calls of a node have used in the first trial."""
        used = self.row(task)["usage"].get(node)
        if used:
            charge(used)


def share_first_trials(graph: ReflexionGraph, settings: RunSettings, tasks: list[str]) -> None:
    """Let a run's graph take its first trials from the run `settings.first_trial_of`.

    Raises:
        ConfigurationError: that run has other settings, or lacks the finished first trial of a task.
    """
    folder = Path(str(settings.first_trial_of))
    if settings.lessons is not None:
        raise ConfigurationError("--first-trial-of and --lessons do not go together: lessons change first trials")
    if settings.actor == "agent":
        raise ConfigurationError("--first-trial-of needs an environment: an agent's trial cannot be taken again")
    run = read_run(folder)
    differing = _differing(settings.public(), run.settings)
    if differing:
        raise ConfigurationError(f"--first-trial-of {folder}: it has other settings: {'; '.join(differing)}")
    missing = [task for task in tasks if not _is_finished(run.tasks.get(task, ()))]
    if missing:
        raise ConfigurationError(
            f"--first-trial-of {folder}: it lacks the finished first trial of {len(missing)} of {len(tasks)} tasks, "
            f"such as {missing[0]!r}: resume it, or choose fewer tasks with --limit"
        )
    first = FirstTrials(run)
    act = graph.loop["act"]
    act.actor = SharedActor(act.actor, first)
    reset = graph.loop["reset"]
    evaluate = graph.loop["evaluate"]
    shared = SharedEvaluator(evaluate.evaluator, first)
    reset.evaluator = shared
    evaluate.evaluator = shared


def _differing(now: Mapping[str, Any], there: Mapping[str, Any]) -> list[str]:
    """Return, in words, the settings of `SHARED` that differ from those of the other run."""
    differing: list[str] = []
    for name in SHARED:
        # An older version did not record all of them.
        if name in there and there[name] != now[name]:
            differing.append(f"{name} is {now[name]!r}, and {there[name]!r} there")
    return differing


def _is_finished(rows: Sequence[TrialRow]) -> bool:
    """Return whether the first trial of a task has got its verdict."""
    if not rows:
        return False
    first = rows[0]
    return first["trial"] == 1 and first["verdict"] is not None


@dataclass
class SharedActor:
    """Takes the recorded steps in first trials, and then asks the actor."""

    actor: Actor
    first: FirstTrials

    def for_task(self, task: Task) -> "SharedActor":
        return SharedActor(self.actor.for_task(task), self.first)

    async def choose(
        self, state: ReflexionState, config: RunnableConfig, call: CallId, temperature: float | None = None
    ) -> tuple[Decision, Reply]:
        """Return the next step.

        Raises:
            ConfigurationError: the world has answered otherwise than in the record.
        """
        if state["trial"] > 1:
            return await self.actor.choose(state, config, call, temperature)
        task = state["task"]["id"]
        row = self.first.row(task)
        recorded = row["steps"]
        taken = state["trajectory"]
        seen = _observations(state["episode"]["observation"], taken)
        shown = _observations(row["observation"], recorded)
        if seen != shown[: len(seen)] or len(taken) == len(recorded):
            raise ConfigurationError(
                f"the first trial of {task!r} in {self.first.run.folder} cannot be taken again: the world answered "
                f"otherwise at step {len(taken)}: it has changed, or does not repeat itself"
            )
        if not taken:
            self.first.charge(task, "act")
        step = recorded[len(taken)]
        return Decision(thought=step["thought"], action=step["action"]), Reply(AIMessage(""))

    def keep(self, state: ReflexionState, reply: Reply) -> Update:
        """Return what the state keeps of a reply; nothing of a recorded step."""
        if state["trial"] == 1:
            return {}
        return self.actor.keep(state, reply)


def _observations(first: str, steps: Sequence[Step]) -> list[str]:
    """Return what the world has shown in a trial, from its beginning."""
    found = [first]
    found += [step["observation"] for step in steps]
    return found


@dataclass
class SharedEvaluator(Evaluator):
    """Gives the recorded verdicts on first trials, with the tests that were written for them."""

    evaluator: Evaluator
    first: FirstTrials

    def __post_init__(self) -> None:
        self.by_model = self.evaluator.by_model
        self.oracle = self.evaluator.oracle

    def expect(self, task: Task) -> None:
        self.evaluator.expect(task)

    async def prepare(self, task: Task, config: RunnableConfig) -> dict[str, Any]:
        self.first.charge(task["id"], "reset")
        return self.first.row(task["id"]).get("prepared") or {}

    async def evaluate(self, state: ReflexionState, config: RunnableConfig) -> Score:
        if state["trial"] > 1:
            return await self.evaluator.evaluate(state, config)
        row = self.first.row(state["task"]["id"])
        self.first.charge(state["task"]["id"], "evaluate")
        evaluation = row["evaluation"]
        assert evaluation is not None  # the trial is finished
        unverified = evaluation.get("unverified", False)
        return Score(
            evaluation["score"], evaluation["feedback"], success=evaluation["success"], unverified=unverified
        )
