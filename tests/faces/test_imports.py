"""What an import and a command load: nobody waits for what is not used."""

import subprocess
import sys

import pytest

from tests.support.run_folders import folder, row


@pytest.mark.slow
def test_imports_are_light():
    script = """
import sys
from langgraph_reflexion import ConfigurationError
print(*{"langgraph.graph", "langchain_core", "pydantic", "jinja2", "typer"} & set(sys.modules))
from langgraph_reflexion import create_reflexion
create_reflexion("demo", "alfworld").compile()
unused = {"langchain_community", "langchain_openai", "numpy", "rapidfuzz", "Stemmer", "textworld", "typer"}
print(*(unused | {"langgraph_reflexion.lab.experiments"}) & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr


@pytest.mark.slow
def test_reading_a_run_imports_no_langchain(tmp_path):
    run = folder(tmp_path / "run", [row("a", 1, True)], ["a"])
    script = """
import contextlib, sys
from langgraph_reflexion.lab.cli import main
with contextlib.suppress(SystemExit):
    main()
print(*(name for name in sys.modules if name.partition(".")[0] in ("langchain_core", "langgraph", "asyncio")))
"""
    for args in (["--help"], ["report", run], ["show", run], ["show", run, "1"]):
        command = [sys.executable, "-c", script, *map(str, args)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        *said, imported = done.stdout.splitlines()
        assert said
        assert imported == "", args
