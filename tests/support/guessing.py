"""A model that counts up in the guessing game, and runs around both."""

import asyncio
import json
from collections.abc import Sequence

from langchain_core.messages import AIMessage

from langgraph_reflexion import create_reflexion
from langgraph_reflexion.lab.experiments.locks import locked
from langgraph_reflexion.lab.experiments.runner import run_setup
from langgraph_reflexion.lab.experiments.scheduler import Observer
from langgraph_reflexion.lab.experiments.setup import Setup, SharedBudgets
from langgraph_reflexion.lab.run_settings import RunSettings
from langgraph_reflexion.models.options import ModelOptions
from langgraph_reflexion.support.retries import Retries
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support import game


class Guessing(game.Guessing):
    """The game with any numbers, on the event loop."""

    splits = ("numbers",)
    blocking = False

    def __init__(self, seed: int = 0, numbers: Sequence[int] = (1, 2, 3, 4)) -> None:
        super().__init__(seed)
        self.numbers = numbers


class RefusedError(Exception):
    """What stops a whole run, at once: as near to a kill as it gets inside one process."""

    status_code = 401


class Slow(ScriptedChatModel):
    """Waits for a time that depends on the prompt, so that tasks overtake each other."""

    async def _agenerate(self, messages, *args, **kwargs):
        await asyncio.sleep(len(messages[-1].text) * 7 % 5 / 500)
        return self._generate(messages, **kwargs)


def count_up(messages):
    """Say 1 first, and then what the last reflection advises."""
    *_, after = messages[-1].text.rpartition("I will say ")
    number = int(after[0]) if "I will say " in messages[-1].text else 1
    lesson = f"{number} was wrong. Next time I will say {number + 1}."
    failed = "Status: FAILED" in messages[-1].text
    return AIMessage(
        lesson if failed else f"Action: say {number}",
        usage_metadata={"input_tokens": 10, "output_tokens": 2, "total_tokens": 12},
    )


class Watch(Observer):
    def __init__(self) -> None:
        self.seen = []

    def on_trial(self, row, finished):
        self.seen.append((row["task_id"], row["trial"]))


def drive_all(
    folder,
    replies=count_up,
    *,
    numbers=(1, 2, 3, 4),
    environment=None,
    in_step=False,
    observer=None,
    model_class=Slow,
    evaluator=None,
    heuristic=None,
    **more,
):
    """Run a scripted model, or resume the run that the folder holds; `more` are settings."""
    environment, model = environment or Guessing(numbers=numbers), model_class(replies=replies)
    given = {"strategy": "reflexion", "max_trials": 5, "concurrency": 8, "until_no_improvement": in_step, **more}
    settings = RunSettings(environment="guessing", **given)
    settings = settings.resolved(environment, settings.rules(environment))
    budgets = SharedBudgets(**{scope: limits.budget() for scope, limits in settings.budgets.items()})
    options = {"evaluator": evaluator, "heuristic": heuristic, "options": ModelOptions(retries=Retries(attempts=1))}
    options |= {name: getattr(settings, name) for name in ("actor", "strategy", "max_trials", "feedback")}
    graph = create_reflexion(model, environment, budgets=budgets, **options)
    setup = Setup(settings, graph, environment.tasks(), budgets, environment)
    with locked(folder):
        return asyncio.run(run_setup(setup, folder, observer)), model


def rows(folder):
    return [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]


def timeless(folder):
    return [{**row, "seconds": 0} for row in rows(folder)]
