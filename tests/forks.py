"""The command line again and again, each time as a process of its own, forked from one that has it imported already.

Python and its imports take a second or more of every start, and the tests have hundreds of them. A command sees no
difference but that: it gets its own folder, environment and streams.

    python tests/forks.py    one request a line, as `Request` writes it; one exit status a line
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, NamedTuple

SECONDS = 60
"""How long a command may take."""


class Request(NamedTuple):
    """What is started."""

    argv: list[str]
    folder: str
    environment: dict[str, str]
    streams: list[str]
    """The files that are its standard input, output and error."""


class Forks:
    """Starts commands one after the other."""

    def __init__(self) -> None:
        self._server: subprocess.Popen[str] | None = None

    def call(self, folder: Path, args: list[str], environment: dict[str, str], typed: str) -> tuple[int, str, str]:
        """Run a command to its end: its exit status, and what it wrote to output and error."""
        if self._server is None:
            pipe = subprocess.PIPE
            self._server = subprocess.Popen([sys.executable, __file__], stdin=pipe, stdout=pipe, text=True)
        with tempfile.TemporaryDirectory() as scratch:
            files = [Path(scratch) / name for name in ("in", "out", "err")]
            files[0].write_text(typed)
            request = Request(args, str(folder), environment, list(map(str, files)))
            sent, answered = self._server.stdin, self._server.stdout
            assert sent is not None
            assert answered is not None
            print(json.dumps(request), file=sent, flush=True)
            status = int(answered.readline())
            return status, files[1].read_text(errors="replace"), files[2].read_text(errors="replace")

    def close(self) -> None:
        """End the process that they are forked from."""
        if self._server is not None:
            self._server.communicate(timeout=10)


def serve(requests: IO[str]) -> None:
    """Fork a process for each request, and say how it ended."""
    for line in requests:
        request = Request(*json.loads(line))
        if (child := os.fork()) == 0:
            become(request)
            return
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def become(request: Request) -> None:
    """Be the command, in a forked process."""
    signal.alarm(SECONDS)
    os.chdir(request.folder)
    os.environ.clear()
    os.environ.update(request.environment)
    for number, (path, mode) in enumerate(zip(request.streams, (os.O_RDONLY, os.O_WRONLY, os.O_WRONLY), strict=True)):
        opened = os.open(path, mode | os.O_CREAT)
        os.dup2(opened, number)
        os.close(opened)
    sys.argv = ["langgraph-reflexion", *request.argv]
    sys.path[0] = request.folder
    main()


if __name__ == "__main__":
    import langchain_openai  # noqa: F401 - what a run imports when it needs it
    from langchain.chat_models import init_chat_model  # noqa: F401

    from langgraph_reflexion.cli import main
    from langgraph_reflexion.demo import DemoChatModel  # noqa: F401
    from langgraph_reflexion.experiments import comparison  # noqa: F401

    serve(sys.stdin)
