"""Messages between the driver of a run and its workers: JSON, which is the same over any link."""

import builtins
import json
import traceback
from typing import Any, Protocol

from langgraph_reflexion import errors
from langgraph_reflexion.experiments.task_run import TaskError


class LinkLost(Exception):
    """A worker has ended without being asked to."""


class Link(Protocol):
    """A worker, as its driver sees it."""

    def tell(self, message: str) -> None:
        """Send a message. Whether the worker is still there shows when it is listened to."""

    async def listen(self) -> list[str]:
        """Wait until it says something.

        Raises:
            LinkLost: it has ended.
        """

    async def close(self) -> None:
        """End it: it is asked to, and made to where it does not."""


def encode(what: str, **said: Any) -> str:
    """A message.

    Args:
        what: What kind it is.
        said: The rest of it.
    """
    return json.dumps({"what": what, **said}, ensure_ascii=False)


END = encode("end")
"""The driver's last message."""

PATIENCE_SECONDS = 5.0
"""Seconds that a worker may take to end when it is asked to."""


def error_as_json(error: BaseException) -> dict[str, Any]:
    """An error, so that it can be raised in another process."""
    return {
        "type": type(error).__name__,
        "text": str(error),
        "permanent": getattr(error, "permanent", False),
        "traceback": error.traceback if isinstance(error, TaskError) else "".join(traceback.format_exception(error)),
    }


def error_from(said: dict[str, Any]) -> Exception:
    """The error that another process met: one of ours or of Python's, or one that has the same name."""
    kind, text = said["type"], said["text"]
    error: Exception
    if kind == TaskError.__name__:
        return TaskError(text, said["traceback"])
    if kind == errors.ModelFault.__name__:
        error = errors.ModelFault(text, permanent=said["permanent"])
    else:
        known = getattr(errors, kind, None) or getattr(builtins, kind, None)
        if not (isinstance(known, type) and issubclass(known, Exception)):
            known = type(kind, (RuntimeError,), {})
        try:
            error = known(text)
        except TypeError:  # it takes more than a text
            error = RuntimeError(f"{kind}: {text}")
    error.add_note(f"In the worker:\n{said['traceback']}")
    return error
