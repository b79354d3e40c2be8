"""The command `doctor`: what is installed, which sandbox works, and whether a model answers."""

import re

import pytest

from langgraph_reflexion import __version__
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.cli import KEY, call
from tests.support.cli import home as home
from tests.support.model_server import ModelServer
from tests.support.tools import lacking


def test_it_shows_what_is_there_and_prints_no_key(home):
    status, out, err = call(home, "doctor", key=KEY)
    assert (status, err) == (0, "")
    assert out.startswith(f"langgraph-reflexion {__version__}, Python ")
    assert "OPENAI_API_KEY is set\n" in out
    assert KEY not in out
    assert max(map(len, out.splitlines())) <= 100
    # The extra of the tests that are running, and one that no environment of them has.
    assert re.search(r"^  webshop +installed$", out, re.MULTILINE)
    assert re.search(r"^  tau2 +not installed: .*pip install '\.\[tau2\]'", out, re.MULTILINE)


@pytest.mark.needs("bubblewrap")
def test_the_sandbox_that_is_used_is_the_first_that_works(home):
    assert not lacking("bubblewrap")
    out = call(home, "doctor")[1]
    assert re.search(r"^  bubblewrap +works, and is used$", out, re.MULTILINE)


@pytest.mark.slow
def test_a_model_that_answers_is_asked_once(home):
    with ModelServer(ScriptedChatModel(replies=["yes"])) as server:
        status, out, _ = call(home, "doctor", "--model", "openai:small", "--base-url", server.url)
        assert len(server.requests) == 1
    assert status == 0
    assert re.search(r"openai:small answered in \d+\.\d s: 'yes'", " ".join(out.splitlines()[-1].split()))


def test_a_model_that_does_not_answer_is_one_line_and_status_1(home):
    with ModelServer(ScriptedChatModel(replies=["yes"]), faults=["wrong-key"]) as server:
        status, out, _ = call(home, "doctor", "--model", "openai:small", "--base-url", server.url)
    assert status == 1
    assert "does not answer: " in out.splitlines()[-1]
