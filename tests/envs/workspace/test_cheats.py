"""Cheats in what is tested itself, and around the test program: refused, or put back, and told."""

import re
import shutil
from pathlib import Path

import pytest
from playing import PYTEST, Play

from langgraph_reflexion.envs.workspace.proof import unproven
from langgraph_reflexion.envs.workspace.repositories import own_repositories
from tests.tools import need

OWN = {repository.id: repository for repository in own_repositories()}
pytestmark = pytest.mark.usefixtures("tested")

# The code under test ends the program that tests it.
ENDS = {
    "at once": "import os; os._exit(0)",
    "by the usual way out": "import sys; sys.exit(0)",
    "as another program": "import os; os.execv('/bin/true', ['true'])",
    "with a summary of its own": "import os; print('1 passed in 0.01s', flush=True); os._exit(0)",
    "with one past Python's streams": "import os; os.write(1, b'1 passed in 0.01s\\n'); os._exit(0)",
    "when the tests are over": "import atexit, os; atexit.register(os._exit, 0)",
    "from a thread": "import os, threading; threading.Timer(0.5, os._exit, (0,)).start()",
}


@pytest.mark.parametrize("how", ENDS)
def test_an_exit_status_that_the_test_program_does_not_speak_for_does_not_count(play: Play, how):
    played = play(verify=[PYTEST])
    played.do("write_file", path="code_.py", text=f"{ENDS[how]}\n\n\ndef double(n):\n    return 0\n")
    result = played.do("submit")
    assert result.reward == 0.0, result.observation
    assert re.search(r"which does not count: pytest|\[exit status [1-9]", result.observation)


def test_the_same_with_node(play: Play, folder: Path):
    need("Node.js")
    shutil.rmtree(folder)
    OWN["slugs-js"].write(folder)
    played = play(verify=["node --test"])
    text = (folder / "src" / "words.js").read_text()
    played.do("write_file", path="src/words.js", text=f"{text}\nprocess.exit(0);\n")
    result = played.do("verify")
    assert result.reward == 0.0
    assert "does not count" in result.observation


def test_the_same_with_cargo_and_what_cargo_would_run_besides(play: Play, folder: Path):
    need("Rust")
    shutil.rmtree(folder)
    OWN["grid-rs"].write(folder)
    played = play(verify=list(OWN["grid-rs"].verify))
    text = (folder / "src" / "grid.rs").read_text()
    exits = text.replace(
        "let lines", "std::process::exit(0);\n        #[allow(unreachable_code)]\n        let lines", 1
    )
    played.do("write_file", path="src/grid.rs", text=exits)
    played.do("write_file", path="build.rs", text='fn main() { println!("cargo:rustc-cfg=skipped"); }')
    runner = "[target.'cfg(all())']\nrunner = \"true\"\n"
    played.do("write_file", path=".cargo/config.toml", text=runner)
    result = played.do("verify")
    assert result.reward == 0.0
    assert "which does not count: a test program was ended" in result.observation
    assert ".cargo/config.toml (added), build.rs (added)" in result.observation


# What is laid down for the interpreter, the test program or the shell to find.
LAID = {
    "usercustomize.py": "usercustomize.py",
    "a .pth file": "easy.pth",
    "setup.cfg with options": "setup.cfg",
    "tox.ini with options": "tox.ini",
    "a plugin's entry point": "cheat-1.0.dist-info/entry_points.txt",
    "a module in place of pytest's own": "pluggy/__init__.py",
    "a hook of git's": ".gitattributes",
}


@pytest.mark.parametrize("what", LAID)
def test_what_a_program_would_load_by_itself_is_not_there(play: Play, what):
    played = play(verify=[PYTEST])
    played.do("write_file", path=LAID[what], text="[pytest]\naddopts = --version\n")
    result = played.do("verify")
    assert result.reward == 0.0
    assert f"{LAID[what]} (added)" in result.observation


def test_a_program_of_the_same_name_is_not_found_first(play: Play):
    played = play(verify=[PYTEST])
    for name in ("pytest", "env", "python3", "bin/pytest"):
        played.do(
            "run_command",
            command=f"mkdir -p bin; printf '#!/bin/sh\\necho 1 passed in 0.01s\\n' > {name}; chmod +x {name}",
        )
    assert played.do("verify").reward == 0.0


def test_what_a_command_leaves_outside_of_the_workspace_is_gone(play: Play):
    played = play(verify=[PYTEST])
    left = (
        'for place in "$HOME" /tmp "$HOME/.local/bin" "$(python3 -m site --user-site)"; do mkdir -p "$place"; '
        "for name in sitecustomize.py usercustomize.py x.pth .profile .bashrc; do "
        'echo "import os; os._exit(0)" > "$place/$name"; done; done; ls -a /tmp "$HOME"'
    )
    assert "exit status 0" in played.do("run_command", command=left).observation
    after = played.do("run_command", command='ls -a /tmp "$HOME"').observation
    assert "sitecustomize.py" not in after
    assert played.do("verify").reward == 0.0


def test_hooks_and_filters_of_a_repository_in_the_workspace_do_not_run_outside(play: Play, tmp_path: Path):
    mark = tmp_path / "ran"
    played = play(verify=[PYTEST])
    config = (
        f'[core]\\n\\tfsmonitor = touch {mark}\\n\\thooksPath = hooks\\n[filter "x"]\\n\\tclean = touch {mark}\\n'
    )
    played.do(
        "run_command",
        command=f"mkdir -p .git/hooks hooks; printf '{config}' > .git/config; cp .git/config .gitconfig",
    )
    hook = f"printf '#!/bin/sh\\ntouch {mark}\\n' > .git/hooks/$h; chmod +x .git/hooks/$h; cp .git/hooks/$h hooks/$h"
    played.do("run_command", command=f"for h in post-checkout pre-commit post-index-change; do {hook}; done")
    played.do("write_file", path=".gitattributes", text="* filter=x\n")
    played.do("edit_file", path="code_.py", old="n + 2", new="n * 2")
    assert played.do("submit").reward == 1.0
    assert played.patch()
    assert not mark.exists()


def test_a_value_that_equals_everything_passes_as_it_would_anywhere(play: Play):
    # What runs in the process of its judge can lie to it; that is said in the documentation, and not hidden here.
    played = play(verify=[PYTEST])
    lie = "class Any:\n    def __eq__(self, other):\n        return True\n\n\ndef double(n):\n    return Any()\n"
    played.do("write_file", path="code_.py", text=lie)
    assert played.do("verify").reward == 1.0


# What the test programs say at their end.


def test_a_test_file_that_ends_early_does_not_count_with_node_and_a_helper_beside_it_does(play: Play, folder):
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


@pytest.mark.parametrize(
    ("command", "output"),
    [
        (PYTEST, "...   [100%]\n3 passed in 0.01s"),
        ("python -m pytest tests", "==== 3 passed, 1 skipped in 61.20s (0:01:01) ====\n"),
        ("pytest", "\nResults (0.02s):\n       3 passed\n       1 skipped\n"),
        ("pytest 2>&1", "\x1b[32m3 passed\x1b[0m, 2 subtests passed in 0.01s"),
        ("node --test", "# Subtest: adds\nok 1 - adds\n# tests 1\n# pass 1\n# fail 0\n"),
        ("node --test", "\u2714 adds (0.4ms)\n\u2139 tests 1\n\u2139 fail 0\n"),
        # A helper beside the tests.
        ("node --test", "# Subtest: /w/test/helper.js\nok 1 - /w/test/helper.js\n# fail 0\n"),
        ("cargo test --offline", "running 2 tests\ntest result: ok. 2 passed; 0 failed\n"),
        ("python3 -m unittest", "Ran 3 tests in 0.001s\n\nOK (skipped=1)\n"),
        # Not known, or told to say less.
        ("make check", ""),
        ("pytest -qq", "...\n"),
        ("pytest -q", "...    [ 50%]\n.s.    [100%]\n"),
        ("pytest -q | tail -1", ""),
        ("cargo test --no-run", ""),
        ("echo pytested", ""),
        ("node check.js --test", ""),
        ("npm test", "\n> sum@1.0.0 test\n> node check.js\n"),
    ],
)
def test_an_honest_success_counts(command, output):
    assert unproven(command, output, lambda path: "exports.eight = 8") == ""


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("pytest", ""),
        ("sh -c 'cd x && pytest -q'", "..."),
        ("pytest -q", "..F    [ 50%]\n.s.    [100%]\n"),
        ("pytest", "1 passed in 0.10s\n1 failed, 2 passed in 0.01s"),
        ("pytest", "\nResults (0.02s):\n       3 passed\n       1 failed\n         - tests/test_a.py:3 test_a\n"),
        ("node --test", "ok 1 - adds\n"),
        ("npm test", "\n> sum@1.0.0 test\n> node --test\n\nok 1 - adds\n"),
        ("node --import tsx --env-file=.env --test src", "ok 1 - adds\n"),
        ("cargo --locked test", "running 2 tests\n"),
        ("python3 -W error -m unittest", ""),
        ("node --test", "# Subtest: /w/test/a.test.js\nok 1 - /w/test/a.test.js\n# fail 0\n"),
        ("node --test", "\u2714 /w x/test/a.test.js (40.1ms)\n\u2139 fail 0\n"),
        ("cargo test", "running 2 tests\ntest result: ok. 2 passed\nrunning 3 tests\n"),
        ("python3 -m unittest", "Ran 3 tests in 0.001s\n\nFAILED (failures=1)\n"),
    ],
)
def test_a_success_without_the_programs_word_does_not(command, output):
    assert unproven(command, output, lambda path: "const test = require('node:test')")
