import pytest

from langgraph_reflexion.envs.sandbox import Sandbox
from tests.support.sandbox.columns import make


@pytest.fixture(params=["bubblewrap", "landlock"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Return a sandbox of each backend."""
    return make(request.param)


@pytest.fixture
def bubblewrap() -> Sandbox:
    return make("bubblewrap")
