"""The HTML page of a comparison, without a browser."""

import re
from pathlib import Path

import pytest

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.experiments.comparison import compare
from langgraph_reflexion.experiments.page import page, write_page
from tests.support.run_folders import folder, row, steps


def test_a_page_is_self_contained(tmp_path: Path) -> None:
    rows = [row("a", 1, False, True), row("b", 1, None, stop_reason="fault", fault="gone"), row("c", 1, True)]
    made = folder(tmp_path / "run", rows, list("abcd"), trajectories=[steps("a", 1, ("I look.", "look", "A cup."))])
    write_page(compare(made), tmp_path / "new" / "page.html")
    text = (tmp_path / "new" / "page.html").read_text()
    document = text.split('<script type="application/json"')[0]
    assert re.findall(r"""(?:src|href|url)\s*[=(]\s*["']?(?!#)([^"'\s>)]+)""", document) == []
    assert text.count("<svg") == 3
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    for said in ("false positive", "ended by a fault", "solved in trial 1", "not tried", "A cup."):
        assert said in text
    with pytest.raises(ConfigurationError, match="cannot write the page"):
        write_page(compare(made), tmp_path)


def test_a_run_without_trials_has_a_page(tmp_path: Path) -> None:
    assert "not tried" in page(compare(folder(tmp_path / "run", [], ["a"])))
