"""The memory map on the command line."""

import json

import pytest

from langgraph_reflexion.cli import main
from langgraph_reflexion.experiments.provenance import facts


def test_a_run_with_a_map_says_so(tmp_path, capsys, monkeypatch):
    folder = tmp_path / "run"
    command = ["run", "hotpotqa", "--memory-map", "--limit", "1", "--max-trials", "1", "--json", "--out", str(folder)]
    monkeypatch.setattr("sys.argv", ["langgraph-reflexion", *command])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    info = json.loads((folder / "run.json").read_text())
    assert info["settings"]["memory_map"] is True
    assert facts(info["settings"])["map"] == "memory map"
    assert "map" not in facts({**info["settings"], "memory_map": False})
    capsys.readouterr()
