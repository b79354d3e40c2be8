"""The command line's `run` and `resume`: sweeps, and how environments and their options are named."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from langgraph_reflexion.errors import ConfigurationError, ModelFault

OPEN = {"allow_extra_args": True, "ignore_unknown_options": True}
"""How a command is declared whose other options, `--name value`, are the environment's."""

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
LessonsIn = Annotated[
    str | None,
    typer.Option(
        "--lessons",
        metavar="FILE|URL",
        help="Keep lessons from task to task in a SQLite file, or in Postgres: postgresql://user:password@host/name.",
    ),
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
Workers = Annotated[
    int | None, typer.Option(min=1, help="So many processes share the work.  [default: this one alone]")
]
Engine = Annotated[
    str | None,
    typer.Option(
        help="Where they are: process (this machine) or ray (a cluster; needs --database).  [default: process]"
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


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
    workers: Workers = None,
    engine: Engine = None,
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
    memory: Annotated[
        str,
        typer.Option(help="What is kept of the reflections: window (the last ones), full, or summarised."),
    ] = "window",
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
    memory_map: Annotated[
        bool, typer.Option("--memory-map", help="Tell the model what the world has shown so far, as a map.")
    ] = False,
    lessons: LessonsIn = None,
    user: Annotated[str | None, typer.Option(help="Whose lessons they are.  [default: everyone's]")] = None,
    recall: Annotated[
        bool,
        typer.Option(
            "--recall/--no-recall",
            help="Recall --lessons, one task after the other; or only fill them, any number at once.",
        ),
    ] = True,
    frozen: Annotated[
        bool, typer.Option("--frozen", help="Only read --lessons, for any number of tasks at once.")
    ] = False,
    apply: Annotated[
        bool, typer.Option("--apply", help="workspace: write what solved a task back to its own folder.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run an agent on an environment's tasks, and record every trial."""
    from langgraph_reflexion.bench.budgets import raised, read_budgets
    from langgraph_reflexion.bench.settings import SweepSettings
    from langgraph_reflexion.bench.sweep import sweep

    options = read_options(option, context.args)
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
        memory=memory,
        memory_size=memory_size,
        memory_map=memory_map,
        lessons=lessons,
        user=user,
        recall=recall,
        frozen=frozen,
        concurrency=concurrency,
        workers=workers or 1,
        engine=engine or "process",
        stop_without_improvement=stop_without_improvement,
        checkpoints=checkpoints,
        database=database,
    )
    if apply and env != "workspace":
        raise ConfigurationError(f"--apply goes with workspace, and {env} changes no files of yours")
    raise typer.Exit(_sweep(lambda progress: sweep(settings, out, progress), as_json, apply=apply))


def resume(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A run folder.")],
    trials: Annotated[int | None, typer.Option(min=1, help="Grant every task more trials.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Add tasks, up to so many.")] = None,
    concurrency: Annotated[int | None, typer.Option(min=1, help="So many tasks at once.")] = None,
    workers: Workers = None,
    engine: Engine = None,
    budget: Budgets = [],  # noqa: B006 - typer copies it
    timeout: Annotated[float | None, typer.Option(min=0.01, help="Seconds that one model call may take.")] = None,
    retries: Annotated[int | None, typer.Option(min=1, help="So often a call or action is tried.")] = None,
    cache: CacheFile = None,
    database: Database = None,
    lessons: LessonsIn = None,
    as_json: AsJson = False,
) -> None:
    """Go on with a run where it stands; what ended as a fault or on a budget that was raised is gone on with."""
    from langgraph_reflexion.bench import sweep
    from langgraph_reflexion.bench.budgets import read_budgets

    given: dict[str, Any] = {
        "trials": trials,
        "limit": limit,
        "concurrency": concurrency,
        "workers": workers,
        "engine": engine,
        "budgets": read_budgets(budget),
        "timeout": timeout,
        "retries": retries,
        "cache": str(cache) if cache else None,
        "database": database,
        "lessons": lessons,
    }
    raise typer.Exit(_sweep(lambda progress: sweep.resume(folder, progress, **given), as_json))


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
        return fail(f"stopped; {_kept(progress.folder, progress.rows)}", 130)
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


def read_options(pairs: list[str], rest: Sequence[str]) -> dict[str, Any]:
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


def fail(message: str, status: int = 2) -> int:
    """Say in one line what went wrong. Returns the exit status."""
    typer.echo(f"langgraph-reflexion: {' '.join(message.split())}", err=True)
    return status
