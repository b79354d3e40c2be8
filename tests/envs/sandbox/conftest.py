import sys
import warnings
from pathlib import Path

import pytest

from langgraph_reflexion.envs.sandbox import Sandbox

# Tests are imported without their folder on the path; what they share lies beside them.
sys.path.append(str(Path(__file__).parent))

import columns


def made(backend: str) -> Sandbox:
    columns.needs(backend)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Landlock is said to be weaker
        return Sandbox(backend, allow_degraded=True)


@pytest.fixture(params=["bubblewrap", "landlock"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Each of the backends that this machine has without an engine."""
    return made(request.param)


@pytest.fixture
def bubblewrap() -> Sandbox:
    return made("bubblewrap")
