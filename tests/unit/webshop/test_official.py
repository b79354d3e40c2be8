import json
import os
import shutil
import threading

import pytest

from langgraph_reflexion.envs.webshop.environment import WebShop
from langgraph_reflexion.envs.webshop.store import Store
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable
from langgraph_reflexion.testing import check_environment
from tests.support.webshop import ATTRIBUTES, CREAM, GOALS, LAMP, PRODUCTS, SALVE, SPRAY, STICK, product, write


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "langgraph-reflexion"


@pytest.fixture
def folder(tmp_path):
    return write(tmp_path / "official")


def test_conformance(folder):
    actions = ["search[deodorant]", f"click[{STICK['asin']}]", "click[bright citrus]", "click[Buy Now]"]
    check_environment(WebShop(path=folder), actions=actions)


def test_the_official_splits_come_first(folder):
    environment = WebShop(path=folder)
    assert environment.splits == ("test", "eval", "train", "own")
    assert [task["id"] for task in environment.tasks()] == ["test/0", "test/1", "test/2", "test/3"]
    assert environment.tasks("own", 1)[0]["id"] == "own/s0/000"
    assert environment.tasks()[0]["data"] == {"split": "test", "goal": 0, "seed": 0, "types": "rule"}
    with pytest.raises(ConfigurationError, match="eval"):
        environment.tasks("eval")


def test_an_official_goal_is_solved(folder):
    environment = WebShop(path=folder)
    task = next(task for task in environment.tasks() if "citrus" in task["instruction"])
    shopping = environment.start(task)
    for text in ("search[stick deodorant]", f"click[{STICK['asin']}]", "click[bright citrus]", "click[Buy Now]"):
        result = shopping.step(environment.parse(text))
    assert (result.reward, result.terminated) == (1.0, True)


def test_skipped_products_have_no_number(folder):
    files = WebShop(path=folder).files
    store = Store.cached(files.products, files.attributes)
    assert [store.product(number).asin for number in range(len(store))] == [
        each["asin"] for each in (STICK, SPRAY, CREAM, LAMP, SALVE)
    ]
    assert store.product(0).title == STICK["name"]
    attributes = [store.product(number).attributes for number in range(5)]
    dummy = ("DUMMY_ATTR",)
    assert attributes == [("long lasting", "paraben free"), ("alcohol free",), dummy, dummy, dummy]
    assert store.find("B0NOTTHERE") is None
    memory = Store.in_memory(PRODUCTS, ATTRIBUTES)
    for query in ("calm meadow", "lamp", "deodorant spray", "soap"):
        assert store.search(query) == memory.search(query)


def test_the_store_is_built_once_per_version_of_the_files(folder, cache):
    def kept():
        WebShop(path=folder).tasks()
        return {path.name: path.stat().st_mtime_ns for path in cache.iterdir()}

    first = kept()
    assert len(first) == 1
    assert kept() == first
    file = folder / "items_shuffle_1000.json"
    file.write_text(json.dumps([*PRODUCTS, product("B000000009", "New Soap")]))
    assert len(kept()) == 2
    os.utime(folder / "items_ins_v2_1000.json", ns=(1, 1))
    assert len(kept()) == 3
    assert not list(cache.glob(".webshop-*"))


def test_concurrent_builds_share_one_store(folder, cache):
    files, found = WebShop(path=folder).files, []

    def find():
        found.append(Store.cached(files.products, files.attributes).search("lamp"))

    threads = [threading.Thread(target=find) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[3]] * 6
    assert len(list(cache.iterdir())) == 1


def test_a_failed_build_leaves_nothing_behind(folder, cache):
    file = folder / "items_shuffle_1000.json"
    whole = file.read_text()
    file.write_text(whole[:-40])
    with pytest.raises(ConfigurationError, match=r"items_shuffle_1000\.json"):
        WebShop(path=folder).tasks()
    file.write_text(json.dumps([STICK, {"asin": "B1"}]))
    with pytest.raises(ConfigurationError, match=r"items_shuffle_1000\.json, entry 1"):
        WebShop(path=folder).tasks()
    assert list(cache.iterdir()) == []
    file.write_text(whole)
    assert len(WebShop(path=folder).tasks()) == 4


@pytest.mark.parametrize("asin", [{}, ["x"], 1.5, None])
def test_products_with_invalid_codes_are_skipped(folder, asin):
    (folder / "items_shuffle_1000.json").write_text(json.dumps([product(asin, "Odd"), *PRODUCTS]))
    assert len(WebShop(path=folder).tasks()) == 4


def test_invalid_attributes_are_an_error(folder):
    (folder / "items_ins_v2_1000.json").write_text(json.dumps({STICK["asin"]: {"attributes": "mild"}}))
    with pytest.raises(ConfigurationError, match=r"entry 1: .*mild"):
        WebShop(path=folder).tasks()


@pytest.mark.parametrize("file", ["products.db", "vocab.index.json", "data.csc.index.npy", "params.index.json"])
@pytest.mark.parametrize("left", [60, None], ids=["truncated", "missing"])
def test_a_damaged_store_is_named_and_rebuilt(folder, cache, file, left):
    WebShop(path=folder).tasks()
    (kept,) = cache.iterdir()
    if left is None:
        (kept / file).unlink()
    else:
        (kept / file).write_bytes((kept / file).read_bytes()[:left])
    with pytest.raises(EnvironmentUnavailable, match=f"{kept} is damaged"):
        WebShop(path=folder).tasks()
    shutil.rmtree(kept)
    assert len(WebShop(path=folder).tasks()) == 4


def test_an_unwritable_cache_is_named(folder, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(EnvironmentUnavailable, match="XDG_CACHE_HOME"):
        WebShop(path=folder).tasks()


@pytest.mark.parametrize("size", ["_1000", ""])
def test_files_are_found_by_their_official_names(tmp_path, size):
    folder = write(tmp_path / "data", size=size)
    for path in (folder, str(folder), folder / f"items_shuffle{size}.json"):
        files = WebShop(path=path).files
        assert files.products.name == f"items_shuffle{size}.json"
        assert files.attributes.name == f"items_ins_v2{size}.json"


def test_of_two_sizes_one_has_to_be_chosen(tmp_path):
    folder = write(write(tmp_path / "data"), size="")
    with pytest.raises(EnvironmentUnavailable, match=r"items_shuffle\.json, items_shuffle_1000\.json"):
        WebShop(path=folder)
    (folder / "items_ins_v2_1000.json").unlink()
    files = WebShop(path=folder / "items_shuffle_1000.json").files
    assert files.attributes.name == "items_ins_v2.json"
    files.attributes.unlink()
    with pytest.raises(EnvironmentUnavailable, match=r"items_ins_v2_1000\.json or items_ins_v2\.json"):
        WebShop(path=folder / "items_shuffle_1000.json")


def test_missing_files_are_named(tmp_path):
    with pytest.raises(EnvironmentUnavailable, match="found nothing"):
        WebShop(path=tmp_path)
    with pytest.raises(EnvironmentUnavailable, match="found nothing"):
        WebShop(path=tmp_path / "none")
    folder = write(tmp_path / "data")
    (folder / "items_human_ins.json").unlink()
    with pytest.raises(EnvironmentUnavailable, match=r"items_human_ins\.json"):
        WebShop(path=folder)


def test_the_seed_changes_budgets_and_a_task_keeps_its_own(tmp_path):
    told = [{"instruction": "Find a spray", "instruction_attributes": ["alcohol free"], "instruction_options": []}]
    folder = write(tmp_path / "data", goals={**GOALS, SPRAY["asin"]: told})
    made = {seed: WebShop(path=folder, seed=seed).tasks() for seed in range(4)}
    assert len({tuple(task["instruction"] for task in tasks) for tasks in made.values()}) > 1
    other = WebShop(path=folder, seed=9)
    for tasks in made.values():
        for task in tasks:
            assert task["instruction"] in other.start(task).observation


def test_attributes_are_shown_on_request(folder):
    environment = WebShop(path=folder, show_attributes=True)
    shopping = environment.start(environment.tasks()[0])
    texts = ("search[stick]", f"click[{STICK['asin']}]", "click[Attributes]")
    seen = [shopping.step(environment.parse(text)).observation for text in texts]
    assert seen[-1].startswith("\n[Back to Search] \n[< Prev] \n long lasting \n paraben free \nbeauty ")
