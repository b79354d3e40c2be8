"""What a graph's state says of a workspace: data that others may have written, so it is checked where it is used.

A server's clients edit states, and a checkpoint or a recorded run may come from anywhere. Nothing in them may become
an option of git, a path outside of the copy, or another folder of the host.
"""

import os
import re
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict

from langgraph_reflexion.envs.workspace.tree_walk import EXCLUDED
from langgraph_reflexion.errors import ConfigurationError, validated

_OBJECT = re.compile(r"[0-9a-f]{40}")
_RUN = re.compile(r"[0-9a-f]{12}")
_WHAT_TO_DO = "the state was changed: continue from an earlier checkpoint, or begin the task again"


def object_id(given: Any, what: str = "tree") -> str:
    """Return the id of a git object, which is neither an option of git nor the name of anything else.

    Raises:
        ConfigurationError: it is not an id; the message calls it `what`.
    """
    try:
        return _object(given)
    except ValueError as error:
        raise ConfigurationError(f"{what}: {given!r:.100} {error}: {_WHAT_TO_DO}") from None


def _object(given: Any) -> str:
    if isinstance(given, str) and _OBJECT.fullmatch(given):
        return given
    raise ValueError("must be the id of a git object (40 hexadecimal digits)")


def _run(given: str) -> str:
    if not _RUN.fullmatch(given):
        raise ValueError("must be a name of 12 hexadecimal digits")
    return given


def _inside(given: str) -> str:
    """Return a relative path, of folders below the workspace's root that a workspace can have."""
    if "\0" in given or given.startswith("-") or os.path.isabs(given):
        raise ValueError("must be a path below the workspace's root")
    for name in given.split("/"):
        if name in ("", ".", "..") or name in EXCLUDED:
            raise ValueError("must be a path below the workspace's root")
    return given


_ObjectId = Annotated[str, AfterValidator(_object)]
_Model = TypeVar("_Model", bound=BaseModel)
_Inside = Annotated[str, AfterValidator(_inside)]


class Prepared(BaseModel):
    """What `Workspace.prepare` has written. Evaluators add other keys, which are theirs to check."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    tree: _ObjectId
    """The files at the beginning."""
    dependencies: list[_Inside]
    """Folders of installed dependencies."""
    run: Annotated[str, AfterValidator(_run)]
    """The name of the folder of this run's trials."""


class Snapshot(BaseModel):
    """What `WorkspaceEpisode.snapshot` has written."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    tree: _ObjectId
    """The files."""
    passed: _ObjectId | None
    """The tree that last passed verification."""
    submitted: bool


def read_prepared(task: Mapping[str, Any], prepared: Any) -> Prepared:
    """Return what was prepared for a task.

    Raises:
        ConfigurationError: it is not what `Workspace.prepare` writes.
    """
    return _read(Prepared, prepared, f"{{}} of what was prepared for the task {task['id']!r:.100}")


def read_snapshot(task: Mapping[str, Any], snapshot: Any) -> Snapshot:
    """Return a snapshot of an episode of a task.

    Raises:
        ConfigurationError: it is not what an episode writes.
    """
    return _read(Snapshot, snapshot, f"{{}} of a snapshot of the task {task['id']!r:.100}")


def _read(model: type[_Model], given: Any, what: str) -> _Model:
    try:
        return validated(model, given, what)
    except ConfigurationError as error:
        raise ConfigurationError(f"{error}: {_WHAT_TO_DO}") from error
