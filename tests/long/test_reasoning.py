"""A process that is killed in the middle of a trial: the next one hands back the same reasoning."""

import subprocess
import sys
import threading
from typing import Any

import pytest

from langgraph_reflexion import create_reflexion
from langgraph_reflexion.checkpoints import LatestSaver
from tests.support.reasoning.anthropic import AnthropicServer
from tests.support.toys import Counter

THREAD = {"configurable": {"thread_id": "1"}}

RUN = """
import sys
from langchain_anthropic import ChatAnthropic
from langgraph_reflexion import create_reflexion
from langgraph_reflexion.checkpoints import LatestSaver
from tests.support.toys import Counter, count_to

url, file = sys.argv[1:]
thinking = {"type": "enabled", "budget_tokens": 1024}
model = ChatAnthropic(model="claude", max_tokens=4096, api_key="any", base_url=url, thinking=thinking)
with LatestSaver.open(file) as saver:
    graph = create_reflexion(model, Counter(limit=3), actor="tools", max_trials=2).compile(checkpointer=saver)
    graph.invoke({"task": count_to(3)}, {"configurable": {"thread_id": "1"}})
"""


class Holding(AnthropicServer):
    """Lets the third request wait until the process that sent it is gone."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.gone = threading.Event(), threading.Event()
        self.checked: list[dict[str, Any]] = []

    def check(self, body: dict[str, Any]) -> None:
        super().check(body)
        self.checked.append(body)
        if len(self.checked) == 3:
            self.asked.set()
            self.gone.wait(30)
            raise self.error("the client has left")


def test_a_killed_process_is_continued_with_the_same_reasoning(tmp_path):
    pytest.importorskip("langchain_anthropic")
    file = tmp_path / "steps.db"
    with Holding() as server:
        with subprocess.Popen([sys.executable, "-c", RUN, server.url, str(file)]) as process:
            asked = server.asked.wait(60)
            process.kill()
        assert asked
        server.gone.set()
        with LatestSaver.open(file) as saver:
            graph = create_reflexion(server.client(), Counter(limit=3), actor="tools", max_trials=2)
            final = graph.compile(checkpointer=saver).invoke(None, THREAD)
    assert [(each["verdict"], each["fault"]) for each in final["trials"]] == [(False, ""), (True, "")]
    killed, again = server.checked[2:4]
    assert killed["messages"] == again["messages"]
