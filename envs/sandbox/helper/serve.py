"""The helper's main loop: receives the descriptors of a run, and forks a supervisor for it.

    python bootstrap.py serve NUMBER            runs requested over the socket with this number
    python bootstrap.py warm NUMBER MODULE...   the same, with preloaded modules
    python bootstrap.py pool NUMBER MODULE...   warm programs only, inside bubblewrap
    python bootstrap.py attach NUMBER           one run, on this process's own standard streams

Only the supervisor reads what a run is: this process knows nothing of any run.
"""

import contextlib
import gc
import importlib
import os
import signal
import socket
import sys

from langgraph_reflexion.envs.sandbox.helper import identity, protocol
from langgraph_reflexion.envs.sandbox.helper.launch import Streams
from langgraph_reflexion.envs.sandbox.helper.supervisor import supervise
from langgraph_reflexion.envs.sandbox.helper.warm_pool import run_pool


def main(arguments: list[str]) -> None:
    """Run a command line of the helper."""
    how, number, *modules = arguments
    connection = socket.socket(fileno=int(number))
    if how == "attach":
        sys.exit(attach(connection))
    for name in modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()  # children share the memory of what is loaded
    if how == "pool":
        run_pool(connection)
    else:
        serve(connection)


def serve(connection: socket.socket) -> None:
    """Serve until the agent closes the connection or dies."""
    agent = os.pidfd_open(os.getppid())
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    identity.numbers()  # cached for all children
    while True:
        message, descriptors = protocol.accept(connection, len(Streams._fields))
        if not message:
            return
        if os.fork() == 0:
            connection.close()
            try:
                supervise(Streams(*descriptors), [agent])
            finally:
                os._exit(0)
        for descriptor in descriptors:
            os.close(descriptor)


def attach(connection: socket.socket) -> int:
    """Carry out one run on this process's standard streams, and return its exit status, 125 if it failed to start.

    A child supervises it, out of reach of a signal to this process and its group, which ends the run.
    """
    watched = [os.pidfd_open(os.getppid()), os.pidfd_open(os.getpid())]
    supervisor = os.fork()
    if supervisor:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        return os.waitstatus_to_exitcode(os.waitpid(supervisor, 0)[1])
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    _, [request] = protocol.accept(connection, 1)
    report = supervise(Streams(connection.fileno(), request, 0, 1, 2, nothing, nothing), watched)
    if "fault" in report:
        print(f"sandbox: {report['fault']}", file=sys.stderr)
        return 125
    return report["exit"]
