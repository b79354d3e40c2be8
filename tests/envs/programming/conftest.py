import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from langgraph_reflexion.envs.programming.judging import Judge
from langgraph_reflexion.envs.sandbox import Sandbox, probe

# Tests are imported without their folder on the path; what they share lies beside them.
sys.path.append(str(Path(__file__).parent))


@pytest.fixture(scope="session")
def judge() -> Iterator[Judge]:
    if not probe("bubblewrap").works:
        pytest.skip(f"bubblewrap does not work here: {probe('bubblewrap').words}")
    with Judge(Sandbox("bubblewrap")) as made:
        yield made
