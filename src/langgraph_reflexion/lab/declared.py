"""Declarations of options: what a field of the settings says to the command line, Studio and a resumed run."""

from typing import Any, Literal

from pydantic import Field
from pydantic.fields import FieldInfo

Resume = Literal["fixed", "raise", "free"]
"""How an option may change when a run is resumed: not at all, upwards, or freely because the record does not depend
on it."""

MOST_TRIALS = 10_000
"""Trials that a task of a run may have: reports have a place for each."""


def option(
    default: Any, help: str, *, node: str = "", resume: Resume = "fixed", metavar: str = "", **limits: Any
) -> Any:
    """Declare an option: a field with its help text.

    Args:
        default: Its value unless given; None means the profile's or the environment's own.
        help: One sentence for the command line, Studio and Inspect.
        node: The node that Studio shows it on; none hides it there.
        resume: How it may change when a run is resumed.
        metavar: How a value is written on the command line, where its type does not say.
        **limits: As of `pydantic.Field`.
    """
    more: dict[str, Any] = {"node": node, "resume": resume, "metavar": metavar}
    return Field(default, description=help, json_schema_extra=more, **limits)


def rule(help: str, **more: Any) -> Any:
    """Declare an option that the profile decides unless it is given."""
    return option(None, f"{help}  [default: the profile's]", **more)


def extra(field: FieldInfo, name: str) -> str:
    """Return what `option` declares of a field under a name: `node`, `resume` or `metavar`; empty if nothing."""
    more = field.json_schema_extra
    return str(more.get(name, "")) if isinstance(more, dict) else ""
