"""Pages in both renderings, to the character as the original's server and ReAct's client write them."""

import pytest

from langgraph_reflexion.envs.webshop.pages import (
    RENDERINGS,
    done_page,
    item_page,
    results_page,
    search_page,
    sub_page,
)
from langgraph_reflexion.envs.webshop.products import read_product
from tests.support.webshop import STICK, product

TOLD = "i want a deodorant, and price lower than 20.00 dollars"
TITLE = STICK["name"]
bracketed, text = (RENDERINGS[name].page for name in ("bracketed", "text"))


def stick():
    return read_product(STICK, ["long lasting", "paraben free"])


def soaps(number):
    return [read_product(product(f"B{place:09}", f"Soap {place}", f"${place}.5")) for place in range(1, number + 1)]


def test_the_first_page():
    page = search_page(TOLD)
    assert bracketed(page) == f"\nWebShop \nInstruction:  \n{TOLD} \n[Search] "
    assert text(page) == f"WebShop [SEP] Instruction: [SEP] {TOLD} [SEP] Search"


def test_results_show_three_products_in_brackets_and_ten_as_text():
    page = results_page(TOLD, 1, 50, soaps(10))
    assert bracketed(page) == (
        "\n[Back to Search] \nPage 1 (Total results: 50) \n[Next >] "
        "\n[B000000001] \nSoap 1 \n$1.5 \n[B000000002] \nSoap 2 \n$2.5 \n[B000000003] \nSoap 3 \n$3.5 "
    )
    listed = " [SEP] ".join(f"B{place:09} [SEP] Soap {place} [SEP] ${place}.5" for place in range(1, 11))
    assert text(page) == (
        f"Instruction: [SEP] {TOLD} [SEP] Back to Search [SEP] Page 1 (Total results: 50) [SEP] Next > [SEP] {listed}"
    )
    last = results_page(TOLD, 9, 25, [])
    assert bracketed(last) == "\n[Back to Search] \nPage 9 (Total results: 25) \n[< Prev] \n[Next >] "


def test_a_product_with_options():
    page = item_page(TOLD, stick(), {})
    assert bracketed(page) == (
        "\n[Back to Search] \n[< Prev] \nscent [bright citrus][rose | mint]\nsize [3 ounce (pack of 1)]"
        f"\n{TITLE} \nPrice: $10.99 \nRating: N.A. \n[Description] \n[Features] \n[Reviews] \n[Buy Now] "
    )
    assert text(page) == (
        f"Instruction: [SEP] {TOLD} [SEP] Back to Search [SEP] < Prev [SEP] scent [SEP] bright citrus [SEP] "
        f"rose | mint [SEP] size [SEP] 3 ounce (pack of 1) [SEP] {TITLE} [SEP] Price: $10.99 [SEP] Rating: N.A. "
        "[SEP] Description [SEP] Features [SEP] Reviews [SEP] Buy Now"
    )
    chosen = item_page(TOLD, stick(), {"scent": "rose | mint"})
    assert "\nscent [bright citrus][[rose | mint]]\nsize [3 ounce (pack of 1)]\n" in bracketed(chosen)
    assert text(chosen) == text(page)


@pytest.mark.parametrize(
    ("name", "in_brackets", "as_text"),
    [
        ("Description", "\nA deodorant. ", " [SEP] A deodorant."),
        ("Features", "\n It lasts. \n It is mild. ", " [SEP] It lasts. [SEP] It is mild."),
        ("Reviews", "", ""),
    ],
)
def test_a_subpage_of_a_product(name, in_brackets, as_text):
    page = sub_page(TOLD, stick(), name)
    assert bracketed(page) == f"\n[Back to Search] \n[< Prev] {in_brackets}"
    assert text(page) == f"Instruction: [SEP] {TOLD} [SEP] Back to Search [SEP] < Prev{as_text}"


@pytest.mark.parametrize(("reward", "said"), [(1.0, "1.0"), (2 / 3, "0.6666666666666666")])
def test_the_last_page_has_the_score_and_nothing_of_the_goal(reward, said):
    assert bracketed(done_page(reward)) == f"Your score (min 0.0, max 1.0): {said}"
    assert text(done_page(reward)) == (
        f"Thank you for shopping with us! [SEP] Your score (min 0.0, max 1.0) [SEP] {said}"
    )
