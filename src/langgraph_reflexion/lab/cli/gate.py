"""The options of `run` and `experiment` that fail a job of continuous integration."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langgraph_reflexion.errors import ConfigurationError

if TYPE_CHECKING:
    from langgraph_reflexion.lab.experiments.gate import Gate

FailBelow = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        help="Exit with status 1 if a smaller share of the tasks is solved, as in 0.8.",
        show_default=False,
    ),
]
NotWorseThan = Annotated[
    Path | None,
    typer.Option(
        metavar="RUN",
        help="Exit with status 1 if significantly fewer tasks are solved than in a recorded run (paired, p < 0.05).",
        show_default=False,
    ),
]


def gate_of(fail_below: float | None, not_worse_than: Path | None, out: Path | None) -> "Gate | None":
    """Return the gate that was asked for; None without one. What it names is read before anything runs.

    Args:
        fail_below: The option `--fail-below`.
        not_worse_than: The option `--not-worse-than`.
        out: The folder of the run or experiment to be judged; None for a new one.

    Raises:
        ConfigurationError: the share is none, or the recorded run cannot be read or is the one to be judged.
    """
    if fail_below is None and not_worse_than is None:
        return None
    from langgraph_reflexion.lab.experiments.gate import Gate, read_baseline

    baseline = None
    if not_worse_than is not None:
        # A run is never worse than itself.
        if out is not None and out.resolve() == not_worse_than.resolve():
            raise ConfigurationError(f"--not-worse-than {out}: the run is recorded there itself: name another folder")
        baseline = read_baseline(not_worse_than)
    return Gate(fail_below, baseline)
