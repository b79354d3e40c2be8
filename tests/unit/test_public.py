"""The public names of the package."""

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import langgraph_reflexion


def tree():
    return ast.parse(Path(langgraph_reflexion.__file__).read_text(encoding="utf-8"))


def typed_names():
    """The names for type checkers, with their modules."""
    [block] = [node for node in tree().body if isinstance(node, ast.If)]
    assert ast.unparse(block.test) == "TYPE_CHECKING"
    return {
        alias.asname or alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_every_name_is_what_its_home_defines():
    names = langgraph_reflexion.__all__
    assert set(names) == set(typed_names())
    assert typed_names() == langgraph_reflexion._MODULE_OF
    constants, classes, functions = (
        [name for name in names if name.isupper()],
        [name for name in names if name[0].isupper() and not name.isupper()],
        [name for name in names if name[0].islower()],
    )
    assert names == [*sorted(constants), *sorted(classes), *sorted(functions)]
    for name, module in typed_names().items():
        found = getattr(langgraph_reflexion, name)
        assert found is getattr(importlib.import_module(module), name)
        assert inspect.getdoc(found), name
    assert dir(langgraph_reflexion) == sorted([*names, "__version__"])
    with pytest.raises(AttributeError, match="reflexion_graph"):
        langgraph_reflexion.reflexion_graph  # noqa: B018


def test_imports_are_light():
    script = """
import sys
from langgraph_reflexion import ConfigurationError
print(*{"langgraph.graph", "langchain_core", "pydantic", "jinja2", "typer"} & set(sys.modules))
from langgraph_reflexion import create_reflexion
create_reflexion("demo", "alfworld").compile()
unused = {"langchain_community", "langchain_openai", "numpy", "rapidfuzz", "Stemmer", "textworld", "typer"}
print(*(unused | {"langgraph_reflexion.experiments"}) & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr
