"""The command line: run, resume, apply, play; the other commands have modules of their own.

Exit status: 0 the run finished, however much was solved; 1 some task ended as a fault or on a budget; 2 wrong
use, or nothing could start. Whatever goes wrong is one line on standard error. Everything heavy is imported
inside the commands, so that `--help` is quick.
"""

import contextlib
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from langgraph_reflexion import __version__
from langgraph_reflexion.errors import ConfigurationError, ModelFault, ReflexionError
from langgraph_reflexion.grade_command import grade
from langgraph_reflexion.report_command import report, show
from langgraph_reflexion.sandbox_command import sandbox
from langgraph_reflexion.upstream_command import register

DEBUG = "LANGGRAPH_REFLEXION_DEBUG"
"""The environment variable that asks for the traceback of an error that nobody foresaw."""

OPEN = {"allow_extra_args": True, "ignore_unknown_options": True}
"""How a command is declared whose other options, `--name value`, are the environment's."""

app = typer.Typer(
    help="The Reflexion agent as a LangGraph state machine.",
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(sandbox, name="sandbox")
app.command()(grade)
app.command()(report)
app.command()(show)

# Typer brings its own copy of click in newer versions, and uses the installed one in older ones.
_UsageError: type[Exception] = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")

Env = Annotated[
    str,
    typer.Argument(
        metavar="ENV",
        help="alfworld, hotpotqa, programming, webshop, workspace, or the path of your own: package.module:Class.",
    ),
]
Split = Annotated[str | None, typer.Option(help="Set of tasks.  [default: the environment's first]")]
Seed = Annotated[int, typer.Option(help="Seeds the run, and the tasks where they are generated.")]
Options = Annotated[
    list[str],
    typer.Option(
        "--option",
        metavar="KEY=VALUE",
        help="Option of the environment; may be repeated. So is any other --KEY VALUE.",
    ),
]
Database = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Postgres instead of the run folder: postgresql://user:password@host/name."),
]
Budgets = Annotated[
    list[str],
    typer.Option(
        "--budget",
        metavar="SCOPE.WHAT=N",
        help="Limit of a trial, task or run on actions, llm_calls, tokens, cost or seconds; may be repeated.",
    ),
]
CacheFile = Annotated[
    Path | None, typer.Option("--cache", help="A file that keeps model answers, for when the same run is run again.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def main() -> None:
    """The console script."""
    # Where the user is, `package.module:Class` is found, after everything that is installed.
    with contextlib.suppress(OSError):  # it may have been removed
        sys.path.append(os.getcwd())
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        status = app(standalone_mode=False)
    except _UsageError as error:
        status = _fail(error.format_message())  # type: ignore[attr-defined]
    except ModelFault as error:
        status = _fail(f"{error} (is the server up? check --model, --base-url, and the key)")
    except ReflexionError as error:
        status = _fail(str(error))
    except (typer.Abort, KeyboardInterrupt):
        status = _fail("stopped", 130)
    except BrokenPipeError:
        # Whoever read the output has left; what is still to be written has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    except Exception as error:
        if os.environ.get(DEBUG):
            raise
        status = _fail(f"{type(error).__name__}: {error} (for the traceback, set {DEBUG}=1)")
    sys.exit(status)


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        typer.echo(f"langgraph-reflexion {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)


@app.command(context_settings=OPEN)
def run(
    context: typer.Context,
    env: Env,
    split: Split = None,
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many tasks.  [default: all]")] = None,
    trials: Annotated[
        int | None, typer.Option(min=1, help="At most so many trials per task.  [default: the profile's]")
    ] = None,
    strategy: Annotated[
        str | None,
        typer.Option(
            help="What a retry sees: retry, last_attempt, reflexion or last_attempt_and_reflexion."
            "  [default: the profile's, mostly reflexion]"
        ),
    ] = None,
    model: Annotated[
        str,
        typer.Option(help="demo (needs no key, is no LLM), or PROVIDER:MODEL such as openai:gpt-4o-mini."),
    ] = "demo",
    reflection_model: Annotated[
        str | None, typer.Option(help="Reflects, and judges for --evaluator llm.  [default: --model]")
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(help="An OpenAI-compatible server, with --model openai:NAME; with demo, the environment's own."),
    ] = None,
    temperature: Annotated[
        float | None, typer.Option(min=0, help="How random the answers are.  [default: the server's]")
    ] = None,
    timeout: Annotated[float, typer.Option(min=0.01, help="Seconds that one model call may take.")] = 120.0,
    retries: Annotated[int, typer.Option(min=1, help="So often a call or action is tried before it is a fault.")] = 5,
    budget: Budgets = [],  # noqa: B006 - typer copies it
    price: Annotated[
        list[str],
        typer.Option(metavar="MODEL=IN,OUT", help="What a million tokens cost, for --budget ...cost=N and reports."),
    ] = [],  # noqa: B006 - typer copies it
    cache: CacheFile = None,
    seed: Seed = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The run folder; a run that it holds is gone on with.  [default: runs/ENV-SPLIT-STRATEGY-N]"
        ),
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="So many tasks at once.")] = 8,
    agent: Annotated[
        str | None,
        typer.Option(
            help="react (text), tools (tool calls), or a way of the environment's own, such as hotpotqa's cot."
            "  [default: the profile's, mostly react]"
        ),
    ] = None,
    evaluator: Annotated[
        str | None,
        typer.Option(
            help="What passes the verdict: environment (an oracle), llm or self-consistency."
            "  [default: the profile's, mostly environment]"
        ),
    ] = None,
    samples: Annotated[int, typer.Option(min=1, help="So often self-consistency asks again, an odd number.")] = 5,
    feedback: Annotated[
        str | None,
        typer.Option(
            help="How much of the verdict is told: binary, scalar or words.  [default: the profile's, mostly binary]"
        ),
    ] = None,
    profile: Annotated[str, typer.Option(help="Numbers and rules: paper, preprint or upstream.")] = "paper",
    memory_size: Annotated[
        int | None, typer.Option(min=1, help="So many reflections are kept.  [default: the profile's]")
    ] = None,
    option: Options = [],  # noqa: B006 - typer copies it
    stop_without_improvement: Annotated[
        bool | None,
        typer.Option(
            "--stop-without-improvement/--no-stop-without-improvement",
            help="Advance all tasks together, until a trial solves nothing new.  [default: the profile's]",
        ),
    ] = None,
    checkpoints: Annotated[
        str, typer.Option(help="What is kept of the graph's states: latest, which resuming needs, or history.")
    ] = "latest",
    database: Database = None,
    apply: Annotated[
        bool, typer.Option("--apply", help="workspace: write what solved a task back to its own folder.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run an agent on an environment's tasks, and record every trial."""
    from langgraph_reflexion.bench.budgets import raised, read_budgets
    from langgraph_reflexion.bench.settings import SweepSettings
    from langgraph_reflexion.bench.sweep import sweep

    options = _options(option, context.args)
    if base_url and {model, reflection_model or model} == {"demo"}:
        # The demo model has no server, so it is the environment's.
        options, base_url = {"base_url": base_url, **options}, None
    settings = SweepSettings(
        environment=env,
        options=options,
        split=split,
        limit=limit,
        trials=trials,
        strategy=strategy,
        agent=agent,
        evaluator=evaluator,
        samples=samples,
        feedback=feedback,
        profile=profile,
        model=model,
        reflection_model=reflection_model,
        base_url=base_url,
        temperature=temperature,
        timeout=timeout,
        retries=retries,
        budgets=raised({}, read_budgets(budget)),
        prices=dict(_pair("--price", each) for each in price),
        cache=str(cache) if cache else None,
        seed=seed,
        memory_size=memory_size,
        concurrency=concurrency,
        stop_without_improvement=stop_without_improvement,
        checkpoints=checkpoints,
        database=database,
    )
    if apply and env != "workspace":
        raise ConfigurationError(f"--apply goes with workspace, and {env} changes no files of yours")
    raise typer.Exit(_sweep(lambda progress: sweep(settings, out, progress), as_json, apply=apply))


@app.command()
def resume(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A run folder.")],
    trials: Annotated[int | None, typer.Option(min=1, help="Grant every task more trials.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Add tasks, up to so many.")] = None,
    concurrency: Annotated[int | None, typer.Option(min=1, help="So many tasks at once.")] = None,
    budget: Budgets = [],  # noqa: B006 - typer copies it
    timeout: Annotated[float | None, typer.Option(min=0.01, help="Seconds that one model call may take.")] = None,
    retries: Annotated[int | None, typer.Option(min=1, help="So often a call or action is tried.")] = None,
    cache: CacheFile = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Go on with a run where it stands; what ended as a fault or on a budget that was raised is gone on with."""
    from langgraph_reflexion.bench import sweep
    from langgraph_reflexion.bench.budgets import read_budgets

    given: dict[str, Any] = {
        "trials": trials,
        "limit": limit,
        "concurrency": concurrency,
        "budgets": read_budgets(budget),
        "timeout": timeout,
        "retries": retries,
        "cache": str(cache) if cache else None,
        "database": database,
    }
    raise typer.Exit(_sweep(lambda progress: sweep.resume(folder, progress, **given), as_json))


@app.command()
def apply(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A run folder of the workspace.")],
    task: Annotated[str | None, typer.Argument(metavar="TASK", help="The task's id.  [default: all]")] = None,
) -> None:
    """Write what solved a workspace's tasks back to their own folders."""
    from langgraph_reflexion.bench.applying import apply_results

    for line in apply_results(folder, task):
        typer.echo(line)


@app.command(context_settings=OPEN)
def play(
    context: typer.Context,
    env: Env,
    split: Split = None,
    task: Annotated[
        str | None, typer.Option(metavar="ID|N", help="The task's id, or its number from 1.  [default: 1]")
    ] = None,
    seed: Seed = 0,
    option: Options = [],  # noqa: B006 - typer copies it
) -> None:
    """Play an environment yourself."""
    from langgraph_reflexion.bench import play as playing
    from langgraph_reflexion.bench.environment import make_environment

    environment = make_environment(env, _options(option, context.args), seed)
    try:
        chosen = playing.choose_task(environment, split, task)
        for shown in playing.play(environment, chosen, _typed()):
            typer.echo(shown)
    finally:
        environment.close()


register(app)


def _sweep(work: Callable[[Any], Any], as_json: bool, *, apply: bool = False) -> int:
    """Run or go on, with a progress line; print how it went, and apply it if asked to. Returns the exit status."""
    from rich.console import Console

    from langgraph_reflexion.bench.comparison import compare
    from langgraph_reflexion.bench.printed import print_comparison
    from langgraph_reflexion.bench.progress import LiveProgress

    progress = LiveProgress(Console(stderr=True), hidden=as_json)
    try:
        with progress:
            summary = work(progress)
    except KeyboardInterrupt:
        return _fail(f"stopped; {_kept(progress.folder, progress.rows)}", 130)
    except ModelFault as error:
        if not progress.rows:
            raise
        raise ModelFault(f"{error}; {_kept(progress.folder, progress.rows)}", permanent=True) from error
    if as_json:
        typer.echo(json.dumps(summary.as_json(), indent=2))
    else:
        print_comparison(Console(), compare([summary.report.folder]))
        counts = ", ".join(f"{count} {status}" for status, count in summary.statuses.items() if count)
        typer.echo(f"{counts} in {summary.seconds:.1f} s. Recorded in {summary.report.folder}")
    if apply:
        from langgraph_reflexion.bench.applying import apply_results

        for line in apply_results(summary.report.folder):
            typer.echo(line, err=as_json)
    return 0 if summary.clean else 1


def _typed() -> Iterator[str]:
    """The lines of standard input; a prompt only where a person sits."""
    prompt = "> " if sys.stdin.isatty() else ""
    while True:
        try:
            yield input(prompt)
        except EOFError:
            return


def _options(pairs: list[str], rest: Sequence[str]) -> dict[str, Any]:
    """The environment's options. A value is read as JSON where it is some (`3`, `true`), else as text.

    Args:
        pairs: Those that were given as KEY=VALUE.
        rest: What is left of the command line: those that were given as `--key value` or `--key=value`.
    """
    given = [("--option", pair) for pair in pairs]
    left = iter(rest)
    for word in left:
        name, equals, value = word.partition("=")
        if not re.fullmatch(r"--[a-z][a-z0-9-]*", name):
            raise ConfigurationError(f"{word!r} is neither an option nor the value of one")
        value = value if equals else next(left, "--")
        if value.startswith("--"):
            raise ConfigurationError(
                f"{name} is no option of the command, and as one of the environment wants a value"
            )
        given.append((name, f"{name[2:].replace('-', '_')}={value}"))
    options: dict[str, Any] = {}
    for option, pair in given:
        key, value = _pair(option, pair)
        if not key.isidentifier():
            raise ConfigurationError(f"{option} {pair!r}: write it as KEY=VALUE")
        try:
            options[key] = json.loads(value)
        except ValueError:
            options[key] = value
    return options


def _pair(option: str, text: str) -> tuple[str, str]:
    key, equals, value = text.rpartition("=") if option == "--price" else text.partition("=")
    if not equals or not key:
        raise ConfigurationError(f"{option} {text!r}: write it as KEY=VALUE")
    return key, value


def _kept(folder: Path | None, rows: int) -> str:
    if folder is None or not folder.exists():
        return "nothing had begun"
    return f"the trials finished so far, {rows}, are kept in {folder}: go on with langgraph-reflexion resume {folder}"


def _fail(message: str, status: int = 2) -> int:
    typer.echo(f"langgraph-reflexion: {' '.join(message.split())}", err=True)
    return status
