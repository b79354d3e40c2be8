"""The commands of `lessons` for learning later and for reviews: learn, pending, approve, reject."""

import json
from typing import Annotated

import typer

from langgraph_reflexion.lab.cli.basics import AsJson
from langgraph_reflexion.lab.cli.lessons import By, Env, Id, User, Where, change, environment_of, lessons, snapshot_of

Model = Annotated[str, typer.Option(metavar="NAME", help="The model that writes the lessons: PROVIDER:MODEL.")]


@lessons.command()
def pending(where: Where, env: Env = None, user: User = None, as_json: AsJson = False) -> None:
    """List the lessons that wait for a person, with what in them to look at twice."""
    from langgraph_reflexion.memory.review import signs_in
    from langgraph_reflexion.support.text import count, printable

    snapshot = snapshot_of(where, env, user)
    # Also those that had to make room for others: they wait all the same.
    found = [lesson for lesson in snapshot.lessons.values() if lesson.pending]
    if as_json:
        rows = []
        for each in found:
            tasks = sorted(each.tasks)
            row = {"id": each.id, "text": each.text, "signs": signs_in(each.text), "tasks": tasks}
            rows.append(row)
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    for each in found:
        source = each.first_source
        typer.echo(f"{each.id}  from the {source.outcome} of {printable(source.task)}")
        # Each line is indented, so that no lesson can forge an entry of this list.
        for line in each.text.split("\n"):
            typer.echo(f"  {printable(line)}")
        signs = signs_in(each.text)
        if signs:
            typer.echo(f"  ! It has {', '.join(signs)}.")
    typer.echo(f"{count(len(found), 'lesson')} to approve or to reject")


@lessons.command()
def approve(where: Where, lesson: Id, env: Env = None, user: User = None, by: By = None) -> None:
    """Let a pending lesson be recalled."""
    change(where, env, user, lesson, "is approved", by=by, approved=True)


@lessons.command()
def reject(where: Where, lesson: Id, env: Env = None, user: User = None, by: By = None) -> None:
    """Never recall a pending lesson; `restore` takes that back."""
    change(where, env, user, lesson, "is rejected", by=by, approved=False)


@lessons.command()
def learn(
    where: Where,
    model: Model,
    env: Env = None,
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Address of an OpenAI-compatible server.")
    ] = None,
    concurrency: Annotated[int, typer.Option(metavar="N", help="Users learned for at the same time.", min=1)] = 4,
    budget: Annotated[
        float | None, typer.Option(metavar="MONEY", help="What learning may cost for each user altogether.", min=0)
    ] = None,
    price: Annotated[
        str | None, typer.Option(metavar="IN,OUT[,CACHED]", help="Price per million tokens of the model.")
    ] = None,
    limit: Annotated[int | None, typer.Option(metavar="N", help="Lessons of a user, at most.", min=1)] = None,
) -> None:
    """Learn from the trials that were queued by `Lessons(learn="later")`, as a nightly job does."""
    import asyncio

    from langgraph_reflexion.graph.later import alearn_queued
    from langgraph_reflexion.lab.learner import learner
    from langgraph_reflexion.lab.settings import ReflexionSettings
    from langgraph_reflexion.memory.databases import expect_lessons
    from langgraph_reflexion.memory.store import open_lessons
    from langgraph_reflexion.memory.users import environments
    from langgraph_reflexion.support.text import count

    prices = {}
    if price is not None:
        # Prices are given for a model's name without its provider.
        _, _, name = model.partition(":")
        prices[name or model] = price
    settings = ReflexionSettings.read({"model": model, "base_url": base_url, "prices": prices})
    expect_lessons(where)

    async def run() -> dict[str, int]:
        async with open_lessons(where) as store:
            known = await environments(store)
            environment = environment_of(known, env, create=False)
            made = learner(settings.load(model), environment, limit=limit, options=settings.model_options())
            graph = made.compile(store=store)
            return await alearn_queued(graph, concurrency=concurrency, budget=budget)

    outcomes = asyncio.run(run())
    learned = outcomes.pop("learned", 0)
    typer.echo(f"learned from {count(learned, 'trial')}")
    for outcome, number in sorted(outcomes.items()):
        typer.echo(f"{outcome}: {number}")
