"""The command `doctor`: what is installed, which sandbox works, and whether a model answers."""

import contextlib
import os
import platform
import time
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from langgraph_reflexion import __version__
from langgraph_reflexion.errors import EnvironmentUnavailable, the_extra
from langgraph_reflexion.lab.cli.basics import say_starting
from langgraph_reflexion.support.text import printable

if TYPE_CHECKING:
    from packaging.requirements import Requirement

PACKAGE = "langgraph-reflexion"
MAIN_PACKAGES = ("langgraph", "langchain", "langchain-core", "langchain-openai")

PROVIDERS = {
    "openai": ("langchain_openai", "OPENAI_API_KEY"),
    "anthropic": ("langchain_anthropic", "ANTHROPIC_API_KEY"),
    "google_genai": ("langchain_google_genai", "GOOGLE_API_KEY"),
    "deepseek": ("langchain_deepseek", "DEEPSEEK_API_KEY"),
    "mistralai": ("langchain_mistralai", "MISTRAL_API_KEY"),
    "groq": ("langchain_groq", "GROQ_API_KEY"),
}
"""Providers of models, each with its package and the variable that holds its key."""

SECONDS = 60.0
"""Seconds that a model may need for its reply."""


def doctor(
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="Ask this model for a word, which costs a call.")
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Address of the model's OpenAI-compatible server.")
    ] = None,
) -> None:
    """Show what is installed, which sandbox works, and whether a model answers.

    Asks no model without --model. The exit status is 1 if the model does not answer.
    """
    say_starting()
    for line in _versions():
        typer.echo(line)
    typer.echo("\nExtras")
    for line in _extras():
        typer.echo(line)
    typer.echo("\nSandboxes for untrusted code")
    for line in _sandboxes():
        typer.echo(line)
    typer.echo("\nModels")
    for line in _keys():
        typer.echo(line)
    if model is None:
        return
    answers, said = _asked(model, base_url)
    typer.echo(f"  {model:<13} {said}")
    if not answers:
        raise typer.Exit(1)


def _versions() -> Iterator[str]:
    # The version is that of the code that runs: the metadata of an editable installation may be older.
    yield f"{PACKAGE} {__version__}, Python {platform.python_version()}, {platform.system()}"
    for name in MAIN_PACKAGES:
        yield f"  {name:<18}{metadata.version(name)}"


def _extras() -> Iterator[str]:
    """Yield a line for each extra."""
    from packaging.requirements import Requirement

    needed = [Requirement(line) for line in metadata.requires(PACKAGE) or []]
    for extra in metadata.metadata(PACKAGE).get_all("Provides-Extra") or []:
        missing = [each.name for each in needed if _is_missing(each, extra)]
        said = "installed"
        if missing:
            said = f"not installed: {the_extra(extra)}"
        yield f"  {extra:<14}{said}"


def _is_missing(requirement: "Requirement", extra: str) -> bool:
    """Return whether an extra needs a package here that is not installed."""
    if requirement.marker is None or not requirement.marker.evaluate({"extra": extra}):
        return False
    # A package that is needed in any case says nothing about the extra.
    if requirement.marker.evaluate({"extra": ""}):
        return False
    try:
        metadata.version(requirement.name)
    except metadata.PackageNotFoundError:
        return True
    return False


def _sandboxes() -> Iterator[str]:
    """Yield a line for each sandbox that may be chosen automatically."""
    from langgraph_reflexion.envs.sandbox.backends import BACKENDS, choose, probe

    used = ""
    # If none works, the lines say why.
    with contextlib.suppress(EnvironmentUnavailable):
        used = choose()
    for name, backend in BACKENDS.items():
        if not backend.automatic:
            continue
        tried = probe(name)
        said = f"does not work: {tried.words}"
        if tried.works:
            said = "works"
        if name == used:
            said = "works, and is used"
        yield f"  {name:<14}{said}"


def _keys() -> Iterator[str]:
    """Yield a line for each provider whose package is installed. No key is printed."""
    yield f"  {'demo':<14}rules, not an LLM; plays alfworld, hotpotqa and fever without a key"
    for provider, (package, variable) in PROVIDERS.items():
        if find_spec(package) is None:
            continue
        said = f"{variable} is not set"
        if os.environ.get(variable):
            said = f"{variable} is set"
        yield f"  {provider:<14}{said}"


def _asked(name: str, base_url: str | None) -> tuple[bool, str]:
    """Ask a model for a word. Returns whether it answers, and the answer or the trouble in words."""
    from langchain_core.messages import HumanMessage

    from langgraph_reflexion.errors import ModelFault
    from langgraph_reflexion.lab.settings import ReflexionSettings
    from langgraph_reflexion.models.calls import CallId
    from langgraph_reflexion.models.client import Client
    from langgraph_reflexion.support.sync import run_blocking

    settings = ReflexionSettings.read({"model": name, "base_url": base_url, "timeout": SECONDS, "retries": 1})
    client = Client(settings.load(name), settings.model_options())
    call = CallId(settings.seed, "doctor", 1, "doctor")
    began = time.perf_counter()
    try:
        # Not on a loop of its own: LangChain shares its connections, which would outlive that loop.
        reply = run_blocking(client.ask([HumanMessage("Answer with the word yes.")], {}, call))
    except ModelFault as fault:
        return False, f"does not answer: {printable(str(fault))}"
    seconds = time.perf_counter() - began
    return True, f"answered in {seconds:.1f} s: {printable(reply.text)[:50]!r}"
