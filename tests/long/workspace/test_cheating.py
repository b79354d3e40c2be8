import os
import shutil
import tomllib
from pathlib import Path

import pytest

from langgraph_reflexion.envs.workspace.repositories import own_repositories
from tests.support.tools import need
from tests.support.workspace import PYTEST, state

WRONG = "assert 6 == 8"
"""What pytest says of the code as it is."""
ATTEMPTS = tomllib.loads(Path(__file__).with_name("attempts.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("how", ATTEMPTS)
def test_attempt_does_not_count(play, tested, monkeypatch, how):
    attempt = {"told": [WRONG], "verify": [PYTEST], "files": {}, **ATTEMPTS[how]}
    if attempt["verify"] == ["npm test"]:
        need("npm")
    for path, text in attempt["files"].items():
        (tested / path).parent.mkdir(exist_ok=True)
        (tested / path).write_text(text)
    before = state(tested)
    monkeypatch.setenv("PATH", f"{tested}/tools:{os.environ['PATH']}")
    played = play(verify=attempt["verify"])
    played.do("run_command", command=attempt["command"])
    result = played.do("submit")
    assert result.reward == 0.0, result.observation
    assert [told for told in attempt["told"] if told not in result.observation] == [], result.observation
    assert state(tested) == before


def test_honest_change_counts_without_the_dishonest_one(play, tested):
    played = play(verify=[PYTEST])
    played.do("edit_file", path="code_.py", old="n + 2", new="n * 2")
    played.do("write_file", path="tests/test_code.py", text="def test():\n    pass\n")
    result = played.do("submit")
    assert result.reward == 1.0
    assert "tests/test_code.py (changed)" in result.observation
    assert "code_.py" in played.patch()
    assert "test_code.py" not in played.patch()


def test_what_the_task_allows_or_an_earlier_command_builds_counts(play, folder):
    (folder / ".gitignore").write_text("build/\n")
    (folder / "Makefile").write_text("build/out:\n\tmkdir -p build; echo yes > $@\n")
    (folder / "all.sh").write_text("exec false\n")
    played = play(verify=["sh all.sh", "make build/out", "grep yes build/out"], allow=["all.sh"])
    played.do("write_file", path="all.sh", text="true")
    assert played.do("verify").reward == 1.0


def test_link_out_of_the_workspace_is_not_part_of_the_result(play, tmp_path):
    (tmp_path / "code_.py").write_text("def double(n):\n    return n * 2\n")
    played = play()
    played.do(
        "run_command",
        command=f"rm code_.py; ln -s {tmp_path}/code_.py code_.py; ln -s ../.. up; ln -s tests inner; mkdir d; "
        "ln -s ../../d d/in; ln -s in/../../x d/out",
    )
    result = played.do("submit")
    assert result.reward == 0.0
    for path in ("code_.py", "up", "d/in", "d/out"):
        assert f"{path} (a link out of the workspace)" in result.observation
        assert f"b/{path}" not in played.patch()
    assert "b/inner" in played.patch()


def test_verification_files_changed_by_one_command_are_restored_for_the_next(play, folder, tmp_path):
    (folder / "tests" / "answer").write_text("no")
    (folder / "data").mkdir()
    (folder / "data" / "wanted").write_text("no")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "wanted").write_text("mine")
    first = (
        "echo yes > tests/answer; rm -r tests/check.py; mkdir tests/check.py; "
        f"rm -r data; ln -s {tmp_path}/outside data"
    )
    second = "grep -q no tests/answer && test -f tests/check.py && grep -q no data/wanted"
    result = play(verify=[first, second], protect=["data/wanted"]).do("verify")
    assert result.reward == 1.0, result.observation
    assert "tests/answer (changed by a command)" in result.observation
    assert [path.read_text() for path in (tmp_path / "outside").iterdir()] == ["mine"]


def test_cargo_test_that_exits_early_does_not_count(play, folder):
    need("Rust")
    shutil.rmtree(folder)
    [grid] = [each for each in own_repositories() if each.id == "grid-rs"]
    grid.write(folder)
    played = play(verify=list(grid.verify))
    exits = "std::process::exit(0);\n        #[allow(unreachable_code)]\n        let lines"
    text = (folder / "src" / "grid.rs").read_text().replace("let lines", exits, 1)
    played.do("write_file", path="src/grid.rs", text=text)
    played.do("write_file", path="build.rs", text='fn main() { println!("cargo:rustc-cfg=skipped"); }')
    played.do("write_file", path=".cargo/config.toml", text="[target.'cfg(all())']\nrunner = \"true\"\n")
    result = played.do("verify")
    assert result.reward == 0.0
    assert "which does not count: a test program ended" in result.observation
    assert ".cargo/config.toml (added), build.rs (added)" in result.observation


def test_node_test_file_that_ends_early_fails_and_a_helper_file_is_allowed(play, folder):
    need("Node.js")
    (folder / "calc.js").write_text("exports.same = n => n;\n")
    (folder / "test").mkdir()
    (folder / "test" / "helper.js").write_text("exports.eight = 8;\n")
    (folder / "test" / "calc.js").write_text(
        "const test = require('node:test');\nconst assert = require('assert');\nconst calc = require('../calc');\n"
        "test('same', () => assert.equal(calc.same(8), require('./helper').eight));\n"
    )
    played = play(verify=["node --test"])
    assert played.do("verify").reward == 1.0
    played.do("write_file", path="calc.js", text="process.exit(0);")
    result = played.do("verify")
    assert result.reward == 0.0
    assert "test/calc.js ended before its first test" in result.observation


def test_files_left_outside_the_workspace_are_removed(play, tested):
    played = play(verify=[PYTEST])
    left = (
        'for place in "$HOME" /tmp "$HOME/.local/bin" "$(python3 -m site --user-site)"; do mkdir -p "$place"; '
        "for name in sitecustomize.py usercustomize.py x.pth .profile .bashrc; do "
        'echo "import os; os._exit(0)" > "$place/$name"; done; done; ls -a /tmp "$HOME"'
    )
    assert "exit status 0" in played.do("run_command", command=left).observation
    assert "sitecustomize.py" not in played.do("run_command", command='ls -a /tmp "$HOME"').observation
    assert WRONG in played.do("verify").observation


def test_git_hooks_and_filters_of_the_workspace_do_not_run_outside(play, tested, tmp_path):
    mark = tmp_path / "ran"
    played = play(verify=[PYTEST])
    config = (
        f'[core]\\n\\tfsmonitor = touch {mark}\\n\\thooksPath = hooks\\n[filter "x"]\\n\\tclean = touch {mark}\\n'
    )
    hook = f"printf '#!/bin/sh\\ntouch {mark}\\n' > .git/hooks/$h; chmod +x .git/hooks/$h; cp .git/hooks/$h hooks/$h"
    played.do(
        "run_command",
        command=f"mkdir -p .git/hooks hooks; printf '{config}' > .git/config; cp .git/config .gitconfig; "
        f"for h in post-checkout pre-commit post-index-change; do {hook}; done",
    )
    played.do("write_file", path=".gitattributes", text="* filter=x\n")
    played.do("edit_file", path="code_.py", old="n + 2", new="n * 2")
    assert played.do("submit").reward == 1.0
    assert played.patch()
    assert not mark.exists()
