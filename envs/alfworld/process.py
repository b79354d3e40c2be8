"""A child process that answers requests: one JSON object per line, there and back."""

import contextlib
import json
import os
import select
import subprocess
import threading
from collections import deque
from typing import Any

from langgraph_reflexion.errors import EnvironmentFault

_TAIL_LINES = 20
_left_behind: list[subprocess.Popen[bytes]] = []


class ChildProcess:
    """A child that is asked and answers, one request at a time, from any thread.

    Its pipes are its lifeline: it is expected to end when its input ends, which the operating system sees to
    however this process dies.

    Args:
        command: What is run.
        name: What it is called in error messages.
        timeout: After how many seconds without an answer it is killed.
    """

    def __init__(self, command: list[str], *, name: str, timeout: float) -> None:
        self._name = name
        self._timeout = timeout
        self._lock = threading.Lock()
        self._asked = 0
        self._unread = b""
        self._gone = False
        self._tail: deque[bytes] = deque(maxlen=_TAIL_LINES)
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        # Also reaps the child, so that closing needs not wait for it.
        self._listener = threading.Thread(target=self._listen, name=f"{name}: stderr", daemon=True)
        self._listener.start()

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the child still answers, as far as is known."""
        return not self._gone and self._process.poll() is None

    def call(self, request: dict[str, Any]) -> dict[str, Any]:
        """Ask, and wait for the answer.

        Raises:
            EnvironmentFault: the child died, was closed, or did not answer in time.
        """
        try:
            with self._lock:
                self._asked += 1
                return self._exchange({"id": self._asked, **request})
        except (OSError, EOFError, ValueError) as error:
            # A ValueError is a pipe that was closed meanwhile, or half a line of a child that was killed.
            raise EnvironmentFault(self._obituary()) from error

    def _exchange(self, request: dict[str, Any]) -> dict[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        if self._gone or stdin is None or stdout is None:
            raise EOFError
        stdin.write(json.dumps(request).encode() + b"\n")
        stdin.flush()
        waiting = select.poll()
        waiting.register(stdout, select.POLLIN | select.POLLHUP)
        while True:
            # Read past the file's own buffer: a line that waits there is one that poll knows nothing of.
            while b"\n" not in self._unread:
                if not waiting.poll(self._timeout * 1000):
                    self._process.kill()
                    raise EnvironmentFault(f"{self._name} gave no answer for {self._timeout:g} s and was ended")
                if not (arrived := os.read(stdout.fileno(), 1 << 16)):
                    raise EOFError
                self._unread += arrived
            line, _, self._unread = self._unread.partition(b"\n")
            reply: dict[str, Any] = json.loads(line)
            # An older answer stands here when its caller was interrupted while waiting for it.
            if reply.pop("id") == request["id"]:
                return reply

    def close(self) -> None:
        """End the child, without waiting for it. Closing twice is fine."""
        self._gone = True
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()

    def forget(self) -> None:
        """After a fork, in the new process: leave the child to the old one."""
        self._gone = True
        # The files' own locks may have been held at the fork, so that neither closing nor collecting them is
        # safe.
        _left_behind.append(self._process)
        nothing = os.open(os.devnull, os.O_RDWR)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None and not pipe.closed:
                os.dup2(nothing, pipe.fileno(), inheritable=False)
        os.close(nothing)
        self._process.returncode = 0

    def _listen(self) -> None:
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        if stdin is None or stdout is None or stderr is None:
            return
        with stderr:
            for line in stderr:
                self._tail.append(line[:2000])
        self._process.wait()
        with self._lock, stdout, contextlib.suppress(OSError):
            stdin.close()

    def _obituary(self) -> str:
        if self._gone:
            return f"{self._name} was closed"
        self._listener.join(1)
        self._process.kill()
        self._listener.join(5)
        code = self._process.returncode
        how = f"killed by signal {-code}" if code is not None and code < 0 else f"exit status {code}"
        last = b"".join(self._tail).decode("utf-8", "replace").strip()
        return f"{self._name} died ({how})" + (f": {last}" if last else "")
