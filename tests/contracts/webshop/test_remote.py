"""The client of an original server, with a fake server: the same pages, errors as faults, no repeated requests."""

from dataclasses import replace
from itertools import repeat

import pytest

from langgraph_reflexion.envs.base import Action
from langgraph_reflexion.envs.webshop.environment import WebShop
from langgraph_reflexion.envs.webshop.goals import Goal
from langgraph_reflexion.envs.webshop.html import read_page
from langgraph_reflexion.envs.webshop.pages import RENDERINGS
from langgraph_reflexion.envs.webshop.state import State
from langgraph_reflexion.envs.webshop.store import Store
from langgraph_reflexion.errors import ConfigurationError, EnvironmentFault, EnvironmentUnavailable
from langgraph_reflexion.testing import check_environment
from tests.support.webshop import CATALOGUE, catalogue_server, product, solution, values
from tests.support.webshop_server import WebShopServer

WAY = solution(CATALOGUE, CATALOGUE.goals[0])


@pytest.fixture
def server():
    with catalogue_server() as server:
        yield server


@pytest.fixture
def environment(server):
    environment = WebShop(base_url=server.url, timeout=1.0)
    yield environment
    environment.close()


def do(environment, episode, *texts):
    return [episode.step(environment.parse(text)) for text in texts]


@pytest.mark.parametrize("rendering", RENDERINGS)
def test_conformance(server, rendering):
    actions = [*WAY[:2], "click[nothing]", "click[Features]", "click[< Prev]", *WAY[2:]]
    check_environment(WebShop(base_url=server.url, rendering=rendering), actions=actions)


@pytest.mark.parametrize("rendering", RENDERINGS)
def test_pages_equal_those_of_the_local_shop(server, rendering):
    served, own = WebShop(base_url=server.url, rendering=rendering), WebShop(rendering=rendering)
    about = ["click[Description]", "click[< Prev]", "click[Features]", "click[< Prev]", "click[Reviews]"]
    for number in (0, 42):
        search, item, *rest = solution(CATALOGUE, CATALOGUE.goals[number])
        back = ["click[< Prev]"] * 2
        way = [search, "click[Next >]", "click[< Prev]", item, *about, *back, item, "search[no]", "click[no]", *rest]
        one, other = (each.start(each.tasks()[number]) for each in (served, own))
        assert one.observation == other.observation
        assert do(served, one, *way) == do(own, other, *way)
    served.close()


def test_tasks_come_from_the_server(environment, server):
    tasks = environment.tasks()
    assert environment.splits == ("test", "eval", "train")
    assert [task["instruction"] for task in tasks] == [goal.instruction for goal in CATALOGUE.goals]
    assert tasks[3] == {"id": "test/3", "instruction": tasks[3]["instruction"], "data": {"split": "test", "goal": 3}}
    asked = len(server.requests)
    assert (environment.tasks(limit=5), len(server.requests)) == (tasks[:5], asked)
    # A transient failure loses no task, and a failing server does not mean an empty split.
    server.faults = iter([None, None, "500"])
    assert len(WebShop(base_url=server.url).tasks(limit=6)) == 6
    server.faults = repeat("500")
    with pytest.raises(EnvironmentUnavailable, match="responded 500"):
        WebShop(base_url=server.url).tasks()


def test_url_with_a_password_is_refused():
    with pytest.raises(ConfigurationError, match="base_url") as caught:
        WebShop(base_url="http://bob:sesame@localhost")
    assert "sesame" not in str(caught.value)


QUERIES = ["a/b", "50% off?", "[]b", "['", "<r>", "r&b;x=1", "ünï \U0001f9f4", "a/../b", "a\\b"]
QUERIES += ["  a  ", "\x00a\nb", "x" * 3_000]


def test_queries_arrive_unchanged(server, environment):
    own = WebShop()
    for query in QUERIES:
        action = Action(name="search", args={"query": query}, text="")
        served = environment.start(environment.tasks(limit=1)[0]).step(action)
        assert served == own.start(own.tasks(limit=1)[0]).step(action), query
    assert all(len(address) < 10_000 for address in server.requests)


def test_options_with_slashes_quotes_and_backslashes_are_sent_correctly():
    odd = {"Cord/Plug": values("2\" pin's", "back\\slash/n"), "50% #?&": values("a{b}", "ü")}
    goal = Goal("B1", "buy a lamp", ("lamp",), ("2\" pin's", "a{b}"), 20.0)
    with WebShopServer(Store.in_memory([product("B1", "Lamp", options=odd)], {}), [goal]) as server:
        environment = WebShop(base_url=server.url)
        way = ["search[lamp]", "click[B1]", "click[2\" pin's]", "click[a{b}]", "click[Features]", "click[< Prev]"]
        *_, shown, bought = do(environment, environment.start(environment.tasks()[0]), *way, "click[Buy Now]")
    assert "\ncord/plug [[2\" pin's]][back\\slash | n]\n50% #?& [[a{b}]][ü]\n" in shown.observation
    assert bought.reward == 1.0


CAUSES = {
    "500": "responded 500 (internal server error) to /search_results/fixed_0/",
    "503": "responded 503 (service unavailable) to /search_results/fixed_0/",
    "403": "responded 403 (forbidden) to /search_results/fixed_0/",
    "hang": "timed out after 1 s",
    "drip": "timed out after 1 s",
    "cut": "sent an invalid response: ",
    "empty": "this is not the page results",
    "garbage": "this is not the page results",
}


@pytest.mark.parametrize("fault", CAUSES)
def test_every_error_is_a_fault_with_its_cause(environment, server, fault):
    episode = environment.start(environment.tasks(limit=1)[0])
    before = episode.snapshot()
    server.faults = iter([fault])
    with pytest.raises(EnvironmentFault) as caught:
        do(environment, episode, WAY[0])
    assert f"the WebShop server at {server.url.removeprefix('http://')} " in str(caught.value)
    assert CAUSES[fault] in str(caught.value)
    assert caught.value.transient is (fault != "403")
    # Nothing has happened, and the same action succeeds once the server works again.
    assert episode.snapshot() == before
    assert do(environment, episode, *WAY)[-1].reward == 1.0


@pytest.mark.parametrize("fault", ["500", "empty", "no score", "garbage"])
def test_purchase_without_response_is_a_fault(environment, server, fault):
    def measures():
        return environment.review(task, {"snapshot": episode.snapshot()}).measures

    task = environment.tasks(limit=1)[0]
    episode = environment.start(task)
    do(environment, episode, *WAY[:-1])
    server.faults = iter([fault])
    with pytest.raises(EnvironmentFault):
        do(environment, episode, WAY[-1])
    assert measures() == {"reward": 0.0}
    assert do(environment, episode, WAY[-1])[0].reward == 1.0
    # Neither a restored episode nor a review sends another request.
    asked = len(server.requests)
    result = do(environment, environment.restore(task, episode.snapshot()), WAY[-1])[0]
    assert (result.reward, result.terminated, measures()) == (1.0, True, {"reward": 1.0})
    assert len(server.requests) == asked


def test_restoring_repeats_no_request(environment, server):
    task = environment.tasks(limit=1)[0]
    episode = environment.start(task)
    do(environment, episode, *WAY[:-1])
    asked = len(server.requests)
    again = WebShop(base_url=server.url)
    restored = again.restore(task, episode.snapshot())
    assert len(server.requests) == asked
    assert do(again, restored, WAY[-1])[0].reward == 1.0
    # The session is opened, its page looked at, and the product bought.
    paths = [address.split("/")[1] for address in server.requests[asked:]]
    assert paths == ["fixed_0", "item_page", "done"]


def test_server_with_other_budgets_is_refused(environment, server):
    task = environment.tasks(limit=1)[0]
    snapshot = environment.start(task).snapshot()
    server.goals[0] = replace(server.goals[0], instruction="buy it, and price lower than 90.00 dollars")
    with pytest.raises(EnvironmentFault, match="another goal") as caught:
        do(environment, environment.restore(task, snapshot), WAY[0])
    assert not caught.value.transient


@pytest.mark.parametrize("score", ["", "<pre></pre>", "<pre>none</pre>", "<pre>nan</pre>", "<pre>7.5</pre>"])
def test_last_page_without_a_score_is_an_error(score):
    with pytest.raises(ValueError, match=r"score|could not convert"):
        read_page(f"<h3>Your score (min 0.0, max 1.0){score}</h3>", State("done"))
