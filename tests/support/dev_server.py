"""`langgraph dev` in a process of its own."""

import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import httpx
import pytest


@contextmanager
def serve(config, log, environment, *options, python=sys.executable):
    """Serve the graphs of a langgraph.json until the end; yields the address. Runs in the folder of its log."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [python, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload", "--port", str(port), *options]
    with log.open("w") as written:
        process = subprocess.Popen(
            [*command, "--config", config], cwd=log.parent, env=environment, stdout=written, stderr=written
        )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(1800):
            assert process.poll() is None, log.read_text()[-3000:]
            try:
                httpx.get(f"{address}/ok")
                break
            except httpx.TransportError:
                time.sleep(0.1)
        else:
            pytest.fail(f"the server did not start: {log.read_text()[-3000:]}")
        yield address
    finally:
        process.terminate()
        process.wait(20)
