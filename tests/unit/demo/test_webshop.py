"""How the demo model reads the pages of a shop."""

import pytest

from langgraph_reflexion import load_environment
from langgraph_reflexion.demo.prompt import Prompt, Turn
from langgraph_reflexion.demo.webshop.world import Errand, read_errand, read_shop
from langgraph_reflexion.envs.webshop.catalogue import generate

ERRAND = Errand("", "school satchel", ("pocket sized",), {"color": "fox brown"}, 25.0)
VISIT = [
    "search[school satchel pocket sized fox brown]",
    "click[W7C9M4KW5W]",
    "click[< Prev]",
    "click[W4DH49J2CK]",
    "click[Features]",
    "click[< Prev]",
    "click[fox brown]",
    "click[Buy Now]",
]


@pytest.fixture(scope="module", params=["bracketed", "text"])
def visited(request):
    """Starts a visit to the shop, and reads it after so many actions."""
    environment = load_environment("webshop", seed=7919, rendering=request.param)
    task = environment.tasks()[9]

    def read(count, plain=False):
        episode, turns = environment.start(task), []
        for text in VISIT[:count]:
            action = environment.parse(text)
            said = " ".join([action["name"], *action["args"].values()]) if plain else text
            turns.append(Turn("", said, episode.step(action).observation.strip()))
        return read_shop(Prompt("act", "", episode.observation, turns=tuple(turns)))

    yield read
    environment.close()


def test_what_was_shown_opened_and_read(visited):
    assert visited(0).page == "search"
    results = visited(1)
    assert (results.page, results.shown[:3]) == ("results", ["W7C9M4KW5W", "W4DH49J2CK", "WVXWX3P2NV"])
    assert [results.offers[code].price for code in results.shown[:3]] == [23.13, 22.5, 31.16]
    item = visited(2)
    assert (item.page, item.open.title) == ("item", "Grendonock School Satchel, Pocket Sized")
    assert item.open.missing_options(ERRAND) == ["color fox brown"]
    assert item.open.unproved(ERRAND) == []
    assert visited(3).page == "results"
    assert visited(4).open.unproved(ERRAND) == ["pocket sized"]
    assert visited(4).open.unread() == ["Description", "Features"]
    assert visited(5).page == "sub"
    assert visited(5).open.unproved(ERRAND) == []
    assert visited(5).open.unread() == ["Description"]


def test_what_was_chosen_and_bought(visited):
    assert visited(6).open.unchosen(ERRAND) == ["fox brown"]
    chosen = visited(7)
    assert (chosen.page, chosen.open.unchosen(ERRAND), chosen.bought) == ("item", [], "")
    assert visited(8).bought == "W4DH49J2CK"
    assert visited(8).opened == ["W7C9M4KW5W", "W4DH49J2CK"]


def test_tool_calls_are_read_as_text_is(visited):
    assert visited(8, plain=True) == visited(8)


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
