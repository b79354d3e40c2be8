"""Reading products by the rules of the original's loader, and what it stumbles over."""

import json

import pytest

from langgraph_reflexion.envs.webshop.products import Product, read_product
from tests.support.webshop import CREAM, LAMP, SALVE, SPRAY, STICK, product, values


def test_a_product_is_read():
    read = read_product(STICK, ["long lasting"])
    assert (read.asin, read.title, read.description) == ("B000000001", "Calm Meadow Stick Deodorant", "A deodorant.")
    assert read.options == {"scent": ("bright citrus", "rose | mint"), "size": ("3 ounce (pack of 1)",)}
    assert read.bullets == ("It lasts.", "It is mild.")
    assert (read.attributes, read.category, read.query) == (("long lasting",), "beauty", "deodorant for men")


@pytest.mark.parametrize("asin", ["nan", "B0000000011", "", None, float("nan")])
def test_what_has_no_proper_code_is_skipped(asin):
    assert read_product(product(asin, "Soap")) is None


@pytest.mark.parametrize(
    ("told", "prices", "tag"),
    [
        ("$10.99", (10.99,), "$10.99"),
        ("$10", (10.0,), "$10.0"),
        ("$1,299.00", (1299.0,), "$1299.0"),
        ("$8.50$12.00", (8.5, 12.0), "$8.5 to $12.0"),
        ("$8.50 - $12.00 each$99", (8.5, 12.0), "$8.5 to $12.0"),
        ("", (100.0,), "$100.0"),
        (None, (100.0,), "$100.0"),
        ("free", (100.0,), "$100.0"),
        ("$", (100.0,), "$100.0"),
        ("$.99", (0.99,), "$0.99"),
        ("$1.2.3", (100.0,), "$100.0"),
    ],
)
def test_prices_of_every_kind(told, prices, tag):
    read = read_product(product("B1", "Soap", told))
    assert (read.prices, read.price_tag) == (prices, tag)


def test_a_price_that_is_a_range_is_drawn_from_the_seed_and_the_product():
    spray, other = read_product(SPRAY), read_product({**SPRAY, "asin": "B9"})
    drawn = {(seed, each.asin): each.price(seed) for seed in range(3) for each in (spray, other)}
    assert all(8.5 <= price <= 12 for price in drawn.values())
    assert len(set(drawn.values())) == 6
    assert spray.price(1) == drawn[1, spray.asin]
    assert read_product(STICK).price(1) == read_product(STICK).price(2) == 10.99


@pytest.mark.parametrize(
    ("told", "options"),
    [
        ("", {}),
        (None, {}),
        ({}, {}),
        ({"Size": None}, {}),
        ({"Size": []}, {"size": ()}),
        ({"SIZE": values(" 1/2 Inch ")}, {"size": ("1 | 2 inch",)}),
        ({"Size": [{"value": 7}]}, {"size": ("7",)}),
    ],
)
def test_options_of_every_kind(told, options):
    assert read_product({**STICK, "customization_options": told}).options == options


def test_what_is_missing_is_empty_and_unknown_attributes_are_a_dummy():
    salve = read_product(SALVE)
    assert (salve.description, salve.bullets, salve.attributes) == ("", (), ("DUMMY_ATTR",))
    assert read_product(LAMP).bullets == ("A lamp of brass.",)
    assert read_product(CREAM).query == "hand cream"


def test_the_indexed_text_is_title_description_first_feature_and_options():
    assert read_product(STICK).indexed == (
        "calm meadow stick deodorant a deodorant. it lasts. "
        "scent: bright citrus, rose | mint, and size: 3 ounce (pack of 1)"
    )
    assert read_product(SALVE).indexed == "calm meadow salve  "


def test_half_a_character_is_replaced():
    assert read_product(product("B1", "Soap \ud83d!")).title == "Soap ?!"


@pytest.mark.parametrize("entry", [STICK, SPRAY, LAMP, SALVE])
def test_a_product_survives_json(entry):
    read = read_product(entry)
    assert Product.from_json(json.loads(json.dumps(read.to_json()))) == read


@pytest.mark.parametrize("broken", [{}, {**STICK, "customization_options": [1]}, {"asin": "B1"}, ["asin"], 7])
def test_what_is_no_product_is_an_error_that_the_reader_of_the_file_names(broken):
    with pytest.raises((KeyError, TypeError, AttributeError)):
        read_product(broken)
