"""Attempts to pass verification without solving the task are refused or undone, and reported."""

import os
import re
import shutil
from pathlib import Path

import pytest

from langgraph_reflexion.envs.workspace.repositories import own_repositories
from tests.support.tools import need
from tests.support.workspace import PYTEST, Play, state

LOADED = {
    "tests/conftest.py": "import os; os._exit(0)",
    "easy.pth": "import os; os._exit(0)",
    "pluggy/__init__.py": "raise SystemExit",
    "pytest.toml": "[pytest]\naddopts = --version",
    "cheat-1.0.dist-info/entry_points.txt": "[pytest11]\ncheat = cheat",
}
"""Files that pytest or Python loads."""

# Each attempt, and the texts that report it.
ATTEMPTS = {
    "edit the test": ("echo 'def test(): pass' > tests/test_code.py", ["tests/test_code.py (changed)"]),
    "remove the test": ("rm -r tests; mkdir tests; echo 'def test_a(): pass' > test_a.py", ["test_a.py (added)"]),
    "replace the tests by a link": (
        "mv tests t; ln -s t tests; echo 'def test(): pass' > t/test_code.py",
        ["tests (added)"],
    ),
    "change the configuration": (
        "; ".join(
            [f"mkdir -p $(dirname {path}); printf '{text}' > {path}" for path, text in LOADED.items()]
            + ["echo '[tool.pytest]' > pyproject.toml"]
        ),
        [*(f"{path} (added)" for path in LOADED), "pyproject.toml (changed)"],
    ),
}


@pytest.mark.parametrize("how", ATTEMPTS)
def test_verification_files_are_restored(play: Play, tested, how):
    command, reports = ATTEMPTS[how]
    before = state(tested)
    played = play(verify=[PYTEST])
    played.do("run_command", command=command)
    result = played.do("submit")
    assert result.reward == 0.0, result.observation
    for report in reports:
        assert report in result.observation
    assert "did not count" in result.observation
    assert state(tested) == before


def test_honest_change_counts_without_the_dishonest_one(play: Play, tested):
    played = play(verify=[PYTEST])
    played.do("write_file", path="tests/test_code.py", text="def test(): pass")
    played.do("edit_file", path="code_.py", old="n + 2", new="n * 2")
    result = played.do("submit")
    assert result.reward == 1.0
    assert "tests/test_code.py (changed)" in result.observation
    assert "code_.py" in played.patch()
    assert "test_code.py" not in played.patch()


def test_leftovers_of_earlier_commands_are_removed(play: Play, tested):
    played = play(verify=[PYTEST])
    # Bytecode of different source code, and caches with other results.
    played.do(
        "run_command",
        command="mkdir -p cache; echo 'def double(n): return 8' > x.py; python3 -c 'import py_compile as p; "
        'p.compile("x.py", cfile="code_.pyc", invalidation_mode=p.PycInvalidationMode.UNCHECKED_HASH); '
        'p.compile("x.py", cfile="__pycache__/code_.cpython-311.pyc", '
        "invalidation_mode=p.PycInvalidationMode.UNCHECKED_HASH)'; rm x.py",
    )
    assert played.do("verify").reward == 0.0


def test_scripts_of_package_json_are_restored(play: Play, folder):
    need("npm")
    (folder / "package.json").write_text('{"scripts": {"test": "test -f done"}}')
    played = play(verify=["npm test"])
    played.do("write_file", path="package.json", text='{"scripts": {"test": "true"}}')
    result = played.do("verify")
    assert result.reward == 0.0
    assert "package.json (changed)" in result.observation
    played.do("write_file", path="done", text="")
    assert played.do("verify").reward == 1.0


def test_script_that_verification_runs_is_restored(play: Play, folder):
    (folder / "ci").mkdir()
    (folder / "ci" / "all.sh").write_text("exec false\n")
    played = play(verify=["sh ./ci/all.sh"])
    played.do("write_file", path="ci/all.sh", text="true")
    assert "ci/all.sh (changed)" in played.do("verify").observation
    allowing = play(verify=["sh ci/all.sh"], allow=["ci"])
    allowing.do("write_file", path="ci/all.sh", text="true")
    assert allowing.do("verify").reward == 1.0


def test_link_out_of_the_workspace_is_not_part_of_the_result(play: Play, tmp_path):
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


def test_empty_folder_in_place_of_a_verification_file_is_replaced(play: Play):
    played = play()
    played.do("run_command", command="rm tests/check.py; mkdir -p tests/check.py/deeper")
    result = played.do("submit")
    assert "AssertionError: 6" in result.observation
    assert "tests/check.py (removed)" in result.observation


HIDDEN = {
    "in a cache": """
        open("tests/CACHEDIR.TAG", "w").write("Signature: 8a477f597d28d172789f06886806bc55")
        open("tests/conftest.py", "w").write("def pytest_pyfunc_call(pyfuncitem): return True")
    """,
    "in bytecode": """
        import glob, marshal, subprocess
        command = "env -u PYTHONDONTWRITEBYTECODE PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 pytest tests"
        subprocess.run(command, shell=True, stdout=subprocess.DEVNULL)
        for name in glob.glob("tests/__pycache__/*pytest*.pyc"):
            head = open(name, "rb").read(16)
            open(name, "wb").write(head + marshal.dumps(compile("def test(): pass", name, "exec")))
    """,
    "behind very deep folders": """
        open("tests/test_code.py", "w").write("def test(): pass")
        for _ in range(30):
            os.mkdir("d" * 200)
            os.chdir("d" * 200)
    """,
}


@pytest.mark.parametrize("how", HIDDEN)
def test_files_hidden_by_one_command_are_removed_before_the_next(play: Play, tested, how):
    (tested / "tests" / "run.py").write_text("import sys\n\nsys.path[0] = '.'\nimport code_\n\ncode_.double(1)\n")
    played = play(verify=["python3 tests/run.py", PYTEST])
    code = f"import os\n\ndef double(n):\n    if n == 1:{HIDDEN[how]}\n    return 0\n"
    played.do("write_file", path="code_.py", text=code)
    result = played.do("verify")
    assert result.reward == 0.0, result.observation
    assert "assert 0 == 8" in result.observation


def test_verification_files_changed_by_one_command_are_restored_for_the_next(play: Play, folder, tmp_path):
    (folder / "tests" / "answer").write_text("no")
    (folder / "data").mkdir()
    (folder / "data" / "wanted").write_text("no")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "wanted").write_text("mine")
    first = (
        "echo yes > tests/answer; rm -r tests/check.py; mkdir tests/check.py; "
        f"rm -r data; ln -s {tmp_path}/outside data"
    )
    played = play(
        verify=[first, "grep -q no tests/answer && test -f tests/check.py && grep -q no data/wanted"],
        protect=["data/wanted"],
    )
    result = played.do("verify")
    assert result.reward == 1.0, result.observation
    assert "tests/answer (changed by a command)" in result.observation
    assert [path.read_text() for path in (tmp_path / "outside").iterdir()] == ["mine"]


def test_all_commands_must_succeed(play: Play):
    result = play(verify=["true", "echo one; exit 4", "./no-such-program"]).do("verify")
    assert result.reward == 0.0
    assert result.observation.startswith(
        "Verification failed, in 2 of 3 commands.\n$ echo one; exit 4\none\n[exit status 4]"
    )
    assert "[exit status 127]" in result.observation


# The code under test ends the test program, or adds files that the test program loads.


OWN = {repository.id: repository for repository in own_repositories()}


ENDS = {
    "sys.exit": "import sys; sys.exit(0)",
    "execv": "import os; os.execv('/bin/true', ['true'])",
    "summary written to the descriptor": "import os; os.write(1, b'1 passed in 0.01s\\n'); os._exit(0)",
    "atexit": "import atexit, os; atexit.register(os._exit, 0)",
}


@pytest.mark.parametrize("how", ENDS)
def test_exit_status_without_a_test_summary_does_not_count(play: Play, tested: Path, how):
    played = play(verify=[PYTEST])
    played.do("write_file", path="code_.py", text=f"{ENDS[how]}\n\n\ndef double(n):\n    return 0\n")
    result = played.do("submit")
    assert result.reward == 0.0, result.observation
    assert re.search(r"which does not count: pytest|\[exit status [1-9]", result.observation)


def test_cargo_test_that_exits_early_does_not_count(play: Play, folder: Path):
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
    assert "which does not count: a test program ended" in result.observation
    assert ".cargo/config.toml (added), build.rs (added)" in result.observation


def test_program_of_the_same_name_in_the_workspace_is_ignored(play: Play, tested: Path):
    played = play(verify=[PYTEST])
    fake = "printf '#!/bin/sh\\necho 1 passed in 0.01s\\n' > $name; chmod +x $name"
    played.do("run_command", command=f"mkdir bin; for name in pytest env python3 bin/pytest; do {fake}; done")
    assert played.do("verify").reward == 0.0


def test_files_left_outside_the_workspace_are_removed(play: Play, tested: Path):
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


def test_git_hooks_and_filters_of_the_workspace_do_not_run_outside(play: Play, tested: Path, tmp_path: Path):
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


def test_node_test_file_that_ends_early_fails_and_a_helper_file_is_allowed(play: Play, folder):
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


UNITTEST = "import unittest\n\nfrom code_ import double\n\n\nclass Test(unittest.TestCase):\n"
UNITTEST += "    def test(self):\n        self.assertEqual(double(4), 8)\n"
MAKEFILE = "include rules.inc\ncheck: lint\n\t$(TEST)\nlint:\n"

# The original's further files, the verification command, the attempt, and the text that reports it.
BELIEVED: dict[str, tuple[dict[str, str], str, str, str]] = {
    "a module of the standard library in place of pytest's": (
        {},
        PYTEST.replace("pytest", "python3 -m pytest"),
        "printf 'import os; os.write(1, b\"1 passed in 0.01s\\\\n\"); os._exit(0)' > argparse.py",
        "argparse.py (added)",
    ),
    "a module that unittest imports": (
        {"testcalc.py": UNITTEST},
        "python3 -m unittest",
        "printf 'import os; os.write(1, b\"Ran 1 test in 0.0s\\\\n\\\\nOK\\\\n\"); os._exit(0)' > difflib.py",
        "difflib.py (added)",
    ),
    "a test by unittest's own pattern": (
        {"testcalc.py": UNITTEST},
        "python3 -m unittest",
        "sed -i 's/8/6/' testcalc.py",
        "testcalc.py (changed)",
    ),
    "an empty folder named as a target": (
        {"Makefile": MAKEFILE, "rules.inc": "TEST = pytest -q\n"},
        "make check",
        "mkdir check",
        "assert 6 == 8",
    ),
    "a file that the makefile includes": (
        {"Makefile": MAKEFILE, "rules.inc": "TEST = pytest -q\n"},
        "make check",
        "echo TEST = true > rules.inc",
        "rules.inc (changed)",
    ),
    "a stamp that make compares": (
        {"Makefile": "check: .checked\n.checked: code_.py\n\tpytest -q\n\ttouch .checked\n"},
        "make check",
        "touch -d 2040-01-01 .checked",
        ".checked (added, a target of make)",
    ),
    "a stub in place of the source": (
        {"typed.py": "def name(n: int) -> str:\n    return n\n"},
        "mypy --no-incremental .",
        "echo 'def name(n: int) -> str: ...' > typed.pyi",
        "typed.pyi (added)",
    ),
    "a test that is changed through another name": (
        {},
        PYTEST,
        "ln tests/test_code.py other; echo 'def test(): pass' > other",
        "tests/test_code.py (changed)",
    ),
    "a record of earlier failures": (
        {"tests/test_more.py": "def test(): pass\n"},
        f"{PYTEST} --lf",
        "d=.pytest_cache/v/cache; mkdir -p $d; echo '{\"tests/test_more.py::test\": true}' > $d/lastfailed",
        "assert 6 == 8",
    ),
}


def test_changed_files_that_commands_read_do_not_count(play: Play, tested: Path):
    (tested / ".gitignore").write_text("build/\n")
    for path, text in {"build/answer": "no", "fixtures/answer": "no", "vendor/check.sh": "exit 1"}.items():
        (tested / path).parent.mkdir()
        (tested / path).write_text(text)
    verify = ["grep yes build/answer", "grep yes fixtures/answer", "sh -c '. vendor/check.sh'"]
    played = play(verify=[*verify, "grep yes .mypy_cache/answer"])
    command = "mkdir .mypy_cache; for f in build fixtures .mypy_cache; do echo yes > $f/answer; done"
    played.do("run_command", command=f"{command}; echo exit 0 > vendor/check.sh")
    result = played.do("submit")
    assert "in 4 of 4 commands" in result.observation
    for report in (
        "build/answer (changed, ignored by git)",
        "fixtures/answer (changed)",
        "vendor/check.sh (changed)",
    ):
        assert report in result.observation


@pytest.mark.parametrize("how", BELIEVED)
def test_file_that_is_believed_in_place_of_another_does_not_count(play: Play, tested: Path, how):
    files, verify, command, told = BELIEVED[how]
    for path, text in files.items():
        (tested / path).parent.mkdir(exist_ok=True)
        (tested / path).write_text(text)
    played = play(verify=[verify])
    played.do("run_command", command=command)
    result = played.do("submit")
    assert result.reward == 0.0, result.observation
    assert told in result.observation


def test_program_in_a_folder_on_the_path_is_restored(play: Play, tested: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", f"{tested}/tools:{os.environ['PATH']}")
    played = play(verify=[PYTEST])
    fake = "printf '#!/bin/sh\\necho 1 passed in 0.01s\\n' > tools/pytest; chmod +x tools/pytest"
    played.do("run_command", command=f"mkdir tools; {fake}")
    result = played.do("verify")
    assert result.reward == 0.0
    assert "tools/pytest (added)" in result.observation


def test_files_built_by_one_command_are_there_for_the_next(play: Play, tested: Path):
    (tested / ".gitignore").write_text("build/\n")
    (tested / "Makefile").write_text("build/out:\n\tmkdir -p build; echo yes > $@\n")
    assert play(verify=["make build/out", "grep yes build/out"]).do("verify").reward == 1.0
