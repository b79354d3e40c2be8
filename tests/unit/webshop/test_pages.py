"""Pages, to the character as ReAct's client writes them."""

import pytest

from langgraph_reflexion.envs.webshop.products import read_product
from langgraph_reflexion.envs.webshop.shop import (
    done_page,
    item_page,
    render,
    results_page,
    search_page,
    sub_page,
)
from tests.support.webshop import STICK, product

TOLD = "i want a deodorant, and price lower than 20.00 dollars"
TITLE = STICK["name"]


def stick():
    return read_product(STICK, ["long lasting", "paraben free"])


def soaps(number):
    return [read_product(product(f"B{place:09}", f"Soap {place}", f"${place}.5")) for place in range(1, number + 1)]


def test_the_first_page():
    page = search_page(TOLD)
    assert render(page) == f"\nWebShop \nInstruction:  \n{TOLD} \n[Search] "


def test_results_show_three_products():
    page = results_page(TOLD, 1, 50, soaps(10))
    assert render(page) == (
        "\n[Back to Search] \nPage 1 (Total results: 50) \n[Next >] "
        "\n[B000000001] \nSoap 1 \n$1.5 \n[B000000002] \nSoap 2 \n$2.5 \n[B000000003] \nSoap 3 \n$3.5 "
    )
    last = results_page(TOLD, 9, 25, [])
    assert render(last) == "\n[Back to Search] \nPage 9 (Total results: 25) \n[< Prev] \n[Next >] "


def test_a_product_with_options():
    page = item_page(TOLD, stick(), {})
    assert render(page) == (
        "\n[Back to Search] \n[< Prev] \nscent [bright citrus][rose | mint]\nsize [3 ounce (pack of 1)]"
        f"\n{TITLE} \nPrice: $10.99 \nRating: N.A. \n[Description] \n[Features] \n[Reviews] \n[Buy Now] "
    )
    chosen = item_page(TOLD, stick(), {"scent": "rose | mint"})
    assert "\nscent [bright citrus][[rose | mint]]\nsize [3 ounce (pack of 1)]\n" in render(chosen)


@pytest.mark.parametrize(
    ("name", "content"),
    [("Description", "\nA deodorant. "), ("Features", "\n It lasts. \n It is mild. "), ("Reviews", "")],
)
def test_a_subpage_of_a_product(name, content):
    page = sub_page(TOLD, stick(), name)
    assert render(page) == f"\n[Back to Search] \n[< Prev] {content}"


@pytest.mark.parametrize(("reward", "said"), [(1.0, "1.0"), (2 / 3, "0.6666666666666666")])
def test_the_last_page_has_the_score_and_nothing_of_the_goal(reward, said):
    assert render(done_page(reward)) == f"Your score (min 0.0, max 1.0): {said}"
