import json

import pytest

from langgraph_reflexion.envs import ENVIRONMENTS, load_environment
from langgraph_reflexion.envs.hotpotqa.environment import HotPotQA
from langgraph_reflexion.envs.workspace.environment import Workspace
from langgraph_reflexion.testing import CHECKS, Case, check_environment
from tests.support.hotpotqa import OFFICIAL, PAGES, as_on_the_hub
from tests.support.mediawiki import MediaWikiServer
from tests.support.tools import need, need_extra
from tests.support.workspace import FAILING, write_folder


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.parametrize("name", sorted({*ENVIRONMENTS} - {"workspace"}))
def test_built_in_environments(name):
    if name == "programming":
        need("sandbox")
    if name == "webshop":
        need_extra("webshop")
    check_environment(load_environment(name))


@pytest.mark.parametrize("convert", [dict, as_on_the_hub], ids=["official", "hub"])
def test_hotpotqa_with_questions_from_a_file(tmp_path, convert):
    path = tmp_path / "questions.json"
    path.write_text(json.dumps([convert(entry) for entry in OFFICIAL]), encoding="utf-8")
    actions = ["search[birch]", "lookup[felled]", "search[Willow]", "search[oak]"]
    check_environment(HotPotQA(path=path), actions=actions)


@pytest.mark.parametrize("variant", HotPotQA.variants)
def test_hotpotqa_without_tools(variant):
    case = Case.of(HotPotQA().variant(variant), actions=["finish[nobody]"])
    for name in {*CHECKS} - {"invalid_actions_are_observations"}:  # there is one turn, and anything ends it
        CHECKS[name](case)


@pytest.mark.parametrize("pages", ["wikipedia", "langchain"])
def test_hotpotqa_with_live_pages(pages):
    actions = ["search[Elm]", "lookup[elm]", "search[Nothing]", "lookup[elm]", "search[Ålmö]"]
    with MediaWikiServer(PAGES) as server:
        check_environment(HotPotQA(pages=pages, api=server.api), actions=actions)


def test_workspace(tmp_path):
    need("bubblewrap")
    actions = [
        "list_files[.]",
        "read_file[code_.py]",
        "search_files[double]",
        "write_file[new.txt]\n```\nx\n```",
        "edit_file[code_.py]\n<<<<<<< SEARCH\nn + 2\n=======\nn * 3\n>>>>>>> REPLACE",
        "run_command[echo hello >> new.txt; cat new.txt]",
        "verify[]",
        "read_file[new.txt]",
    ]
    check_environment(
        Workspace({**FAILING, "path": write_folder(tmp_path / "original")}, store=tmp_path / "store"), actions=actions
    )
