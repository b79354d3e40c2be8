import json
from time import thread_time

import pytest

from langgraph_reflexion.envs.workspace.protection import Additions

MAKEFILE = """\
OUT := out.txt
SRC = a.py b.py \\
      c.py
DONE = $(SRC:.py=.ok) $(patsubst %.py,build/%.log,$(SRC))
PYTHON ?= python3
check: $(OUT) $(DONE) lint
\t@$(PYTHON) tools/check.py
\t./prog | python3 tools/compare.py
\tpython3 main.py > out
$(OUT): main.py
\ttouch $@
$(DONE): %.ok: %.py ; node tools/one.js
lint:
\t$(MAKE) -s style
style: ; sh tools/style.sh
run:
\tpython3 main.py
.SUFFIXES: .x .y
.x.y:
\ttrue
"""
SCRIPTS = {"test": "npm run unit", "preunit": "node p.js", "unit": "node u.js && node x.js > o", "go": "node g.js"}
PACKAGE = json.dumps({"scripts": SCRIPTS})
FILES = {
    "Makefile": MAKEFILE,
    "package.json": PACKAGE,
    **dict.fromkeys(["a.py", "main.py", "old.c", "p.js", "u.js", "x.js", "g.js"], ""),
    **dict.fromkeys([f"tools/{name}" for name in ("check.py", "compare.py", "one.js", "style.sh")], ""),
}


def additions(*commands, **files):
    held = {**FILES, **files}
    return Additions(list(held), held.__getitem__, commands)


@pytest.mark.parametrize("path", ["out.txt", "a.ok", "c.ok", "build/b.log", "sub.y", "old", "old.o", "lint", "run"])
def test_targets(path):
    assert additions("make check").target(path)


@pytest.mark.parametrize("path", ["new.py", "a.txt", "build/a.ok", "main.py", "tools/new.py", "check.py"])
def test_other_files(path):
    assert not additions("make check").target(path)


def test_a_name_that_occurs_in_export_is_added_to():
    makefile = "export o = a.out\nexport o += b.out\n$(o):\n\ttouch $@\n"
    made = additions("make a.out", Makefile=makefile)
    assert made.target("a.out")
    assert made.target("b.out")


def test_what_the_goals_run_decides():
    assert additions("make check").run == {"tools/check.py", "tools/compare.py", "tools/one.js", "tools/style.sh"}
    assert additions("make run").run >= {"main.py"}
    assert additions("make style").run == {"tools/style.sh"}
    assert additions("pytest -q").run == set()


def test_what_npm_runs_decides():
    assert additions("npm test").run == {"p.js", "u.js"}
    assert additions("cd . && npm run go").run == {"g.js"}


@pytest.mark.parametrize(
    "text",
    [
        "A = $(A) $(A)\n$(A): x\n",
        "A = $(B) $(B)\nB = $(A) $(A)\n$(A): x\n",
        "".join(f"A{n} = $(A{n + 1}) $(A{n + 1})\n" for n in range(60)) + "A60 = x\n$(A0): y\n",
        "$(" * 100_000,
        "a" * 500_000 + ":\n",
        "".join(f"t{n}: t{n + 1}\n\techo {n}\n" for n in range(2_000)),
        "".join(f"*a*a*a*a{n}: x\n" for n in range(50)),
    ],
    ids=["itself", "each other", "doubled", "open", "long", "chain", "stars"],
)
def test_a_hostile_makefile_is_read_quickly(text):
    began = thread_time()
    found = additions("make t0", Makefile=text)
    found.target("a" * 200 + "b")
    assert thread_time() - began < 3


@pytest.mark.parametrize(
    "text", ["", "[]", "{", "[" * 100_000, '{"scripts": []}', '{"scripts": {"test": 5}}', "1" * 9999]
)
def test_a_package_that_is_none(text):
    assert additions("npm test", **{"package.json": text}).run == set()
