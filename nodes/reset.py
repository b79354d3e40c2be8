"""reset: a trial begins in a fresh episode; before the first one, the task is prepared."""

from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import uuid4

from langchain_core.runnables import RunnableConfig
from langgraph.types import Overwrite

from langgraph_reflexion.envs.base import Task
from langgraph_reflexion.envs.pool import EpisodePool
from langgraph_reflexion.errors import Fault
from langgraph_reflexion.evaluators.base import TRUTH, Evaluator, tried
from langgraph_reflexion.loop.budgets import Budgets
from langgraph_reflexion.loop.conversation import read_task
from langgraph_reflexion.loop.episodes import begin_episode, new_episode
from langgraph_reflexion.loop.prompting import charging
from langgraph_reflexion.memory import AgentMemory
from langgraph_reflexion.models.calls import LONGEST_NOTE, as_data, note
from langgraph_reflexion.nodes.approval import Approval, ask_person
from langgraph_reflexion.state import RECORD_PROMPTS, Reflection, ReflexionState, Strategy, Update


@dataclass
class Reset:
    """Begin a trial (Algorithm 1 of the paper): a reset environment, an empty trajectory."""

    pool: EpisodePool
    evaluator: Evaluator
    strategy: Strategy
    budgets: Budgets
    approval: Approval
    memory: AgentMemory
    truth: Evaluator | None = None

    async def __call__(self, state: ReflexionState, config: RunnableConfig) -> Update:
        task = await read_task(state, self.pool.environment)
        begins = is_new(task, state)
        # Before its first trial, whose preparation may be paid for.
        resumed = state.get("trial") == 0
        update = _any_trial(state, config, resumed=resumed)
        if begins:
            began = 0.0
            update |= self._first_trial(task, config)
            # What a resumed task has paid before its first trial is in the run's account already.
            if not resumed:
                self.budgets.start_task(task["id"], config)
        else:
            began = state["seconds"]
            update |= await self._next_trial(state, config)

        key = uuid4().hex
        try:
            with charging(update, "reset") as paid:
                if begins:
                    task = await self._prepared(task, config)
                    update["task"] = task
                continued = state.get("continued", [])
                if begins:
                    # Those of the task before on this thread.
                    continued = []
                observation, snapshot = await begin_episode(self.pool, task, continued, key)
        except Fault as fault:
            observation, snapshot = "", None
            update["stop_reason"] = "fault"
            update["fault"] = as_data(fault)
        # Paid for in any case, also where the preparation has failed.
        update |= paid
        # Recalled once for a task, by what its first trial shows.
        if update["trial"] == 1 and not update["fault"]:
            update |= await self.memory.lessons.recall(task, observation, config)
        update["episode"] = new_episode(task, began, observation, snapshot, key)
        return update

    def _first_trial(self, task: Task, config: RunnableConfig) -> Update:
        """Return what the state begins a task with."""
        update: Update = {
            "status": "running",
            "trial": 1,
            "evaluation": None,
            "seconds": 0.0,
            "best": None,
            "reflections": [],
            "trials": Overwrite([]),
            "task": task,
            "result": None,
            "answers": [],
            "rejected": [],
        }
        update |= self.memory.lessons.begin(config)
        if self.budgets.limits_run and "thread_id" not in config.get("configurable", {}):
            # The same task may be played several times at once, and without a thread nothing else tells these apart.
            update["account"] = uuid4().hex
        if self.approval.reflections:
            update["approved"] = None
        if self.memory.map:
            update["memory_map"] = None
        if self.memory.facts:
            update["trial_facts"] = []
        if self.strategy.continues:
            update["continued"] = []
        return update

    async def _next_trial(self, state: ReflexionState, config: RunnableConfig) -> Update:
        """Return what a trial begins with after another one, once a person has approved the reflection on that."""
        update: Update = {}
        # Asked before anything else is done, as the node runs again once the person has answered.
        has_new_reflection = any(each["trial"] == state["trial"] for each in state["reflections"])
        # A fault may have kept the next trial from beginning after a person had decided.
        is_decided = state.get("approved") == state["trial"]
        if self.approval.reflections and has_new_reflection and not is_decided:
            update["approved"] = state["trial"]
            update["reflections"] = approved(state)
            await self.memory.lessons.record_reflection(state, update["reflections"], config, approved=True)
        update["trial"] = state["trial"] + 1
        if self.strategy.shows_last_attempt:
            update["last_attempt"] = state["trajectory"]
        if self.memory.map:
            update["memory_map"] = self.memory.map.lasting(state)
        return update

    async def _prepared(self, task: Task, config: RunnableConfig) -> Task:
        """Return the task with what the environment and the evaluator make once for it.

        Raises:
            ConfigurationError: the task lacks what a verdict on it needs.
            Fault: it cannot be made.
        """
        self.evaluator.expect(task)
        if self.truth:
            self.truth.expect(task)
        of_environment = await self.pool.prepare(task)
        of_evaluator = await tried(self.pool.retries, partial(self.evaluator.prepare, task, config))
        prepared = task.copy()
        prepared["prepared"] = of_environment | of_evaluator
        if self.truth:
            prepared["prepared"][TRUTH] = await self._prepared_by(self.truth, task, config)
        return prepared

    async def _prepared_by(self, truth: Evaluator, task: Task, config: RunnableConfig) -> dict[str, Any] | None:
        """Return what the truth makes once for a task.

        Trouble outside is a note, and None is returned: the truth about this task stays unknown, and nothing else.
        """
        try:
            return await tried(self.pool.retries, partial(truth.prepare, task, config), "the truth")
        except Fault as fault:
            note(f"truth: unknown, {fault}"[:LONGEST_NOTE])
            return None


def _any_trial(state: ReflexionState, config: RunnableConfig, *, resumed: bool) -> Update:
    """Return what every trial begins with; a task that is resumed keeps what was paid before its first trial."""
    update: Update = {
        "stop_reason": None,
        "fault": "",
        # The steps of the last trial would otherwise be merged with the next one's.
        "trajectory": Overwrite([]),
        "notes": [],
        "replies": {},
        "usage": {},
        "last_attempt": [],
        "prompt_budget": None,
    }
    if state.get("proposed_evaluation"):
        # Nobody has decided about the last trial's verdict, and a new task has come.
        update["proposed_evaluation"] = None
    if resumed:
        update["usage"] = state["usage"]
    # A task whose prompts were recorded once is recorded to its end.
    records = config.get("configurable", {}).get(RECORD_PROMPTS) or "sent_prompts" in state
    if records:
        update["sent_prompts"] = []
        if resumed:
            update["sent_prompts"] = state.get("sent_prompts", [])
    return update


def is_new(task: Task, state: ReflexionState) -> bool:
    """Return whether the task has not begun yet, which tells a new input on a used thread from the next trial."""
    # Only a task that has begun is prepared.
    if "prepared" not in task:
        return True
    if state.get("status") != "running":
        return True
    return state["episode"]["task"] != task["id"]


def approved(state: ReflexionState) -> list[Reflection]:
    """Return the reflections after a person has seen the newest one: kept, edited or dropped."""
    *earlier, newest = state["reflections"]
    trial = newest["trial"]
    words = f"Task: {state['task']['instruction']}\nTrial {trial}"
    answer = ask_person("reflection", {"text": newest["text"]}, words, _edited_text)
    if answer.rejected:
        return earlier
    return [*earlier, Reflection(trial=trial, text=answer.edited or newest["text"])]


def _edited_text(name: Any, args: Any) -> str | None:
    """Return the text of an edited reflection; None if there is none."""
    if not isinstance(args, dict):
        return None
    text = args.get("text")
    if not isinstance(text, str) or not text.strip():
        return None
    return text
