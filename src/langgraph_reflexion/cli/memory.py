"""The command line's `memory`: lessons that outlive their task, listed, edited, retired and carried elsewhere."""

import asyncio
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from langgraph_reflexion.cli.options import AsJson
from langgraph_reflexion.errors import ConfigurationError

T = TypeVar("T")

memory = typer.Typer(help="Lessons that outlive their task (`run ... --lessons`).", no_args_is_help=True)

Where = Annotated[
    str, typer.Argument(metavar="LESSONS", help="A SQLite file, or postgresql://user:password@host/name.")
]
Id = Annotated[str, typer.Argument(metavar="ID", help="The lesson's id, or how it begins.")]
Of = Annotated[str | None, typer.Option("--env", help="The environment.  [default: the only one that there is]")]
User = Annotated[str | None, typer.Option(help="Whose lessons.  [default: everyone's]")]


@memory.command("list")
def list_lessons(
    lessons: Where,
    env: Of = None,
    user: User = None,
    as_json: AsJson = False,
) -> None:
    """List lessons: how many trials taught and were told each, and how many of those succeeded."""

    async def work(bank: Any) -> list[dict[str, Any]]:
        return [_numbers(lesson) for lesson in (await bank.book()).lessons.values()]

    found = _with(lessons, env, user, work)
    if as_json:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    typer.echo("id                taught  recalled  succeeded           text")
    for each in found:
        mark = "retired" if each["retired"] else ""
        line = " ".join(each["text"].split())
        counts = f"{each['sources']:>6}  {each['recalled']:>8}  {each['succeeded']:>9}"
        typer.echo(f"{each['id']}  {counts}  {mark:<8}  {line if len(line) <= 100 else line[:96] + ' ...'}")
    typer.echo(f"{len(found)} lessons, {sum(each['retired'] for each in found)} of them retired")


@memory.command()
def show(
    lessons: Where,
    lesson: Id,
    env: Of = None,
    user: User = None,
    as_json: AsJson = False,
) -> None:
    """Show a lesson: its text, the trials that taught it, its numbers, and the trials that were told it."""
    found = _find(lessons, env, user, lesson)
    if as_json:
        sources = [source for _, source in found.sources]
        whole = _numbers(found) | {"sources": sources, "uses": found.uses, "edits": found.edits}
        typer.echo(json.dumps(whole, indent=2, ensure_ascii=False))
        return
    from langgraph_reflexion.experiments.printable import printable
    from langgraph_reflexion.memory.files import told

    typer.echo(f"{found.id}{'  retired' if found.retired else ''}\n")
    typer.echo("\n".join(f"  {printable(line)}" for line in found.text.split("\n")))
    typer.echo(f"\nRecalled in {found.recalled} trials, of which {found.succeeded} succeeded.")
    if found.expected is not None:
        typer.echo(f"Without it, {found.expected:.0%} of such first trials succeed.")
    for _, source in found.sources:
        typer.echo(f"- {printable(told(source))}")
    for use in found.uses:
        run = f", run {use['run']}" if use["run"] else ""
        outcome = "succeeded" if use["success"] else "failed"
        typer.echo(printable(f"- Told to {use['task']}, trial {use['trial']}, which {outcome}{run}"))
    for edit in found.edits:
        what = ", ".join(name for name in edit if name not in ("lesson", "date"))
        typer.echo(f"- Edited by a person on {edit['date'][:10]}: {what}")


@memory.command()
def edit(
    lessons: Where,
    lesson: Id,
    file: Annotated[
        Path | None, typer.Option(help="The new text; - for standard input.  [default: $EDITOR is opened]")
    ] = None,
    env: Of = None,
    user: User = None,
) -> None:
    """Change what a lesson says. Where it is from, and its numbers, stay."""
    from langgraph_reflexion.memory.items import plain

    before = _find(lessons, env, user, lesson).text
    text = plain(_edited(before) if file is None else _read(file))
    if not text:
        raise ConfigurationError("the new text is empty: to be rid of a lesson, retire it")
    if text == before:
        typer.echo("nothing has changed")
        return
    typer.echo(f"{_change(lessons, env, user, lesson, text=text)} is edited")


@memory.command()
def retire(lessons: Where, lesson: Id, env: Of = None, user: User = None) -> None:
    """Recall a lesson no more, whatever its numbers."""
    typer.echo(f"{_change(lessons, env, user, lesson, retired=True)} is retired")


@memory.command()
def restore(lessons: Where, lesson: Id, env: Of = None, user: User = None) -> None:
    """Recall a lesson again, whatever its numbers."""
    typer.echo(f"{_change(lessons, env, user, lesson, retired=False)} may be recalled again")


@memory.command()
def merge(
    lessons: Where,
    lesson: Annotated[str | None, typer.Argument(metavar="ID", help="The lesson that is given up.")] = None,
    into: Annotated[str | None, typer.Argument(metavar="INTO", help="The one that takes its numbers over.")] = None,
    env: Of = None,
    user: User = None,
) -> None:
    """Make one lesson of two; without ids, list lessons that are much alike."""
    if lesson and into:
        kept = _find(lessons, env, user, into).id
        typer.echo(f"{_change(lessons, env, user, lesson, into=kept)} is merged into {kept}")
        return
    if lesson:
        raise ConfigurationError(f"say into which lesson {lesson} is to be merged")

    async def alike(bank: Any) -> list[tuple[Any, Any, float]]:
        from langgraph_reflexion.memory.alike import alike

        return alike(await bank.book())

    pairs = _with(lessons, env, user, alike)
    for one, other, ratio in pairs:
        typer.echo(f"{one.id} {other.id}  alike by {ratio:.0f} of 100")
        typer.echo("\n".join(f"    {' '.join(each.text.split())[:110]}" for each in (one, other)))
    typer.echo(f"{len(pairs)} pairs: merge one with langgraph-reflexion memory merge LESSONS ID INTO")


@memory.command("export")
def export_lessons(
    lessons: Where,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="*.jsonl, or *.md to read and edit.")],
    env: Of = None,
    user: User = None,
) -> None:
    """Write all lessons to a file."""

    async def work(bank: Any) -> int:
        from langgraph_reflexion.memory.files import write_lessons

        book = await bank.book()
        write_lessons(book, file)
        return len(book.lessons)

    typer.echo(f"{_with(lessons, env, user, work)} lessons written to {file}")


@memory.command("import")
def import_lessons(
    lessons: Where,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="*.jsonl or *.md.")],
    env: Of = None,
    user: User = None,
) -> None:
    """Add the lessons of a file, none twice. In Markdown a changed text is an edit."""

    async def work(bank: Any) -> tuple[int, int]:
        from langgraph_reflexion.memory.files import read_lessons

        return await read_lessons(bank, file)

    new, edited = _with(lessons, env, user, work, make=True)
    typer.echo(f"{new} lessons are new, {edited} texts were edited")


def _with(
    where: str, env: str | None, user: str | None, work: Callable[[Any], Awaitable[T]], make: bool = False
) -> T:
    """Do something with the lessons of a store."""
    from langgraph_reflexion.memory.bank import Bank, environments
    from langgraph_reflexion.memory.opening import expect_lessons, open_lessons

    async def run() -> T:
        async with open_lessons(where) as store:
            there = await environments(store)
            if len(there) != 1 if env is None else env not in there and not make:
                known = f"there are lessons of {', '.join(there)}" if there else "there are none yet"
                raise ConfigurationError(f"say --env: {known}")
            return await work(Bank(store, env or there[0], user))

    if not make:
        expect_lessons(where)
    return asyncio.run(run())


def _find(where: str, env: str | None, user: str | None, lesson: str) -> Any:
    """A lesson by how its id begins."""

    async def work(bank: Any) -> Any:
        from langgraph_reflexion.memory.bank import known_lesson

        return known_lesson(await bank.book(), lesson)

    return _with(where, env, user, work)


def _change(where: str, env: str | None, user: str | None, lesson: str, **change: Any) -> str:
    """Write down what a person did to a lesson. Returns its id."""

    async def work(bank: Any) -> str:
        from langgraph_reflexion.memory.bank import known_lesson
        from langgraph_reflexion.memory.lessons import now

        found = known_lesson(await bank.book(), lesson)
        if change.get("into") == found.id:
            raise ConfigurationError(f"{found.id} cannot be merged into itself")
        await bank.edit({"lesson": found.id, "date": now(), **change})
        return str(found.id)

    return _with(where, env, user, work)


def _numbers(lesson: Any) -> dict[str, Any]:
    numbers = {"sources": len(lesson.sources), "recalled": lesson.recalled, "succeeded": lesson.succeeded}
    return {"id": lesson.id, "text": lesson.text, "from": lesson.outcomes, "retired": lesson.retired, **numbers}


def _read(file: Path) -> str:
    if str(file) == "-":
        return sys.stdin.read()
    from langgraph_reflexion.memory.files import read_text

    return read_text(file)


def _edited(text: str) -> str:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        raise ConfigurationError(
            "there is no $EDITOR: give the new text with --file FILE, or --file - for standard input"
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "lesson.txt")
        path.write_text(text, encoding="utf-8")
        try:
            subprocess.run([*shlex.split(editor), str(path)], check=True)
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            raise ConfigurationError(f"{editor} did not edit the lesson: {error}") from error
        return _read(path)
