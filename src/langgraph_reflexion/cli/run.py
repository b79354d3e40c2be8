"""The command line's `run` and `resume`: sweeps."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from langgraph_reflexion.cli.options import (
    AsJson,
    Budgets,
    CacheFile,
    Database,
    Engine,
    Env,
    LessonsIn,
    Options,
    Seed,
    Split,
    Workers,
    fail,
    naming_options,
    pair,
    read_options,
)
from langgraph_reflexion.errors import ConfigurationError, ModelFault


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
            help="What passes the verdict: environment (an oracle), llm, self-consistency, self-tests (of programs)"
            " or none.  [default: the profile's, mostly environment]"
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
        str, typer.Option(help="The checkpoints to keep: latest, which resuming needs, or history, for time travel.")
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
    from langgraph_reflexion.envs import ENVIRONMENTS
    from langgraph_reflexion.experiments.budgets import raised, read_budgets
    from langgraph_reflexion.experiments.runner import sweep
    from langgraph_reflexion.experiments.settings import SweepSettings

    options = read_options(option, context)
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
        prices=dict(pair("--price", each) for each in price),
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
    notice = ""
    if model == "demo" and env not in {*ENVIRONMENTS, *ENVIRONMENTS.values()}:
        notice = (
            "the demo model knows only the environments that ship, and may solve nothing here: "
            f"langgraph-reflexion play {env}, or choose another --model"
        )
    with naming_options(context, env):
        status = _sweep(lambda progress: sweep(settings, out, progress), as_json, apply=apply, notice=notice)
    raise typer.Exit(status)


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
    from langgraph_reflexion.experiments import runner as sweep
    from langgraph_reflexion.experiments.budgets import read_budgets

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


def _sweep(work: Callable[[Any], Any], as_json: bool, *, apply: bool = False, notice: str = "") -> int:
    """Run or go on, with a notice and a progress line; print how it went, and apply it if asked to.

    Returns the exit status.
    """
    from rich.console import Console

    from langgraph_reflexion.experiments.comparison import compare
    from langgraph_reflexion.experiments.progress import LiveProgress
    from langgraph_reflexion.experiments.terminal import print_comparison

    progress = LiveProgress(Console(stderr=True), hidden=as_json, notice=notice)
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
        print_comparison(Console(), compare([summary.report.folder]), hint=False)
        counts = ", ".join(f"{count} {status}" for status, count in summary.statuses.items() if count)
        typer.echo(f"{counts} in {summary.seconds:.1f} s. Recorded in {summary.report.folder}")
    if apply:
        from langgraph_reflexion.experiments.apply import apply_results

        for line in apply_results(summary.report.folder):
            typer.echo(line, err=as_json)
    return 0 if summary.clean else 1


def _kept(folder: Path | None, rows: int) -> str:
    if folder is None or not folder.exists():
        return "nothing had begun"
    return f"the trials finished so far, {rows}, are kept in {folder}: go on with langgraph-reflexion resume {folder}"
