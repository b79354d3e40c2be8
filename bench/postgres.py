"""A Postgres server of one's own, for tests and measurements: made in a folder, and gone afterwards."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def binaries() -> Path | None:
    """Where the server's programs are (Debian's package `postgresql`), or None."""
    if found := shutil.which("initdb"):
        return Path(found).parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return versions[-1].parent if versions else None


@contextmanager
def postgres_server() -> Iterator[str]:
    """Start a server on loopback; its address (`postgresql://...`).

    Raises:
        FileNotFoundError: Postgres is not installed.
    """
    programs = binaries()
    if programs is None:
        raise FileNotFoundError("there is no Postgres server here (Debian's package postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="reflexion-postgres-"))
    # It refuses to run as root.
    prefix: list[str] = []
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
        prefix = ["runuser", "-u", "postgres", "--"]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data = str(folder / "data")

    def run(*command: str) -> None:
        subprocess.run([*prefix, *command], check=True, stdout=subprocess.DEVNULL, cwd=folder)

    try:
        run(str(programs / "initdb"), "-D", data, "-A", "trust", "-U", "reflexion", "--no-sync")
        options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        run(str(programs / "pg_ctl"), "-D", data, "-o", options, "-l", str(folder / "log"), "-w", "start")
        try:
            yield f"postgresql://reflexion@127.0.0.1:{port}/postgres"
        finally:
            run(str(programs / "pg_ctl"), "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
