"""What ships for testing: environment checks, scripted models, and the commands in CONTRIBUTING.md."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from langgraph_reflexion import ReflexionError, create_reflexion
from langgraph_reflexion.testing import ScriptedChatModel, ScriptExhausted, check_environment
from tests.support.toys import Counter, count_to

CONTRIBUTING = (Path(__file__).parents[3] / "CONTRIBUTING.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", CONTRIBUTING, re.DOTALL)


@pytest.mark.long
def test_the_commands_in_contributing_exist():
    commands = [
        line for block in blocks("bash") for line in block.splitlines() if line.startswith("python -m tests.")
    ]
    assert commands
    for command in commands:
        _, _, module, *options = command.split()
        told = subprocess.run([sys.executable, "-m", module, "--help"], capture_output=True, text=True, check=True)
        assert all(option in told.stdout for option in options if option.startswith("--"))


@pytest.mark.long
def test_checking_environments_imports_no_agent():
    script = """
import sys
from langgraph_reflexion.testing import CHECKS, check_environment
heavy = ("pytest", "langgraph.graph", "langgraph_reflexion.graph", "langgraph_reflexion.nodes", "langchain_openai")
print(*[name for name in heavy if name in sys.modules])
"""
    told = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=True)
    assert told.stdout.split() == []


def test_an_environment_that_fails_a_check_is_closed():
    class Careless(Counter):
        closed = False

        def tasks(self, split=None, limit=None):
            return super().tasks(None, limit)

        def close(self):
            self.closed = True

    environment = Careless()
    with pytest.raises(AssertionError, match=r"tasks_are_stable: an unknown split"):
        check_environment(environment)
    assert environment.closed


async def test_a_script_without_replies_left_ends_the_run_and_is_no_fault():
    graph = create_reflexion(ScriptedChatModel(replies=["Action: add 1"]), Counter()).compile()
    with pytest.raises(ScriptExhausted, match="no reply left: it has 1,"):
        await graph.ainvoke({"task": count_to(3)})
    assert issubclass(ScriptExhausted, ReflexionError)
