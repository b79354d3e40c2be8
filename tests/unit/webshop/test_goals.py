"""Goals by the original's rules: which there are, in which order, and with which budgets."""

from random import Random

import pytest

from langgraph_reflexion.envs.webshop.goals import SPLITS, budget, official_goals
from langgraph_reflexion.envs.webshop.store import Store
from langgraph_reflexion.errors import ConfigurationError
from tests.support.webshop import ATTRIBUTES, CREAM, GOALS, LAMP, PRODUCTS, STICK, product, write


@pytest.fixture
def store():
    store = Store.in_memory(PRODUCTS, ATTRIBUTES)
    yield store
    store.close()


def goals(folder, store, seed=0, told=GOALS):
    return official_goals(write(folder, goals=told) / "items_human_ins.json", store.find, seed)


def test_instructions_without_attributes_and_without_their_product_are_skipped(tmp_path, store):
    made = goals(tmp_path, store)
    assert sorted(goal.asin for goal in made) == [STICK["asin"], STICK["asin"], CREAM["asin"], LAMP["asin"]]
    assert not any("Skipped" in goal.instruction for goal in made)


def test_a_goal_has_what_was_asked_for_and_a_budget(tmp_path, store):
    made = {goal.instruction.partition(",")[0]: goal for goal in goals(tmp_path, store)}
    citrus = made["I want a deodorant that lasts and smells of citrus"]
    assert (citrus.attributes, citrus.options) == (("long lasting",), ("bright citrus",))
    assert citrus.price_upper in (30.0, 40.0, 50.0)
    assert citrus.instruction.endswith(f", and price lower than {citrus.price_upper:.2f} dollars")
    assert made["I want a deodorant without parabens"].options == ()


def test_what_costs_too_much_for_a_budget_has_none(tmp_path, store):
    cream = next(goal for goal in goals(tmp_path, store) if goal.asin == CREAM["asin"])
    assert (cream.instruction, cream.price_upper) == ("Find a cream", 1_000_000)


@pytest.mark.parametrize(
    ("price", "sums"),
    [(10.99, {30, 40, 50}), (10, {30, 40, 50}), (0.5, {20, 30, 40}), (965, {980, 990}), (975, {990}), (980, {None})],
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
    store = Store.in_memory(products, {})
    expected = [f"soap {place} {which}" for place in range(700) for which in range(place % 3)]
    Random(233).shuffle(expected)
    made = goals(tmp_path, store, told=told)
    assert [goal.instruction.partition(",")[0] for goal in made] == expected
    assert {name: len(made[places]) for name, places in SPLITS.items()} == {"test": 500, "eval": 199, "train": 0}


def test_budgets_depend_on_the_seed_and_the_order_does_not(tmp_path, store):
    def told(seed):
        return [(goal.asin, goal.price_upper) for goal in goals(tmp_path, store, seed)]

    assert told(1) == told(1)
    assert len({tuple(told(seed)) for seed in range(6)}) > 1
    assert len({tuple(asin for asin, _ in told(seed)) for seed in range(6)}) == 1


def test_budgets_stay_when_other_goals_and_products_come_and_go(tmp_path, store):
    before = {goal.instruction for goal in goals(tmp_path / "a", store) if goal.asin == STICK["asin"]}
    fewer = Store.in_memory([STICK], {})
    after = goals(tmp_path / "b", fewer, told={STICK["asin"]: GOALS[STICK["asin"]]})
    assert {goal.instruction for goal in after} == before


@pytest.mark.parametrize("told", [{STICK["asin"]: [{}]}, {STICK["asin"]: 7}, {STICK["asin"]: ["text"]}])
def test_an_invalid_file_is_named(tmp_path, store, told):
    with pytest.raises(ConfigurationError, match=r"items_human_ins\.json, B000000001: not instructions"):
        goals(tmp_path, store, told=told)


@pytest.mark.parametrize("name", ["instruction_attributes", "instruction_options"])
@pytest.mark.parametrize("value", ["bright citrus", [5], None])
def test_a_string_is_not_a_list_of_strings(tmp_path, store, name, value):
    entry = GOALS[STICK["asin"]][0] | {name: value}
    with pytest.raises(ConfigurationError, match="list of strings"):
        goals(tmp_path, store, told={STICK["asin"]: [entry]})
