"""The prompts of a run, rendered again from its record by the code that made them.

The run folder holds the templates, the few-shot examples and the rules (`rules` in `run.json`); the rows of
`trials.jsonl` hold what else a prompt depends on.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, Self, cast

from langchain_core.messages import AIMessage, BaseMessage
from markupsafe import Markup
from pydantic import TypeAdapter
from rich.console import Console
from rich.text import Text

from langgraph_reflexion.actors import make_actor
from langgraph_reflexion.actors.base import Actor
from langgraph_reflexion.actors.reply import call_text
from langgraph_reflexion.actors.tools import ToolActor
from langgraph_reflexion.agents import AgentTasks
from langgraph_reflexion.agents.runner import lessons_for
from langgraph_reflexion.agents.state import WrappedAgentState
from langgraph_reflexion.agents.world import AgentEnvironment
from langgraph_reflexion.envs.base import Environment, Task
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.evaluators.base import STOPPED
from langgraph_reflexion.evaluators.judges import LLMEvaluator
from langgraph_reflexion.lab.demo import DemoChatModel
from langgraph_reflexion.lab.experiments.html import fill, framed
from langgraph_reflexion.lab.experiments.provenance import settings_of
from langgraph_reflexion.lab.experiments.record import PROMPTS, Run, read_run
from langgraph_reflexion.lab.experiments.rows import Key, TrialRow, key_of
from langgraph_reflexion.loop.budgets import Budgets
from langgraph_reflexion.loop.profiles import Rules
from langgraph_reflexion.memory import AgentMemory, Memory, make_memory
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.models.options import ModelOptions
from langgraph_reflexion.nodes.reflect import Reflect
from langgraph_reflexion.prompts import Prompts
from langgraph_reflexion.state import ReflexionState, Step, Strategy
from langgraph_reflexion.support.sync import finished
from langgraph_reflexion.support.text import printable

Place = int | Literal["judge"] | None
"""A step's number; None for the reflection on the trial, `judge` for the verdict of the evaluator `llm`."""
ROLES = {"system": "system", "human": "user", "ai": "assistant", "tool": "tool"}


@dataclass(frozen=True, repr=False)
class ShownPrompt:
    """A prompt for a reader. Notebooks show it; `print` prints it in a terminal."""

    title: str
    messages: list[BaseMessage]

    @property
    def parts(self) -> list[tuple[str, str]]:
        """Its messages as role and text, printable; tool calls are written as text."""
        return [(ROLES[message.type], printable(_text(message))) for message in self.messages]

    def print(self, console: Console | None = None) -> None:
        """Print the prompt; to the terminal by default."""
        console = console or Console(highlight=False)
        console.print(Text(printable(self.title), "bold"))
        for role, text in self.parts:
            console.print(Text(f"\n{role}", "bold reverse"))
            console.print(Text(text))

    def __repr__(self) -> str:
        return f"<{printable(self.title)}: {len(self.messages)} messages>"

    def _repr_html_(self) -> str:
        parts = [Markup("<h4>{}</h4>").format(printable(self.title))]
        return framed(*parts, fill("prompt.html.j2", parts=self.parts))


class RunPrompts:
    """The prompts of a run, as a context manager.

    The environment is made when an action's prompt is first asked for, whose text lists the actions.

    Args:
        run: The run or its folder.

    Raises:
        ConfigurationError: the folder does not hold what its prompts were made from, as in an imported log.
    """

    def __init__(self, run: Run | Path | str) -> None:
        self.run = run = run if isinstance(run, Run) else read_run(run)
        folder = run.folder / PROMPTS
        if "rules" not in run.info or not folder.is_dir():
            raise ConfigurationError(f"{run.folder} was recorded without its prompts")
        self.rules = TypeAdapter(Rules).validate_json(json.dumps(run.info["rules"]))
        self.prompts = Prompts(folder)
        self._rows: dict[Key, TrialRow] = {}
        self._made: Environment | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._made:
            finished(self._made.close())

    def whole_trials(self, task: str) -> list[TrialRow]:
        """Return the trials of a task as `Run.whole_trials` does, read once for all prompts of the task."""
        if not self._rows or task != next(iter(self._rows))[0]:
            self._rows = {key_of(row): row for row in self.run.whole_trials(task)}
        return list(self._rows.values())

    def messages(self, task: str, trial: int, step: Place = None) -> list[BaseMessage]:
        """Return what a model got, as it got it; secrets are redacted, as in the record.

        Args:
            task: The task's id.
            trial: The number of a recorded trial.
            step: What the prompt asked for. An agent of your own got one prompt for all steps of a trial.

        Raises:
            ConfigurationError: the trial or the step is not recorded, or there was no such prompt.
            EnvironmentUnavailable: the actions are not known, as something that the environment needs is missing.
        """
        self.whole_trials(task)
        row = self._rows.get((task, trial))
        if row is None:
            raise ConfigurationError(f"{self.run.folder} has no record of trial {trial} of {task!r}")
        where = f"trial {trial} of {printable(task)}"
        notes = row["notes"]
        if isinstance(step, int):
            return self._acting(row, step, notes, where)
        state = self._state(row, row["steps"])
        if step == "judge":
            if self.rules.evaluator != "llm":
                raise ConfigurationError(
                    f"{where}: no prompt asked for its verdict (evaluator {self.rules.evaluator})"
                )
            return LLMEvaluator(self._client, self.prompts, 0).prompt(state).as_sent("evaluate", notes)
        if not any(each["trial"] == trial for each in row.get("reflections", [])):
            raise ConfigurationError(f"{where} was not reflected on")
        state["evaluation"] = row["evaluation"]
        memory = self._memory(self._environment if self.run.settings.get("memory_map") else None)
        return Reflect(self._client, self.prompts, memory, self.rules, 0).prompt(state).as_sent("reflect", notes)

    def _acting(self, row: TrialRow, number: int, notes: Sequence[str], where: str) -> list[BaseMessage]:
        step = next((each for each in row["steps"] if each["number"] == number), None)
        if step is None or not by_model(step):
            raise ConfigurationError(f"{where} has no model call for step {number} of {len(row['steps'])}")
        state = self._state(row, [each for each in row["steps"] if each["number"] < number])
        environment = self._environment
        if isinstance(environment, AgentTasks):
            agent, own = environment.agent, cast(WrappedAgentState, state)
            lessons = lessons_for(own, self.prompts, self.rules.feedback, fresh=agent.environment.fresh)
            return [*agent.messages(own, lessons)]
        if row["task_id"] not in self._tasks:
            raise ConfigurationError(f"{where}: the environment's data no longer has this task")
        state["task"] = cast(Task, {**self._tasks[row["task_id"]], **state["task"]})
        actor = self._actor.for_task(state["task"])
        if isinstance(actor, ToolActor) and any("refuses tools" in note for note in notes):
            actor = actor.text_actor
        made, call = actor.shown_at(state, step)
        return made.as_sent(call, notes)

    def _state(self, row: TrialRow, steps: list[Step]) -> ReflexionState:
        """Return the state of a trial after these steps, as far as prompts show it."""
        task = row["task_id"]
        before = [self._rows.get((task, trial)) for trial in range(1, row["trial"])]
        if None in before:
            raise ConfigurationError(f"{self.run.folder}: a trial before trial {row['trial']} of {task} is missing")
        known = cast(list[TrialRow], before)
        last = known[-1] if known else None
        prepared = (known[0] if known else row).get("prepared", {})
        return cast(
            ReflexionState,
            {
                "task": {"id": task, "instruction": self.run.goals[task], "prepared": prepared},
                "trial": row["trial"],
                "episode": {"observation": row["observation"]},
                "trajectory": steps,
                "evaluation": next((each["evaluation"] for each in reversed(known) if each["evaluation"]), None),
                "reflections": last.get("reflections", []) if last else [],
                "last_attempt": last["steps"] if last and Strategy(self.rules.strategy).shows_last_attempt else [],
                **{name: row[name] for name in ("lessons", "memory_map", "replies") if name in row},
            },
        )

    @cached_property
    def _environment(self) -> Environment:
        self._made = made = settings_of(self.run.info).make_environment()
        return made.variant(self.rules.actor) if self.rules.actor in made.variants else made

    @cached_property
    def _tasks(self) -> dict[str, Task]:
        settings = self.run.settings
        return {each["id"]: each for each in self._environment.tasks(settings["split"], settings["limit"])}

    @cached_property
    def _actor(self) -> Actor:
        memory = self._memory(self._environment)
        return make_actor(self._client, self._environment, self.prompts, self.rules, memory.map)

    @cached_property
    def _client(self) -> Client:
        return Client(DemoChatModel())  # is never asked

    def _memory(self, environment: Environment | None) -> AgentMemory:
        memory = Memory(map=bool(environment and self.run.settings.get("memory_map")))
        known = environment or AgentEnvironment()
        return make_memory(
            memory, known, self._client, self.prompts, self.rules, Budgets(), ModelOptions(), approves=False
        )


def by_model(step: Step) -> bool:
    """Return whether a model was asked for a step; otherwise it says what stopped the trial."""
    return step["action"] is not None or step["thought"] not in STOPPED.values()


def shown_prompt(run: Run | Path | str, task: str, trial: int, step: Place = None) -> ShownPrompt:
    """Return one prompt of a run for a reader; arguments and errors as for `RunPrompts.messages`."""
    asked = "the reflection on" if step is None else "the verdict on" if step == "judge" else f"step {step} of"
    with RunPrompts(run) as prompts:
        return ShownPrompt(f"Prompt for {asked} trial {trial} of {task}", prompts.messages(task, trial, step))


def _text(message: BaseMessage) -> str:
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    return "\n".join(filter(None, [message.text, *(call_text(call["name"], call["args"]) for call in calls)]))
