import socket
import sys

import pytest

from langgraph_reflexion.envs.sandbox import Bind, Policy
from langgraph_reflexion.errors import EnvironmentUnavailable
from tests.support.sandbox.columns import make

CHANGE = """
import os, sys
for path in sys.argv[1:]:
    try:
        if os.path.isdir(path): open(path + '/config', 'w').write('changed')
        else: os.makedirs(os.path.dirname(path) or '.', exist_ok=True); open(path, 'w').write('changed')
    except OSError: pass
    try: os.rename(os.path.dirname(path) or path, 'moved')
    except OSError: pass
    try: os.remove(path)
    except OSError: pass
open('ordinary', 'w').write('x')
"""


def change(sandbox, folder, *paths, own=False):
    bind = Bind(folder, writable=True, own=own)
    sandbox.run([sys.executable, "-c", CHANGE, *paths], cwd=folder, policy=Policy(binds=(bind,)))
    assert (folder / "ordinary").read_text() == "x"


def test_files_that_run_on_the_host_stay_as_they_are(bubblewrap, tmp_path):
    for path in (".git", ".vscode", "libs/sub"):
        (tmp_path / path).mkdir(parents=True)
    texts = {".git/config": "mine", ".vscode/tasks.json": "{}", ".envrc": "mine", "libs/sub/.git": "gitdir: x"}
    texts[".gitmodules"] = '[submodule "sub"]\n\tpath = libs/sub\n'
    for path, text in texts.items():
        (tmp_path / path).write_text(text)
    change(bubblewrap, tmp_path, *texts, ".git")
    assert {path: (tmp_path / path).read_text() for path in texts} == texts
    assert not (tmp_path / "moved").exists()
    change(bubblewrap, tmp_path, ".git/config", own=True)
    assert not (tmp_path / ".git" / "config").exists()


def test_folder_without_a_repository_gets_none(bubblewrap, tmp_path):
    change(bubblewrap, tmp_path, ".git", ".git/config")
    assert [path.name for path in tmp_path.iterdir()] == ["ordinary"]


def test_landlock_refuses_a_folder_with_files_that_run_on_the_host(tmp_path):
    (tmp_path / ".git").mkdir()
    with pytest.raises(EnvironmentUnavailable, match=r"\.git"):
        change(make("landlock"), tmp_path)
    change(make("landlock"), tmp_path, own=True)


@pytest.mark.slow
@pytest.mark.parametrize("writable", [False, True])
def test_sockets_of_the_host_in_a_bound_folder_are_out_of_reach(sandbox, tmp_path, writable):
    source = "import socket; socket.socket(socket.AF_UNIX).connect('socket'); print('reached')"

    def run(**options: bool) -> str:
        policy = Policy(binds=(Bind(tmp_path, writable=writable, **options),))
        return sandbox.run([sys.executable, "-c", source], cwd=tmp_path, policy=policy).text

    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        (tmp_path / "socket").chmod(0o777)
        server.listen()
        assert run() == ""
        if sandbox.backend == "bubblewrap":
            assert run(own=True) == "reached\n"


def test_hidden_folder_of_an_installation_is_not_visible(sandbox, tmp_path, monkeypatch):
    for path in ("bin/tool", "lib/shown/data", "lib/hidden/data"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(path)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin")
    policy = Policy(hidden=(tmp_path / "lib" / "hidden",))
    done = sandbox.run(["cat", f"{tmp_path}/lib/shown/data", f"{tmp_path}/lib/hidden/data"], policy=policy)
    assert (done.text, done.exit_code) == ("lib/shown/data", 1)
