import os
import subprocess
import sys
from contextlib import closing

import pytest

from langgraph_reflexion.errors import EnvironmentFault
from tests.support.workspace import state

# Everything that a repository may contain and a careless copy would lose.
ODD = """
printf 'no end' > no-newline
printf '\\000\\001\\377' > binary
printf 'caf\\351\\n' > latin1
printf 'a\\r\\nb\\r\\n' > crlf
chmod +x run; echo '#!/bin/sh' > run; chmod +x run
ln -s run link; ln -s nowhere dangling
mkdir -p deep/er empty/inner; echo x > deep/er/file
echo x > "$(printf 'n\\366n-utf8')"
echo x > 'with "quotes" and  spaces'
echo x > "$(printf 'new\\nline')"
echo x > '-dash'; echo x > 'back\\slash'; echo x > '*star?['
mkdir ignored; echo x > ignored/file; echo ignored > .gitignore
echo '* text=auto eol=crlf ident filter=lfs' > .gitattributes
echo '$Id$' > keyword
mkdir sub; git init -q sub; echo x > sub/file
rm -r tests; mv code_.py moved.py; mkdir code_.py; echo x > code_.py/inside
"""


def contents(folder):
    """The contents of a folder, without times."""
    held = {}
    for name, (mode, _, _, digest) in state(folder).items():
        if ".git" not in name.split("/"):
            held[name] = (mode, digest) if not os.path.isdir(folder / name) else "folder"
    return held


def copies(tmp_path):
    return list(tmp_path.glob("store/*/work/*"))


def changed(played):
    result = played.do("run_command", command=f"umask 022\n{ODD}")
    assert result.observation.endswith("[exit status 0]"), result.observation
    return played


def test_every_state_is_restored_exactly(play):
    played = changed(play())
    with closing(played.again()) as again:
        assert contents(again._copy.root) == contents(played.root)
        assert again.snapshot() == played.episode.snapshot()
        assert again._copy.refresh() == played.episode._copy.tree


def test_equal_files_have_equal_states(play):
    one, other = play(), play()
    one.do("write_file", path="a/b", text="x")
    other.do("run_command", command="mkdir a; echo x > a/b")
    assert one.episode.snapshot() == other.episode.snapshot()
    other.do("run_command", command="rm -r a")
    assert other.episode.snapshot()["tree"] == other.task["prepared"]["tree"]


def test_rapid_changes_of_a_file_are_detected(play):
    played = play()
    trees = []
    for text in ("aa", "bb", "cc", "aa"):
        played.do("run_command", command=f"printf {text} > file; touch -d 2001-01-01 file")
        trees.append(played.episode.snapshot()["tree"])
    assert len(set(trees)) == 3
    assert trees[0] == trees[3]


def test_patch_turns_the_original_into_the_result(play, folder, tmp_path):
    (folder / "latin").write_bytes(b"gr\xfc\xdfe\n")
    played = changed(play(allow=["tests", "*"]))
    played.do("run_command", command="printf 'gr\\374n\\n' > latin; rm dangling")
    patch = tmp_path / "the.patch"
    patch.write_text(played.patch(), newline="")
    assert "rename from code_.py" in patch.read_text()
    subprocess.run(["git", "apply", str(patch)], cwd=folder, check=True)
    # A patch contains no empty folders.
    expected = {name: what for name, what in contents(played.root).items() if not name.startswith("empty")}
    assert contents(folder) == expected


def test_caches_and_dependencies_are_not_part_of_a_state(play, folder, tmp_path):
    for name in ("web/node_modules", "venv/bin", "target", "pkg/__pycache__"):
        (folder / name).mkdir(parents=True)
        (folder / name / "file").write_text("x")
    (folder / "venv" / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (folder / "target" / "CACHEDIR.TAG").write_text("Signature: 8a477f597d28d172789f06886806bc55\n")
    (folder / "pkg" / "a.py").touch()
    before = state(folder)
    played = play()
    assert played.episode.observation.endswith("\ncode_.py\npkg/a.py\ntests/check.py\nvenv/\nweb/node_modules/")
    for path in ("web/node_modules/b.js", "pkg/__pycache__/a.pyc"):
        assert played.do("write_file", path=path, text="x").observation.startswith(f"Not done: {path}")
    assert played.do("search_files", pattern="^x$").observation == "Nothing matches."
    told = played.do("run_command", command="cat web/node_modules/file venv/bin/file; ls target; echo > venv/y")
    assert told.observation.startswith("xx")
    assert "Read-only file system" in told.observation
    assert played.episode.snapshot()["tree"] == played.task["prepared"]["tree"]
    assert state(folder) == before
    # A command may put anything in their place.
    (tmp_path / "outside").mkdir()
    played.do("run_command", command=f"mv web gone; ln -s {tmp_path}/outside web")
    with closing(played.again()) as again:
        assert not list((tmp_path / "outside").iterdir())
        assert again.run_command("cat web/node_modules/file").observation == "x\n[exit status 0]"


def test_git_settings_and_variables_of_the_user_are_ignored(play, folder, tmp_path, monkeypatch):
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[core]\n\tautocrlf = true\n[diff]\n\tnoprefix = true\n\trenames = false\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    (folder / "crlf").write_bytes(b"a\r\n")
    played = play()
    assert (played.root / "crlf").read_bytes() == b"a\r\n"
    played.do("run_command", command="mv crlf lf")
    assert "rename from crlf" in played.patch()
    assert not (tmp_path / "elsewhere").exists()


def test_copies_of_dead_processes_are_removed(play, folder, tmp_path):
    script = (
        "import os, sys\n"
        "from langgraph_reflexion.envs.workspace.environment import Workspace\n"
        "w = Workspace({'path': sys.argv[1], 'instruction': 'x', 'verify': 'true'}, store=sys.argv[2])\n"
        "episode = w.start(w.tasks()[0])\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(folder), str(tmp_path / "store")], check=False)
    assert len(copies(tmp_path)) == 1
    played = play()
    assert copies(tmp_path) == [played.root.parent]


def test_failed_copy_is_removed(play, tmp_path):
    played = play()
    with pytest.raises(EnvironmentFault):
        played.environment.restore(played.task, {**played.episode.snapshot(), "tree": "0" * 40})
    assert copies(tmp_path) == [played.root.parent]
    played.episode.close()
    played.episode.close()
    assert not copies(tmp_path)
