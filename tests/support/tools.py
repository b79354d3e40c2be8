"""The tools of `tests/tools.txt`, without which some tests are skipped."""

import shutil
import tomllib
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from langgraph_reflexion.envs.sandbox import probe
from tests.support.postgres_server import binaries

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "tests" / "tools.txt"


@cache
def commands():
    """Read the commands of each tool."""
    rows = [line.split("|") for line in TABLE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return {tool.strip(): names.split() for tool, names, _ in rows}


def lacking(tool):
    """Return why a tool cannot be used here; nothing where it can."""
    first = commands()[tool][0]
    if tool == "bubblewrap":
        tried = probe(tool)
        return "" if tried.works else tried.words
    found = binaries() if tool == "PostgreSQL" else shutil.which(first)
    return "" if found else f"{first}: not found on PATH"


def need(*tools):
    """Skip the running test where one of these tools cannot be used; `sandbox` is bubblewrap, or else Landlock."""
    for tool in tools:
        if tool == "sandbox":
            if probe("landlock").works:
                continue
            tool = "bubblewrap"
        if why := lacking(tool):
            pytest.skip(f"needs {tool}: {why}")


def need_extra(name):
    """Skip the running test where a package of this extra is not installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for requirement in map(Requirement, project["optional-dependencies"][name]):
        try:
            version(requirement.name)
        except PackageNotFoundError:
            pytest.skip(f"needs {requirement.name}: pip install '.[{name}]'")


def need_programs(programs):
    """Skip the running test where one of these programs is not installed."""
    for program in programs:
        if shutil.which(program) is None:
            need(next(tool for tool, names in commands().items() if program in names))
