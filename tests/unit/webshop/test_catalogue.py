import pytest

from langgraph_reflexion.envs.webshop.catalogue import GOALS, MISSES, generate
from langgraph_reflexion.envs.webshop.environment import WebShop
from tests.support.webshop import solution


@pytest.fixture(scope="module")
def shop():
    shop = WebShop()
    yield shop
    shop.close()


def buy(shop, task, actions):
    episode = shop.start(task)
    for text in actions:
        result = episode.step(shop.parse(text))
        assert not result.observation.startswith("Invalid action"), (text, result.observation)
    assert result.terminated
    return result.reward


def near_misses(catalogue, goal):
    """Return the codes of the other products of the goal's type."""
    wanted = next(each for each in catalogue.products if each.asin == goal.asin)
    return [each for each in catalogue.products if each.query == wanted.query and each is not wanted]


@pytest.mark.slow
def test_only_the_solution_of_a_goal_gets_the_whole_reward(shop):
    catalogue, tasks = generate(0), shop.tasks("own")
    assert len(tasks) == len(catalogue.goals) == GOALS == 100
    for number, (task, goal) in enumerate(zip(tasks, catalogue.goals, strict=True)):
        search, item, *options, buy_now = solution(catalogue, goal)
        assert task["instruction"] == goal.instruction
        assert buy(shop, task, [search, item, *options, buy_now]) == 1.0 > buy(shop, task, [search, item, buy_now])
        asked, misses = len(goal.attributes) + len(goal.options) + 1, near_misses(catalogue, goal)
        assert len(misses) == len(MISSES)
        for each in misses if number % 5 == 0 else []:
            offered = {f"{name}: {value}" for name, values in each.options.items() for value in values}
            chosen = [f"click[{option.partition(': ')[2]}]" for option in goal.options if option in offered]
            actions = [f"search[{each.title}]", f"click[{each.asin}]", *chosen, buy_now]
            assert buy(shop, task, actions) == pytest.approx((asked - 1) / asked), (goal, each.asin)


def test_a_catalogue_depends_on_its_seed_alone():
    assert generate.__wrapped__(0) == generate(0)
    one, other = generate(0), generate(1)
    assert not {each.asin for each in one.products} & {each.asin for each in other.products}
    assert not {goal.instruction for goal in one.goals} & {goal.instruction for goal in other.goals}
