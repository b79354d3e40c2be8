"""reset: begin a trial in a fresh episode, and before the first one, prepare the task."""

from collections.abc import Callable, Collection
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.types import Overwrite

from langgraph_reflexion.budgets import Budgets
from langgraph_reflexion.context import charged
from langgraph_reflexion.envs.base import Task
from langgraph_reflexion.envs.pool import EpisodePool
from langgraph_reflexion.errors import ConfigurationError, Fault, ModelFault
from langgraph_reflexion.evaluators.base import Evaluator
from langgraph_reflexion.memory.memory_map import Mapper
from langgraph_reflexion.models.calls import storable
from langgraph_reflexion.models.retries import Retries
from langgraph_reflexion.nodes.approval import ask_person, require_checkpointer
from langgraph_reflexion.nodes.node import Update
from langgraph_reflexion.state import EpisodeState, Reflection, ReflexionState
from langgraph_reflexion.strategies import Strategy


class Reset:
    """Begin a trial (Algorithm 1 of the paper): a reset environment, an empty trajectory.

    Args:
        pool: Where episodes live.
        evaluator: Asked once per task to prepare, like the environment.
        strategy: Whether the previous trajectory is kept for the actor.
        retries: How often a fresh episode is asked for.
        budgets: Keep the account of what the task spends.
        read_task: Finds the task in the input.
        clears: More fields of the state that a new task begins without.
        pauses: Whether the run pauses anywhere for a person.
        approve_reflections: Whether it does so after each reflection.
        mapper: Keeps of the memory map what holds in the next trial.
    """

    def __init__(
        self,
        pool: EpisodePool,
        evaluator: Evaluator,
        strategy: Strategy,
        retries: Retries,
        budgets: Budgets,
        *,
        read_task: Callable[[ReflexionState], Task],
        clears: Collection[str] = (),
        pauses: bool = False,
        approve_reflections: bool = False,
        mapper: Mapper | None = None,
    ) -> None:
        self.pool = pool
        self.evaluator = evaluator
        self.strategy = strategy
        self.retries = retries
        self.budgets = budgets
        self.read_task = read_task
        self.clears = clears
        self.pauses = pauses
        self.approve_reflections = approve_reflections
        self.mapper = mapper

    async def __call__(self, state: ReflexionState, config: RunnableConfig) -> Update:
        """Write the new trial's opening state; where a task begins, the whole state."""
        task = self.read_task(state)
        # An input is not prepared, and every task that has begun is: so a new input on a used thread is told
        # from the next trial of the task that was under way.
        under_way = state.get("status") == "running" and state["episode"]["task"] == task["id"]
        begins = "prepared" not in task or not under_way
        if self.pauses:
            require_checkpointer(config)
        update: Update = {"stop_reason": None, "usage": {}, "fault": "", "trajectory": Overwrite([])}
        update |= {"last_attempt": [], "room": None, "notes": []}
        if begins:
            update |= {"status": "running", "trial": 1, "evaluation": None, "seconds": 0.0, "best": None}
            update |= {"reflections": [], "trials": Overwrite([]), "task": task} | dict.fromkeys(self.clears)
            self.budgets.begin(task["id"], config)
        else:
            reflected = any(reflection["trial"] == state["trial"] for reflection in state["reflections"])
            if self.approve_reflections and reflected:
                update["reflections"] = approved(state)
            update["trial"] = state["trial"] + 1
            if self.strategy.shows_last_attempt:
                update["last_attempt"] = state["trajectory"]
            if self.mapper:
                update["known"] = self.mapper.known(state)
        try:
            if begins:
                given = task
                prepared = await self.retries(lambda: self.pool.prepare(given))
                made = await self.evaluator.prepare(given, config)
                update["task"] = task = Task(**{**task, "prepared": prepared | made.data})
                update |= {
                    "usage": charged(cast(ReflexionState, {"usage": {}}), "reset", made.usage),
                    "notes": list(made.notes),
                }
            opened = await self.retries(lambda: self.pool.start(task))
        except Fault as fault:
            if isinstance(fault, ModelFault) and fault.permanent:
                raise
            opened = "", None
            update |= {"stop_reason": "fault", "fault": str(fault)}
        return update | {"episode": _opened(task, 0.0 if begins else state["seconds"], *opened)}


def _opened(task: Task, began: float, observation: str, snapshot: dict[str, Any] | None) -> EpisodeState:
    return EpisodeState(
        task=task["id"],
        began=began,
        observation=storable(observation),
        reward=None,
        terminated=False,
        truncated=False,
        snapshot=snapshot,
    )


def approved(state: ReflexionState) -> list[Reflection]:
    """The memory after a person has seen its newest reflection: kept, edited, or dropped."""
    *earlier, newest = state["reflections"]
    request = {
        "kind": "reflection",
        "task": state["task"]["instruction"],
        "trial": newest["trial"],
        "reflection": newest["text"],
    }
    approval = ask_person(request, lambda edit: edit if isinstance(edit, str) and edit.strip() else None)
    if approval.rejected:
        return earlier
    return [*earlier, Reflection(trial=newest["trial"], text=approval.edited or newest["text"])]


def task_of(state: ReflexionState) -> Task:
    """The task of the input.

    Raises:
        ConfigurationError: there is none, or it is not a task.
    """
    task = state.get("task")
    given: dict[str, Any] = {**task} if isinstance(task, dict) else {}
    words = all(isinstance(given.get(key), str) for key in ("id", "instruction"))
    if words and isinstance(given.get("kind", ""), str) and isinstance(given.get("data", {}), dict):
        return cast(Task, given)
    raise ConfigurationError(
        f"the graph's input is {{'task': task}}, with a task such as environment.tasks()[0]; got {task!r:.200}"
    )
