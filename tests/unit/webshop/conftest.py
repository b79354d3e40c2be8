import pytest

from tests.support.tools import need_extra


@pytest.fixture(scope="session", autouse=True)
def extra():
    need_extra("webshop")
