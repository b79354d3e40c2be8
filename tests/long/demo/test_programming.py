import asyncio
import re
from functools import cache
from pathlib import Path

import pytest

from langgraph_reflexion import ModelOptions, create_reflexion, load_environment
from langgraph_reflexion.envs.programming.environment import Programming
from langgraph_reflexion.lab import demo as package
from langgraph_reflexion.lab.demo import DemoChatModel
from tests.support.demo import forgetful

TASKS, TRIALS, BOTH = 20, 4, "last_attempt_and_reflexion"


class Played:
    """A run: the final states, and for each task whether the program of each trial was right."""

    def __init__(self, model=None, strategy=BOTH, tasks=TASKS, **options):
        self.environment = load_environment("programming")
        options = {"max_trials": TRIALS, **options}
        model = model or DemoChatModel()
        self.graph = create_reflexion(
            model, self.environment, strategy=strategy, options=ModelOptions(seed=0), **options
        ).compile()
        self.finals, self.truths = zip(*asyncio.run(self._all(tasks)), strict=True)
        self.environment.close()

    async def _all(self, tasks):
        return await asyncio.gather(*(self._one(task) for task in self.environment.tasks(limit=tasks)))

    async def _one(self, task):
        truths = []
        async for state in self.graph.astream({"task": task}, stream_mode="values"):
            if len(state.get("trials", ())) > len(truths):
                actions = [step["action"] for step in state["trajectory"] if step["action"]]
                review = await asyncio.to_thread(self.environment.review, task, {"actions": actions})
                truths.append(review.success)
        return state, truths

    def rate(self, trial):
        """The share of tasks whose program of a trial, or the last one before it, was right (pass@1)."""
        return sum(truths[min(trial, len(truths)) - 1] for truths in self.truths) / len(self.truths)

    def matrix(self):
        """The results of the last trials' own tests and of the hidden ones."""
        return [
            (final["trials"][-1]["verdict"], truths[-1])
            for final, truths in zip(self.finals, self.truths, strict=True)
        ]


@cache
def played(strategy=BOTH):
    return Played(strategy=strategy)


def test_reflexion_gains_and_feedback_alone_hardly_does():
    learned, mended = played(), played("last_attempt")
    assert learned.rate(1) == mended.rate(1), "the first trial is the same"
    assert 0.2 <= learned.rate(1) <= 0.6
    assert learned.rate(TRIALS) - learned.rate(1) >= 0.15
    assert mended.rate(TRIALS) - mended.rate(1) <= 0.05


def test_self_written_tests_pass_some_wrong_programs_and_no_right_one_fails_them():
    seen = {*played().matrix(), *played("last_attempt").matrix()}
    assert seen == {(True, True), (True, False), (False, False)}


def test_removing_reflections_from_the_prompt_removes_the_gain():
    model, removed = forgetful()
    without = Played(model, tasks=8)
    assert removed, "there were lessons to remove"
    assert without.truths == played("last_attempt").truths[:8]


@pytest.mark.parametrize("actor", ["react", "tools"])
def test_program_is_tested_before_it_is_submitted(actor):
    told = Played(actor=actor, tasks=4, max_trials=2)
    assert {final["trials"][0]["actions"] for final in told.finals} == {2}
    assert [truths[0] for truths in told.truths] == [truths[0] for truths in played().truths[:4]]


def test_demo_model_contains_no_problem():
    source = "\n".join(path.read_text(encoding="utf-8") for path in Path(package.__file__).parent.rglob("*.py"))
    assert "envs" not in re.findall(r"langgraph_reflexion\.(\w+)", source)
    problems = Programming().problems.values()
    assert not [each.entry_point for each in problems if each.entry_point in source]
