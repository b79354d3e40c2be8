"""Tests with other people's agents and evaluators need `make dev-all`; after `make dev` they are not collected."""

from importlib.util import find_spec

PACKAGES = {
    "test_evaluator_functions.py": "agentevals",
    "test_skill.py": "deepagents",
    "test_ways.py": "deepagents",
    "test_worlds.py": "deepagents",
}
collect_ignore = [name for name, package in PACKAGES.items() if find_spec(package) is None]
