from dataclasses import replace

import pytest

from langgraph_reflexion.envs.base import Action, StepResult
from langgraph_reflexion.envs.webshop.catalogue import generate
from langgraph_reflexion.envs.webshop.environment import WebShop
from langgraph_reflexion.envs.webshop.episode import OVER, WebShopEpisode
from langgraph_reflexion.envs.webshop.goals import Goal
from langgraph_reflexion.envs.webshop.shop import LONGEST_QUERY, Shop, clean_query
from langgraph_reflexion.errors import ConfigurationError
from tests.support.toys import measured
from tests.support.webshop import LAMP, PRODUCTS, SPRAY, STICK, product, solution, store_of


@pytest.fixture(scope="module")
def environment():
    environment = WebShop()
    yield environment
    environment.close()


@pytest.fixture(scope="module")
def store():
    store = store_of(PRODUCTS)
    yield store
    store.close()


def episode(store, wanted=STICK, options=("bright citrus",), strict=False):
    goal = Goal(wanted["asin"], "buy it", ("long lasting",), options, 20.0)
    return WebShopEpisode(Shop(store, goal), strict)


def do(episode, *texts):
    return [act(episode, text).observation for text in texts]


def act(episode, text):
    return episode.step(WebShop().parse(text) or Action(name="", args={}, text=text))


def test_options_are_kept_on_the_pages_of_a_product(store):
    shopping = episode(store)
    seen = do(shopping, "search[meadow stick]", f"click[{STICK['asin']}]", "click[Bright Citrus]")
    assert seen[-1] == "You have clicked bright citrus."
    assert "scent [[bright citrus]][rose | mint]" in do(shopping, "click[Features]", "click[< Prev]")[-1]
    assert do(shopping, "click[rose | mint]") == ["You have clicked rose | mint."]
    assert "scent [bright citrus][[rose | mint]]" in do(shopping, "click[Description]", "click[< prev]")[-1]
    # The page of results forgets them, as in the original.
    assert "scent [bright citrus][rose | mint]" in do(shopping, "click[< Prev]", f"click[{STICK['asin']}]")[-1]


def test_a_purchase_ends_the_episode(store):
    shopping = episode(store)
    do(shopping, "search[stick]", f"click[{STICK['asin']}]")
    result, again = (act(shopping, "click[Buy Now]") for _ in range(2))
    assert result == StepResult("Your score (min 0.0, max 1.0): 0.6666666666666666", 2 / 3, terminated=True)
    assert again == replace(result, observation=OVER)


def test_a_value_of_two_options_is_chosen_for_the_last_one_first(store):
    shopping = episode(store, LAMP, ("three pin", "three pin"))
    do(shopping, "search[lamp]", f"click[{LAMP['asin']}]", "click[three pin]")
    assert shopping.state.options == (("plug", "three pin"),)
    do(shopping, "click[three pin]", "click[three pin]")
    assert shopping.state.options == (("plug", "three pin"), ("cord/plug", "three pin"))


def test_results_have_ten_products_a_page():
    many = store_of([product(f"B{place:09}", f"Soap {place}") for place in range(25)])
    shopping = WebShopEpisode(Shop(many, Goal("B000000000", "buy soap", ("soap",), (), 20.0)))
    *pages, last, back = do(shopping, "search[soap]", *["click[Next >]"] * 3, "click[< Prev]")
    assert "Page 1 (Total results: 25)" in pages[0]
    assert [f"[B0000000{number}0]" in page for number, page in enumerate(pages)] == [True] * 3
    assert last == "\n[Back to Search] \nPage 4 (Total results: 25) \n[< Prev] \n[Next >] "
    # The product leads back to the same page of results.
    assert [back, do(shopping, "click[B000000021]", "click[< Prev]")[-1]] == [pages[2]] * 2
    # All ten can be clicked, although three are shown.
    assert "[B000000024]" not in back
    product_page, start = do(shopping, "click[B000000024]", "click[Back to Search]")
    assert "\nSoap 24 \n" in product_page
    assert start.endswith("[Search] ")


def test_an_impossible_action_is_told_what_is_possible(store):
    shopping = episode(store)
    said = do(shopping, "click[Buy Now]", "search[spray]", "search[lamp]", "click[lamp]")
    assert said[0] == "Invalid action: there is no 'Buy Now' to click on this page. You can search: search[{query}]."
    told = f"You can click [Back to Search], [Next >], [{SPRAY['asin']}]."
    assert said[2:] == [
        f"Invalid action: there is no search bar on this page. {told}",
        f"Invalid action: there is no 'lamp' to click on this page. {told}",
    ]
    *_, reviews, refused = do(shopping, f"click[{SPRAY['asin']}]", "click[Reviews]", "click[Buy Now]")
    assert reviews == "\n[Back to Search] \n[< Prev] ", "the published data has none"
    assert refused.endswith("You can click [Back to Search], [< Prev].")


@pytest.mark.parametrize(
    "query",
    ["stick " * 5_000, "'stick'; DROP TABLE products --", '["stick"', "stick\x00\n\x1b[2J", "\ud83d {query} stick"],
)
def test_no_query_breaks_the_search(store, query):
    assert len(clean_query(query)) <= LONGEST_QUERY
    result = episode(store).step(Action(name="search", args={"query": query}, text=""))
    assert f"\n[{STICK['asin']}] \n" in result.observation


@pytest.mark.parametrize(
    ("before", "name", "args"),
    [
        *(([], "search", {"query": query}) for query in ("", "?!", "\x00", "\u200b")),
        *((["search[stick]"], "click", {"element": name}) for name in ("", "x" * 100_000, "\ud83d")),
    ],
)
def test_a_search_without_words_and_a_click_on_nothing_are_refused(store, before, name, args):
    shopping = episode(store)
    do(shopping, *before)
    state = shopping.state
    said = shopping.step(Action(name=name, args=args, text="")).observation
    assert (said[:16], len(said) < 500, shopping.state) == ("Invalid action: ", True, state)


@pytest.mark.parametrize("text", ["click[ buy now ]", "Click [Buy Now].", "click[[BUY  NOW]]", "[Buy Now]"])
def test_text_is_read_leniently(environment, store, text):
    shopping = episode(store)
    do(shopping, "search[stick]", f"click[{STICK['asin'].lower()}]")
    assert shopping.step(environment.parse(text)).terminated


def test_other_text_is_no_action_and_capitals_make_no_other(environment):
    assert not any(map(environment.parse, ("search[]", "think[hm]", "click Buy Now", "click[Buy Now] now")))
    one, other, third = map(environment.parse, ("search[Blue soap]", "search[blue  SOAP]", "click[blue soap]"))
    assert environment.equivalent(one, other)
    assert not environment.equivalent(one, third)


def test_strict_mode_refuses_inexact_actions(store):
    shopping = episode(store, strict=True)
    assert do(shopping, "click[Back to Search]", "click[Buy Now]", "buy") == ["Invalid action!"] * 3
    assert "Invalid" not in "".join(do(shopping, "search[meadow]"))
    assert do(shopping, "click[Next >]") == ["Invalid action!"]
    assert "Invalid" not in "".join(do(shopping, "click[B000000001]"))
    state = shopping.state
    assert do(shopping, "click[buy now]", "click[Bright Citrus]", "search[meadow]") == ["Invalid action!"] * 3
    assert shopping.state == state
    with pytest.raises(ConfigurationError, match="strict"):
        WebShop(strict="False")


@pytest.mark.slow
def test_a_task_is_played_with_its_own_seed_and_after_close():
    task, catalogue, other = WebShop(seed=1).tasks()[3], generate(1), WebShop(seed=2, strict=True)
    for _ in range(2):
        shopping = other.start(task)
        rewards = [shopping.step(other.parse(text)).reward for text in solution(catalogue, catalogue.goals[3])]
        assert rewards[-1] == 1.0
        other.close()


@pytest.mark.slow
def test_review_measures_the_purchase(environment):
    task, goal = environment.tasks()[0], generate(0).goals[0]
    search, item, *options, buy = map(environment.parse, solution(generate(0), goal))
    whole = measured(environment, task, [search, item, *options, buy])
    assert whole == dict.fromkeys(("reward", "type", "attributes", "options", "price"), 1.0)
    less = measured(environment, task, [search, item, buy])
    assert (less["options"], less["price"], 0 < less["reward"] < 1) == (0.0, 1.0, True)
    assert measured(environment, task, [search, item]) == dict.fromkeys(whole, 0.0)
    assert all(each in environment.answer(task) for each in (goal.asin, *goal.options))


def test_only_shops_outside_memory_block(environment):
    task = environment.tasks(limit=1)[0]
    official = task | {"data": task["data"] | {"split": "test"}}
    assert [environment.blocks(each) for each in (task, official)] == [False, True]
    with pytest.raises(ConfigurationError, match="path="):
        environment.start(official)
    assert WebShop().blocks(task)
