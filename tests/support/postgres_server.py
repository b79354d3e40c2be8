"""A Postgres server for tests and measurements: made in a folder, and removed afterwards."""

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from tests.support.processes import free_port


def binaries():
    """Return the folder of the server's programs (Debian's package `postgresql`), or None."""
    if found := shutil.which("initdb"):
        return Path(found).parent
    # Debian leaves them off the PATH, where it has a command that finds them.
    if not shutil.which("pg_ctlcluster"):
        return None
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return versions[-1].parent if versions else None


@contextmanager
def postgres_server(password=None):
    """Start a server on loopback and yield its address (`postgresql://...`)."""
    programs = binaries()
    if programs is None:
        raise FileNotFoundError("there is no Postgres server here (Debian's package postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="reflexion-postgres-"))
    # It refuses to run as root.
    prefix = []
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
        prefix = ["runuser", "-u", "postgres", "--"]
    port = free_port()
    data = str(folder / "data")

    def run(*command):
        subprocess.run([*prefix, *command], check=True, stdout=subprocess.DEVNULL, cwd=folder)

    try:
        asks = ["-A", "trust"]
        if password:
            (folder / "password").write_text(password, encoding="utf-8")
            asks = ["-A", "scram-sha-256", "--pwfile", str(folder / "password")]
        run(str(programs / "initdb"), "-D", data, *asks, "-U", "reflexion", "--no-sync")
        options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        run(str(programs / "pg_ctl"), "-D", data, "-o", options, "-l", str(folder / "log"), "-w", "start")
        try:
            user = f"reflexion:{quote(password, safe='')}" if password else "reflexion"
            yield f"postgresql://{user}@127.0.0.1:{port}/postgres"
        finally:
            run(str(programs / "pg_ctl"), "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
