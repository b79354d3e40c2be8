"""Who may import whom, where things lie, and how large they may be: read off the files, without importing them."""

import ast
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = "langgraph_reflexion"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FOLDERS = {
    "": ROOT / "src" / PACKAGE,
    **{name: ROOT / name for name in ("graph", "nodes", "envs", "prompts", "bench")},
}


def modules():
    """Every module of the package by its name below the package, such as `state`."""
    found = {}
    for prefix, folder in FOLDERS.items():
        for path in sorted(folder.rglob("*.py")):
            inside = path.relative_to(folder).with_suffix("").parts
            parts = [part for part in (prefix, *inside) if part and part != "__init__"]
            found[".".join(parts)] = path
    return found


MODULES = modules()
PROTOCOLS = {"envs.base", "envs.pool", "envs.tested"}
"""What the graph and its nodes know of environments."""


@cache
def imports(module):
    """What a module imports, anywhere in it, under its full names."""
    path = MODULES[module]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@cache
def ours(module):
    """What a module imports of the package, as module names below it."""
    found = set()
    for name in imports(module):
        if name == PACKAGE or name.startswith(f"{PACKAGE}."):
            inside = name[len(PACKAGE) + 1 :]
            while inside not in MODULES:
                inside = inside.rpartition(".")[0]
            found.add(inside)
    return found


def below(prefix):
    return [module for module in MODULES if module == prefix or module.startswith(f"{prefix}.")]


def under(module, *prefixes):
    return any(module == prefix or module.startswith(f"{prefix}.") for prefix in prefixes)


def test_the_reader_sees_imports():
    assert ours("graph.state") == {"envs.base"}
    assert "langgraph.types.Overwrite" in imports("nodes.reset")
    assert len(MODULES) > 40


@pytest.mark.parametrize(
    ("module", "allowed"),
    [
        ("errors", set()),
        ("envs.actions", set()),
        ("envs.trials", {"envs.actions"}),
        ("envs.base", {"envs.actions", "envs.trials", "errors"}),
        ("graph.state", {"envs.base"}),
        ("prompts", {"errors"}),
        ("graph.routing", {"graph.memory", "graph.state"}),
        ("envs.pool", {"envs.base", "errors"}),
    ],
)
def test_what_everything_stands_on_imports_next_to_nothing(module, allowed):
    assert ours(module) <= allowed


@pytest.mark.parametrize("module", below("nodes"))
def test_nodes_know_no_concrete_environment_and_no_graph(module):
    assert {name for name in ours(module) if under(name, "envs")} <= PROTOCOLS
    assert not {
        name for name in ours(module) if under(name, "graph.reflexion", "graph.routing", "demo", "bench", "cli")
    }


@pytest.mark.parametrize("module", below("graph"))
def test_the_graph_knows_no_concrete_environment_either(module):
    assert {name for name in ours(module) if under(name, "envs")} <= {*PROTOCOLS, "envs.alone"}
    assert not {name for name in ours(module) if under(name, "demo", "bench", "cli", "testing")}


@pytest.mark.parametrize("module", below("envs"))
def test_environments_know_nothing_of_the_agent(module):
    assert not {name for name in ours(module) if under(name, "nodes", "graph", "demo", "bench", "cli", "models")}
    assert not {name for name in imports(module) if under(name, "langgraph", "langchain_openai", "langchain")}
    chat = ("langchain_core.language_models", "langchain_core.messages", "langchain_core.prompts")
    assert not {name for name in imports(module) if under(name, *chat)}


@pytest.mark.parametrize("module", below("demo"))
def test_the_demo_model_sees_only_messages(module):
    assert {name for name in ours(module) if not under(name, "demo")} == set()


def test_only_the_command_line_and_bench_itself_import_bench():
    importers = {module for module in MODULES if any(under(name, "bench") for name in ours(module))}
    drivers = ("experiment", "grade", "memory", "report", "run", "upstream")
    commands = {"cli", *(f"{name}_command" for name in drivers)}
    # Inspect runs our tasks as a sweep does: it is as much a driver as the command line.
    assert {module for module in importers if not under(module, "bench", "adapters.inspect")} <= commands


def test_heavy_clients_are_imported_where_they_are_used():
    for module in MODULES:
        path = MODULES[module]
        top = [
            node
            for node in ast.parse(path.read_text(encoding="utf-8")).body
            if isinstance(node, ast.Import | ast.ImportFrom)
        ]
        names = {alias.name for node in top if isinstance(node, ast.Import) for alias in node.names}
        names |= {str(node.module) for node in top if isinstance(node, ast.ImportFrom)}
        heavy = {
            name for name in names if under(name, "langchain_openai", "langchain_community", "textworld", "alfworld")
        }
        assert not heavy, module


def test_the_imports_have_no_cycle():
    state = {}

    def visit(module, path):
        assert state.get(module) != "open", f"a cycle: {' -> '.join([*path, module])}"
        if module not in state:
            state[module] = "open"
            for other in sorted(ours(module) - {"", module}):
                visit(other, [*path, module])
            state[module] = "done"

    for module in MODULES:
        visit(module, [])


# Folders and sizes.


def test_the_top_level_folders_are_links_in_the_package():
    for name in filter(None, FOLDERS):
        link = FOLDERS[""] / name
        assert link.is_symlink()
        assert link.resolve() == FOLDERS[name]


def test_every_folder_with_code_is_a_package():
    for path in MODULES.values():
        assert (path.parent / "__init__.py").exists(), path


def test_every_data_file_is_in_the_wheel():
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["*"]
    for folder in FOLDERS.values():
        for path in folder.rglob("*"):
            if path.is_file() and path.suffix not in (".py", ".pyc"):
                assert any(path.match(pattern) for pattern in patterns), path.relative_to(ROOT)


def code_lines(path):
    """Lines with code on them: neither empty, nor comment, nor docstring."""
    text = path.read_text(encoding="utf-8")
    words = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            words |= set(range(node.lineno, (node.end_lineno or 0) + 1))
    lines = enumerate(text.splitlines(), 1)
    return sum(1 for number, line in lines if number not in words and line.strip() and line.strip()[0] != "#")


def test_the_core_stays_small():
    # Checkpointers, going on after the end, what wraps agents or nodes, and alternatives are beside
    # the loop: one reads it without them.
    beside = {"graph.checkpoint", "graph.postgres", "graph.reopening", *below("nodes.agent")}
    beside |= {"nodes.command", "nodes.llm_judge", "nodes.self_consistency", "nodes.self_tests", "nodes.two_calls"}
    beside |= {"nodes.lessons", "nodes.memory_map", "nodes.summarised"}
    core = [MODULES[module] for module in {*below("graph"), *below("nodes")} - beside]
    assert sum(map(code_lines, core)) < 1500


@pytest.mark.parametrize("module", [*below("graph"), *below("nodes"), *below("demo"), *below("prompts")])
def test_no_module_of_the_core_is_long(module):
    assert len(MODULES[module].read_text(encoding="utf-8").splitlines()) <= 350


def test_the_six_nodes_have_a_module_each():
    assert {f"nodes.{name}" for name in ("reset", "act", "observe", "heuristic_check", "evaluate", "reflect")} <= set(
        MODULES
    )
