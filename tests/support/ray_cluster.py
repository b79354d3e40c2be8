"""A Ray cluster of one machine for tests: started, and removed afterwards."""

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from tests.support.processes import free_port


@contextmanager
def ray_cluster(workers, environment=None):
    """Start a cluster on loopback without its dashboard; yields its address and the variables that let a driver in.

    `RAY_TMPDIR` among them is the folder of all of its files.
    """
    port = free_port()
    # Newer versions only let in who knows the cluster's token.
    address, found = f"127.0.0.1:{port}", {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(16)}
    # The paths of its sockets must be short.
    found["RAY_TMPDIR"] = folder = tempfile.mkdtemp(prefix="ray-")
    command = ["start", "--head", "--block", "--node-ip-address=127.0.0.1", f"--port={port}", f"--temp-dir={folder}"]
    command += [f"--num-cpus={workers}", "--include-dashboard=false", "--disable-usage-stats"]
    log = Path(folder) / "output.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "ray.scripts.scripts", *command],
            env={**os.environ, **found, **(environment or {})},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + 120
        while not any(Path(folder).glob("session_latest/sockets/raylet*")):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"Ray does not start: {log.read_text(encoding='utf-8', errors='replace')}")
            time.sleep(0.1)
        yield address, found
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)
