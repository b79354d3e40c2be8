import asyncio
import json
import threading

import pytest

from langgraph_reflexion.envs.base import Action, Episode, StepResult, Task
from langgraph_reflexion.envs.pool import EpisodePool
from langgraph_reflexion.errors import EnvironmentFault
from langgraph_reflexion.support.sync import to_thread
from tests.support.toys import Counter, Notebook, SlowCounter, add

TASK = Task(id="c1000", instruction="Count to 1000.", data={"goal": 1000})
BREAK = Action(name="break", args={}, text="fail")


async def test_tasks_of_one_id_and_one_history_keep_their_episodes_apart():
    pool = EpisodePool(Counter())
    one, other = TASK | {"data": {"goal": 5}}, TASK | {"data": {"goal": 6}}
    for task in (one, other):
        await pool.start(task)
    assert [(await pool.step(task, [], add(6))).result.reward for task in (other, one)] == [1.0, 0.0]


async def test_a_history_has_its_live_episode_and_another_is_rebuilt():
    environment = Counter()
    pool = EpisodePool(environment)
    assert await pool.start(TASK) == (environment.started[0].observation, None)
    await pool.step(TASK, [], add(2))
    forked = await pool.step(TASK, [add(7)], add(1))
    assert forked.result.observation == "The counter stands at 8."
    resumed = await pool.step(TASK, [add(2)], add(1))
    assert resumed.result == StepResult("The counter stands at 3.", reward=0.0)
    assert len(environment.started) == 2


@pytest.mark.slow
async def test_two_runs_of_one_task_do_not_share_an_episode():
    pool = EpisodePool(SlowCounter())
    answers = await asyncio.gather(*(pool.step(TASK, [add(1)], add(n)) for n in (1, 1, 2)))
    assert [a.result.observation[-2] for a in answers] == ["2", "2", "3"]


async def test_snapshots_are_used_instead_of_replay():
    environment = Notebook()
    task = environment.tasks()[0]
    write = [Action(name="write", args={"line": line}, text=f"write {line}") for line in "abc"]
    pool = EpisodePool(environment)
    _, snapshot = await pool.start(task)
    for index in range(2):
        result, snapshot = await pool.step(task, write[:index], write[index], snapshot)
    again = await EpisodePool(environment).step(task, write[:2], write[2], json.loads(json.dumps(snapshot)))
    assert again.result.observation == result.observation.replace("2 lines", "3 lines")
    assert again.snapshot["lines"] == ["a", "b", "c"]


async def test_the_oldest_is_closed_when_there_are_too_many_and_release_and_close_close():
    pool, (first, second, third) = EpisodePool(environment := Counter(), size=2), Counter().tasks()[:3]
    for task in (first, second, third):
        await pool.start(task)
    assert [episode.closed for episode in environment.started] == [1, 0, 0]
    for _ in range(2):
        await pool.release(second, [])
    pool.close()
    assert [episode.closed for episode in environment.started] == [1, 1, 1]


class Sticky(Episode):
    observation = "It does not close."

    def close(self):
        raise OSError("stuck")


class Stuck(Counter):
    def start(self, task):
        return Sticky()


async def test_an_episode_that_cannot_be_closed_costs_no_trial_anything(caplog):
    pool = EpisodePool(environment := Stuck(), size=1)
    first, second = environment.tasks()[:2]
    for task in (first, second):
        await pool.start(task)
    await pool.release(second, [])
    await pool.start(first)
    pool.close()
    assert caplog.text.count("could not be closed") == 3


@pytest.mark.parametrize(("error", "bug"), [(FileNotFoundError, True), (ConnectionResetError, False)])
async def test_a_wrong_path_is_a_bug_and_a_broken_connection_is_a_fault(error, bug):
    class Broken(Counter):
        def start(self, task):
            raise error("there is none")

    with pytest.raises(error if bug else EnvironmentFault, match="there is none"):
        await EpisodePool(Broken()).start(TASK)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Counter, SlowCounter])
async def test_an_environment_that_fails_is_a_fault_and_its_episode_is_closed(kind):
    pool = EpisodePool(environment := kind())
    await pool.start(TASK)
    for history, action in (([], BREAK), ([BREAK], add(1))):
        with pytest.raises(EnvironmentFault, match=r"counter failed: OSError: .* fell off"):
            await pool.step(TASK, history, action)
    assert [episode.closed for episode in environment.started] == [1, 1]
    assert (await pool.step(TASK, [], add(1))).result.observation == "The counter stands at 1."


async def test_an_episode_that_nobody_waits_for_any_more_is_closed():
    begun, go, closed = threading.Event(), threading.Event(), threading.Event()

    class Forgotten(Sticky):
        def close(self):
            closed.set()

    class Held(SlowCounter):
        def start(self, task):
            begun.set()
            return go.wait(60) and Forgotten()

    starting = asyncio.create_task(EpisodePool(Held()).start(TASK))
    assert await asyncio.to_thread(begun.wait, 60)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    go.set()
    assert await asyncio.to_thread(closed.wait, 60)


async def test_a_function_that_runs_out_of_items_in_a_thread_raises_instead_of_hanging():
    with pytest.raises(RuntimeError, match="StopIteration"):
        await to_thread(next, iter(()))


async def test_blocking_environments_run_in_a_thread_and_others_do_not():
    class Watched(Counter):
        on_main = []

        def start(self, task):
            self.on_main.append(threading.current_thread() is threading.main_thread())
            return super().start(task)

        def blocks(self, task):
            return task["id"] == TASK["id"]

    pool = EpisodePool(environment := Watched())
    for task in (TASK, environment.tasks()[0]):
        await pool.start(task)
    assert environment.on_main == [False, True]


@pytest.mark.parametrize(
    ("given", "bug", "problem"),
    [(None, TypeError, "a step must return"), (StepResult("?", reward=float("nan")), ValueError, "finite number")],
    ids=["none", "nan"],
)
async def test_what_is_no_result_is_a_bug(given, bug, problem):
    pool = EpisodePool(environment := Counter())
    await pool.start(TASK)
    environment.started[0].step = lambda action: given
    with pytest.raises(bug, match=problem):
        await pool.step(TASK, [], BREAK)
