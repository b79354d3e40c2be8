"""The names that the package promises."""

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import langgraph_reflexion
from langgraph_reflexion import ConfigurationError, EnvironmentFault, Fault, ModelFault, ReflexionError

PROMISED = {
    *("create_reflexion", "load_environment", "ReflexionState", "Task", "Step", "Evaluation", "Reflection"),
    *("Environment", "Episode", "Evaluator", "Heuristic", "PROFILES", "Profile", "Strategy"),
    *("ReflexionError", "ConfigurationError", "EnvironmentUnavailable", "Fault", "ModelFault", "EnvironmentFault"),
}


def tree():
    return ast.parse(Path(langgraph_reflexion.__file__).read_text(encoding="utf-8"))


def typed_names():
    """What a type checker sees, name to module."""
    [block] = [node for node in tree().body if isinstance(node, ast.If)]
    assert ast.unparse(block.test) == "TYPE_CHECKING"
    return {
        alias.asname or alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_all_is_what_a_type_checker_sees_and_what_is_loaded():
    assert set(langgraph_reflexion.__all__) == set(typed_names())
    assert typed_names() == langgraph_reflexion._MODULE_OF


def test_all_is_sorted_and_without_repeats():
    names = langgraph_reflexion.__all__
    assert len(set(names)) == len(names)
    constants, classes, functions = (
        [name for name in names if name.isupper()],
        [name for name in names if name[0].isupper() and not name.isupper()],
        [name for name in names if name[0].islower()],
    )
    assert names == [*sorted(constants), *sorted(classes), *sorted(functions)]


def test_what_was_promised_is_there():
    assert set(langgraph_reflexion.__all__) >= PROMISED


@pytest.mark.parametrize("name", langgraph_reflexion.__all__)
def test_every_name_is_what_its_home_defines(name):
    found = getattr(langgraph_reflexion, name)
    assert found is getattr(importlib.import_module(typed_names()[name]), name)
    assert inspect.getdoc(found)


def test_dir_shows_them_and_the_version():
    assert dir(langgraph_reflexion) == sorted([*langgraph_reflexion.__all__, "__version__"])


def test_no_other_name_is_there():
    with pytest.raises(AttributeError, match="'langgraph_reflexion' has no attribute 'reflexion_graph'"):
        langgraph_reflexion.reflexion_graph  # noqa: B018


def python(script):
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_importing_the_package_costs_nothing():
    heavy = "('langgraph.graph', 'langchain_core', 'pydantic', 'jinja2', 'langchain_openai', 'typer')"
    assert python(f"import sys, langgraph_reflexion; print(*[m for m in {heavy} if m in sys.modules])") == []


def test_the_errors_cost_nothing_either():
    assert python(
        "import sys; from langgraph_reflexion import ConfigurationError; print('langchain_core' in sys.modules)"
    ) == ["False"]


def test_building_a_graph_imports_no_client_and_no_bench():
    script = """
import sys
from langgraph_reflexion import create_reflexion, load_environment
from langgraph_reflexion.demo import DemoChatModel
create_reflexion(DemoChatModel(), load_environment("alfworld")).compile()
unwanted = ("langchain_openai", "langchain_community", "textworld", "alfworld", "langgraph_reflexion.experiments")
print(*[name for name in unwanted if name in sys.modules])
"""
    assert python(script) == []


def test_a_star_import_gives_all_of_them():
    names = {}
    exec("from langgraph_reflexion import *", names)
    assert set(langgraph_reflexion.__all__) <= set(names)


def test_the_tree_of_errors():
    assert issubclass(ConfigurationError, ReflexionError)
    assert issubclass(ConfigurationError, ValueError)
    assert issubclass(ModelFault, Fault)
    assert issubclass(EnvironmentFault, Fault)
    assert issubclass(Fault, ReflexionError)
    assert not issubclass(langgraph_reflexion.EnvironmentUnavailable, Fault)
    assert not ModelFault("x").permanent
