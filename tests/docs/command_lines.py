"""What is known of commands without running them: that what they name is there."""

import importlib.util
import inspect
import re
import shlex
import tomllib
from functools import cache
from itertools import pairwise
from pathlib import Path

import typer
from typer.main import get_command

from langgraph_reflexion.cli import app
from langgraph_reflexion.envs import ENVIRONMENTS
from langgraph_reflexion.settings import ReflexionSettings
from tests.docs.pages import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
NAME = str(PROJECT["project"]["name"])
TARGETS = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
OPEN = {"run", "play"}
"""The commands whose other options are the environment's."""


@cache
def options() -> dict[str, set[str]]:
    """The options of each command of ours, by its words."""
    found = {"": {"--version", "--help", "-h"}}

    def walk(path: str, group: typer.main.TyperGroup) -> None:
        for name, command in group.commands.items():
            words = f"{path} {name}".strip()
            found[words] = {flag for each in command.params for flag in (*each.opts, *each.secondary_opts)}
            found[words] |= {"--help", "-h"}
            if hasattr(command, "commands"):
                walk(words, command)  # type: ignore[arg-type]

    walk("", get_command(app))  # type: ignore[arg-type]
    return found


@cache
def environment_options() -> set[str]:
    """The options that environments take beside those of a command."""
    found = {
        "--protect",
        "--allow",
        "--network",
        "--timeout",
        "--memory",
        "--show",
        "--env",
    }  # the workspace's **more
    for path in ENVIRONMENTS.values():
        module, _, name = path.partition(":")
        factory = getattr(importlib.import_module(module), name)
        found |= {f"--{option.replace('_', '-')}" for option in inspect.signature(factory).parameters}
    return found


def check_ours(words: list[str]) -> None:
    """A command of ours names a command and options that there are."""
    ours, rest = options(), [word for word in words[1:] if not word.isupper()]
    command = next((c for c in (" ".join(rest[:2]), rest[0] if rest else "") if c in ours), None)
    assert command is not None, f"{shlex.join(words)}: there is no such command"
    allowed = ours[command] | (environment_options() if command in OPEN else set())
    given = rest[: rest.index("--")] if "--" in rest else rest
    unknown = {word.partition("=")[0] for word in given if word.startswith("-")} - allowed
    assert not unknown, f"{shlex.join(words)}: {command} has no {', '.join(sorted(unknown))}"


def check_module(words: list[str]) -> None:
    """`python -m MODULE` names a module that can be run, and options that its source declares."""
    spec = importlib.util.find_spec(words[2])
    assert spec is not None, f"there is no module {words[2]}"
    if spec.submodule_search_locations:
        spec = importlib.util.find_spec(f"{words[2]}.__main__")
    assert spec, f"{words[2]} cannot be run"
    assert spec.origin
    source = Path(spec.origin).read_text(encoding="utf-8")
    assert '"__main__"' in source or spec.name.endswith("__main__"), f"{words[2]} does nothing when it is run"
    for word in words[3:]:
        assert not word.startswith("--") or f'"{word.partition("=")[0]}"' in source, f"{words[2]} has no {word}"


def check_make(words: list[str]) -> None:
    assert set(words[1:]) <= TARGETS, f"the Makefile has no {' '.join(words[1:])}"


def check_pip(words: list[str]) -> None:
    """`pip install` of ours names extras that there are."""
    for word in words[2:]:
        package, _, extras = word.rstrip("]").partition("[")
        if package in (NAME, "."):
            assert set(filter(None, extras.split(","))) <= set(PROJECT["project"]["optional-dependencies"]), word


def check_pytest(words: list[str]) -> None:
    for word in words[1:]:
        if word.startswith("tests"):
            assert (ROOT / word.partition("::")[0]).exists(), f"there is no {word}"


def check_inspect(words: list[str]) -> None:
    """`inspect eval` names tasks of ours, with parameters that they have; the other commands are Inspect's."""
    from inspect_ai._cli.main import inspect as inspects

    from langgraph_reflexion.adapters.inspect import registry

    assert words[1] in inspects.commands, f"Inspect has no {words[1]}"
    named = [word.partition("/")[2] for word in words if word.startswith("langgraph_reflexion/")]
    for task in named:
        parameters = {*inspect.signature(getattr(registry, task)).parameters, *ReflexionSettings.model_fields}
        given = {value.partition("=")[0] for flag, value in pairwise(words) if flag == "-T"}
        assert given <= parameters, f"{shlex.join(words)}: {task} has no {', '.join(given - parameters)}"


def check_served(words: list[str]) -> None:
    assert (ROOT / "langgraph.json").exists(), "there is nothing to serve"


def check_path(words: list[str]) -> None:
    assert (ROOT / words[1]).exists(), f"there is no {words[1]}"


NOT_RUN = {
    "python -m": (check_module, "a measurement or a server: it takes minutes, or does not end"),
    "make": (check_make, "installs, or runs everything; a fresh clone is where it is tried"),
    "pip install": (check_pip, "needs a package index"),
    "pytest": (check_pytest, "is a part of the tests itself"),
    "inspect": (check_inspect, "starts slowly, in a process of its own: tests/long/test_inspect.py"),
    "langgraph dev": (check_served, "is a server: tests/long/test_studio_server.py starts it"),
    "python tests/": (check_path, "is a long form of a test"),
}
"""What is checked and not run: how it begins, the check, and why."""


def check(text: str) -> bool:
    """Check a command without running it; False where nothing is known of its kind."""
    words = [word for word in shlex.split(text) if not re.fullmatch(r"[A-Z_]+=\S*", word)]
    if words and words[0] == NAME:
        check_ours(words)
        return True
    for beginning, (check_words, _) in NOT_RUN.items():
        if shlex.join(words).startswith(beginning):
            check_words(words)
            return True
    return False
