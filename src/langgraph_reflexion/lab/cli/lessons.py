"""The command `lessons`: list, show, edit, retire, export, import and forget lessons across tasks."""

import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.cli.basics import AsJson, suggest

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore

    from langgraph_reflexion.memory.records import LessonSource, LessonUse
    from langgraph_reflexion.memory.snapshot import Lesson, LessonSnapshot
    from langgraph_reflexion.memory.store import LessonStore

T = TypeVar("T")

SHOWN_USERS = 20
"""Users that `lessons list` names."""

lessons = typer.Typer(help="Manage the lessons that `run --lessons FILE` keeps.", no_args_is_help=True)

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
By = Annotated[str | None, typer.Option(metavar="NAME", help="Who decides.  [default: the name of the login]")]


class Format(StrEnum):
    """The formats that lessons are exported in."""

    JSONL = "jsonl"
    SKILL = "skill"
    AGENTS_MD = "agents-md"


@lessons.command("list")
def list_lessons(where: Where, env: Env = None, user: User = None, as_json: AsJson = False) -> None:
    """List lessons with their statistics.

    These are the trials that taught a lesson, those that recalled it, and the successes among them.
    """
    found = list(snapshot_of(where, env, user).lessons.values())
    if as_json:
        typer.echo(json.dumps([_as_json(each) for each in found], indent=2, ensure_ascii=False))
        return
    typer.echo("id                sources  recalled  succeeded           text")
    for each in found:
        typer.echo(_in_a_line(each))
    retired = [each for each in found if each.retired]
    typer.echo(f"{len(found)} lessons, {len(retired)} of them retired")
    if not user:
        _say_users(where, env)
    if found:
        _suggest("show", where, found[0].id, env, user)


def _in_a_line(lesson: "Lesson") -> str:
    """Return a lesson as a row of the list, with its text cut short."""
    text = " ".join(lesson.text.split())
    if len(text) > 100:
        text = f"{text[:96]} ..."
    counts = f"{lesson.tally.sources:>7}  {lesson.recalled:>8}  {lesson.succeeded:>9}"
    return f"{lesson.id}  {counts}  {_mark(lesson):<8}  {text}"


def _say_users(where: str, env: str | None) -> None:
    """Print the users who have lessons of their own, if there are any."""
    from langgraph_reflexion.support.text import printable

    users = _with(where, env, None, lambda store: store.users())
    if not users:
        return
    names = ", ".join(printable(user) for user in users[:SHOWN_USERS])
    if len(users) > SHOWN_USERS:
        names += f" and {len(users) - SHOWN_USERS} more"
    typer.echo(f"These are everyone's. Users with lessons of their own (--user NAME): {names}")


def _as_json(lesson: "Lesson") -> dict[str, Any]:
    """Return a lesson with its statistics as JSON."""
    return {
        "id": lesson.id,
        "text": lesson.text,
        "from": lesson.outcomes,
        "retired": lesson.retired,
        "archived": lesson.archived,
        "pending": lesson.pending,
        "sources": lesson.tally.sources,
        "recalled": lesson.recalled,
        "succeeded": lesson.succeeded,
    }


def _mark(lesson: "Lesson") -> str:
    """Return why a lesson is not recalled, in a word; empty if it may be."""
    if lesson.archived:
        return "archived"
    if lesson.retired:
        return "retired"
    if lesson.pending:
        return "pending"
    return ""


@lessons.command()
def show(where: Where, lesson: Id, env: Env = None, user: User = None) -> None:
    """Show a lesson, its sources and its latest uses."""
    from langgraph_reflexion.support.text import count, printable

    found = snapshot_of(where, env, user).find(lesson)
    title = f"{found.id}  {_mark(found)}".rstrip()
    typer.echo(f"{title}\n")
    for line in found.text.split("\n"):
        typer.echo(f"  {printable(line)}")
    typer.echo(f"\nRecalled in {found.recalled} trials, of which {found.succeeded} succeeded.")
    if found.expected is not None:
        typer.echo(f"Without it, {found.expected:.0%} of such first trials succeed.")
    for source in found.sources:
        typer.echo(printable(_source_in_words(source)))
        if source.lesson != found.id:
            typer.echo(f"  in other words: {printable(' '.join(source.text.split()))}")
    rest = found.tally.sources - len(found.sources)
    if rest > 0:
        typer.echo(f"- And from {count(rest, 'further source')}")
    for use in found.uses:
        if use.before is None:
            typer.echo(printable(_use_in_words(use)))
    for edit in found.edits:
        changed = [name for name in edit.stored() if name not in ("lesson", "date", "by")]
        who = printable(edit.by or "a person")
        typer.echo(f"- Edited by {who} on {edit.date[:10]}: {', '.join(changed)}")
    if found.retired:
        _suggest("restore", where, found.id, env, user)
    else:
        _suggest("retire", where, found.id, env, user)


def _source_in_words(source: "LessonSource") -> str:
    """Return where a lesson comes from, in a line."""
    if source.outcome == "person":
        return f"- Written by a person: {' '.join(source.instruction.split())}"
    by = f"{source.model}, profile {source.profile}"
    if source.thread:
        by += f", run {source.thread}"
    trial = f"{source.task}, trial {source.trial}, on {source.date[:10]}"
    return f"- From the {source.outcome} of {trial} ({by})"


def _use_in_words(use: "LessonUse") -> str:
    """Return the trial that recalled a lesson, in a line."""
    outcome = "succeeded" if use.success else "failed"
    if use.thread:
        outcome += f", run {use.thread}"
    return f"- Recalled for {use.task}, trial {use.trial}, which {outcome}"


@lessons.command()
def edit(
    where: Where,
    lesson: Id,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The new text; - for standard input.")],
    env: Env = None,
    user: User = None,
    by: By = None,
) -> None:
    """Change the text of a lesson; its sources and statistics are kept."""
    from langgraph_reflexion.memory.records import plain
    from langgraph_reflexion.support.files import read_text

    if str(file) == "-":
        written = sys.stdin.read()
    else:
        written = read_text(file)
    text = plain(written)
    if not text:
        raise ConfigurationError("the new text is empty: retire the lesson instead")
    change(where, env, user, lesson, "is edited", by=by, text=text)


@lessons.command()
def retire(where: Where, lesson: Id, env: Env = None, user: User = None, by: By = None) -> None:
    """Stop recalling a lesson, whatever its statistics."""
    change(where, env, user, lesson, "is retired", by=by, retired=True)


@lessons.command()
def restore(where: Where, lesson: Id, env: Env = None, user: User = None, by: By = None) -> None:
    """Recall a lesson again, whatever its statistics, also one that had to make room for others."""
    change(where, env, user, lesson, "may be recalled again", by=by, retired=False)


@lessons.command("export")
def export_lessons(
    where: Where,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file; for a skill, its folder.")],
    format: Annotated[
        Format,
        typer.Option(
            help="jsonl: all records. skill: the most useful lessons as an Agent Skill. agents-md: as a block in a "
            "Markdown file."
        ),
    ] = Format.JSONL,
    env: Env = None,
    user: User = None,
) -> None:
    """Write lessons to a file."""
    from langgraph_reflexion.memory.importing import write_lessons
    from langgraph_reflexion.memory.markdown import write_agents_md, write_skill
    from langgraph_reflexion.support.text import count

    if format == Format.JSONL:

        async def write(store: "LessonStore") -> int:
            return await write_lessons(store, file)

        records = _with(where, env, user, write)
        lessons = snapshot_of(where, env, user).lessons
        typer.echo(f"{count(records, 'record')} of {count(len(lessons), 'lesson')} written to {file}")
        return

    async def read(store: "LessonStore") -> "tuple[str, LessonSnapshot]":
        return store.environment, await store.snapshot()

    environment, snapshot = _with(where, env, user, read)
    if format == Format.SKILL:
        written = write_skill(snapshot, environment, file)
    else:
        written = write_agents_md(snapshot, file)
    typer.echo(f"{written} of {count(len(snapshot.lessons), 'lesson')} written to {file}")


@lessons.command("import")
def import_lessons(
    where: Where,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="JSON lines; or a Markdown file (.md) with a block of lessons.")
    ],
    env: Env = None,
    user: User = None,
) -> None:
    """Add the new records of a file, or what people have changed in a block of lessons."""
    from langgraph_reflexion.memory.importing import add_records, read_records
    from langgraph_reflexion.support.text import count

    if file.suffix.lower() == ".md":
        _import_block(where, file, env, user)
        return
    records = read_records(file)
    new = _with(where, env, user, lambda store: add_records(store, records), create=True)
    typer.echo(count(new, "new lesson"))
    _suggest("list", where, None, env, user)


def _import_block(where: str, file: Path, env: str | None, user: str | None) -> None:
    """Add what people have changed in a block of lessons, and say how much that is."""
    from langgraph_reflexion.memory.markdown import find_changes, read_block
    from langgraph_reflexion.support.text import count

    block = read_block(file)

    async def work(store: "LessonStore") -> str:
        changes = find_changes(block, await store.snapshot())
        await store.add(changes.records)
        return f"{count(changes.new, 'new lesson')}, {changes.edited} edited, {changes.retired} retired"

    typer.echo(_with(where, env, user, work, create=True))
    typer.echo(f"Export them to {file} again: its block then has what is in the store.")
    _suggest("list", where, None, env, user)


@lessons.command()
def forget(
    where: Where,
    user: Annotated[str, typer.Option(metavar="NAME", help="The user, in every environment.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before.")] = False,
) -> None:
    """Delete everything that is kept of a user: lessons, numbers and archive."""
    from langgraph_reflexion.memory.databases import expect_lessons
    from langgraph_reflexion.memory.users import forget_user, user_records
    from langgraph_reflexion.support.text import count, printable

    expect_lessons(where)
    name = printable(user)
    records = _in_store(where, lambda store: user_records(store, user))
    if not records:
        typer.echo(f"There are no records of {name}.")
        return
    number = sum(len(found) for found in records.values())
    places = ", ".join(printable(environment) for environment in records)
    if not yes:
        typer.confirm(f"Delete {count(number, 'record')} of {name} for good ({places})?", abort=True)
    deleted = _in_store(where, lambda store: forget_user(store, user))
    typer.echo(f"{count(deleted, 'record')} of {name} deleted ({places}).")
    typer.echo("Not deleted: checkpoints, the folders of runs, and files that lessons were exported to.")


def _suggest(command: str, where: str, lesson: str | None, env: str | None, user: str | None) -> None:
    """Suggest another command on the same lessons, without the password of their address."""
    from langgraph_reflexion.support.secrets import public_database

    words = ["lessons", command, public_database(where)]
    if lesson:
        words.append(lesson)
    if env:
        words += ["--env", env]
    if user:
        words += ["--user", user]
    suggest(*words)


def _with(
    where: str,
    env: str | None,
    user: str | None,
    work: Callable[["LessonStore"], Awaitable[T]],
    create: bool = False,
) -> T:
    """Return what some work on the lessons of an environment and a user returns; `create` makes a new store.

    Raises:
        ConfigurationError: there are no such lessons, or the environment has to be named.
    """
    from langgraph_reflexion.memory.databases import expect_lessons
    from langgraph_reflexion.memory.store import LessonStore
    from langgraph_reflexion.memory.users import environments

    async def run(store: "BaseStore") -> T:
        present = await environments(store)
        name = environment_of(present, env, create=create)
        return await work(LessonStore(store, name, user))

    if not create or env is None:
        expect_lessons(where)
    return _in_store(where, run)


def _in_store(where: str, work: Callable[["BaseStore"], Awaitable[T]]) -> T:
    """Return what some work on a store returns."""
    import asyncio

    from langgraph_reflexion.memory.store import open_lessons

    async def run() -> T:
        async with open_lessons(where) as store:
            return await work(store)

    return asyncio.run(run())


def environment_of(present: Sequence[str], named: str | None, *, create: bool) -> str:
    """Return the environment whose lessons are meant, of those in a store."""
    if named is not None and (named in present or create):
        return named
    if named is None and len(present) == 1:
        return present[0]
    known = "no lessons yet"
    if present:
        known = f"lessons of {', '.join(present)}"
    raise ConfigurationError(f"name the environment with --env: the store has {known}")


def snapshot_of(where: str, env: str | None, user: str | None) -> "LessonSnapshot":
    """Return the lessons of an environment and a user as they are now."""
    return _with(where, env, user, lambda store: store.snapshot())


def change(
    where: str, env: str | None, user: str | None, lesson: str, done: str, *, by: str | None = None, **change: Any
) -> None:
    """Record a person's edit, and say that it is done."""
    who = login_name(by)

    async def work(store: "LessonStore") -> str:
        from langgraph_reflexion.memory.records import LessonEdit, now

        snapshot = await store.snapshot()
        found = snapshot.find(lesson)
        edit = LessonEdit(lesson=found.id, date=now(), by=who, **change)
        await store.add([edit])
        is_wanted = change.get("retired") is False or change.get("approved") is True
        if is_wanted and found.archived:
            await store.tidy(restore=found.id)
        return found.id

    changed = _with(where, env, user, work)
    typer.echo(f"{changed} {done}")
    _suggest("show", where, lesson, env, user)


def login_name(by: str | None) -> str:
    """Return who decides: the given name, or that of the login."""
    import getpass

    if by is not None and not by.strip():
        raise ConfigurationError("--by is empty: name who decides")
    if by is not None:
        return by
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        # A container's user may have no name.
        return Path.home().name or "somebody"
