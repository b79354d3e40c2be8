"""Episodes whose methods are coroutine functions."""

import asyncio
import itertools
import re
from typing import Annotated

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from langgraph_reflexion import Approval, Environment, Episode, ModelOptions, StepResult, Task, action
from langgraph_reflexion.envs.grammar import parse_action
from langgraph_reflexion.envs.pool import EpisodePool
from langgraph_reflexion.support.retries import Retries
from langgraph_reflexion.support.sync import on_background
from langgraph_reflexion.testing import check_environment
from tests.support.toys import THREAD, Counter, compiled, play, with_action


class Adding(Episode):
    """A running total, which belongs to the event loop that opened it."""

    observation = "The total is 0. Bring it to 3."

    def __init__(self, log):
        self.loop, self.log, self.total, self.open = asyncio.get_running_loop(), log, 0, True
        log.append("open")

    @action("add {amount}")
    async def add(self, amount: Annotated[int, "how much"]) -> StepResult:
        """Add to the total."""
        await asyncio.sleep(0)
        assert asyncio.get_running_loop() is self.loop
        self.total += amount
        return StepResult(f"The total is {self.total}.", float(self.total == 3), terminated=self.total == 3)

    @action("wait")
    async def wait(self) -> str:
        """Wait for long."""
        self.log.append("waiting")
        await asyncio.sleep(60)

    @action("think")
    def think(self) -> str:
        """Do nothing."""
        return "Hm."

    @action("fail")
    async def fail(self) -> str:
        """Fail."""
        raise ConnectionResetError("gone")

    async def finalize(self):
        return StepResult("It was stopped.", 0.0)

    async def close(self):
        assert asyncio.get_running_loop() is self.loop
        if self.open:
            self.log.append("close")
        self.open = False


class Sums(Environment):
    name = "sums"
    splits = ("all",)
    episode = Adding

    def __init__(self):
        self.log = []

    def tasks(self, split=None, limit=None):
        self.choose_split(split)
        return [Task(id=f"s{n}", instruction=f"Sum {n}: bring the total to 3.") for n in (1, 2)][:limit]

    async def start(self, task):
        await asyncio.sleep(0)
        return Adding(self.log)

    async def close(self):
        self.log.append("all closed")


@pytest.fixture
def sums():
    return Sums()


def acting(*actions):
    return [f"Action: {each}" for each in actions]


def test_an_episode_survives_from_one_event_loop_to_another(sums):
    options = {"saver": InMemorySaver(), "approval": Approval(actions=["add"])}
    graph, _ = compiled(acting("add 1", "think", "add 2"), sums, **options)
    paused = asyncio.run(graph.ainvoke({"task": sums.tasks()[0]}, THREAD))
    assert "__interrupt__" in paused
    paused = asyncio.run(graph.ainvoke(Command(resume="approve"), THREAD))
    assert [step["observation"] for step in paused["trajectory"]] == ["The total is 1.", "Hm."]
    assert sums.log == ["open"]
    assert graph.invoke(Command(resume="approve"), THREAD)["status"] == "solved"
    assert sums.log == ["open", "close"]


@pytest.mark.slow
async def test_tasks_run_at_once_in_any_loop(sums):
    graph, _ = compiled(lambda _: "Action: add 3", sums)
    finals = await asyncio.gather(*(graph.ainvoke({"task": task}) for task in sums.tasks() * 10))
    assert {final["status"] for final in finals} == {"solved"}
    assert sorted(sums.log) == ["close"] * 20 + ["open"] * 20


def test_a_stopped_trial_is_finalized(sums):
    final, _ = play(acting(*["think"] * 5), sums, max_trials=1)
    assert (final["status"], final["trajectory"][-1]["observation"]) == ("failed", "It was stopped.")


def test_an_error_of_a_step_is_a_fault(sums):
    final, _ = play(acting("fail"), sums, options=ModelOptions(retries=Retries(attempts=1)))
    assert (final["status"], "ConnectionResetError: gone" in final["fault"]) == ("fault", True)


class Visit(Episode):
    """A talk with somebody who knows the number of this visit alone, so that nothing can rebuild it."""

    numbers = itertools.count(1)

    def __init__(self):
        self.number = next(self.numbers)
        self.observation = f"This is visit {self.number}."

    @action("talk")
    async def talk(self) -> str:
        """Say something."""
        await asyncio.sleep(0.01)
        return f"In visit {self.number} it was heard."

    @action("leave")
    def leave(self) -> StepResult:
        """Say goodbye."""
        return StepResult(f"Visit {self.number} is over.", 1.0, terminated=True)


class Visits(Environment):
    """One task, whose episodes differ after the same actions."""

    name = "visits"
    replayable = False
    episode = Visit

    def tasks(self, split=None, limit=None):
        return [Task(id="visit", instruction="Talk, and leave.")]

    def start(self, task):
        return Visit()


async def test_runs_of_one_task_at_once_keep_to_their_own_episodes():
    def reply(messages):
        heard = sum("heard" in message.text for message in messages)
        return "Action: talk" if heard < 2 else "Action: leave"

    graph, _ = compiled(reply, environment := Visits(), max_trials=1)
    task = environment.tasks()[0]
    finals = await asyncio.gather(*(graph.ainvoke({"task": task}) for _ in range(4)))
    for final in finals:
        told = [final["episode"]["observation"], *(step["observation"] for step in final["trajectory"])]
        assert len({re.search(r"\d+", words)[0] for words in told}) == 1, told


@pytest.mark.slow
@pytest.mark.parametrize("inside", ["test's loop", "background loop"])
async def test_a_cancelled_step_is_cancelled_and_its_episode_closed(sums, inside):
    pool, task = EpisodePool(sums), sums.tasks()[0]

    async def play():
        await pool.start(task)
        async with asyncio.timeout(0.2):
            await pool.step(task, [], parse_action(sums, "wait"))

    with pytest.raises(TimeoutError):
        await (play() if inside == "test's loop" else on_background(play))
    await asyncio.sleep(0.05)
    assert sums.log == ["open", "waiting", "close"]
    # It is rebuilt.
    again = await pool.step(task, [parse_action(sums, "add 1")], parse_action(sums, "add 1"))
    assert again.result.observation == "The total is 2."
    await pool.aclose()
    assert sums.log[3:] == ["open", "close"]


@pytest.mark.slow
async def test_an_episode_that_starts_too_late_is_closed(sums):
    class Slow(Sums):
        async def start(self, task):
            episode = await super().start(task)
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                return episode  # finishes although it was cancelled

    pool = EpisodePool(environment := Slow())
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(pool.start(environment.tasks()[0]), 0.2)
    await asyncio.sleep(0.05)
    assert environment.log == ["open", "close"]
    await pool.aclose()


def test_the_checks_of_environments_await_its_methods(sums):
    check_environment(sums, actions=["add 1", "think"])
    assert sums.log.count("open") == sums.log.count("close") > 0
    assert sums.log[-1] == "all closed"


async def go(self, way: str):
    """Go."""
    return StepResult(f"You went {way}.", 1.0, terminated=True)


class Rooms(Counter):
    """Its actions depend on the task, so that only a task tells that they are asynchronous."""

    def for_task(self, task):
        return with_action(action("go {way}")(go))

    def start(self, task):
        return self.for_task(task).start(task)


def test_asynchronous_actions_of_a_task():
    final, _ = play(acting("go up"), Rooms())
    assert (final["status"], final["trajectory"][0]["observation"]) == ("solved", "You went up.")
