import json
import re
from collections import Counter
from itertools import combinations

import pytest

from langgraph_reflexion.envs.webshop.catalogue import GOALS, MISSES, generate
from langgraph_reflexion.envs.webshop.environment import WebShop
from langgraph_reflexion.envs.webshop.generated_products import vocabulary
from langgraph_reflexion.envs.webshop.reward import alike, colour
from tests.support.webshop import solution

SEEDS = [0]
OFFICIAL = {
    "asin",
    "name",
    "category",
    "query",
    "product_category",
    "full_description",
    "small_description",
    "pricing",
    "customization_options",
    "images",
}

every_seed = pytest.mark.parametrize("seed", SEEDS)


@pytest.fixture(scope="module")
def shops():
    shops = {seed: WebShop(seed=seed) for seed in SEEDS}
    yield shops
    for shop in shops.values():
        shop.close()


def play(shop, task, actions):
    """Return the last result of valid actions."""
    episode = shop.start(task)
    for text in actions:
        action = shop.parse(text)
        assert action is not None, text
        result = episode.step(action)
        assert not result.observation.startswith("Invalid action"), (text, result.observation)
    return result


def bought(catalogue, goal, asin):
    """Return the actions that buy a product with as many options of the goal as it has."""
    product = next(each for each in catalogue.products if each["asin"] == asin)
    offered = {
        f"{name}: {each['value']}" for name, values in product["customization_options"].items() for each in values
    }
    chosen = [option.partition(": ")[2] for option in goal["instruction_options"] if option in offered]
    return [f"search[{product['name']}]", *(f"click[{each}]" for each in (asin, *chosen, "Buy Now"))]


@every_seed
def test_the_solution_of_every_goal_gets_the_whole_reward(seed, shops):
    catalogue, tasks = generate(seed), shops[seed].tasks("own")
    assert len(tasks) == len(catalogue.goals) == GOALS == 100
    for task, goal in zip(tasks, catalogue.goals, strict=True):
        assert goal["instruction"] in task["instruction"]
        result = play(shops[seed], task, solution(catalogue, goal))
        assert (result.reward, result.terminated) == (1.0, True), goal


@every_seed
def test_every_near_miss_lacks_exactly_one_part(seed, shops):
    catalogue, tasks = generate(seed), shops[seed].tasks("own")
    for task, goal, misses in zip(tasks, catalogue.goals, catalogue.near_misses, strict=True):
        assert Counter(misses.values()) == Counter(MISSES)
        asked = len(goal["instruction_attributes"]) + len(goal["instruction_options"]) + 1
        for asin in misses:
            result = play(shops[seed], task, bought(catalogue, goal, asin))
            assert result.reward == pytest.approx((asked - 1) / asked), (goal, asin)


@every_seed
def test_without_its_options_the_right_product_falls_short(seed, shops):
    catalogue = generate(seed)
    for task, goal in zip(shops[seed].tasks("own"), catalogue.goals, strict=True):
        first, second, *_, last = solution(catalogue, goal)
        assert play(shops[seed], task, [first, second, last]).reward < 1.0


@every_seed
def test_five_hundred_products_and_more_in_eight_categories(seed):
    catalogue = generate(seed)
    assert len(catalogue.products) >= 500
    assert len({product["category"] for product in catalogue.products}) == 8
    assert len({goal["asin"] for goal in catalogue.goals}) == GOALS
    codes = [product["asin"] for product in catalogue.products]
    assert len(set(codes)) == len(codes) == len(catalogue.attributes)
    assert len({product["name"] for product in catalogue.products}) == len(codes)


def test_products_have_the_fields_of_the_official_files():
    catalogue = generate(0)
    for product in catalogue.products:
        assert set(product) == OFFICIAL
        assert len(product["asin"]) == 10
        assert product["product_category"].count(" \u203a ") == 2
        assert re.fullmatch(r"\$\d+\.\d\d", product["pricing"])
        for values in product["customization_options"].values():
            assert all(set(value) == {"value", "image"} for value in values)
        told = " ".join([product["name"], product["full_description"], *product["small_description"]]).lower()
        assert all(each in told for each in catalogue.attributes[product["asin"]]["attributes"]), (
            "told to whoever reads"
        )
    assert json.loads(json.dumps(catalogue.products)) == catalogue.products


def test_instructions_name_all_requirements():
    for goal in generate(0).goals:
        told = goal["instruction"]
        assert told.endswith(f", and price lower than {goal['price_upper']:.2f} dollars")
        assert all(attribute in told for attribute in goal["instruction_attributes"])
        assert all(option.replace(": ", " ") in told for option in goal["instruction_options"])


def test_a_catalogue_depends_on_its_seed_alone():
    again = generate.__wrapped__(0)
    assert again == generate(0)
    assert again is not generate(0)
    one, other = generate(0), generate(1)
    brands = [{product["name"].split()[0] for product in each.products} for each in (one, other)]
    assert len(brands[0] & brands[1]) < len(brands[0]) / 4
    assert not {product["asin"] for product in one.products} & {product["asin"] for product in other.products}
    assert [goal["instruction"] for goal in one.goals] != [goal["instruction"] for goal in other.goals]


def test_no_two_words_of_a_category_count_as_the_same():
    for category in vocabulary()["category"]:
        values = [value for values in category["options"].values() for value in values]
        assert len({colour(value) for value in values}) == len(values)
        for pool in (category["attributes"], [colour(value) for value in values]):
            assert not [pair for pair in combinations(pool, 2) if alike(*pair)]
        single = {word for text in [*values, *category["options"], *category["things"]] for word in text.split()}
        assert not single & {word for attribute in category["attributes"] for word in attribute.split()}
