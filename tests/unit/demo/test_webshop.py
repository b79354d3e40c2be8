"""How the demo model reads the pages of a shop."""

import pytest

from langgraph_reflexion.demo.webshop.world import read_errand
from langgraph_reflexion.envs.webshop.catalogue import generate


def test_it_reads_every_errand_by_its_grammar():
    for goal in generate(0).goals:
        errand = read_errand(f"WebShop \nInstruction:  \n{goal.instruction} \n[Search]")
        assert errand.attributes == goal.attributes
        assert [f"{name}: {value}" for name, value in errand.options.items()] == goal.options
        assert errand.limit == goal.price_upper
        assert f" {errand.thing}" in goal.instruction


@pytest.mark.parametrize("text", ["", "buy", "Instruction: ", "Instruction: i need new shoes. [Search]"])
def test_what_it_cannot_read_it_searches_for_as_it_stands(text):
    errand = read_errand(text)
    assert errand.attributes == ()
    assert errand.options == {}
    assert errand.queries == [errand.thing]
