"""The command `lessons`: list, show and retire lessons across tasks."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from langgraph_reflexion.cli.basics import AsJson, suggest
from langgraph_reflexion.errors import ConfigurationError

if TYPE_CHECKING:
    from langgraph_reflexion.memory.store import LessonSnapshot, LessonStore

T = TypeVar("T")

lessons = typer.Typer(help="Manage the lessons that `run --lessons` keeps.", no_args_is_help=True)

Where = Annotated[
    str, typer.Argument(metavar="LESSONS", help="A SQLite file, or postgresql://user:password@host/name.")
]
Id = Annotated[str, typer.Argument(metavar="ID", help="The lesson's id, or its beginning.")]
Env = Annotated[
    str | None, typer.Option("--env", metavar="NAME", help="The environment.  [default: the only one in the store]")
]
User = Annotated[
    str | None, typer.Option(metavar="NAME", help="The user whose lessons they are.  [default: everyone's]")
]


@lessons.command("list")
def list_lessons(where: Where, env: Env = None, user: User = None, as_json: AsJson = False) -> None:
    """List lessons with the number of trials that taught them."""
    found: list[dict[str, Any]] = [
        {
            "id": each.id,
            "text": each.text,
            "from": each.outcomes,
            "retired": each.retired,
            "sources": len(each.sources),
        }
        for each in _snapshot(where, env, user).lessons.values()
    ]
    if as_json:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    typer.echo("id                sources           text")
    for each in found:
        mark = "retired" if each["retired"] else ""
        line = " ".join(each["text"].split())
        typer.echo(
            f"{each['id']}  {each['sources']:>7}  {mark:<8}  {line if len(line) <= 100 else line[:96] + ' ...'}"
        )
    typer.echo(f"{len(found)} lessons, {sum(each['retired'] for each in found)} of them retired")
    if found:
        _suggest("show", where, found[0]["id"], env, user)


@lessons.command()
def show(where: Where, lesson: Id, env: Env = None, user: User = None) -> None:
    """Show a lesson and its sources."""
    from langgraph_reflexion.printable import printable

    found = _snapshot(where, env, user).find(lesson)
    typer.echo(f"{found.id}{'  retired' if found.retired else ''}\n")
    typer.echo("\n".join(f"  {printable(line)}" for line in found.text.split("\n")))
    typer.echo()
    for source in found.sources:
        by = f"{source.model}, profile {source.profile}{f', run {source.thread}' if source.thread else ''}"
        trial = f"{source.task}, trial {source.trial}, on {source.date[:10]}"
        typer.echo(printable(f"- From the {source.outcome} of {trial} ({by})"))
    for edit in found.edits:
        typer.echo(f"- {'Retired' if edit.retired else 'Restored'} by a person on {edit.date[:10]}")
    _suggest("restore" if found.retired else "retire", where, found.id, env, user)


@lessons.command()
def retire(where: Where, lesson: Id, env: Env = None, user: User = None) -> None:
    """Stop recalling a lesson."""
    _change(where, env, user, lesson, retired=True)


@lessons.command()
def restore(where: Where, lesson: Id, env: Env = None, user: User = None) -> None:
    """Recall a lesson again."""
    _change(where, env, user, lesson, retired=False)


def _suggest(command: str, where: str, lesson: str, env: str | None, user: str | None) -> None:
    suggest("lessons", command, where, lesson, *(["--env", env] if env else []), *(["--user", user] if user else []))


def _with(where: str, env: str | None, user: str | None, work: Callable[["LessonStore"], Awaitable[T]]) -> T:
    from langgraph_reflexion.memory.store import LessonStore, environments, expect_lessons, open_lessons

    async def run() -> T:
        async with open_lessons(where) as store:
            present = await environments(store)
            if len(present) != 1 if env is None else env not in present:
                known = f"lessons of {', '.join(present)}" if present else "no lessons yet"
                raise ConfigurationError(f"name the environment with --env: the store has {known}")
            return await work(LessonStore(store, env or present[0], user))

    expect_lessons(where)
    return asyncio.run(run())


def _snapshot(where: str, env: str | None, user: str | None) -> "LessonSnapshot":
    return _with(where, env, user, lambda store: store.snapshot())


def _change(where: str, env: str | None, user: str | None, lesson: str, *, retired: bool) -> None:
    """Record a person's decision, and say that it is done."""

    async def work(store: "LessonStore") -> str:
        from langgraph_reflexion.memory.lessons import now
        from langgraph_reflexion.memory.records import LessonEdit

        found = (await store.snapshot()).find(lesson).id
        await store.add([LessonEdit(lesson=found, date=now(), retired=retired)])
        return found

    typer.echo(f"{_with(where, env, user, work)} {'is retired' if retired else 'may be recalled again'}")
    _suggest("show", where, lesson, env, user)
