import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import langgraph_reflexion


def typed_names():
    """The names for type checkers, with their modules."""
    tree = ast.parse(Path(langgraph_reflexion.__file__).read_text(encoding="utf-8"))
    [block] = [node for node in tree.body if isinstance(node, ast.If)]
    assert ast.unparse(block.test) == "TYPE_CHECKING"
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name: node.module for node in imports for alias in node.names}


def test_every_name_is_what_its_home_defines():
    names, typed = langgraph_reflexion.__all__, typed_names()
    assert (set(names), typed) == (set(typed), langgraph_reflexion._MODULE_OF)
    assert names == sorted(names, key=lambda name: (not name.isupper(), name[0].islower(), name))
    for name, module in typed.items():
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
