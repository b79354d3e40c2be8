import ast
import importlib
import inspect
import subprocess
import sys

import pytest

import langgraph_reflexion
from langgraph_reflexion import envs
from langgraph_reflexion.lab import experiments
from tests.support.run_folders import folder, row


@pytest.mark.parametrize("package", [langgraph_reflexion, envs, experiments], ids=lambda package: package.__name__)
def test_every_name_is_what_its_home_defines(package):
    assert package.__all__ == sorted(package.MODULE_OF)
    for name, module in package.MODULE_OF.items():
        assert getattr(package, name) is getattr(importlib.import_module(module), name)
    with pytest.raises(AttributeError, match="reflexion_graph"):
        package.reflexion_graph  # noqa: B018


@pytest.mark.parametrize("package", [langgraph_reflexion, envs, experiments], ids=lambda package: package.__name__)
def test_type_checkers_see_the_names_that_are_imported_when_they_are_used(package):
    tree = ast.parse(inspect.getsource(package))
    checked = next(
        node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    seen = {}
    for line in checked.body:
        assert isinstance(line, ast.ImportFrom)
        [name] = line.names
        assert name.asname == name.name, "a plain import is not a name of the package for type checkers"
        seen[name.name] = line.module
    assert seen == dict(package.MODULE_OF)


def test_public_names_are_few_and_explained():
    names = langgraph_reflexion.__all__
    assert len(names) <= 26
    assert dir(langgraph_reflexion) == sorted([*names, "__version__"])
    for name in names:
        assert inspect.getdoc(getattr(langgraph_reflexion, name)), name


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
