"""Tracing, which is off in a run unless it is asked for."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from langsmith.run_helpers import tracing_context
from langsmith.utils import tracing_is_enabled

_log = logging.getLogger(__name__)


@contextmanager
def tracing_as_asked() -> Iterator[None]:
    """Trace to LangSmith inside only if it was asked for before, by `LANGSMITH_TRACING=true` or in code.

    A warning says what it costs: a run makes hundreds of thousands of runs, and each takes more CPU to trace
    than to do.
    """
    if tracing_is_enabled():
        _log.warning(
            "every step is traced to LangSmith, at several times its CPU: LANGSMITH_TRACING=false is without"
        )
        yield
    else:
        with tracing_context(enabled=False):
            yield
