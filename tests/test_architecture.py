"""Layers, folders and private names: read off the files, without importing them."""

import ast
import re
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = "langgraph_reflexion"
TOP = ("graph", "nodes", "envs", "prompts")
FOLDERS = {"": ROOT / "src" / PACKAGE, **{name: ROOT / name for name in TOP}}

LAYERS = """
    errors
    support
    envs.sandbox
    prompts
    models
    envs
    state
    loop
    memory
    actors
    evaluators
    nodes adapters testing
    agents
    graph
    lab
    __main__
"""
"""The folders and modules of the package, lowest first: each imports from lower lines only."""

AGENT = {"state", "loop", "memory", "actors", "evaluators", "nodes", "agents", "graph"}
"""The rooms that know no environment by name."""

PROTOCOLS = {"envs", "envs.base", "envs.grammar", "envs.pool", "envs.protocols"}
"""The modules of `envs` that the agent knows; `envs` itself finds an environment by its name."""

HEAVY = re.compile(
    r"(alfworld|ijson|langchain_community|langchain_openai|matplotlib|numpy|rapidfuzz|ray|scipy|Stemmer|textworld"
    r"|wikipedia)\b"
)
"""Packages that are imported inside the functions that use them."""

PRIVATE = {
    r"__pregel|CONFIG_KEY|__is_for_execution__|\.branches\b": set(),
    r"_get_request_payload|_create_chat_result|_agenerate\(self": set(),
    r"set_threshold|gc\.disable": set(),
    r"\.__class__ =": set(),
    # Providers' clients keep the number of their own retries, and the timeout, themselves.
    r"['\"]_client['\"]|sdk_configuration": {"models.load"},
    # An agent's name in a stream.
    r"lc_agent_name": {"support.langgraph"},
    # Where the agent's own messages come from, in a stream.
    r"[\"']act:[\"']": {"graph.streaming"},
    # Whether another graph calls this one, and the rows of a saver.
    r"[\"']checkpoint_ns[\"']": {"graph.compiled", "support.checkpoints"},
    # The step of a cached reply.
    r"langgraph_checkpoint_ns": {"models.cache"},
    # Settings of a run that are not the caller's.
    r"[\"']__[\"']": {"agents.runner", "lab.studio.graphs"},
    # The model of an agent of `create_agent`.
    r"getclosurevars": {"agents.wrapped"},
    # The package wikipedia sends its requests by itself, without HTTPS or a timeout.
    r"_wiki_request|\.search\.fn": {"envs.hotpotqa.mediawiki"},
    r"model_construct": {"envs.hotpotqa.langchain_wikipedia"},
}
"""Names that dependencies do not promise, and the modules that may use them."""


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


@cache
def tree(module):
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


def names(nodes):
    """The full names that import statements import."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports are banned"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@cache
def imports(module):
    """What a module imports, anywhere in it, by its full name."""
    return names(ast.walk(tree(module)))


@cache
def ours(module):
    """The modules of the package that a module imports; the version alone is imported from the package itself."""
    found = set()
    for name in imports(module):
        if name.startswith(f"{PACKAGE}."):
            inside = name.removeprefix(f"{PACKAGE}.")
            while inside not in MODULES:
                inside = inside.rpartition(".")[0]
            found.add(inside)
    return found - {""}


def room(module):
    """The folder or module of `LAYERS` that a module is in."""
    return "envs.sandbox" if f"{module}.".startswith("envs.sandbox.") else module.partition(".")[0]


FLOORS = {name: number for number, line in enumerate(LAYERS.split("\n")) for name in line.split()}


def test_imports_point_downwards():
    assert {room(module) for module in MODULES if module} <= set(FLOORS), "every folder has a layer"
    up = [
        f"{module} -> {other}"
        for module in filter(None, MODULES)
        for other in sorted(ours(module))
        if room(other) != room(module) and FLOORS[room(other)] >= FLOORS[room(module)]
    ]
    assert up == []


def test_imports_have_no_cycle():
    TopologicalSorter({module: ours(module) for module in MODULES if module}).prepare()


def test_agent_and_environments_do_not_import_each_other():
    agent = [module for module in MODULES if room(module) in AGENT]
    known = [
        f"{module} -> {other}"
        for module in agent
        for other in ours(module) - PROTOCOLS
        if room(other) in ("envs", "envs.sandbox")
    ]
    chat = re.compile(r"(langgraph|langchain|langchain_openai)\.|langchain_core\.(language_models|messages|prompts)")
    envs = [module for module in MODULES if room(module) == "envs"]
    known += [f"{module} -> {name}" for module in envs for name in imports(module) if chat.match(name)]
    assert known == []


def test_heavy_packages_are_imported_only_where_used():
    eager = [f"{module} -> {name}" for module in MODULES for name in names(tree(module).body) if HEAVY.match(name)]
    assert eager == []


def test_only_listed_private_names_of_dependencies_are_used():
    texts = {module: path.read_text(encoding="utf-8") for module, path in MODULES.items()}
    using = {pattern: {each for each, text in texts.items() if re.search(pattern, text)} for pattern in PRIVATE}
    assert using == PRIVATE
    theirs = {name for module in MODULES for name in imports(module) if not name.startswith((PACKAGE, "__future__"))}
    assert not [name for name in theirs if re.search(r"(^|\.)_(?!_)", name)]


def test_the_laboratory_is_named_where_it_is_looked_up_alone():
    named = {
        module for module, path in MODULES.items() if "langgraph_reflexion.lab" in path.read_text(encoding="utf-8")
    }
    assert {module for module in named if room(module) != "lab"} == {"__main__", "models.load"}
