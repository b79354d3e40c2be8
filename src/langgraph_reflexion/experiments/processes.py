"""Workers as child processes on this machine: `--workers N`.

A worker hears its driver on its standard input, and speaks on its standard output; whatever else it prints goes to
standard error. When its driver dies, however it does, the input ends, and so does the worker, at once. Until then it
shares the driver's hold on the run folder (`experiments.lock`), so that no other process can meet it there.
"""

import asyncio
import contextlib
import os
import sys
import threading
import time
from asyncio.subprocess import PIPE, Process
from typing import Any

from langgraph_reflexion.experiments.messages import END, PATIENCE_SECONDS, LinkLost

LENGTH = 8
"""Bytes of a message's length, which goes before it."""


class ProcessLink:
    """A child process, as its driver sees it."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._input: Any = process.stdin
        self._output: Any = process.stdout

    @classmethod
    async def open(cls, lock: int | None = None) -> "ProcessLink":
        """Start a worker.

        Args:
            lock: What it inherits: the hold on the run folder.
        """
        # In a session of its own, so that Ctrl-C reaches the driver alone, which ends its workers in good order.
        shared = [lock] if lock is not None and os.name == "posix" else []
        command = [sys.executable, "-P", "-m", "langgraph_reflexion.experiments.processes", *map(str, shared)]
        options: dict[str, Any] = {"stdin": PIPE, "stdout": PIPE, "start_new_session": os.name == "posix"}
        options |= {"pass_fds": shared} if shared else {}
        return cls(await asyncio.create_subprocess_exec(*command, **options))

    def tell(self, message: str) -> None:
        """See `Link`."""
        self._input.write(framed(message))

    async def listen(self) -> list[str]:
        """See `Link`."""
        try:
            length = int.from_bytes(await self._output.readexactly(LENGTH))
            return [_text(await self._output.readexactly(length))]
        except (asyncio.IncompleteReadError, ConnectionError):
            await self._process.wait()
            raise LinkLost(f"exit status {self._process.returncode}") from None

    async def close(self) -> None:
        """See `Link`."""
        with contextlib.suppress(ConnectionError):
            self.tell(END)
            self._input.close()
        ended = asyncio.ensure_future(self._process.wait())
        reading = asyncio.ensure_future(self._output.read())  # what it still has to say would keep it from ending
        await asyncio.wait([ended], timeout=PATIENCE_SECONDS)
        if not ended.done():
            self._process.kill()
        await asyncio.wait([ended, reading])


def framed(message: str) -> bytes:
    """A message as bytes, its length before it."""
    data = message.encode("utf-8", "surrogatepass")
    return len(data).to_bytes(LENGTH) + data


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def main() -> None:
    """A child process."""
    hears, says = os.dup(0), os.dup(1)
    # What an environment reads and prints is none of the driver's business.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    if hasattr(os, "register_at_fork"):
        # Whatever an environment forks may outlive this process, which would seem to be there still.
        own = [hears, says, *map(int, sys.argv[1:])]
        os.register_at_fork(after_in_child=lambda: _close(own))
    asyncio.run(_serve(hears, says))


def _close(descriptors: list[int]) -> None:
    for each in descriptors:
        os.close(each)


async def _serve(hears: int, says: int) -> None:
    loop, inbox = asyncio.get_running_loop(), asyncio.Queue[str]()

    def listen() -> None:
        message = ""
        while length := _read(hears, LENGTH):
            message = _text(_read(hears, int.from_bytes(length)))
            loop.call_soon_threadsafe(inbox.put_nowait, message)
        # The driver has closed its end: it is dead, or waits for this process to be.
        time.sleep(PATIENCE_SECONDS if message == END else 0)
        os._exit(1)

    def say(message: str) -> None:
        rest = framed(message)
        while rest:
            rest = rest[os.write(says, rest) :]

    # The imports take seconds, in which the driver may die.
    threading.Thread(target=listen, daemon=True).start()
    from langgraph_reflexion.experiments.worker import Worker

    await Worker(inbox, say).serve()


def _read(descriptor: int, length: int) -> bytes:
    """Return N bytes; none if the input has ended."""
    data = b""
    while len(data) < length:
        if not (more := os.read(descriptor, length - len(data))):
            return b""
        data += more
    return data


if __name__ == "__main__":
    main()
