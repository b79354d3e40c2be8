"""Feedback that people have given in LangSmith, with the conversations of the runs that it is about."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from langsmith import Client
from langsmith.schemas import Feedback, Run
from langsmith.utils import LangSmithError, LangSmithNotFoundError

from langgraph_reflexion.errors import ConfigurationError, Fault
from langgraph_reflexion.loop.langsmith import OWN_KEYS
from langgraph_reflexion.support.text import count, one_line

AT_ONCE = 100
"""Runs whose feedback is asked for at once."""

BY_PEOPLE = ("app", "api")
"""The sources of feedback from people: LangSmith's pages, and a program that passes on what a person has said. Others
are models and evaluators, such as `model` and `auto_eval`."""


@dataclass
class ProjectFeedback:
    """What is read of a project."""

    rows: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """A row for each run with a verdict, as a file would have it, beside its place in words."""
    unclear: int = 0
    """Runs whose feedback is neither 0 nor 1."""
    unreadable: int = 0
    """Runs that are not a conversation."""
    nobodys: int = 0
    """Runs that name no user, where users are asked for."""

    def left_out(self) -> str:
        """Return in words what was left out; empty if nothing was."""
        parts = []
        if self.unclear:
            parts.append(f"{count(self.unclear, 'run')} with a score that is neither 0 nor 1")
        if self.unreadable:
            parts.append(f"{count(self.unreadable, 'run')} without a question and an answer")
        if self.nobodys:
            parts.append(f"{count(self.nobodys, 'run')} without a user")
        return " and ".join(parts)


def read_project(project: str, since: datetime, key: str | None = None) -> ProjectFeedback:
    """Return the feedback on a project's runs.

    A score or value of 1 or true says that the answer was right, 0 or false that it was wrong.
    The comment is what was said. Of several on a run, the latest counts.

    Args:
        project: The project's name.
        since: The runs that began at this time or later.
        key: The key of the feedback; any but those that this package itself sends unless given. Feedback from models
            never counts.

    Raises:
        ConfigurationError: there is no such project, or the key is refused.
        Fault: LangSmith could not be asked.
    """
    client = Client()
    found = ProjectFeedback()
    try:
        runs = list(_runs(client, project, since))
        for first in range(0, len(runs), AT_ONCE):
            _read(client, runs[first : first + AT_ONCE], key, found)
    except LangSmithNotFoundError as error:
        raise ConfigurationError(f"LangSmith has no project {project!r}") from error
    except LangSmithError as error:
        raise Fault(f"LangSmith could not be asked: {one_line(error)}") from error
    finally:
        client.cleanup()
    return found


def _runs(client: Client, project: str, since: datetime) -> Iterator[Run]:
    with warnings.catch_warnings():
        # Its successor is not in all of the versions that LangChain accepts, nor on all servers.
        warnings.filterwarnings("ignore", message=r"list_runs\(\) is deprecated")
        yield from client.list_runs(project_name=project, is_root=True, start_time=since)


def _read(client: Client, runs: Sequence[Run], key: str | None, found: ProjectFeedback) -> None:
    """Add the feedback on some runs."""
    keys = None
    if key is not None:
        keys = [key]
    by_run: dict[Any, list[Feedback]] = {}
    for given in client.list_feedback(run_ids=[run.id for run in runs], feedback_key=keys):
        if _is_of_a_person(given, key):
            by_run.setdefault(given.run_id, []).append(given)
    for run in runs:
        said = sorted(by_run.get(run.id, []), key=lambda each: each.modified_at)
        if said:
            _add(run, said, found)


def _is_of_a_person(given: Feedback, key: str | None) -> bool:
    """Return whether a person has given feedback, and not a model that judges, or this package itself."""
    if given.feedback_source is not None and given.feedback_source.type not in BY_PEOPLE:
        return False
    return key is not None or given.key not in OWN_KEYS


def _add(run: Run, said: Sequence[Feedback], found: ProjectFeedback) -> None:
    """Add what people have said of a run."""
    verdicts = [each for each in said if _verdict(each) is not None]
    if not verdicts:
        found.unclear += 1
        return
    latest = verdicts[-1]
    messages = _messages(run.inputs or {}, run.outputs or {})
    if messages is None:
        found.unreadable += 1
        return
    row = {
        "messages": messages,
        "success": _verdict(latest),
        "words": latest.comment or "",
        "metadata": run.metadata or {},
    }
    found.rows.append((f"run {run.id}", row))


def _verdict(given: Feedback) -> bool | None:
    """Return whether an answer was right; None if a score says neither."""
    said: Any = given.score
    if said is None:
        said = given.value
    # True and False are 1 and 0.
    if isinstance(said, int | float) and said in (0, 1):
        return bool(said)
    return None


def _messages(inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> list[Any] | None:
    """Return the conversation of a run; None if it is none."""
    asked = _said(inputs)
    answered = _said(outputs)
    if answered and _has_question(answered):
        # The state of a graph, in which the whole conversation is.
        return answered
    if asked and answered:
        return asked + answered
    question = _only_text(inputs)
    answer = _only_text(outputs)
    if asked and answer:
        return [*asked, {"role": "assistant", "content": answer}]
    if question and answer:
        return [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
    return None


def _said(values: Mapping[str, Any]) -> list[Any]:
    """Return the messages among the inputs or outputs of a run."""
    messages = values.get("messages")
    if isinstance(messages, Mapping):
        messages = [messages]
    if not isinstance(messages, list):
        return []
    return [_plain(each) for each in messages]


def _plain(message: Any) -> Any:
    """Return a message as a dict of its fields, where it was written as the call that makes it."""
    if isinstance(message, Mapping) and message.get("type") == "constructor" and "kwargs" in message:
        return message["kwargs"]
    return message


def _has_question(messages: Sequence[Any]) -> bool:
    for each in messages:
        if isinstance(each, Mapping) and (each.get("type") == "human" or each.get("role") == "user"):
            return True
    return False


def _only_text(values: Mapping[str, Any]) -> str:
    """Return the only text among the inputs or outputs of a run; empty if there are none or several."""
    texts = [value for value in values.values() if isinstance(value, str) and value]
    if len(texts) != 1:
        return ""
    return texts[0]
