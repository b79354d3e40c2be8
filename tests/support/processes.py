"""Processes that serve, and waiting for what processes do."""

import socket
import subprocess
import sys
import time
from contextlib import contextmanager


def until(happened, seconds=60):
    """Wait until something has happened; says whether it has."""
    end = time.monotonic() + seconds
    while not (done := happened()) and time.monotonic() < end:
        time.sleep(0.05)
    return done


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


@contextmanager
def serving(command, port, log, **options):
    """Run a server until the end; yields its address once the port is open."""
    with log.open("w") as written:
        process = subprocess.Popen(command, stdout=written, stderr=written, **options)

    def is_open():
        assert process.poll() is None, log.read_text()[-3000:]
        with socket.socket() as connection:
            return connection.connect_ex(("127.0.0.1", port)) == 0

    try:
        assert until(is_open, 180), log.read_text()[-3000:]
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def langgraph_dev(config, log, environment, *options, python=sys.executable):
    """Serve the graphs of a langgraph.json, in the folder of the log."""
    port = free_port()
    command = [python, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload", "--port", str(port), *options]
    return serving([*command, "--config", config], port, log, cwd=log.parent, env=environment)
