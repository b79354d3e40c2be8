"""Checks of commands without running them: what they name exists."""

import importlib.util
import re
import shlex
import tomllib
from functools import cache

from typer.main import get_command

from langgraph_reflexion.lab.cli.commands import app
from tests.docs.pages import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
NAME = str(PROJECT["project"]["name"])
OPEN = {"run", "play"}
"""The commands that also take the environment's options."""


@cache
def options():
    """Return the options of each of our commands, by its words."""
    found = {"": {"--version"}}

    def walk(path, group):
        for name, command in group.commands.items():
            words = f"{path} {name}".strip()
            found[words] = {flag for each in command.params for flag in (*each.opts, *each.secondary_opts)}
            if hasattr(command, "commands"):
                walk(words, command)

    walk("", get_command(app))
    return found


def check_ours(words):
    """Check that our command and its options exist."""
    rest = [word for word in words[1:] if not word.isupper()]
    command = next((c for c in (" ".join(rest[:2]), rest[0] if rest else "") if c in options()), None)
    assert command is not None, f"{shlex.join(words)}: there is no such command"
    given = rest[: rest.index("--")] if "--" in rest else rest
    unknown = {word.partition("=")[0] for word in given if word.startswith("-")} - options()[command] - {"--help"}
    assert not unknown or command in OPEN, f"{shlex.join(words)}: {command} has no {', '.join(sorted(unknown))}"


def check_module(words):
    assert importlib.util.find_spec(words[2]), f"there is no module {words[2]}"


def check_make(words):
    folder = ROOT
    names = words[1:]
    if names[0] == "-C":
        folder = ROOT / names[1]
        names = names[2:]
    makefile = (folder / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z0-9-]+):.*##", makefile, re.MULTILINE))
    assert set(names) <= targets, f"{folder.name}/Makefile has no {' '.join(names)}"


def check_pip(words):
    """Check that the extras of our package exist."""
    for word in words[2:]:
        package, _, extras = word.rstrip("]").partition("[")
        if package in (NAME, "."):
            assert set(filter(None, extras.split(","))) <= set(PROJECT["project"]["optional-dependencies"]), word


def check_paths(words):
    for word in words:
        assert not word.startswith(("tests/", "notebooks")) or (ROOT / word.partition("::")[0]).exists(), (
            f"there is no {word}"
        )


CHECKS = {
    f"{NAME} ": check_ours,
    "python -m ": check_module,
    "make ": check_make,
    "pip install ": check_pip,
    "pytest": check_paths,
    "python tests/": check_paths,
    "inspect ": check_paths,
    "jupyter ": check_paths,
    "langgraph dev": check_paths,
}
"""How a known command begins, and its check; only ours are run."""


def check(text):
    """Check a command without running it; False where nothing is known of its kind."""
    words = [word for word in shlex.split(text) if not re.fullmatch(r"[A-Z_]+=\S*", word)]
    for beginning, check_words in CHECKS.items():
        if shlex.join(words).startswith(beginning):
            check_words(words)
            return True
    return False
