import json
import warnings
from contextlib import contextmanager
from copy import deepcopy
from typing import Any, NamedTuple

import pytest

from langgraph_reflexion import create_reflexion, load_prompts
from langgraph_reflexion.support.checkpoints import LatestSaver
from tests.support.reasoning import SERVERS, ReasoningServer
from tests.support.toys import Counter, count_to

TASK = {"task": count_to(3)}
PASSED = [(False, 3, ""), (True, 3, "")]
"""Verdict, actions and fault of two trials."""


class Played(NamedTuple):
    """Two trials against a server; `acts` are the requests for actions."""

    server: ReasoningServer
    final: dict[str, Any]
    acts: list[dict[str, Any]]


# The default run has Anthropic's server, as the other clients take seconds to import.
@pytest.fixture(
    params=[pytest.param(name, marks=() if name == "anthropic" else pytest.mark.long) for name in SERVERS],
    scope="module",
)
def played(request):
    with running(request.param) as server:
        final = build(server).compile().invoke(TASK)
        yield Played(server, final, [body for body in server.bodies if body.get("tools")])


@contextmanager
def running(name):
    kind, package = SERVERS[name]
    pytest.importorskip(package)
    with warnings.catch_warnings(), kind() as server:
        # Google's client says so where aiohttp is installed.
        warnings.filterwarnings("ignore", "Inheritance class AiohttpClientSession", DeprecationWarning)
        yield server


@pytest.fixture
def anthropic():
    with running("anthropic") as server:
        yield server


def build(server, **settings):
    """A trial ends after three steps, and needs three steps up. The prompts have examples, of another world."""
    options = {"actor": "tools", "max_trials": 2, "prompts": load_prompts("webshop")}
    return create_reflexion(server.client(**settings), Counter(limit=3), **options)


def outcome(final):
    return [(each["verdict"], each["actions"], each["fault"]) for each in final["trials"]]


@pytest.mark.slow
def test_two_trials_of_three_steps_pass(played):
    assert outcome(played.final) == PASSED
    assert [len(turn.calls) for turn in played.server.turns[:6]] == [1, 2, 1, 1, 2, 1]


def test_a_request_is_refused_once_its_reasoning_is_taken_out(played):
    for body in (played.acts[number] for number in (1, 2, 4, 5)):
        stripped = deepcopy(body)
        played.server.strip(stripped)
        assert played.server.post(body)[0] == 200
        status, text = played.server.post(stripped)
        assert (status, played.server.says in text) == (400, True)


def test_all_reasoning_of_a_trial_goes_back_and_none_of_an_earlier_one(played):
    sent = [json.dumps(body) for body in played.acts]
    for first in (0, 3):
        shown = [played.server.trace(turn) in sent[first + 2] for turn in played.server.turns[:6]]
        assert shown == [first <= number < first + 2 for number in range(6)]


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("anthropic", {"output_version": "v1"}),
        pytest.param("openai", {"output_version": "v1"}, marks=pytest.mark.long),
        pytest.param("openai", {"output_version": "v0"}, marks=pytest.mark.long),
        pytest.param("openai", {"store": True, "include": None}, marks=pytest.mark.long),
        pytest.param("gemini", {"output_version": "v1"}, marks=pytest.mark.long),
    ],
)
def test_other_forms_of_content(name, settings):
    with running(name) as server:
        assert outcome(build(server, **settings).compile().invoke(TASK)) == PASSED
        sent = json.dumps(server.bodies[2])
        assert [server.trace(turn) in sent for turn in server.turns[:2]] == [True, True]


@pytest.mark.slow
def test_streamed_reasoning_goes_back(anthropic):
    graph = build(anthropic, streaming=True).compile()
    *_, final = (state for mode, state in graph.stream(TASK, stream_mode=["values", "messages"]) if mode == "values")
    assert outcome(final) == PASSED
    assert all(body["stream"] for body in anthropic.bodies)


@pytest.mark.slow
def test_a_run_that_is_continued_elsewhere_sends_the_same_messages(anthropic, tmp_path):
    config = {"configurable": {"thread_id": "1"}}
    with LatestSaver.open(tmp_path / "steps.db") as saver:
        build(anthropic).compile(checkpointer=saver).invoke(TASK, config, interrupt_after=["act"])
        for _ in range(2):
            build(anthropic).compile(checkpointer=saver).invoke(None, config, interrupt_after=["act"])
    with LatestSaver.open(tmp_path / "steps.db") as saver:
        final = build(anthropic).compile(checkpointer=saver).invoke(None, config)
    assert outcome(final) == PASSED
    whole = [body["messages"] for body in anthropic.bodies]
    for before, after in ((0, 1), (1, 2), (4, 5), (5, 6)):
        assert whole[after][: len(whole[before])] == whole[before]
