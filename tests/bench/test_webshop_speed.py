"""The measurement of WebShop's engine: on few products, that it measures what it says."""

import pytest

from langgraph_reflexion.envs.webshop.products import read_product
from tests.performance.webshop_speed import measure, products


@pytest.mark.long
def test_few_products_are_built_searched_and_shown():
    result = measure(300, 20)
    assert result["products"] == 300
    assert all(value > 0 for value in result.values())
    assert result["searches a second"] > result["pages of results a second"]


def test_the_products_are_official_the_same_every_time_and_of_the_length_that_is_promised():
    made = list(products(400))
    assert made == list(products(400))
    read = [read_product(entry) for entry in made]
    assert len({product.asin for product in read}) == 400
    assert 70 < sum(len(product.indexed.split()) for product in read) / 400 < 130
