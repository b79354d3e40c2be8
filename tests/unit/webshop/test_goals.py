from random import Random

import pytest

from langgraph_reflexion.envs.webshop.goals import SPLITS, budget, official_goals
from langgraph_reflexion.errors import ConfigurationError
from tests.support.webshop import CREAM, GOALS, LAMP, PRODUCTS, STICK, product, store_of, write


@pytest.fixture
def store():
    store = store_of(PRODUCTS)
    yield store
    store.close()


def goals(folder, store, seed=0, told=GOALS):
    return official_goals(write(folder, goals=told) / "items_human_ins.json", store.find, seed)


def test_goals_have_what_was_asked_for_and_a_budget(tmp_path, store):
    made = {goal.instruction.partition(",")[0]: goal for goal in goals(tmp_path, store)}
    # Instructions without attributes and without their product are skipped.
    assert sorted(goal.asin for goal in made.values()) == [STICK["asin"], STICK["asin"], CREAM["asin"], LAMP["asin"]]
    citrus = made["I want a deodorant that lasts and smells of citrus"]
    assert (citrus.attributes, citrus.options) == (["long lasting"], ["bright citrus"])
    assert citrus.price_upper in (30.0, 40.0, 50.0)
    assert citrus.instruction.endswith(f", and price lower than {citrus.price_upper:.2f} dollars")
    # Too expensive for a budget.
    assert made["Find a cream"].price_upper == 1_000_000


@pytest.mark.parametrize(
    ("price", "sums"), [(10.99, {30, 40, 50}), (10, {30, 40, 50}), (965, {980, 990}), (980, {None})]
)
def test_a_budget_is_the_larger_of_two_of_the_next_four_round_sums(price, sums):
    assert {budget(price, Random(seed)) for seed in range(60)} == sums


def test_the_order_is_that_of_the_products_shuffled_with_the_originals_seed(tmp_path):
    products = [product(f"P{place}", f"Soap {place}") for place in range(700)]
    told = {
        f"P{place}": [
            {"instruction": f"soap {place} {which}", "instruction_attributes": ["x"], "instruction_options": []}
            for which in range(place % 3)
        ]
        for place in reversed(range(700))
    }
    expected = [f"soap {place} {which}" for place in range(700) for which in range(place % 3)]
    Random(233).shuffle(expected)
    made = goals(tmp_path, store_of(products), told=told)
    assert [goal.instruction.partition(",")[0] for goal in made] == expected
    assert {name: len(made[places]) for name, places in SPLITS.items()} == {"test": 500, "eval": 199, "train": 0}


def test_budgets_depend_on_seed_and_product_and_the_order_on_neither(tmp_path, store):
    made = [goals(tmp_path / str(seed), store, seed) for seed in (0, 0, 1, 2, 3, 4)]
    assert made[0] == made[1]
    assert len({tuple(goal.price_upper for goal in each) for each in made}) > 1
    assert len({tuple(goal.asin for goal in each) for each in made}) == 1
    alone = goals(tmp_path / "b", store_of([STICK]), told={STICK["asin"]: GOALS[STICK["asin"]]})
    assert {goal.instruction for goal in alone} == {g.instruction for g in made[0] if g.asin == STICK["asin"]}


@pytest.mark.parametrize("entries", [[{}], 7, [GOALS[STICK["asin"]][0] | {"instruction_options": "citrus"}]])
def test_an_invalid_file_is_named(tmp_path, store, entries):
    with pytest.raises(ConfigurationError, match=r"items_human_ins\.json, B000000001: not instructions"):
        goals(tmp_path, store, told={STICK["asin"]: entries})
