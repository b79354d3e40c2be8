"""The page on environments of one's own: its programs are as short as it says."""

from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import DOCS, Page


def test_a_databases_toolkit_is_an_environment_in_ten_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    database, program = [block.text for block in Page(DOCS / "howto/own-environment.md").blocks[:2]]
    program = program.partition("\n\nfor step in")[0]
    names: dict[str, Any] = {}
    exec(database, names)
    exec(program, names)
    assert names["final"]["status"] == "solved"
    assert len([line for line in program.splitlines() if line]) <= 10
