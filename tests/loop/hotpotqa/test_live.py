"""Live pages, from a wiki on loopback: what is found, what is missing, what is a fault, and what never leaks."""

import asyncio
import json
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat

import pytest
import wikipedia

from langgraph_reflexion.envs.hotpotqa.environment import HotPotQA
from langgraph_reflexion.envs.hotpotqa.episode import KEPT, NO_MORE
from langgraph_reflexion.envs.hotpotqa.langchain_wikipedia import wikipedia_query_run
from langgraph_reflexion.envs.hotpotqa.mediawiki import MediaWiki, MediaWikiApi, api_address
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


@pytest.fixture(params=["wikipedia", "langchain"])
def environment(request, server):
    environment = HotPotQA(pages=request.param, api=server.api, timeout=0.4)
    yield environment
    environment.close()


@pytest.fixture
def live(server):
    environment = HotPotQA(pages="wikipedia", api=server.api, timeout=0.4)
    yield environment
    environment.close()


def do(environment, *actions):
    episode = environment.start(environment.tasks()[0])
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
        ("fr:Elm", ["Elm", "Elm (film)"]),
        ("Special:Elm", ["Elm", "Elm (film)"]),
        ("Elm|Ålmö", ["Elm", "Elm (film)", "Ålmö"]),
        ("Nothing of that kind", []),
        ("x" * 400, []),
    ],
)
def test_what_is_missing_or_means_several_things_is_not_found_and_no_fault(live, title, similar):
    assert do(live, f"search[{title}]") == [f"Could not find {title}. Similar: {similar}."]


CAUSES = {
    "403": "responded 403 (forbidden) to /w/api.php: it blocks this client; set contact=",
    "404": "responded 404 (not found)",
    "429": "429 (too many requests) to /w/api.php; Retry-After 30 s",
    "500": "responded 500 (internal server error)",
    "503": "503 (service unavailable) to /w/api.php; Retry-After 30 s",
    "hang": "timed out after 0.4 s",
    "drip": "timed out after 0.4 s",
    "cut": "sent an invalid response: ",
    "garbage": "sent no JSON: b'<!DOCTYPE",
    "odd": "sent unexpected JSON: KeyError: 'query'",
    "error": "reported an error, internal_api_error_DBQueryError: A database query failed.",
    "busy": "reported an error, cirrussearch-too-busy-error: Search is currently too busy.",
}


@pytest.mark.parametrize("fault", CAUSES)
def test_trouble_is_a_fault_with_its_cause_and_one_request(environment, server, fault):
    assert set(MEDIAWIKI_FAULTS) <= set(CAUSES)
    episode = environment.start(environment.tasks()[0])
    server.faults = iter([fault])
    with pytest.raises(EnvironmentFault) as caught:
        episode.step(environment.parse("search[Elm]"))
    assert CAUSES[fault] in str(caught.value)
    assert server.api.split("/")[2] in str(caught.value)
    assert len(server.requests) == 1
    # It is over with the request: the same episode goes on.
    assert "The elm is a tree." in episode.step(environment.parse("search[Elm]")).observation


def test_a_host_that_is_not_there_is_unreachable():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = HotPotQA(pages="wikipedia", api=f"http://127.0.0.1:{port}/")
    with pytest.raises(EnvironmentFault, match=rf"127.0.0.1:{port} is unreachable: "):
        do(environment, "search[Elm]")
    environment.close()


def test_a_request_tells_who_makes_it(server):
    for contact in (None, "elm@example.org"):
        environment = HotPotQA(pages="wikipedia", api=server.api, contact=contact)
        do(environment, "search[Elm]")
        environment.close()
    without, with_contact = (server.requests[index]["User-Agent"] for index in (0, -1))
    assert without.startswith("langgraph-reflexion/")
    assert "(https://" in without
    assert "; elm@example.org)" in with_contact
    server.faults = iter(["403"])
    with pytest.raises(EnvironmentFault, match=r"it blocks this client$"):
        do(HotPotQA(pages="wikipedia", api=server.api, contact="elm@example.org"), "search[Elm]")


def test_the_address_is_that_of_the_language_over_https():
    assert api_address("en") == "https://en.wikipedia.org/w/api.php"
    assert HotPotQA(pages="wikipedia", language="simple").pages().api.url.startswith("https://simple.wikipedia")


# Snapshots.


def test_a_snapshot_goes_on_where_the_episode_stood_without_any_network(live, server):
    task = live.tasks()[0]
    episode = live.start(task)
    for text in ("search[Nothing]", "search[Elm]", "lookup[elm]", "search[Oak elm]"):
        episode.step(live.parse(text))
    snapshot = json.loads(json.dumps(episode.snapshot()))
    asked = len(server.requests)
    server.faults = repeat("503")
    restored = live.restore(task, snapshot)
    told = [restored.step(live.parse(t)).observation for t in ("lookup[elm]", "search[Nothing]", "search[Elm]")]
    assert told[0] == "(Result 2 / 3) An elm may live for three hundred years."
    assert told[1:] == ["Could not find Nothing. Similar: [].", do_again(episode, live, "search[Elm]")]
    assert len(server.requests) == asked
    assert restored.step(live.parse("finish[yes]")).terminated
    over = live.restore(task, restored.snapshot())
    assert over.step(live.parse("search[Elm]")).terminated


def do_again(episode, environment, text):
    return episode.step(environment.parse(text)).observation


def test_a_snapshot_stays_small_and_keeps_the_open_page():
    long = {f"Page {i}": f"This is page {i}. " + "It goes on and on. " * 5000 for i in range(8)}
    with MediaWikiServer(long) as server:
        environment = HotPotQA(pages="wikipedia", api=server.api, page_chars=5000)
        episode = environment.start(environment.tasks()[0])
        for index in range(8):
            do_again(episode, environment, f"search[Page {index}]")
            assert len(json.dumps(episode.snapshot())) < (KEPT + 1) * 5000 * 1.5
        for index in range(8):
            do_again(episode, environment, f"search[Nothing {index}]")
        snapshot = episode.snapshot()
        assert snapshot["open"] == "Page 7"
        assert len(snapshot["seen"]) == KEPT
        restored = environment.restore(environment.tasks()[0], snapshot)
        assert do_again(restored, environment, "lookup[this is]") == "(Result 1 / 1) This is page 7."
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


async def test_the_loop_stays_free_while_a_wiki_hangs(live, server):
    pool, task = EpisodePool(live), live.tasks()[0]
    _, snapshot = await pool.start(task)
    server.faults = iter(["hang"])
    waiting = asyncio.create_task(pool.step(task, [], live.parse("search[Elm]"), snapshot))
    ticks = 0
    while not waiting.done():
        await asyncio.sleep(0.01)
        ticks += 1
    with pytest.raises(EnvironmentFault, match="timed out"):
        await waiting
    assert ticks > 10
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


def test_nothing_is_cached_between_episodes(live, server):
    assert do(live, "search[Oak]") == ["Could not find Oak. Similar: []."]
    server.pages["Oak"] = "The oak is new."
    assert do(live, "search[Oak]") == ["The oak is new."]


def test_nothing_is_imported_for_live_pages_unless_they_are_wanted():
    script = """
import sys
from langgraph_reflexion.envs.hotpotqa.environment import HotPotQA
environment = HotPotQA()
environment.start(environment.tasks()[0]).step(environment.parse("search[Elm]"))
environment.close()
print(*[name for name in ("wikipedia", "bs4", "langchain_community") if name in sys.modules])
HotPotQA(pages="langchain")
"""
    told = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=True)
    assert told.stdout.split() == []


# On their own.


def test_langchains_tool_uses_our_client(server):
    wiki = MediaWiki(MediaWikiApi(server.api))
    tool = wikipedia_query_run(wiki, results=1)
    assert tool.name == "wikipedia"
    assert tool.invoke("elm").startswith("Page: Elm\nSummary: The elm is a tree.")
    assert server.requests[0]["User-Agent"].startswith("langgraph-reflexion/")
    assert server.requests[0]["srlimit"] == "1"
    wiki.close()
