"""The Reflexion agent as an agent of Inspect's."""

import hashlib
import weakref
from functools import partial
from typing import Any, cast

from inspect_ai.agent import Agent, AgentState, agent
from inspect_ai.model import ChatMessageUser, ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import span, store_as
from langchain_core.runnables import Runnable

from langgraph_reflexion.adapters.inspect.chat_model import InspectChatModel, LimitReached
from langgraph_reflexion.adapters.inspect.sample import Kept, Row, Sampled, Shelf, answer_of
from langgraph_reflexion.adapters.inspect.telling import ToldRun
from langgraph_reflexion.agents.no_environment import NoEnvironment
from langgraph_reflexion.agents.wrapped import WrappedAgent
from langgraph_reflexion.budgets import Budgets
from langgraph_reflexion.envs.base import Environment, Task
from langgraph_reflexion.errors import ConfigurationError, Fault
from langgraph_reflexion.experiments.environment import make_environment
from langgraph_reflexion.experiments.rows import Finished
from langgraph_reflexion.graph.reflexion import create_reflexion
from langgraph_reflexion.profiles import load_profile
from langgraph_reflexion.state import Strategy

REFLECTOR = "reflector"
"""The model role that reflects and judges: `--model-role reflector=...`. Without it, the evaluation's model does."""

TASK = "reflexion_task"
"""Under which a sample's metadata hold the environment's task."""

_TAKEN = {
    "model": "it is Inspect's (--model)",
    "reflection_model": f"it is Inspect's (--model-role {REFLECTOR}=...)",
    "cache": "Inspect has one of its own (--cache)",
    "approve_actions": "nobody is there to answer",
    "approve_reflections": "nobody is there to answer",
}


@solver
def place() -> Solver:
    """Tells the agent which sample it is in. The `setup` of a task."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        sampled = state.store_as(Sampled)
        sampled.sample, sampled.epoch = str(state.sample_id), state.epoch
        sampled.task = state.metadata.get(TASK, {})
        return state

    return solve


@agent
def reflexion_agent(
    environment: Environment | str | None = None,
    *,
    options: dict[str, Any] | None = None,
    seed: int = 0,
    **settings: Any,
) -> Agent:
    """The Reflexion agent: trial, verdict, reflection, and the next trial, all within one sample.

    In a task of one's own, `place()` is the task's `setup`, and a sample's metadata hold the environment's task under
    `reflexion_task` (`samples_of` makes such samples). With a LangChain agent as `actor` neither is needed: then the
    task is the conversation's last message by a user.

    Args:
        environment: The environment, or its name.
        options: Its options, where it is given by name.
        seed: The run's seed in the first epoch; each further epoch has the next one.
        **settings: As `create_reflexion` takes them: `actor`, `strategy`, `evaluator`, `max_trials`, `profile` and so
            on. Models, cache, checkpoints and approval are Inspect's business, or nobody's.

    Raises:
        ConfigurationError: a setting is wrong.
        EnvironmentUnavailable: the environment cannot be used here.
    """
    for name in settings.keys() & _TAKEN.keys():
        raise ConfigurationError(f"{name} is no setting of an Inspect agent: {_TAKEN[name]}")
    made = make_environment(environment, options or {}, seed) if isinstance(environment, str) else environment
    reflexion = _Reflexion(made, seed, settings)

    async def execute(state: AgentState) -> AgentState:
        await reflexion.solve(state)
        return state

    if isinstance(environment, str) and made is not None:
        weakref.finalize(execute, made.close)
    return execute


class _Reflexion:
    """What an agent is made of, and how it advances a sample."""

    def __init__(self, environment: Environment | None, seed: int, settings: dict[str, Any]) -> None:
        self.environment = environment or NoEnvironment()
        self.seed = seed
        self.budgets = settings.get("budgets") or Budgets()
        self.make = partial(
            create_reflexion,
            InspectChatModel(),
            environment,
            reflection_model=InspectChatModel(role=REFLECTOR),
            **{**settings, "budgets": self.budgets},
        )
        actor = settings.get("actor")
        self.wraps = isinstance(actor, Runnable | WrappedAgent)
        profile = load_profile(settings.get("profile", "paper"))
        resolved = profile.of(self.environment.name, "agent" if self.wraps else actor, settings.get("strategy"))
        # So that a wrong setting is known before the first sample.
        self.make(seed=seed)
        self.reflects = Strategy(resolved.strategy).reflects
        self.max_trials = settings.get("max_trials") or resolved.max_trials
        self.shelf = Shelf()

    async def solve(self, state: AgentState) -> None:
        """Advance the sample's task to its end, from wherever its checkpoint stands.

        Raises:
            ConfigurationError: the sample has no task of the environment's.
            Fault: something outside the agent failed.
            LimitExceededError: a limit of Inspect's is reached.
        """
        sampled = store_as(Sampled)
        task = self._task(sampled, state)
        # Without `place`, nothing tells one sample from another.
        kept = await self.shelf.kept() if sampled.sample else Kept(None)
        thread = f"{sampled.sample}:{sampled.epoch}:{task['id']}"
        run = self._run(task, thread, sampled.epoch, kept, state)
        sampled.max_trials, sampled.has_truth = self.max_trials, not self.wraps
        try:
            if (finished := await run.restore()) is not None:
                kept.add(thread, _row(finished, run))
            run.reopen()
            sampled.resumed = run.completed
            sampled.rows, sampled.status = kept.rows(thread, run.completed), run.status
            if run.begun:
                async with span("before it was stopped", type="trial"):
                    await run.tell_so_far(sampled.rows)
            while run.status == "running":
                async with span(f"trial {run.completed + 1}", type="trial"):
                    row = _row(await run.advance(), run)
                kept.add(thread, row)
                sampled.rows, sampled.status = kept.rows(thread, row["trial"]), run.status
        except LimitReached as reached:
            raise reached.limit from None
        if run.status == "fault":
            raise Fault(sampled.rows[-1]["fault"])
        answer = answer_of(sampled.rows)
        state.output = ModelOutput.from_content("langgraph-reflexion", answer["answer"] if answer else "")

    def _task(self, sampled: Sampled, state: AgentState) -> Task:
        if sampled.task:
            return cast(Task, sampled.task)
        if not self.wraps:
            raise ConfigurationError(
                f"the sample has no task of {self.environment.name}: its Inspect task needs setup=place(), and "
                "samples made by samples_of(environment)"
            )
        asked = [message for message in state.messages if isinstance(message, ChatMessageUser)]
        if not asked:
            raise ConfigurationError("the conversation has no message by a user, which would be the task")
        text = asked[-1].text
        return Task(id=hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest(), instruction=text)

    def _run(self, task: Task, thread: str, epoch: int, kept: Kept, state: AgentState) -> ToldRun:
        if epoch not in kept.graphs:
            kept.graphs[epoch] = self.make(seed=self.seed + epoch - 1)
        return ToldRun(
            kept.graphs[epoch].compile(checkpointer=kept.saver),
            task,
            thread,
            reflects=self.reflects,
            max_trials=self.max_trials,
            budgets=self.budgets,
            review=self.environment.review,
            state=state,
        )


def _row(finished: Finished, run: ToldRun) -> Row:
    last = [step["action"]["text"] for step in finished.trajectory["steps"] if step["action"]][-1:]
    return {**finished.row, "answer": run.result or "".join(last)}
