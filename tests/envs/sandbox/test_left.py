"""What a run leaves on the disk goes away, however it left it, and nothing of a run that lives does."""

import os
import subprocess
import sys
from pathlib import Path

import columns
import pytest

from langgraph_reflexion import EnvironmentFault
from langgraph_reflexion.envs.sandbox import Limits, Sandbox, probe
from langgraph_reflexion.envs.sandbox.helper import folders

DEEP = "import os\nfor n in range(3000): os.mkdir('d'); os.chdir('d')\nos.chmod('.', 0)"
SHUT = """
import os
os.makedirs('d/e'); open('d/f', 'w').close(); os.symlink('/usr', 'd/l'); os.chmod('d/e', 0); os.chmod('d', 0)
"""


@pytest.fixture
def landlock():
    columns.needs("landlock")
    return Sandbox("landlock", allow_degraded=True)


@pytest.mark.parametrize(
    "source", [pytest.param(DEEP, id="deep", marks=pytest.mark.long), pytest.param(SHUT, id="shut")]
)
@pytest.mark.filterwarnings("ignore")
def test_a_folder_goes_whatever_is_in_it(landlock, source):
    source = "import os; print(os.environ['HOME'], flush=True)\n" + source
    done = landlock.run([sys.executable, "-c", source], limits=Limits(wall=20))
    assert done.status == "ok"
    folder = Path(done.text.strip()).parent
    assert folder.name.startswith(folders.PREFIX)
    assert not folder.exists()
    assert landlock.run(["true"]).status == "ok"


def test_removing_follows_no_link(tmp_path):
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    made = tmp_path / "made"
    (made / "a" / "b").mkdir(parents=True)
    (made / "a" / "link").symlink_to(kept)
    (made / "a" / "b" / "file").touch()
    folders.remove(str(made))
    assert not made.exists()
    assert (kept / "file").exists()
    folders.remove(str(made))


@pytest.mark.long
def test_an_ordinary_users_shut_folders_go_too():
    if os.geteuid() != 0:
        pytest.skip("needs root")
    code = (
        "from pathlib import Path; from langgraph_reflexion.envs.sandbox.helper import folders\n"
        "path, lock = folders.make('.'); inner = Path(path, 'd', 'e'); inner.mkdir(parents=True)\n"
        "inner.chmod(0); inner.parent.chmod(0); Path(path).chmod(0); folders.remove(path); print(Path(path).exists())"
    )
    command = [sys.executable, str(columns.HERE / "as_user.py"), "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout == "False\n", done.stderr


def test_a_sweep_leaves_what_is_locked_whatever_its_number_says(tmp_path):
    # An agent in another PID namespace has a number that means nothing here.
    path, lock = folders.make(str(tmp_path))
    other = tmp_path / f"{folders.PREFIX}4194303-x"
    os.rename(path, other)
    dead = tmp_path / f"{folders.PREFIX}{os.getpid()}-dead"
    dead.mkdir()
    (tmp_path / f"{folders.PREFIX}1-file").touch()
    folders.sweep(str(tmp_path))
    assert other.exists()
    assert not dead.exists()
    os.close(lock)
    folders.sweep(str(tmp_path))
    assert not other.exists()
    folders.sweep(str(tmp_path / "no such folder"))


@pytest.mark.filterwarnings("ignore")
def test_a_program_that_cannot_be_started_for_its_arguments_is_a_fault(landlock):
    with pytest.raises(EnvironmentFault, match="too long"):
        landlock.run(["true", *["x" * 100_000] * 80])
    assert landlock.run(["./no-program"], files={"no-program": "\0"}).exit_code == 126
    assert probe("landlock").works
