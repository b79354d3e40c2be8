"""The environment over goods of our own: what can be done on each page, what cannot, and what a purchase brings."""

import asyncio

import pytest

from langgraph_reflexion.envs import load_environment
from langgraph_reflexion.envs.base import Action, FinishedTrial
from langgraph_reflexion.envs.pool import EpisodePool
from langgraph_reflexion.envs.webshop.catalogue import generate
from langgraph_reflexion.envs.webshop.environment import WebShop
from langgraph_reflexion.envs.webshop.episode import INVALID, LISTED, OVER, WebShopEpisode
from langgraph_reflexion.envs.webshop.goals import Goal
from langgraph_reflexion.envs.webshop.rendering import RENDERINGS
from langgraph_reflexion.envs.webshop.shop import OwnShop
from langgraph_reflexion.envs.webshop.state import LONGEST_QUERY, clean_query
from langgraph_reflexion.envs.webshop.store import Store
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.testing import CHECKS, Case
from tests.envs.webshop.small import ATTRIBUTES, LAMP, PRODUCTS, SPRAY, STICK, product, solution, values

SEARCH_FIRST = "You can search: search[{query}]."


@pytest.fixture(scope="module")
def environment():
    environment = WebShop()
    yield environment
    environment.close()


@pytest.fixture(scope="module")
def store():
    store = Store.in_memory(PRODUCTS, ATTRIBUTES)
    yield store
    store.close()


def episode(store, wanted=STICK, options=("bright citrus",), **settings):
    goal = Goal(wanted["asin"], "buy it", ("long lasting",), options, 20.0)
    return WebShopEpisode(OwnShop(store, goal), **settings)


def do(episode, *texts):
    """What is seen after each action."""
    return [act(episode, text).observation for text in texts]


def act(episode, text):
    return episode.step(WebShop().parse(text))


def over(*texts):
    environment = WebShop()
    actions = [environment.parse(text) for text in texts]
    trial = dict.fromkeys(FinishedTrial.__annotations__)
    return FinishedTrial(**{**trial, "number": 1, "actions": actions})


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
@pytest.mark.parametrize("rendering", RENDERINGS)
def test_conformance(check, rendering):
    environment, catalogue = WebShop(rendering=rendering), generate(0)
    search, item, *rest = solution(catalogue, catalogue.goals[0])
    about = ["click[Description]", "click[< Prev]", "click[< Prev]", "click[Next >]", "click[Back to Search]"]
    actions = [search, "click[nothing]", item, "search[no]", *about, search, item, *rest, "click[Buy Now]"]
    check(Case.of(environment, actions=actions))
    environment.close()


def test_it_is_loaded_by_name_and_the_own_goods_come_first():
    environment = load_environment("webshop", seed=4)
    assert environment.splits == ("own",)
    task = environment.tasks(limit=1)[0]
    assert task["id"] == "own/s4/000"
    assert task["data"] == {"split": "own", "goal": 0, "seed": 4, "types": "rule"}
    assert environment.start(task).observation == f"\nWebShop \nInstruction:  \n{task['instruction']} \n[Search] "


@pytest.mark.parametrize("seed", [0, 1, 2026])
def test_every_goal_of_our_own_has_a_way_to_the_whole_reward(seed):
    environment, catalogue = WebShop(seed=seed), generate(seed)
    for task, goal in zip(environment.tasks(), catalogue.goals, strict=True):
        shopping = environment.start(task)
        results = [shopping.step(environment.parse(text)) for text in solution(catalogue, goal)]
        assert (results[-1].reward, results[-1].terminated) == (1.0, True), task["id"]
        assert all((result.reward, result.terminated) == (0.0, False) for result in results[:-1])


def test_options_are_chosen_and_remembered_through_the_pages_of_the_product(store):
    shopping = episode(store)
    seen = do(shopping, "search[meadow stick]", f"click[{STICK['asin']}]", "click[Bright Citrus]")
    assert seen[-1] == "You have clicked bright citrus."
    assert "scent [[bright citrus]][rose | mint]" in do(shopping, "click[Features]", "click[< Prev]")[-1]
    assert do(shopping, "click[rose | mint]") == ["You have clicked rose | mint."]
    assert "scent [bright citrus][[rose | mint]]" in do(shopping, "click[Description]", "click[< prev]")[-1]
    # Back among the results they are forgotten, as in the original.
    assert "scent [bright citrus][rose | mint]" in do(shopping, "click[< Prev]", f"click[{STICK['asin']}]")[-1]


def test_as_text_a_choice_shows_the_page_once_more(store):
    shopping = episode(store, rendering=RENDERINGS["text"])
    _, before, after = do(shopping, "search[stick]", f"click[{STICK['asin']}]", "click[bright citrus]")
    assert before == after
    assert act(shopping, "click[buy now]").reward == 1.0


def test_buying_without_the_option_is_worth_less_and_ends_the_episode(store):
    shopping = episode(store)
    do(shopping, "search[stick]", f"click[{STICK['asin']}]")
    result = act(shopping, "click[Buy Now]")
    assert result.observation == "Your score (min 0.0, max 1.0): 0.6666666666666666"
    assert (result.reward, result.terminated, result.truncated) == (pytest.approx(2 / 3), True, False)
    again = act(shopping, "click[Buy Now]")
    assert (again.observation, again.reward, again.terminated) == (OVER, result.reward, True)


def test_an_option_value_that_two_options_have_is_chosen_for_the_last_then_for_the_other(store):
    shopping = episode(store, LAMP, ("three pin", "three pin"))
    do(shopping, "search[lamp]", f"click[{LAMP['asin']}]", "click[three pin]")
    assert shopping.state.options == (("plug", "three pin"),)
    do(shopping, "click[three pin]")
    assert shopping.state.options == (("plug", "three pin"), ("cord/plug", "three pin"))
    do(shopping, "click[three pin]")
    assert len(shopping.state.options) == 2


def test_results_have_ten_products_a_page_and_there_is_a_way_there_and_back(store):
    many = Store.in_memory([product(f"B{place:09}", f"Soap {place}") for place in range(25)], {})
    shopping = WebShopEpisode(OwnShop(many, Goal("B000000000", "buy soap", ("soap",), (), 20.0)))
    first, second, third, fourth, back = do(shopping, "search[soap]", *["click[Next >]"] * 3, "click[< Prev]")
    assert "Page 1 (Total results: 25)" in first
    assert "[B000000000]" in first
    assert "Page 2 (Total results: 25)" in second
    assert "[B000000010]" in second
    assert "[B000000020]" in third
    assert fourth == "\n[Back to Search] \nPage 4 (Total results: 25) \n[< Prev] \n[Next >] "
    assert back == third
    # From the product the way leads back to the same page of results.
    assert do(shopping, "click[B000000021]", "click[< Prev]")[-1] == third
    # All ten can be clicked, though three are shown.
    assert "Soap 29" not in third
    assert "\nSoap 24 \n" in do(shopping, "click[B000000024]")[0]
    many.close()


# What is not possible.


def test_on_the_first_page_one_can_only_search(store):
    shopping = episode(store)
    for text in ("click[Search]", "click[Back to Search]", "click[Buy Now]", f"click[{STICK['asin']}]"):
        clicked = text.removeprefix("click[").removesuffix("]")
        refused = f"Invalid action: there is no {clicked!r} to click on this page. {SEARCH_FIRST}"
        assert do(shopping, text) == [refused]
    assert do(shopping, "search[stick]")[0].startswith("\n[Back to Search] ")


def test_on_other_pages_one_cannot_search_and_is_told_what_can_be_clicked(store):
    shopping = episode(store)
    do(shopping, "search[spray]")
    told = f"You can click [Back to Search], [Next >], [{SPRAY['asin']}]."
    assert do(shopping, "search[lamp]") == [f"Invalid action: there is no search bar on this page. {told}"]
    assert do(shopping, "click[lamp]") == [f"Invalid action: there is no 'lamp' to click on this page. {told}"]
    do(shopping, f"click[{SPRAY['asin']}]")
    assert do(shopping, "click[small]")[0].endswith(
        "You can click [Back to Search], [< Prev], [pine's best], [unscented], [Description], [Features], [Reviews], "
        "[Buy Now]."
    )
    do(shopping, "click[Reviews]")
    assert do(shopping, "click[Buy Now]")[0].endswith("You can click [Back to Search], [< Prev].")


def test_what_can_be_clicked_is_not_told_without_end():
    sized = product("B1", "Bolt", options={"size": values(*(f"{size} mm" for size in range(500)))})
    store = Store.in_memory([sized], {})
    shopping = WebShopEpisode(OwnShop(store, Goal("B1", "buy a bolt", ("bolt",), (), 20.0)))
    told = do(shopping, "search[bolt]", "click[B1]", "click[nut]")[-1]
    assert told.count("[") == LISTED
    assert told.endswith(" mm], ....")
    assert do(shopping, "click[499 mm]") == ["You have clicked 499 mm."]


@pytest.mark.parametrize("query", ["<r>", "<a> soap", "<c> beauty", "<q> deodorant for men"])
def test_the_back_doors_of_the_original_search_are_not_there(store, query):
    plain = query.translate(str.maketrans("<>", "  "))
    assert do(episode(store), f"search[{query}]") == do(episode(store), f"search[{plain}]")
    assert "Total results: 0" in do(episode(store), "search[<r>]")[0]


@pytest.mark.parametrize("query", ["", "  ", "[]", "?!", "\x00", "<>/", "\u200b"])
def test_a_search_without_words_is_refused(store, query):
    shopping = episode(store)
    result = shopping.step(Action(name="search", args={"query": query}, text=""))
    assert result.observation == f"Invalid action: search wants words to look for. {SEARCH_FIRST}"
    assert shopping.state.page == "search"


@pytest.mark.parametrize(
    "query",
    ["stick " * 5_000, "'stick'; DROP TABLE products --", '["stick"', "stick\x00\n\x1b[2J", "100% stick? #1 & a/b",
     "\ud83d stick \U0001f9f4", "\u202estick", "{query} stick", "stick\\x"],
)  # fmt: skip
def test_no_query_breaks_the_search(store, query):
    result = episode(store).step(Action(name="search", args={"query": query}, text=""))
    assert f"\n[{STICK['asin']}] \n" in result.observation


@pytest.mark.parametrize("element", ["", " ", "[", "x" * 100_000, "a\nb", "\x00", "\ud83d", "%s {0} {query}"])
def test_no_click_breaks_a_page(store, element):
    shopping = episode(store)
    do(shopping, "search[stick]")
    result = shopping.step(Action(name="click", args={"element": element}, text=""))
    assert result.observation.startswith("Invalid action: there is no ")
    assert len(result.observation) < 500


def test_a_query_is_cut_where_an_address_would_be_too_long():
    assert len(clean_query("ab " * 5_000)) <= LONGEST_QUERY
    assert clean_query("  a/b\t[c] <d>\n\x00e  ") == "a b c d e"


@pytest.mark.parametrize(
    "text",
    ["click[ buy now ]", "Click [Buy Now]", "click[Buy Now].", " click[BUY  NOW] ", "click[[Buy Now]]"],
)
def test_actions_are_understood_as_models_write_them(environment, store, text):
    shopping = episode(store)
    do(shopping, "search[stick]", f"click[{STICK['asin'].lower()}]")
    assert shopping.step(environment.parse(text)).terminated


@pytest.mark.parametrize("text", ["search", "search[]", "buy", "think[hm]", "click Buy Now", "click[Buy Now] now"])
def test_what_is_no_action_is_not_taken_for_one(environment, text):
    assert environment.parse(text) is None


def test_actions_that_come_to_the_same(environment):
    def same(one, other):
        return environment.same(environment.parse(one), environment.parse(other))

    assert same("click[Buy Now]", "click[ buy  now]")
    assert same("search[Blue soap]", "search[blue SOAP]")
    assert not same("search[blue soap]", "click[blue soap]")
    assert not same("click[blue]", "click[red]")


# As strict as ReAct's client.


@pytest.mark.parametrize(
    ("before", "refused"),
    [
        ([], ["click[Back to Search]", "click[Search]", "click[B000000001]", "click[Buy Now]"]),
        (["search[meadow]"], ["search[stick]", "click[Next >]", "click[b000000001]", "click[Buy Now]", "click[x]"]),
        (
            ["search[meadow]", "click[B000000001]"],
            ["search[stick]", "click[buy now]", "click[Bright Citrus]", "click[B000000002]", "click[Attributes]"],
        ),
        (["search[meadow]", "click[B000000001]", "click[Features]"], ["click[Buy Now]", "click[bright citrus]"]),
    ],
)
def test_strictly_everything_else_is_invalid_without_a_word_and_changes_nothing(store, before, refused):
    shopping = episode(store, strict=True)
    assert INVALID not in do(shopping, *before)
    state = shopping.state
    assert do(shopping, *refused) == ["Invalid action!"] * len(refused)
    assert shopping.step(Action(name="", args={}, text="buy")).observation == "Invalid action!"
    assert shopping.state == state


def test_strictly_as_it_should_be_done(store):
    shopping = episode(store, strict=True)
    texts = ["search[stick]", "click[B000000001]", "click[Description]", "click[< Prev]", "click[bright citrus]"]
    assert INVALID not in do(shopping, *texts)
    assert act(shopping, "click[Buy Now]").reward == 1.0


# Beside the graph.


def test_a_finished_trial_is_measured_by_its_purchase(environment):
    task, catalogue = environment.tasks()[0], generate(0)
    search, item, *options, buy = solution(catalogue, catalogue.goals[0])
    whole = environment.review(task, over(search, item, *options, buy)).measures
    assert whole == dict.fromkeys(("reward", "type", "attributes", "options", "price"), 1.0)
    less = environment.review(task, over(search, item, "click[Reviews]", "click[< Prev]", buy)).measures
    assert (less["options"], less["price"]) == (0.0, 1.0)
    assert 0 < less["reward"] < 1
    assert environment.review(task, over(search, item)).measures == dict.fromkeys(whole, 0.0)
    assert environment.review(task, over()).measures == dict.fromkeys(whole, 0.0)


def test_a_near_miss_is_worth_less_by_what_it_misses(environment):
    catalogue = generate(0)
    for number, (goal, misses) in enumerate(zip(catalogue.goals, catalogue.near_misses, strict=True)):
        search, _, *rest = solution(catalogue, goal)
        wrong = next(asin for asin, why in misses.items() if why == "price")
        shop = environment.start(environment.tasks()[number])
        do(shop, search)
        if f"[{wrong}]" in do(shop, "click[x]")[0]:
            measures = environment.review(
                environment.tasks()[number], over(search, f"click[{wrong}]", *rest)
            ).measures
            assert measures["price"] == 0.0, goal
            return
    raise AssertionError("no near miss stands beside what is wanted")


def test_tasks_play_in_an_environment_of_another_seed_and_after_it_was_closed():
    made, other = WebShop(seed=1), WebShop(seed=2)
    task, catalogue = made.tasks()[3], generate(1)
    for _ in range(2):
        shopping = other.start(task)
        texts = solution(catalogue, catalogue.goals[3])
        assert [shopping.step(other.parse(text)).reward for text in texts][-1] == 1.0
        other.close()


def test_only_a_shop_that_has_to_be_drawn_first_or_is_not_in_the_memory_needs_a_thread():
    environment = WebShop()
    task = environment.tasks(limit=1)[0]
    official = task | {"data": task["data"] | {"split": "test"}}
    assert not environment.blocks(task)
    assert environment.blocks(official)
    assert WebShop().blocks(task)
    assert WebShop(base_url="http://localhost").blocks(official)


def test_many_episodes_at_once_do_not_mix():
    environment, catalogue = WebShop(), generate(0)
    tasks = environment.tasks(limit=8)

    async def play(pool, number):
        done = []
        for text in solution(catalogue, catalogue.goals[number]):
            action = environment.parse(text)
            last = await pool.step(tasks[number], done, action, None)
            done.append(action)
        return last.result.reward

    async def all_of_them():
        pool = EpisodePool(environment)
        rewards = await asyncio.gather(*(play(pool, number) for number in range(8)))
        pool.close()
        return rewards

    assert asyncio.run(all_of_them()) == [1.0] * 8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rendering": "html"}, "WebShop has no rendering 'html': choose one of bracketed, text"),
        ({"base_url": "localhost"}, "base_url is 'localhost': give an address such as http://localhost:3000"),
        ({"base_url": 7}, "base_url is 7: give an address"),
        ({"base_url": "http://x", "timeout": 0}, "timeout is 0: give a number of seconds above 0"),
        ({"base_url": "http://x", "timeout": "long"}, "timeout is long: give a number of seconds above 0"),
        ({"strict": "False"}, "strict is 'False': give true or false"),
        ({"base_url": "http://x", "path": "y"}, "path= does not go with base_url="),
        ({"base_url": "http://x", "exact_types": True}, "exact_types= does not go with base_url="),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ConfigurationError, match=message):
        WebShop(**options)


def test_a_task_of_something_else_is_named(environment):
    for task in ({"id": "x", "instruction": "x"}, {"id": "x", "instruction": "x", "data": {"question": "?"}}):
        with pytest.raises(ConfigurationError, match="x is no task of WebShop's"):
            environment.start(task)
    official = {"id": "test/1", "instruction": "x", "data": {"split": "test", "goal": 1, "seed": 0, "types": "rule"}}
    with pytest.raises(ConfigurationError, match="give them as path="):
        environment.start(official)
    with pytest.raises(ConfigurationError, match="set exact_types= as it was"):
        environment.start(official | {"data": official["data"] | {"types": "en_core_web_lg"}})
    gone = {"id": "own/s0/100", "instruction": "x", "data": official["data"] | {"split": "own", "goal": 100}}
    with pytest.raises(ConfigurationError, match="there are 100 goals for these products, and none is own/s0/100"):
        environment.start(gone)
