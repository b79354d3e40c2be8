"""kill -9 between a judge's verdict and a person's decision: the judge is not asked again."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.model_server import ModelServer

ROOT = Path(__file__).parents[2]


def reply(messages):
    """Acts, judges and reflects, and is right once a reflection has told it how."""
    told = "\n".join(message.text for message in messages)
    if "You judge a trial" in messages[0].text or "Verdict: yes" in messages[0].text:
        right = "counter stands at 3" in told or "It is 2." in told
        return f"I looked.\nVerdict: {'yes' if right else 'no'}"
    if "You review" in messages[0].text or messages[-1].text.rstrip().endswith("Reflection:"):
        return "I should have said 2, and added 3."
    if "added 3" in told:
        return "Action: add 3" if "counter" in told else "It is 2."
    return "Action: read[]" if "counter" in told else "It is 1."


def process(*words):
    command = [sys.executable, "-m", "tests.support.approving", *map(str, words)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def asked(server):
    return [json.dumps(request.body["messages"]) for request in server.requests]


@pytest.mark.parametrize(("way", "saver"), [("environment", "latest"), ("agent", "sqlite"), ("middleware", "sqlite")])
def test_a_verdict_that_waits_outlives_kill_9(way, saver, tmp_path):
    with ModelServer(ScriptedChatModel(replies=reply)) as server:
        whole = process(way, saver, tmp_path / "whole.db", server.url, "none")
        assert whole.communicate(timeout=120)[0].split() == ["solved"]
        expected = asked(server)
    with ModelServer(ScriptedChatModel(replies=reply)) as server:
        decision = []
        for _ in range(2):
            killed = process(way, saver, tmp_path / "killed.db", server.url, *decision)
            assert killed.stdout.readline().strip() == "paused"
            killed.kill()
            killed.communicate(timeout=60)
            decision = ["approve"]
        last = process(way, saver, tmp_path / "killed.db", server.url, *decision)
        assert last.communicate(timeout=120)[0].split() == ["solved"]
        assert asked(server) == expected
