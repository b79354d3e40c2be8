"""Running the graph from plain code, notebooks and coroutines, and the event loop of synchronous calls."""

import asyncio
import json
import multiprocessing
import signal
import sys
import threading
import time

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_reflexion.support.sync import run_blocking
from tests.support import toys
from tests.support.toys import INPUT, THREAD, Counter, counting_badly, play, timeless


def compiled(saver=None):
    return toys.compiled(counting_badly, saver=saver)[0]


@pytest.fixture(scope="module")
def expected():
    return timeless(compiled().invoke(INPUT))


@pytest.mark.slow
async def test_a_graph_runs_inside_a_running_loop_as_in_a_notebook(expected):
    assert timeless(list(compiled().stream(INPUT, stream_mode="values"))[-1]) == expected
    assert timeless([state async for state in compiled().astream(INPUT, stream_mode="values")][-1]) == expected


def test_every_checkpointed_state_is_json(expected, caplog):
    graph = compiled(InMemorySaver())
    assert timeless(graph.invoke(INPUT, THREAD)) == expected
    states = list(graph.get_state_history(THREAD))
    assert len(states) > 30
    for state in states:
        values = {key: value for key, value in state.values.items() if not key.startswith("__")}
        assert json.loads(json.dumps(values)) == values
    assert not caplog.records


def solved():
    return play(lambda _: "Action: add 3")[0]["status"] == "solved"


class Starting(Counter):
    """A counter that does something else first."""

    def __init__(self, first):
        super().__init__()
        self.first = first

    def start(self, task):
        self.first()
        return super().start(task)


def test_an_exit_inside_an_environment_ends_its_caller_alone():
    with pytest.raises(SystemExit, match="3"):
        play([], Starting(lambda: sys.exit(3)))
    assert solved()


def test_a_nested_synchronous_call_is_refused():
    with pytest.raises(RuntimeError, match="would wait for itself"):
        play([], Starting(solved))


def _solve_in_child(queue):
    queue.put(solved())


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_synchronous_calls_work_in_a_forked_process():
    assert solved()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_solve_in_child, args=(queue,))
    child.start()
    child.join(30)
    alive = child.is_alive()
    child.kill()
    assert not alive
    assert queue.get(timeout=5)


@pytest.fixture
def interruptible():
    # What a shell starts in the background ignores the signal, and passes that on.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.slow
def test_an_interrupt_cancels_the_call(interruptible):
    ended = threading.Event()

    async def long():
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    timer = threading.Timer(0.3, lambda: signal.pthread_kill(threading.main_thread().ident, signal.SIGINT))
    timer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_blocking(long())
    assert ended.wait(5)
    assert time.monotonic() - began < 10
