"""The background loop that synchronous calls run on: one for the process, and nothing ends it."""

import asyncio
import multiprocessing
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from langchain_core.language_models import BaseChatModel

from langgraph_reflexion import ModelFault, ModelOptions, StepResult, create_reflexion
from langgraph_reflexion.retries import Retries
from langgraph_reflexion.sync import run_blocking
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import Counter, CounterEpisode, count_to

INPUT = {"task": count_to(3)}


def solved():
    graph = create_reflexion(ScriptedChatModel(replies=lambda _: "Action: add 3"), Counter()).compile()
    return graph.invoke(INPUT)["status"] == "solved"


class Leaving(BaseChatModel):
    """A model that wants to end the process."""

    leaving: type[BaseException]

    @property
    def _llm_type(self):
        return "leaving"

    def _generate(self, *args, **options):
        raise self.leaving


@pytest.mark.parametrize("leaving", [SystemExit, KeyboardInterrupt])
def test_an_exit_inside_a_model_leaves_the_loop_to_others(leaving):
    # LangChain makes an error of its own of it, as long as there is a loop that it can return to.
    graph = create_reflexion(
        Leaving(leaving=leaving), Counter(), options=ModelOptions(retries=Retries(attempts=1))
    ).compile()
    with pytest.raises(ModelFault):
        graph.invoke(INPUT)
    assert solved()


def _solve_in_child(queue):
    queue.put(solved())


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_it_works_again_after_a_fork():
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


def test_there_is_one_loop_however_many_begin_at_once():
    async def where():
        return threading.get_ident()

    barrier = threading.Barrier(16)

    def ask(_):
        barrier.wait()
        return run_blocking(where())

    with ThreadPoolExecutor(16) as threads:
        assert len(set(threads.map(ask, range(16)))) == 1


def test_a_call_from_within_itself_is_refused_instead_of_waiting_for_ever():
    class Nested(CounterEpisode):
        def step(self, action):
            return StepResult(str(solved()))

    class Outer(Counter):
        def start(self, task):
            return Nested(3, 5)

    graph = create_reflexion(ScriptedChatModel(replies=["Action: add 3"]), Outer()).compile()
    with pytest.raises(RuntimeError, match="would wait for itself"):
        graph.invoke(INPUT)


@pytest.fixture
def interruptible():
    # What a shell starts in the background ignores the signal, and passes that on.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_interrupting_a_call_cancels_what_it_waits_for(interruptible):
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
