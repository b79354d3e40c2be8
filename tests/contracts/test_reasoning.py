"""Reasoning goes back to each provider as it came: trials against servers that refuse everything else."""

import json
from copy import deepcopy

import pytest

from langgraph_reflexion import create_reflexion
from langgraph_reflexion.checkpoints import LatestSaver
from tests.support.reasoning import SERVERS
from tests.support.toys import Counter, count_to

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
TASK = {"task": count_to(3)}


@pytest.fixture(params=SERVERS)
def server(request):
    kind, package = SERVERS[request.param]
    pytest.importorskip(package)
    with kind() as server:
        yield server


@pytest.fixture
def anthropic():
    kind, package = SERVERS["anthropic"]
    pytest.importorskip(package)
    with kind() as server:
        yield server


def build(server, **settings):
    """A trial ends after three steps, and needs three steps up."""
    return create_reflexion(server.client(**settings), Counter(limit=3), actor="tools", max_trials=2)


def outcome(final):
    return [(each["verdict"], each["actions"], each["fault"]) for each in final["trials"]]


def test_two_trials_of_three_steps_pass_and_without_their_reasoning_they_are_refused(server):
    final = build(server).compile().invoke(TASK)
    assert outcome(final) == [(False, 3, ""), (True, 3, "")]
    acts = [body for body in server.bodies if body.get("tools")]
    assert [len(turn.calls) for turn in server.turns] == [1, 2, 1, 1, 2, 1]
    for body in (acts[1], acts[2], acts[4], acts[5]):
        stripped = deepcopy(body)
        server.strip(stripped)
        assert server.post(body)[0] == 200
        status, text = server.post(stripped)
        assert status == 400
        assert server.says in text


def test_all_reasoning_of_a_trial_goes_back_and_none_of_an_earlier_one(server):
    build(server).compile().invoke(TASK)
    acts = [json.dumps(body) for body in server.bodies if body.get("tools")]
    for first in (0, 3):
        shown = [server.trace(turn) in acts[first + 2] for turn in server.turns]
        assert shown == [first <= number < first + 2 for number in range(6)]


def test_streamed_reasoning_goes_back(anthropic):
    graph = build(anthropic, streaming=True).compile()
    *_, final = (state for mode, state in graph.stream(TASK, stream_mode=["values", "messages"]) if mode == "values")
    assert outcome(final) == [(False, 3, ""), (True, 3, "")]
    assert all(body["stream"] for body in anthropic.bodies)


def test_a_run_that_is_continued_elsewhere_sends_the_same_messages(anthropic, tmp_path):
    config = {"configurable": {"thread_id": "1"}}
    with LatestSaver.open(tmp_path / "steps.db") as saver:
        build(anthropic).compile(checkpointer=saver).invoke(TASK, config, interrupt_after=["act"])
        for _ in range(2):
            build(anthropic).compile(checkpointer=saver).invoke(None, config, interrupt_after=["act"])
    with LatestSaver.open(tmp_path / "steps.db") as saver:
        final = build(anthropic).compile(checkpointer=saver).invoke(None, config)
    assert outcome(final) == [(False, 3, ""), (True, 3, "")]
    whole = [body["messages"] for body in anthropic.bodies]
    for before, after in ((0, 1), (1, 2), (4, 5), (5, 6)):
        assert whole[after][: len(whole[before])] == whole[before]
