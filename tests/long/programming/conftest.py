import pytest

from langgraph_reflexion.envs.programming.grading import Grader
from langgraph_reflexion.envs.sandbox import Sandbox
from tests.support.tools import need


@pytest.fixture(scope="session")
def grader():
    need("bubblewrap")
    return Grader(Sandbox("bubblewrap"))
