"""Live pages, from a wiki on loopback: what is found, what is missing, what is a fault, and what never leaks."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat

import pytest
import wikipedia

from langgraph_reflexion.envs.hotpotqa.environment import HotPotQA
from langgraph_reflexion.envs.hotpotqa.episode import NO_MORE
from langgraph_reflexion.envs.hotpotqa.langchain_wikipedia import LangChainPages
from langgraph_reflexion.envs.hotpotqa.mediawiki import PAGE_CHARS, MediaWiki
from langgraph_reflexion.envs.pool import EpisodePool
from langgraph_reflexion.errors import EnvironmentFault
from langgraph_reflexion.testing import MEDIAWIKI_FAULTS, MediaWikiServer
from tests.support.hotpotqa import PAGES

REDIRECTS = {"Elms": "Elm", "Elm tree": "Elms", "Woody plants": "Trees", "Here": "There", "There": "Here"}
MEANINGS = {"Trees": ["Elm", "Ash", "Trees", "Elm", "Birch", "Oak", "Fir", "Pine"]}


@pytest.fixture
def server():
    with MediaWikiServer(PAGES, redirects=REDIRECTS, disambiguations=MEANINGS) as server:
        yield server


@pytest.fixture
def live(server):
    environment = HotPotQA(pages="wikipedia", api=server.api)
    yield environment
    environment.close()


def do(environment, *actions):
    episode = environment.start(environment.tasks(limit=1)[0])
    return [episode.step(environment.parse(text)).observation for text in actions]


def test_a_page_is_opened_and_looked_through(live):
    opening, first, second, none, years = do(
        live, "search[Elm]", "lookup[boats]", "lookup[boats]", "lookup[boats]", "lookup[hundred]"
    )
    assert opening == "The elm is a tree. It grows in rows. It has leaves. The leaves are small. They fall in autumn."
    assert first == "(Result 1 / 2) Elms make boats."
    assert second == "(Result 2 / 2) The boats last long."
    assert none == NO_MORE
    assert years == "(Result 1 / 1) An elm may live for three hundred years."


@pytest.mark.parametrize("title", ["elm", "Elm tree", "elm_tree", "  Elm  "])
def test_capitals_underscores_and_redirects_lead_to_the_page(live, title):
    assert do(live, f"search[{title}]")[0].startswith("The elm is a tree.")


def test_a_page_takes_two_requests_and_a_redirect_no_more(live, server):
    for asked, title in enumerate(["Elm", "Elm tree", "Ålmö"], 1):
        do(live, f"search[{title}]")
        assert len(server.requests) == 2 * asked


@pytest.mark.parametrize(
    ("title", "similar"),
    [
        ("Film about an elm", ["Elm (film)", "Elm"]),
        ("Trees", ["Elm", "Ash", "Birch", "Oak", "Fir"]),
        ("woody plants", ["Elm", "Ash", "Trees", "Birch", "Oak"]),
        ("Here", []),
        ("Special:Elm", ["Elm", "Elm (film)"]),
        ("Elm|Ålmö", ["Elm", "Elm (film)", "Ålmö"]),
        ("x" * 400, []),
    ],
)
def test_what_is_missing_or_means_several_things_is_not_found_and_no_fault(live, title, similar):
    assert do(live, f"search[{title}]") == [f"Could not find {title}. Similar: {similar}."]


CAUSES = {
    "403": "responded 403 (forbidden) to /w/api.php: it blocks this client; set contact=",
    "429": "429 (too many requests) to /w/api.php; Retry-After 30 s",
    "500": "responded 500 (internal server error)",
    "hang": "timed out after 0.3 s",
    "drip": "timed out after 0.3 s",
    "cut": "sent an invalid response: ",
    "garbage": "sent no JSON: b'<!DOCTYPE",
    "odd": "sent unexpected JSON: KeyError: 'query'",
    "error": "reported an error, internal_api_error_DBQueryError: A database query failed.",
    "busy": "reported an error, cirrussearch-too-busy-error: Search is currently too busy.",
}


@pytest.mark.parametrize("pages", ["wikipedia", "langchain"])
@pytest.mark.parametrize("fault", CAUSES)
def test_trouble_is_a_fault_with_its_cause_and_one_request(server, fault, pages):
    assert set(MEDIAWIKI_FAULTS) <= set(CAUSES)
    # Only answers that never come meet a short timeout: on a busy machine it would end others, too.
    environment = HotPotQA(pages=pages, api=server.api, timeout=0.3 if fault in ("hang", "drip") else 20)
    episode = environment.start(environment.tasks(limit=1)[0])
    server.faults = iter([fault])
    with pytest.raises(EnvironmentFault) as caught:
        episode.step(environment.parse("search[Elm]"))
    assert CAUSES[fault] in str(caught.value)
    assert server.api.split("/")[2] in str(caught.value)
    assert len(server.requests) == 1
    environment.close()


def test_a_request_tells_who_makes_it(server):
    environment = HotPotQA(pages="wikipedia", api=server.api, contact="elm@example.org")
    do(environment, "search[Elm]")
    assert server.requests[0]["User-Agent"].startswith("langgraph-reflexion/")
    assert "; elm@example.org)" in server.requests[0]["User-Agent"]
    server.faults = iter(["403"])
    with pytest.raises(EnvironmentFault, match=r"it blocks this client$"):
        do(environment, "search[Elm]")
    environment.close()


def test_a_snapshot_goes_on_where_the_episode_stood(live, server):
    task = live.tasks(limit=1)[0]
    episode = live.start(task)
    for text in ("search[Elm]", "lookup[elm]", "search[Nothing]"):
        episode.step(live.parse(text))
    snapshot = json.loads(json.dumps(episode.snapshot()))
    server.faults = repeat("503")
    restored = live.restore(task, snapshot)
    assert restored.step(live.parse("lookup[elm]")).observation == (
        "(Result 2 / 3) An elm may live for three hundred years."
    )
    assert restored.step(live.parse("finish[yes]")).terminated
    assert live.restore(task, restored.snapshot()).step(live.parse("search[Elm]")).terminated


def test_a_snapshot_stays_small():
    with MediaWikiServer({"Elm": "It goes on and on. " * 50_000}) as server:
        environment = HotPotQA(pages="wikipedia", api=server.api)
        episode = environment.start(environment.tasks(limit=1)[0])
        episode.step(environment.parse("search[Elm]"))
        assert len(json.dumps(episode.snapshot())) < 2 * PAGE_CHARS
        environment.close()


async def test_an_episode_that_met_a_fault_is_rebuilt_from_its_snapshot(live, server):
    pool, task = EpisodePool(live), live.tasks()[0]
    search, lookup, other = (live.parse(text) for text in ("search[Elm]", "lookup[boats]", "search[Elm (film)]"))
    _, snapshot = await pool.start(task)
    _, snapshot = await pool.step(task, [], search, snapshot)
    _, snapshot = await pool.step(task, [search], lookup, snapshot)
    server.faults = iter(["429"])
    with pytest.raises(EnvironmentFault, match="429"):
        await pool.step(task, [search, lookup], other, snapshot)
    asked = len(server.requests)
    result, _ = await pool.step(task, [search, lookup], lookup, snapshot)
    assert result.observation == "(Result 2 / 2) The boats last long."
    assert len(server.requests) == asked
    pool.close()


# Nothing of one wiki is seen by another, nor by other users of the package.


def test_two_wikis_in_many_threads_never_mix_and_the_package_stays_as_it_was():
    package = wikipedia.wikipedia
    before = dict(vars(package))
    with MediaWikiServer({"Elm": "One elm."}) as one, MediaWikiServer({"Elm": "Ulme."}) as other:
        environments = [HotPotQA(pages="wikipedia", api=one.api), HotPotQA(pages="langchain", api=other.api)]
        barrier = threading.Barrier(8)

        def search(index):
            barrier.wait()
            return {do(environments[index % 2], "search[Elm]")[0] for _ in range(5)}

        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(search, range(8)))
        assert set.union(*found[::2]) == {"One elm."}
        assert set.union(*found[1::2]) == {"Elm: Ulme."}
        for environment in environments:
            environment.close()
    assert {name: value for name, value in vars(package).items() if before.get(name) is not value} == {}
    assert package.API_URL == "http://en.wikipedia.org/w/api.php"
    assert package.search._cache == {}


def test_langchains_tool_uses_our_client(server):
    pages = LangChainPages(MediaWiki(server.api))
    assert pages.tool.name == "wikipedia"
    assert pages.tool.invoke("elm").startswith("Page: Elm\nSummary: The elm is a tree.")
    assert server.requests[0]["User-Agent"].startswith("langgraph-reflexion/")
    pages.close()
