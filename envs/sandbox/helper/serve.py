"""The helper's main loop: take the descriptors of a run, fork a process that keeps it, and wait for the next.

    python boot.py serve NUMBER            runs asked for over the socket with this number
    python boot.py warm NUMBER MODULE...   the same, with modules loaded beforehand
    python boot.py nurse NUMBER MODULE...  warm programs only, inside a bubblewrap
    python boot.py attach NUMBER           one run, on this process's own standard streams

What a run is, and what it contains, is read by the process that keeps it: this one knows nothing of any run.
"""

import contextlib
import gc
import importlib
import os
import signal
import socket
import sys

from langgraph_reflexion.envs.sandbox.helper import identity, wire
from langgraph_reflexion.envs.sandbox.helper.keep import keep
from langgraph_reflexion.envs.sandbox.helper.nursery import nurse
from langgraph_reflexion.envs.sandbox.helper.plan import Streams


def main(arguments: list[str]) -> None:
    """Do what the command line says."""
    how, number, *modules = arguments
    connection = socket.socket(fileno=int(number))
    if how == "attach":
        sys.exit(attach(connection))
    for name in modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()  # so that children share what is there
    if how == "nurse":
        nurse(connection)
    else:
        serve(connection)


def serve(connection: socket.socket) -> None:
    """Serve until the agent closes the connection or dies."""
    agent = os.pidfd_open(os.getppid())
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    identity.numbers()  # asked for here once, and not in every child
    while True:
        message, descriptors = wire.accept(connection, len(Streams._fields))
        if not message:
            return
        if os.fork() == 0:
            connection.close()
            try:
                keep(Streams(*descriptors), [agent])
            finally:
                os._exit(0)
        for descriptor in descriptors:
            os.close(descriptor)


def attach(connection: socket.socket) -> int:
    """Keep one run on this process's own standard streams. Returns the exit status; 125 if it could not start.

    It is a child that keeps it, out of the reach of whoever kills this process and its group: it then ends the run.
    """
    watched = [os.pidfd_open(os.getppid()), os.pidfd_open(os.getpid())]
    keeper = os.fork()
    if keeper:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        return os.waitstatus_to_exitcode(os.waitpid(keeper, 0)[1])
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    _, [request] = wire.accept(connection, 1)
    report = keep(Streams(connection.fileno(), request, 0, 1, 2, nothing, nothing), watched)
    if "fault" in report:
        print(f"sandbox: {report['fault']}", file=sys.stderr)
        return 125
    return report["exit"]
