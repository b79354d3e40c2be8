import ast
import importlib
import inspect

import pytest

import langgraph_reflexion
from langgraph_reflexion import envs
from langgraph_reflexion.lab import experiments


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
    assert len(names) <= 29
    assert dir(langgraph_reflexion) == sorted([*names, "__version__"])
    for name in names:
        assert inspect.getdoc(getattr(langgraph_reflexion, name)), name
