"""A child process that answers calls over a `multiprocessing` connection."""

import os
import subprocess
import sys
import tempfile
import threading
import weakref
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

from langgraph_reflexion.errors import EnvironmentFault


class ChildProcess:
    """A Python script that answers calls, one at a time, from any thread.

    The script is run by its path because `multiprocessing.Process` imports the caller's main module in the child,
    which runs a script without a `__main__` guard a second time. The child has to end when its connection closes.

    Args:
        script: The file to run. Its first argument is the file descriptor of its end of the connection.
        *options: Further arguments of the script.
        name: Its name in error messages.
        timeout: Seconds to wait for an answer before the child is killed.
    """

    def __init__(self, script: Path, *options: str, name: str, timeout: float) -> None:
        self._name = name
        self._timeout = timeout
        self._closed = False
        self._lock = threading.Lock()
        self._output = tempfile.TemporaryFile()  # noqa: SIM115
        weakref.finalize(self, self._output.close)
        self._connection, theirs = Pipe()
        with theirs:
            # -P keeps the script's folder off the import path, where our textworld.py would hide the real one.
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(script), str(theirs.fileno()), *options],
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=subprocess.STDOUT,
                pass_fds=[theirs.fileno()],
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the child is running, and is a child of this process rather than of one that forked it."""
        return not self._closed and self._process.poll() is None

    def call(self, function: str, *arguments: Any) -> Any:
        """Call a function in the child and return its result.

        Raises:
            EnvironmentFault: The function raised, or the child died, was closed or did not answer in time.
        """
        with self._lock:
            if not self.alive:
                raise EnvironmentFault(self._cause_of_death())
            try:
                self._connection.send((function, arguments))
                if not self._connection.poll(self._timeout):
                    raise EnvironmentFault(f"{self._name} gave no answer for {self._timeout:g} s and was killed")
                result, error = self._connection.recv()
            except (OSError, EOFError) as lost:
                raise EnvironmentFault(self._cause_of_death()) from lost
            except BaseException:
                # After an interrupt, the next call would read this one's answer.
                self._process.kill()
                raise
        if error:
            raise EnvironmentFault(f"{self._name} failed to {function}: {error}")
        return result

    def close(self) -> None:
        """Kill the child. Closing twice is fine."""
        if self.alive:
            self._closed = True
            self._process.kill()
            self._process.wait()

    def _cause_of_death(self) -> str:
        if self._closed:
            return f"{self._name} was closed"
        try:
            code = self._process.wait(1)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        how = f"killed by signal {-code}" if code < 0 else f"exit status {code}"
        size = os.fstat(self._output.fileno()).st_size
        last = os.pread(self._output.fileno(), 2000, max(0, size - 2000)).decode("utf-8", "replace").strip()
        return f"{self._name} died ({how})" + (f": {last}" if last else "")
