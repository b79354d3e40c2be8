"""The `sandbox` command: probes of the backends on this machine, and a command in a sandbox."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.cli.basics import AsJson, fail, print_json, suggest

if TYPE_CHECKING:
    from langgraph_reflexion.envs.sandbox.backends import Backend, Probe

sandbox = typer.Typer(
    help="Check the sandboxes for untrusted code on this machine.",
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@sandbox.callback()
def show(context: typer.Context, as_json: AsJson = False) -> None:
    """Probe each backend by running a command in it, and print what it contains."""
    if context.invoked_subcommand is not None:
        return
    from langgraph_reflexion.envs.sandbox.backends import BACKENDS, probe

    tried = {name: probe(name) for name in BACKENDS}
    usable = [name for name, backend in BACKENDS.items() if backend.automatic and tried[name].works]
    default = ""
    if usable:
        default = usable[0]
    if as_json:
        rows = {}
        for name, backend in BACKENDS.items():
            rows[name] = _row(backend, tried[name], is_default=name == default)
        print_json(rows)
        return
    for name, backend in BACKENDS.items():
        _print(name, backend, tried[name], is_default=name == default)
    if default:
        suggest("sandbox", "exec", "--", "id")


def _row(backend: "Backend", probed: "Probe", *, is_default: bool) -> dict[str, Any]:
    """Return what is known of a backend as JSON."""
    return {
        "works": probed.works,
        "probe": probed.words,
        "contains": backend.contains,
        "lets_through": backend.lets_through,
        "fix": backend.fix,
        "default": is_default,
    }


def _print(name: str, backend: "Backend", probed: "Probe", *, is_default: bool) -> None:
    """Print what is known of a backend."""
    works = "works"
    if not probed.works:
        works = "does not work"
    if is_default:
        works += ", the default"
    typer.echo(f"{name}: {works}")
    typer.echo(f"  probe: {probed.words}")
    typer.echo(f"  contains: {backend.contains}")
    typer.echo(f"  lets through: {backend.lets_through}")
    if not probed.works:
        typer.echo(f"  to fix it, {backend.fix}")


@sandbox.command("exec")
def execute(
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND...", help="The command and its arguments.")],
    backend: Annotated[
        str | None, typer.Option(metavar="NAME", help="bubblewrap or landlock.  [default: the first that works]")
    ] = None,
    workspace: Annotated[
        str | None, typer.Option(metavar="DIR", help="A folder to work in; its files may be changed.")
    ] = None,
    own: Annotated[
        bool, typer.Option("--own", help="Also allow changes to .git and similar there, and Unix sockets.")
    ] = False,
    network: Annotated[bool, typer.Option("--network", help="Allow the network.")] = False,
    wall: Annotated[float, typer.Option(metavar="SECONDS", min=0.001, max=1e8, help="Wall time limit.")] = 300.0,
    memory: Annotated[int, typer.Option(metavar="MB", min=4, max=1 << 40, help="Memory limit.")] = 2048,
    allow_degraded: Annotated[
        bool, typer.Option("--allow-degraded", help="Allow Landlock, which is weaker, in a folder.")
    ] = False,
) -> None:
    """Run a command in a sandbox. The exit status is the command's, or 124 if a limit ended it."""
    from langgraph_reflexion.envs.sandbox import Bind, Limits, Policy, Sandbox

    if workspace == "":
        raise ConfigurationError("--workspace '': give a folder, such as .")
    folder = None
    binds: tuple[Bind, ...] = ()
    if workspace is not None:
        folder = _absolute(workspace)
        binds = (Bind(folder, writable=True, own=own),)
    limits = Limits(
        wall=wall,
        # Four processors may be busy all the time.
        cpu=4 * wall,
        memory=memory << 20,
        processes=256,
        descriptors=1024,
        disk=1 << 30,
    )
    policy = Policy(network=network, binds=binds)
    runner = Sandbox(backend, allow_degraded=allow_degraded)
    with _terminal_as_before():
        done = runner.run(command, cwd=folder, limits=limits, policy=policy, inherit=True)
    if done.status not in ("ok", "failed"):
        raise typer.Exit(fail(f"ended by the sandbox: {done.status}", 124))
    raise typer.Exit(done.exit_code)


def _absolute(workspace: str) -> Path:
    """Return the path of a workspace from the root."""
    try:
        return Path(workspace).absolute()
    except OSError as error:  # the current folder has been removed
        raise ConfigurationError(f"--workspace {workspace}: {error.strerror or error}") from None


@contextlib.contextmanager
def _terminal_as_before() -> Iterator[None]:
    """Restore the terminal's modes and flags, which a program on it may change."""
    import fcntl
    import termios

    held = {}
    for stream in range(3):
        if os.isatty(stream):
            modes = termios.tcgetattr(stream)
            flags = fcntl.fcntl(stream, fcntl.F_GETFL)
            held[stream] = (modes, flags)
    try:
        yield
    finally:
        for stream, (modes, flags) in held.items():
            # A program may have claimed the terminal for itself alone.
            fcntl.ioctl(stream, termios.TIOCNXCL)
            fcntl.fcntl(stream, fcntl.F_SETFL, flags)
            termios.tcsetattr(stream, termios.TCSADRAIN, modes)
