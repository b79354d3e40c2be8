"""The command `learn`: lessons from feedback on answers, in a file or in LangSmith."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langgraph_reflexion.errors import ConfigurationError, Fault
from langgraph_reflexion.lab.cli.basics import AsJson, fail, print_json, say_starting, sigterm_as_ctrl_c, suggest
from langgraph_reflexion.lab.cli.help import GROUPS
from langgraph_reflexion.lab.cli.options import takes
from langgraph_reflexion.lab.settings import ReflexionSettings

if TYPE_CHECKING:
    from langgraph_reflexion.lab.feedback import AnswerFeedback, LearnedSoFar
    from langgraph_reflexion.lab.langsmith_runs import ProjectFeedback

OF_MODELS = {"seed", *GROUPS["Model"]} - {"model", "reflection_model"}
"""The options of `run` that say how the model is called."""


@takes(ReflexionSettings, only=OF_MODELS)
def learn(
    given: dict[str, Any],
    lessons: Annotated[
        str, typer.Option(metavar="LESSONS", help="A SQLite file, or postgresql://user:password@host/name.")
    ],
    model: Annotated[str, typer.Option(metavar="NAME", help="The model that writes the lessons: PROVIDER:MODEL.")],
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="JSON lines: messages, or question and answer; success; words."),
    ] = None,
    langsmith: Annotated[
        str | None, typer.Option(metavar="PROJECT", help="The LangSmith project whose feedback is read.")
    ] = None,
    since: Annotated[
        datetime | None,
        typer.Option(metavar="DATE", formats=["%Y-%m-%d"], help="Its runs that began on this day (UTC) or later."),
    ] = None,
    feedback_key: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="The key of the feedback.  [default: any that a person has given]"),
    ] = None,
    env: Annotated[
        str, typer.Option("--env", metavar="NAME", help="The name under which the lessons are kept.")
    ] = "agent",
    user_field: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column of the user whose lesson it is.")
    ] = None,
    review: Annotated[
        bool, typer.Option("--review", help="Let new lessons wait for `lessons approve` before they are recalled.")
    ] = False,
    limit: Annotated[int | None, typer.Option(metavar="N", help="Lessons of a user, at most.", min=1)] = None,
    concurrency: Annotated[int, typer.Option(min=1, metavar="N", help="Answers to learn from concurrently.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Learn from feedback on answers: each teaches a lesson for later tasks.

    The same feedback again changes nothing and asks no model, so that a second call continues after a fault.
    """
    if (file is None) == (langsmith is None):
        raise ConfigurationError("name either a FILE or --langsmith PROJECT")
    if (langsmith is None) != (since is None):
        raise ConfigurationError("--langsmith and --since belong together: --langsmith PROJECT --since 2026-11-01")
    if feedback_key is not None and langsmith is None:
        raise ConfigurationError("--feedback-key belongs to --langsmith")
    if not as_json:
        say_starting()
    # Only now, as these imports take seconds.
    from langgraph_reflexion.lab.feedback import (
        LearnedSoFar,
        checked_feedback,
        is_conversation,
        names_user,
        read_feedback,
    )
    from langgraph_reflexion.lab.learner import learner
    from langgraph_reflexion.support.secrets import public_database

    settings = ReflexionSettings(**given)
    made = learner(settings.load(model), env, limit=limit, review=review, options=settings.model_options())
    graph = made.compile()
    if file is not None:
        feedback = read_feedback(file, graph, user_field)
    else:
        found = _project(str(langsmith), since, feedback_key)
        # Only the graph knows what it can read as a conversation.
        rows = [row for row in found.rows if is_conversation(graph, row[1]["messages"])]
        found.unreadable += len(found.rows) - len(rows)
        # A trace cannot be corrected: it keeps nobody from learning from the others.
        of_users = [row for row in rows if names_user(row[1], user_field)]
        found.nobodys += len(rows) - len(of_users)
        feedback = checked_feedback(of_users, graph, user_field)
        if found.left_out() and not as_json:
            typer.echo(f"Left out: {found.left_out()}")
    so_far = LearnedSoFar()
    stopped = _learn(made, lessons, feedback, so_far, concurrency, quiet=as_json)
    if as_json:
        done = {
            "learned": so_far.learned,
            "known": so_far.known,
            "useless": so_far.useless,
            "usage": so_far.usage,
        }
        print_json(done)
    else:
        typer.echo(so_far.words())
    # After the numbers, as what was learned before the fault stays.
    if stopped is not None:
        raise typer.Exit(fail(f"{stopped}: the same command continues", 1))
    # Without the password of the address.
    suggest("lessons", "list", public_database(lessons), "--env", env)


def _project(project: str, since: datetime | None, key: str | None) -> "ProjectFeedback":
    """Return the feedback in a LangSmith project."""
    from datetime import UTC

    from langgraph_reflexion.lab.langsmith_runs import read_project

    assert since is not None
    return read_project(project, since.replace(tzinfo=UTC), key)


def _learn(
    made: Any,
    lessons: str,
    feedback: "list[AnswerFeedback]",
    so_far: "LearnedSoFar",
    concurrency: int,
    *,
    quiet: bool,
) -> Fault | None:
    """Learn from all feedback. Returns the fault that has stopped it, if there was one."""
    import asyncio

    from rich.console import Console
    from rich.progress import Progress

    from langgraph_reflexion.lab.feedback import learn_all
    from langgraph_reflexion.memory.store import open_lessons

    console = Console(stderr=True)
    with (
        sigterm_as_ctrl_c(),
        Progress(console=console, transient=True, disable=quiet or not console.is_terminal) as progress,
    ):
        bar = progress.add_task("learning", total=len(feedback))

        async def work() -> None:
            async with open_lessons(lessons) as store:
                graph = made.compile(store=store)
                await learn_all(
                    graph, feedback, so_far, concurrency=concurrency, on_learned=lambda: progress.advance(bar)
                )

        try:
            asyncio.run(work())
        except Fault as fault:
            return fault
    return None
