"""reset: a trial begins in a fresh episode; before the first one, the task is prepared."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.types import Overwrite

from langgraph_reflexion.envs.base import Task
from langgraph_reflexion.envs.pool import EpisodePool
from langgraph_reflexion.errors import Fault
from langgraph_reflexion.evaluators.base import Evaluator, tried
from langgraph_reflexion.loop.budgets import Budgets
from langgraph_reflexion.loop.conversation import read_task
from langgraph_reflexion.loop.episodes import new_episode
from langgraph_reflexion.loop.prompting import charging
from langgraph_reflexion.memory import AgentMemory
from langgraph_reflexion.models.calls import as_data
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

    async def __call__(self, state: ReflexionState, config: RunnableConfig) -> Update:
        task = await read_task(state, self.pool.environment)
        # Only a task that has begun is prepared, which tells a new input on a used thread from the next trial.
        begins = "prepared" not in task or state.get("status") != "running" or state["episode"]["task"] != task["id"]
        resumed = state.get("trial") == 0  # before its first trial, whose preparation may be paid for
        update: Update = {"stop_reason": None, "fault": "", "trajectory": Overwrite([]), "notes": [], "replies": {}}
        update |= {"usage": state["usage"] if resumed else {}, "last_attempt": [], "prompt_budget": None}
        if config.get("configurable", {}).get(RECORD_PROMPTS) or "sent_prompts" in state:
            update["sent_prompts"] = state.get("sent_prompts", []) if resumed else []
        if begins:
            update |= {"status": "running", "trial": 1, "evaluation": None, "seconds": 0.0, "best": None}
            update |= {"reflections": [], "trials": Overwrite([]), "task": task, "result": None, "answers": []}
            update |= self.memory.lessons.begin(config)
            if not resumed:
                self.budgets.start_task(task["id"], config)
        else:
            if self.approval.reflections and any(each["trial"] == state["trial"] for each in state["reflections"]):
                update["reflections"] = approved(state)
                await self.memory.lessons.record_reflection(state, update["reflections"], config, approved=True)
            update["trial"] = state["trial"] + 1
            if self.strategy.shows_last_attempt:
                update["last_attempt"] = state["trajectory"]
        if self.memory.map:
            update["memory_map"] = None if begins else self.memory.map.lasting(state)
        try:
            with charging(update, "reset") as paid:
                if begins:
                    prepared = await self.pool.prepare(task)
                    made = await tried(self.pool.retries, partial(self.evaluator.prepare, task, config))
                    update["task"] = task = Task(**{**task, "prepared": prepared | made})
                observation, snapshot = await self.pool.start(task)
        except Fault as fault:
            observation, snapshot = "", None
            update |= {"stop_reason": "fault", "fault": as_data(fault)}
        update |= paid
        if update["trial"] == 1 and not update["fault"]:
            update |= await self.memory.lessons.recall(task, observation, config)
        update["episode"] = new_episode(task, 0.0 if begins else state["seconds"], observation, snapshot)
        return update


def approved(state: ReflexionState) -> list[Reflection]:
    """Return the reflections after a person has seen the newest one: kept, edited or dropped."""
    *earlier, newest = state["reflections"]
    words, trial = f"Task: {state['task']['instruction']}\nTrial {newest['trial']}", newest["trial"]
    answer = ask_person("reflection", {"text": newest["text"]}, words, _edited_text)
    return earlier if answer.rejected else [*earlier, Reflection(trial=trial, text=answer.edited or newest["text"])]


def _edited_text(name: Any, args: Any) -> str | None:
    text = args.get("text") if isinstance(args, dict) else None
    return text if isinstance(text, str) and text.strip() else None
