"""A shell command as the verifier: exit status 0 is success, and what it prints is the feedback."""

import asyncio
import contextlib
import json
import os
import signal
from pathlib import Path

from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.errors import ConfigurationError, Fault
from langgraph_reflexion.evaluators.base import Evaluator, Scored, result_in
from langgraph_reflexion.state import ReflexionState

TOLD = 2000
"""How many characters of a failed command's output are told: its last ones, where the summary stands."""


class CommandEvaluator(Evaluator):
    """Runs a command of yours, on this machine and with your rights, after every trial.

    Args:
        command: The command line, for the shell. The trial's result is its standard input: text as it is, anything
            else as JSON.
        cwd: Where it runs; the current directory unless given.
        timeout: Seconds after which it counts as failed, and is killed with all that it started.
    """

    def __init__(self, command: str, *, cwd: Path | str | None = None, timeout: float = 600.0) -> None:
        if not command.strip():
            raise ConfigurationError("the verifier's command is empty")
        self.command = command
        self.cwd = cwd
        self.timeout = timeout

    async def evaluate(self, state: ReflexionState, config: RunnableConfig) -> Scored:
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
            raise Fault(f"the verifier {self.command!r} could not be started: {error}", transient=False) from error
        talking = asyncio.ensure_future(process.communicate(text.encode("utf-8", "replace")))
        try:
            await asyncio.wait_for(process.wait(), self.timeout)
        except TimeoutError:
            return Scored(0.0, f"{self.command}: not done after {self.timeout:g} seconds")
        finally:
            # What it left running would hold its output open, and outlive it.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            output, _ = await talking
        said = output.decode(errors="replace").strip()[-TOLD:]
        ended = "" if process.returncode == 0 else f"{self.command}: exit status {process.returncode}\n"
        return Scored(float(process.returncode == 0), f"{ended}{said}".strip())
