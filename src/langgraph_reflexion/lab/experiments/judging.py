"""Evaluators on recorded trials: what they would have said of them. No agent is called."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.agents.task_file import open_tasks, read_tasks
from langgraph_reflexion.agents.world import AgentEnvironment
from langgraph_reflexion.envs.base import Task
from langgraph_reflexion.errors import ConfigurationError, Fault
from langgraph_reflexion.evaluators.all_of import AllOfEvaluator
from langgraph_reflexion.evaluators.base import Evaluator, ExactEvaluator, Score, expect_on_scale, tried
from langgraph_reflexion.evaluators.function import CommandEvaluator, FunctionEvaluator
from langgraph_reflexion.evaluators.judges import OpenevalsJudge
from langgraph_reflexion.evaluators.make import expect_truth, make_evaluator
from langgraph_reflexion.lab.experiments.judge_report import Judged, Judgement, JudgeReport
from langgraph_reflexion.lab.experiments.provenance import is_oracle
from langgraph_reflexion.lab.experiments.rows import TrialRow
from langgraph_reflexion.lab.experiments.runs import Run, read_run
from langgraph_reflexion.loop.episodes import new_episode
from langgraph_reflexion.loop.profiles import PROFILES, load_profile
from langgraph_reflexion.models.calls import open_account
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.models.options import ModelOptions
from langgraph_reflexion.models.unasked import UnaskedChatModel
from langgraph_reflexion.models.usage import add_usage
from langgraph_reflexion.prompts import DOMAINS, Prompts, load_prompts
from langgraph_reflexion.state import Attempt, ReflexionState, Step

CUT_SHORT = ("fault", "budget")
"""The ends of trials that nobody judges."""

MOST_EVALUATORS = 2
"""Evaluators that are compared at once."""


class Judging:
    """Lets evaluators judge the trials of a run, and compares what they say with the truth.

    No file, model or command that the run folder names is used: whoever starts this names them.

    Args:
        folder: The run folder.
        model: The model that judges; None if no evaluator asks one.
        options: How it is called.
        truth: What says whether a trial has solved its task: `exact`, `FILE.py:NAME` or `command: LINE`; what the run
            has recorded unless given.
        tasks: The task file, for reference answers.
        answer_field: Its column of reference answers.
        concurrency: How many trials are judged at once.
        on_judged: Called after each trial of each evaluator.

    Raises:
        ConfigurationError: there is no such run, or the truth is not known.
    """

    def __init__(
        self,
        folder: Path | str,
        *,
        model: BaseChatModel | None = None,
        options: ModelOptions | None = None,
        truth: str | None = None,
        tasks: str | None = None,
        answer_field: str | None = None,
        concurrency: int = 8,
        on_judged: Callable[[], None] = lambda: None,
    ) -> None:
        self.run = read_run(folder)
        self.options = options or ModelOptions()
        profile = str(self.run.settings["profile"])
        if profile not in PROFILES:
            profile = "paper"
        self.rules = load_profile(profile).resolve(AgentEnvironment(), actor="agent")
        self.of_agent = self.run.settings.get("actor") == "agent"
        self.prompts = _prompts_of(self.run, of_agent=self.of_agent)
        self.client = Client(model or UnaskedChatModel(), self.options)
        self.references = _references(tasks, answer_field, self.run)
        self.on_judged = on_judged
        self._at_once = asyncio.Semaphore(concurrency)
        self._truth: Evaluator | None = None
        self._why_unknown = ""
        if truth is not None:
            expect_truth(truth)
            self._truth = self._evaluator(truth)
        elif not self._records_truth():
            raise ConfigurationError(
                f"{folder} has recorded the verdicts of its run, and not the truth: give --truth exact, "
                "FILE.py:FUNCTION or 'command: LINE'"
            )

    async def judge(self, names: Sequence[str], limit: int | None = None) -> Judged:
        """Judge the trials of a run.

        Args:
            names: One evaluator or two, by name, as for an agent.
            limit: The number of tasks; all unless given.

        Raises:
            ConfigurationError: an evaluator cannot judge recorded trials, or there is no trial to judge.
        """
        different = len(set(names)) == len(names)
        if not 1 <= len(names) <= MOST_EVALUATORS or not different:
            raise ConfigurationError("judge compares one evaluator with the truth, or two different ones")
        evaluators = [self._evaluator(name) for name in names]
        rows = self._rows(limit)
        truths = await asyncio.gather(*[self._tell(row) for row in rows])
        known: list[tuple[TrialRow, bool]] = []
        for row, truth in zip(rows, truths, strict=True):
            if truth is not None:
                known.append((row, truth))
                continue
            # No evaluator is asked about this trial: for the progress, all are done with it.
            for _ in names:
                self.on_judged()
        if not known:
            why = f"{self.run.folder} has no trial that came to an end and whose task and truth are known"
            if self._why_unknown:
                why = f"{why}: {self._why_unknown}"
            raise ConfigurationError(why)
        reports: list[JudgeReport] = []
        for name, evaluator in zip(names, evaluators, strict=True):
            report = JudgeReport(name)
            asked = [self._judgement(report, row, truth, evaluator) for row, truth in known]
            report.judgements = list(await asyncio.gather(*asked))
            reports.append(report)
        return Judged(self.run.folder, reports, len(rows) - len(known), list(self.run.tasks))

    def number_of_trials(self, limit: int | None) -> int:
        """Return how many trials `judge` looks at."""
        number = 0
        for task in self._tasks(limit):
            number += sum(row["stop_reason"] not in CUT_SHORT for row in self.run.tasks[task])
        return number

    def _tasks(self, limit: int | None) -> list[str]:
        """Return the tasks whose text is recorded: an imported log may have none."""
        return [task for task in list(self.run.tasks)[:limit] if task in self.run.goals]

    def _records_truth(self) -> bool:
        """Return whether `success` in the rows is more than the verdict of the run."""
        settings = self.run.settings
        return not self.of_agent or settings.get("truth") is not None or is_oracle(settings)

    def _evaluator(self, name: str) -> Evaluator:
        """Make an evaluator by its name.

        Raises:
            ConfigurationError: there is none, or it looks at more than what is recorded.
        """
        # As for an agent: what an environment's own evaluators need is not in a run folder.
        made = make_evaluator(
            name, self.client, None, AgentEnvironment(), self.prompts, self.rules, self.options.seed
        )
        recorded = {"task", "trajectory", "reference"}
        if self.of_agent:
            recorded.add("result")
        missing = sorted(_read_by(made) - recorded)
        if missing:
            raise ConfigurationError(
                f"evaluator={name!r} reads the {', '.join(missing)} of a trial, which the run has not recorded: name "
                f"one that reads {', '.join(sorted(recorded))}"
            )
        return made

    def _rows(self, limit: int | None) -> list[TrialRow]:
        """Return the trials that came to an end, with their steps."""
        rows: list[TrialRow] = []
        for task in self._tasks(limit):
            for row in self.run.whole_trials(task):
                if row["stop_reason"] not in CUT_SHORT:
                    rows.append(row)
        return rows

    async def _tell(self, row: TrialRow) -> bool | None:
        """Return whether a trial has truly solved its task; None if that is not known."""
        if self._truth is None:
            return row["success"]
        try:
            score = await self._score(row, self._truth, "the truth")
        except Fault as fault:
            self._why_unknown = str(fault)
            return None
        if score.unverified:
            return None
        return score.accepts(self.rules.threshold)

    async def _judgement(self, report: JudgeReport, row: TrialRow, truth: bool, evaluator: Evaluator) -> Judgement:
        """Return what an evaluator says of a trial, and add what it has used to its report."""
        judgement = partial(Judgement, row["task_id"], row["trial"], truth)
        with open_account() as account:
            try:
                score = await self._score(row, evaluator, "the evaluator")
            except Fault as fault:
                return judgement(verdict=None, fault=str(fault))
            finally:
                report.usage = add_usage(report.usage, account.usage)
                self.on_judged()
        return judgement(
            verdict=score.accepts(self.rules.threshold),
            score=float(score.score),
            feedback=score.feedback,
            unverified=score.unverified,
            notes=list(account.notes),
        )

    async def _score(self, row: TrialRow, evaluator: Evaluator, who: str) -> Score:
        """Ask an evaluator about a trial, which it sees as far as it is recorded."""
        retries = self.options.retries
        config = RunnableConfig()
        async with self._at_once:
            task = self._task(row)
            try:
                evaluator.expect(task)
                task["prepared"] = await tried(retries, partial(evaluator.prepare, task, config), who)
                state = _state_of(task, row, of_agent=self.of_agent)
                score = await tried(retries, partial(evaluator.evaluate, state, config), who)
                expect_on_scale(evaluator, score, self.rules.threshold)
            except Exception as error:
                # A bug stays one; it is told by which trial it has come to light.
                error.add_note(f"while judging the task {row['task_id']!r}, trial {row['trial']}")
                raise
        return score

    def _task(self, row: TrialRow) -> Task:
        """Return the task of a trial, with its reference answer if the task file has one."""
        name = row["task_id"]
        task = Task(id=name, instruction=self.run.goals[name], data={})
        if name in self.references:
            task["data"]["reference"] = self.references[name]
        return task


def _prompts_of(run: Run, *, of_agent: bool) -> Prompts:
    """Return the templates of an agent, or of the environment, if it is one of this package."""
    domain: str = run.settings["environment"]
    if of_agent:
        return load_prompts("agent")
    if domain in DOMAINS:
        return load_prompts(domain)
    return load_prompts()


def _read_by(evaluator: Evaluator) -> set[str]:
    """Return what an evaluator reads of a trial, by the names that a function's parameters may have."""
    if isinstance(evaluator, AllOfEvaluator):
        read: set[str] = set()
        for each in evaluator.evaluators:
            read |= _read_by(each)
        return read
    if isinstance(evaluator, FunctionEvaluator):
        return set(evaluator.call.subjects)
    if isinstance(evaluator, CommandEvaluator | ExactEvaluator | OpenevalsJudge):
        return {"result"}
    if evaluator.needs_world:
        return {"world"}
    return set()


def _references(tasks: str | None, answer_field: str | None, run: Run) -> Mapping[str, Any]:
    """Return the reference answers of a task file, by task.

    Raises:
        ConfigurationError: the file is wrong, or has other tasks than the run.
    """
    if tasks is None:
        return {}
    source = open_tasks(tasks)
    split = source.splits[0]
    if run.settings.get("split") in source.splits:
        split = run.settings["split"]
    references: dict[str, Any] = {}
    options = run.settings.get("options", {})
    task_field = options.get("task_field")
    answer_field = answer_field or options.get("answer_field")
    for task in read_tasks(source.rows(split), task_field, answer_field).tasks:
        name = task["id"]
        goal = run.goals.get(name)
        # A task without an id is named by its row: in a file that was sorted anew, it would be another one.
        if goal is not None and goal != task["instruction"]:
            there = task["instruction"]
            raise ConfigurationError(
                f"{tasks} and {run.folder} have different tasks {name!r}: {there!r:.80} and {goal!r:.80}"
            )
        if "reference" in task["data"]:
            references[name] = task["data"]["reference"]
    return references


def _state_of(task: Task, row: TrialRow, *, of_agent: bool) -> ReflexionState:
    """Return the state in which an evaluator sees a trial, as far as it is recorded."""
    steps = row.get("steps", [])
    ended = row["stop_reason"]
    episode = new_episode(task, 0.0, row.get("observation", ""), None)
    episode["terminated"] = ended == "terminated"
    episode["truncated"] = ended == "truncated"
    state: dict[str, Any] = {
        "status": "running",
        "task": task,
        "trial": row["trial"],
        "trials": [],
        "trajectory": steps,
        "reflections": [],
        "evaluation": None,
        "episode": episode,
        "stop_reason": ended,
        "prompt_budget": None,
        "usage": {},
        "notes": [],
        "seconds": row["seconds"],
    }
    if of_agent:
        state["attempt"] = Attempt(messages=[], ended=ended, result=_result_of(row, steps), state={})
    return cast(ReflexionState, state)


def _result_of(row: TrialRow, steps: Sequence[Step]) -> Any:
    """Return the result of an agent's trial; in the record of an older version, its last words."""
    if "result" in row:
        return row["result"]
    for step in reversed(steps):
        if step["action"] is None:
            return step["thought"]
    return None
