"""The log of the running sample. No public function of Inspect's returns it."""

from collections.abc import Callable
from typing import Any

sample_active: Callable[[], Any] | None
try:
    from inspect_ai.log._samples import sample_active
except ImportError:
    sample_active = None


def log_location() -> str:
    """Return the path or URL of the running sample's log, or "" if it is unknown. Then a retry cannot resume."""
    return str(getattr(sample_active(), "log_location", "")) if sample_active else ""
