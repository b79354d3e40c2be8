import pytest

from langgraph_reflexion.envs.webshop.products import read_product
from tests.support.webshop import CREAM, LAMP, SALVE, SPRAY, STICK, product, values


def test_a_product_is_read():
    read = read_product(STICK, ["long lasting"])
    assert (read.asin, read.title, read.description) == ("B000000001", "Calm Meadow Stick Deodorant", "A deodorant.")
    assert read.options == {"scent": ["bright citrus", "rose | mint"], "size": ["3 ounce (pack of 1)"]}
    assert read.bullets == ["It lasts.", "It is mild."]
    assert (read.attributes, read.category, read.query) == (["long lasting"], "beauty", "deodorant for men")
    assert read.indexed == (
        "calm meadow stick deodorant a deodorant. it lasts. "
        "scent: bright citrus, rose | mint, and size: 3 ounce (pack of 1)"
    )


def test_missing_parts_are_empty_and_unknown_attributes_a_dummy():
    salve = read_product(SALVE)
    assert (salve.description, salve.bullets, salve.attributes) == ("", [], ["DUMMY_ATTR"])
    assert salve.indexed == "calm meadow salve  "
    assert read_product(LAMP).bullets == ["A lamp of brass."]
    assert read_product(CREAM).query == "hand cream"
    assert read_product(product("B1", "Soap \ud83d!")).title == "Soap ?!"


@pytest.mark.parametrize("asin", ["nan", "B0000000011", None])
def test_a_product_without_a_proper_code_is_skipped(asin):
    assert read_product(product(asin, "Soap")) is None


@pytest.mark.parametrize(
    ("told", "tag"),
    [("$10.99", "$10.99"), ("$1,299.00", "$1299.0"), ("$8.50 - $12.00 each$99", "$8.5 to $12.0"), ("", "$100.0")],
)
def test_prices(told, tag):
    assert read_product(product("B1", "Soap", told)).price_tag == tag


def test_a_price_that_is_a_range_is_drawn_from_the_seed_and_the_product():
    spray, other = read_product(SPRAY), read_product({**SPRAY, "asin": "B9"})
    drawn = {(seed, each.asin): each.price(seed) for seed in range(3) for each in (spray, other)}
    assert all(8.5 <= price <= 12 for price in drawn.values())
    assert len(set(drawn.values())) == 6
    assert spray.price(1) == drawn[1, spray.asin]
    assert read_product(STICK).price(1) == read_product(STICK).price(2) == 10.99


@pytest.mark.parametrize(
    ("told", "options"),
    [("", {}), ({"SIZE": values(" 1/2 In ")}, {"size": ["1 | 2 in"]}), ({"Size": [{"value": 7}]}, {"size": ["7"]})],
)
def test_options(told, options):
    assert read_product({**STICK, "customization_options": told}).options == options
