"""What several tests of the shop play with: a catalogue of our own, and a server that sells it."""

import pytest

from langgraph_reflexion.envs.webshop.catalogue import generate
from langgraph_reflexion.envs.webshop.goals import own_goals
from langgraph_reflexion.envs.webshop.store import Store
from langgraph_reflexion.testing import WebShopServer

CATALOGUE = generate(0)


@pytest.fixture(scope="module")
def store():
    store = Store.in_memory(CATALOGUE.products, CATALOGUE.attributes)
    yield store
    store.close()


@pytest.fixture
def server(store):
    with WebShopServer(store, own_goals(CATALOGUE.goals)) as server:
        yield server
