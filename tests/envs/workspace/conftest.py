import sys
from pathlib import Path
from typing import Any

import pytest

from langgraph_reflexion.envs.workspace.environment import Workspace
from tests.tools import need

# Tests are imported without their folder on the path; what they share lies beside them.
sys.path.append(str(Path(__file__).parent))

from playing import CHECK, CODE, Played


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small workspace whose check fails."""
    made = tmp_path / "original"
    (made / "tests").mkdir(parents=True)
    (made / "code_.py").write_text(CODE)
    (made / "tests" / "check.py").write_text(CHECK)
    return made


@pytest.fixture
def tested(folder: Path) -> Path:
    """The same with a test for pytest."""
    (folder / "tests" / "check.py").unlink()
    (folder / "tests" / "test_code.py").write_text(
        "from code_ import double\n\n\ndef test():\n    assert double(4) == 8\n"
    )
    (folder / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["."]\n')
    return folder


@pytest.fixture
def play(folder: Path, tmp_path: Path) -> Any:
    """Begins a trial in the workspace."""
    need("bubblewrap")
    begun: list[Played] = []

    def begin(**more: Any) -> Played:
        given = {"instruction": "Make the check pass.", "verify": ["PYTHONPATH=. python3 tests/check.py"], **more}
        played = Played(Workspace(path=folder, store=tmp_path / "store", **given))
        begun.append(played)
        return played

    yield begin
    for played in begun:
        played.episode.close()
        played.environment.close()
