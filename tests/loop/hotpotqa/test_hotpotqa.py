"""HotPotQA with pages from a wiki on loopback, its own actors, and real questions."""

import json
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat

import pytest
import wikipedia

from langgraph_reflexion.envs.hotpotqa.environment import HotPotQA
from langgraph_reflexion.errors import EnvironmentFault
from langgraph_reflexion.lab.experiments.comparison import compare
from langgraph_reflexion.lab.experiments.runner import run
from langgraph_reflexion.lab.run_settings import RunSettings
from tests.support.hotpotqa import PAGES
from tests.support.mediawiki import MEDIAWIKI_FAULTS, MediaWikiServer

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


@pytest.mark.parametrize("title", ["  elm  ", "elm_tree"])
def test_capitals_underscores_and_redirects_lead_to_the_page_in_two_requests(live, server, title):
    assert do(live, f"search[{title}]")[0].startswith("The elm is a tree.")
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("title", "similar"),
    [
        ("Film about an elm", ["Elm (film)", "Elm"]),
        ("Trees", ["Elm", "Ash", "Birch", "Oak", "Fir"]),
        ("Here", []),
        ("Special:Elm", ["Elm", "Elm (film)"]),
    ],
)
def test_missing_and_ambiguous_titles_are_not_found_and_no_fault(live, title, similar):
    assert do(live, f"search[{title}]") == [f"Could not find {title}. Similar: {similar}."]


CAUSES = {
    "403": "responded 403 (forbidden) to /w/api.php: it blocks this client; set contact=",
    "429": "429 (too many requests) to /w/api.php; Retry-After 30 s",
    "500": "responded 500 (internal server error)",
    "hang": "timed out after 0.3 s",
    "drip": "timed out after 0.3 s",
    "cut": "sent an invalid response: ",
    "garbage": "sent no JSON: b'<!DOCTYPE",
    "huge": "sent more than 20,000,000 bytes",
    "odd": "sent unexpected JSON: KeyError: 'query'",
    "error": "reported an error, internal_api_error_DBQueryError: A database query failed.",
    "busy": "reported an error, cirrussearch-too-busy-error: Search is currently too busy.",
}


@pytest.mark.slow
@pytest.mark.parametrize(("pages", "fault"), [*(("wikipedia", fault) for fault in CAUSES), ("langchain", "429")])
def test_a_failed_request_is_a_fault_with_its_cause_and_not_repeated(server, fault, pages):
    assert set(MEDIAWIKI_FAULTS) <= set(CAUSES)
    # Only answers that never come meet a short timeout: on a busy machine it would end others, too.
    environment = HotPotQA(pages=pages, api=server.api, timeout=0.3 if fault in ("hang", "drip") else 20)
    server.faults = iter([fault])
    with pytest.raises(EnvironmentFault) as caught:
        do(environment, "search[Elm]")
    assert CAUSES[fault] in str(caught.value)
    assert server.api.split("/")[2] in str(caught.value)
    assert len(server.requests) == 1
    environment.close()


def test_requests_name_the_client_and_its_contact(server):
    environment = HotPotQA(pages="wikipedia", api=server.api, contact="elm@example.org")
    do(environment, "search[Elm]")
    assert server.requests[0]["User-Agent"].startswith("langgraph-reflexion/")
    assert "; elm@example.org)" in server.requests[0]["User-Agent"]
    server.faults = iter(["403"])
    with pytest.raises(EnvironmentFault, match=r"it blocks this client$"):
        do(environment, "search[Elm]")
    environment.close()


def test_a_snapshot_restores_the_episode_without_a_request(live, server):
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


@pytest.mark.slow
def test_two_wikis_in_many_threads_do_not_mix_and_leave_the_package_unchanged():
    with MediaWikiServer({"Elm": "One elm."}) as one, MediaWikiServer({"Elm": "Ulme."}) as other:
        environments = [HotPotQA(pages="wikipedia", api=one.api), HotPotQA(pages="langchain", api=other.api)]
        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(lambda index: do(environments[index % 2], "search[Elm]")[0], range(40)))
        assert (set(found[::2]), set(found[1::2])) == ({"One elm."}, {"Elm: Ulme."})
        assert other.requests[-1]["User-Agent"].startswith("langgraph-reflexion/")
        for environment in environments:
            environment.close()
    assert wikipedia.wikipedia.API_URL == "http://en.wikipedia.org/w/api.php"
    assert wikipedia.wikipedia.search._cache == {}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.slow
def test_a_run_records_f1_and_reports_its_mean(tmp_path):
    settings = RunSettings(environment="hotpotqa", actor="cot-gt", split="own", limit=6, max_trials=2)
    report = run(settings, tmp_path / "run").report
    rows = [json.loads(line) for line in (tmp_path / "run/trials.jsonl").read_text().splitlines()]
    assert {tuple(row["measures"]) for row in rows} == {("exact_match", "f1", "precision", "recall")}
    assert all(row["measures"]["exact_match"] == row["success"] for row in rows)
    assert [round(solved / 6, 4) for solved in report.solved] == report.measures["exact_match"]
    assert any("exact match" in str(grid.rows) for grid in compare([tmp_path / "run"]).tables())
