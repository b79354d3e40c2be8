"""Evaluators of the user's own: a Python function, or a shell command."""

import asyncio
import contextlib
import inspect
import json
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.errors import ConfigurationError, Fault, checked
from langgraph_reflexion.evaluators.base import Evaluator, Score, result_in
from langgraph_reflexion.state import ReflexionState
from langgraph_reflexion.sync import to_thread

OUTPUT_CHARS = 2000
"""Number of characters of a command's output in the feedback: the last ones, where the summary is."""


@dataclass
class FunctionEvaluator(Evaluator):
    """A function of the task's text and the trial's steps, or a wrapped agent's result.

    Args:
        function: Returns a bool, a score, `(score, feedback)` or an `Evaluation`, plain or awaitable.
        of: The second argument: the `trajectory` or the `result`.
    """

    function: Callable[[str, Any], Any]
    of: Literal["trajectory", "result"]

    async def evaluate(self, state: ReflexionState, config: RunnableConfig) -> Score:
        subject = result_in(state) if self.of == "result" else state["trajectory"]
        if subject is None or subject == "":
            return Score(0.0, "Nothing was returned.")
        args = (state["task"]["instruction"], subject)
        if inspect.iscoroutinefunction(self.function):
            return to_score(await self.function(*args))
        result = await to_thread(self.function, *args)
        return to_score(await result if inspect.isawaitable(result) else result)


@checked
class CommandEvaluator(Evaluator):
    """A shell command that runs on this machine, with the user's rights, after every trial.

    Exit status 0 is success, and the output is the feedback.

    Args:
        command: The command line. Its standard input is the trial's result: text unchanged, other data as JSON.
        cwd: The working directory; the current one unless given.
        timeout: Seconds after which the trial fails, and the command with all its children is killed.

    Raises:
        ConfigurationError: an argument is wrong.
    """

    def __init__(self, command: str, *, cwd: Path | str | None = None, timeout: float = 600.0) -> None:
        if not command.strip():
            raise ConfigurationError("CommandEvaluator.command is empty")
        self.command = command
        self.cwd = cwd
        self.timeout = timeout

    async def evaluate(self, state: ReflexionState, config: RunnableConfig) -> Score:
        """Run the command.

        Raises:
            Fault: it could not be started.
        """
        result = result_in(state)
        text = result if isinstance(result, str) else json.dumps(result, default=str)
        try:
            process = await asyncio.create_subprocess_shell(
                self.command,
                cwd=self.cwd,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise Fault(f"the evaluator {self.command!r} could not be started: {error}", transient=False) from error
        talking = asyncio.ensure_future(process.communicate(text.encode("utf-8", "replace")))
        try:
            await asyncio.wait_for(process.wait(), self.timeout)
        except TimeoutError:
            return Score(0.0, f"{self.command}: not done after {self.timeout:g} seconds")
        finally:
            # Children of the command that are still running would hold its output open.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            output, _ = await talking
        printed = output.decode(errors="replace").strip()[-OUTPUT_CHARS:]
        status = "" if process.returncode == 0 else f"{self.command}: exit status {process.returncode}\n"
        return Score(float(process.returncode == 0), f"{status}{printed}".strip())


def to_score(result: object) -> Score:
    """Return the score for a function's result.

    Raises:
        ConfigurationError: it is no bool, number, pair of a number and words, or `Evaluation`.
    """
    if hasattr(result, "item"):  # numbers of numpy and others
        result = result.item()
    match result:
        case Score():
            return result
        case bool() | int() | float():
            return Score(float(result))
        case (bool() | int() | float() as score, str() as feedback):
            return Score(float(score), feedback)
        case {"score": bool() | int() | float() as score, **rest}:
            return Score(float(score), str(rest.get("feedback", "")))
    raise ConfigurationError(
        f"an evaluator returns a bool, a number, (number, words) or an Evaluation; got {type(result).__name__}"
    )
