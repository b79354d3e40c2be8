import json
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from langgraph_reflexion.envs.webshop.environment import WebShop
from langgraph_reflexion.envs.webshop.store import Store
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable
from tests.support.webshop import CREAM, LAMP, PRODUCTS, SALVE, SPRAY, STICK, product, store_of, write


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "langgraph-reflexion"


@pytest.fixture
def folder(tmp_path):
    return write(tmp_path / "official")


def test_official_splits_come_first_and_goals_are_solved(folder):
    environment = WebShop(path=folder)
    tasks = environment.tasks()
    assert environment.splits == ("test", "eval", "train", "own")
    assert [task["id"] for task in tasks] == ["test/0", "test/1", "test/2", "test/3"]
    assert tasks[0]["data"] == {"split": "test", "goal": 0, "seed": 0}
    with pytest.raises(ConfigurationError, match="eval"):
        environment.tasks("eval")
    # Another instance's seed does not change a task.
    task, other = next(task for task in tasks if "citrus" in task["instruction"]), WebShop(path=folder, seed=9)
    shopping = other.start(task)
    assert task["instruction"] in shopping.observation
    for text in ("search[stick deodorant]", f"click[{STICK['asin']}]", "click[bright citrus]", "click[Buy Now]"):
        result = shopping.step(other.parse(text))
    assert (result.reward, result.terminated) == (1.0, True)


def test_a_file_is_stored_as_it_would_be_in_memory(folder):
    files = WebShop(path=folder).files
    store, memory = Store.cached(files.products, files.attributes), store_of(PRODUCTS)
    # Products with invalid or repeated codes are skipped.
    kept = [store.product(number) for number in range(5)]
    assert [each.asin for each in kept] == [each["asin"] for each in (STICK, SPRAY, CREAM, LAMP, SALVE)]
    assert kept == [memory.product(number) for number in range(5)]
    assert [each.attributes[0] for each in kept[:3:2]] == ["long lasting", "DUMMY_ATTR"]
    assert store.find("B0NOTTHERE") is None
    for query in ("calm meadow", "lamp", "deodorant spray", "soap"):
        assert store.search(query) == memory.search(query)


def test_a_store_is_built_once_for_each_version_of_the_files(folder, cache):
    files = WebShop(path=folder).files

    def find(_):
        return Store.cached(files.products, files.attributes).search("lamp")

    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(find, range(6))) == [[3]] * 6
    [kept] = cache.iterdir()
    before = kept.stat().st_mtime_ns
    find(6)
    assert kept.stat().st_mtime_ns == before
    files.products.write_text(json.dumps([*PRODUCTS, product("B000000009", "New Soap")]))
    WebShop(path=folder).tasks()
    os.utime(files.attributes, ns=(1, 1))
    WebShop(path=folder).tasks()
    assert len(list(cache.iterdir())) == 3


def test_a_failed_build_leaves_nothing_behind(folder, cache):
    file = folder / "items_shuffle_1000.json"
    whole = file.read_bytes()
    broken = [json.dumps(rows).encode() for rows in ([STICK, {"asin": "B1"}], [STICK, 7])]
    for content in (b"", b'["\xff"]', whole[:-40], *broken):
        file.write_bytes(content)
        with pytest.raises(ConfigurationError, match=r"items_shuffle_1000\.json"):
            WebShop(path=folder).tasks()
    file.write_bytes(whole)
    (folder / "items_ins_v2_1000.json").write_text(json.dumps({STICK["asin"]: {"attributes": "mild"}}))
    with pytest.raises(ConfigurationError, match=r"entry 1: .*mild"):
        WebShop(path=folder).tasks()
    assert list(cache.iterdir()) == []


def test_files_are_found_by_their_official_names(tmp_path):
    folder = write(tmp_path / "data")
    names = ["items_shuffle_1000.json", "items_ins_v2_1000.json", "items_human_ins.json"]
    for path in (str(folder), folder / names[0]):
        assert [file.name for file in WebShop(path=path).files] == names
    # Of two sizes, one has to be chosen.
    write(folder, size="")
    with pytest.raises(EnvironmentUnavailable, match=r"items_shuffle\.json, items_shuffle_1000\.json"):
        WebShop(path=folder)
    (folder / names[1]).unlink()
    assert WebShop(path=folder / names[0]).files.attributes.name == "items_ins_v2.json"
    (folder / names[2]).unlink()
    with pytest.raises(EnvironmentUnavailable, match=r"items_human_ins\.json"):
        WebShop(path=folder / names[0])
