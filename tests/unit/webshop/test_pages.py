"""Pages, to the character as ReAct's client writes them."""

import pytest

from langgraph_reflexion.envs.webshop import shop
from langgraph_reflexion.envs.webshop.products import read_product
from langgraph_reflexion.envs.webshop.shop import render
from tests.support.webshop import STICK, product

TOLD = "i want a deodorant, and price lower than 20.00 dollars"
TITLE = STICK["name"]


STICK_READ = read_product(STICK, ["long lasting", "paraben free"])


SOAPS = [read_product(product(f"B{place:09}", f"Soap {place}", f"${place}.5")) for place in range(1, 11)]


def test_the_first_page():
    assert render(shop.search_page(TOLD)) == f"\nWebShop \nInstruction:  \n{TOLD} \n[Search] "


def test_results_show_three_products():
    assert render(shop.results_page(TOLD, 1, 50, SOAPS)) == (
        "\n[Back to Search] \nPage 1 (Total results: 50) \n[Next >] "
        "\n[B000000001] \nSoap 1 \n$1.5 \n[B000000002] \nSoap 2 \n$2.5 \n[B000000003] \nSoap 3 \n$3.5 "
    )
    last = render(shop.results_page(TOLD, 9, 25, []))
    assert last == "\n[Back to Search] \nPage 9 (Total results: 25) \n[< Prev] \n[Next >] "


def test_a_product_with_options():
    assert render(shop.item_page(TOLD, STICK_READ, {})) == (
        "\n[Back to Search] \n[< Prev] \nscent [bright citrus][rose | mint]\nsize [3 ounce (pack of 1)]"
        f"\n{TITLE} \nPrice: $10.99 \nRating: N.A. \n[Description] \n[Features] \n[Reviews] \n[Buy Now] "
    )
    chosen = render(shop.item_page(TOLD, STICK_READ, {"scent": "rose | mint"}))
    assert "\nscent [bright citrus][[rose | mint]]\nsize [3 ounce (pack of 1)]\n" in chosen


@pytest.mark.parametrize(
    ("name", "content"),
    [("Description", "\nA deodorant. "), ("Features", "\n It lasts. \n It is mild. "), ("Reviews", "")],
)
def test_a_subpage_of_a_product(name, content):
    assert render(shop.sub_page(TOLD, STICK_READ, name)) == f"\n[Back to Search] \n[< Prev] {content}"


def test_the_last_page_has_the_score_and_nothing_of_the_goal():
    assert render(shop.done_page(2 / 3)) == "Your score (min 0.0, max 1.0): 0.6666666666666666"
