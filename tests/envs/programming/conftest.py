import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from langgraph_reflexion.envs.programming.judging import Judge
from langgraph_reflexion.envs.sandbox import Sandbox
from tests.tools import need

# Tests are imported without their folder on the path; what they share lies beside them.
sys.path.append(str(Path(__file__).parent))


@pytest.fixture(scope="session")
def judge() -> Iterator[Judge]:
    need("bubblewrap")
    with Judge(Sandbox("bubblewrap")) as made:
        yield made
