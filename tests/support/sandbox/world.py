"""Runs programs in one backend as the current user, and prints as JSON what got through, or how they ended.

python world.py BACKEND [honest]
"""

import contextlib
import ctypes
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import uuid
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from langgraph_reflexion.envs.sandbox import Limits, Policy, Sandbox
from langgraph_reflexion.errors import ReflexionError

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from probes import BEGIN, HONEST, HOSTILE, MAY_BE_MISSING

warnings.simplefilter("ignore")
libc = ctypes.CDLL(None)


@contextlib.contextmanager
def world():
    """Create targets on the host that this user can reach."""
    token = f"sandbox-test-{uuid.uuid4().hex}"
    os.environ["SECRET_KEY"] = token
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=Path.home())))
        for place in (folder, home):
            os.chmod(place, 0o755)
        (home / "private").mkdir()
        secret = home / "private" / "secret"
        secret.write_text("a secret")

        def listening(family, kind, address):
            server = stack.enter_context(socket.socket(family, kind))
            server.bind(address)
            if kind == socket.SOCK_STREAM:
                server.listen()
            return server

        tcp = listening(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
        udp = listening(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))
        listening(socket.AF_UNIX, socket.SOCK_STREAM, f"{folder}/socket")
        os.chmod(f"{folder}/socket", 0o777)
        listening(socket.AF_UNIX, socket.SOCK_STREAM, f"\0{token}")
        listening(socket.AF_UNIX, socket.SOCK_DGRAM, f"{folder}/datagram")
        os.chmod(f"{folder}/datagram", 0o777)
        listening(socket.AF_UNIX, socket.SOCK_DGRAM, f"\0{token}-datagram")
        Path(folder, "mine").write_text("mine")
        segment = libc.shmget(0, 4096, 0o1600)
        stack.callback(libc.shmctl, segment, 0, None)

        def echo():
            with contextlib.suppress(OSError):
                while True:
                    data, sender = udp.recvfrom(10)
                    udp.sendto(data, sender)

        threading.Thread(target=echo, daemon=True).start()
        victim = subprocess.Popen(["sleep", "600"])
        os.set_inheritable(os.open(secret, os.O_RDONLY), True)
        try:
            found = {"token": token, "abstract": token, "secret": str(secret), "home": str(home), "folder": folder}
            found |= {name: f"{folder}/{name}" for name in ("outside", "datagram", "mine")}
            found |= {"unix": f"{folder}/socket", "tcp": tcp.getsockname()[1], "udp": udp.getsockname()[1]}
            found |= {"victim": victim.pid, "agent": os.getpid(), "name": os.uname().nodename}
            yield found | {"segment": segment, "key": int(token[-7:], 16)}
            assert victim.poll() is None, "a hostile program has killed a process of the host"
        finally:
            victim.kill()
            victim.wait()


def got_through(hostile, done, found):
    """Whether a program reached its target."""
    token = found["token"]
    if hostile.outside == "late":
        return done.status == "ok" or done.seconds > (hostile.limits.wall or 0) + 1.5
    if hostile.outside == "daemon":
        return any(token.encode() in command for command in command_lines())
    if hostile.outside == "shm":
        path = Path("/dev/shm", token)
        there = path.exists()
        path.unlink(missing_ok=True)
        return there
    if hostile.outside == "sysv":
        segments = [line.split()[:2] for line in Path("/proc/sysvipc/shm").read_text().splitlines()]
        made = [number for key, number in segments if key == str(found["key"])]
        for number in made:
            subprocess.run(["ipcrm", "--shmem-id", number], check=True)
        return bool(made)
    if hostile.outside == "written":
        return Path(found["outside"]).exists()
    if hostile.outside == "files":
        return done.status != "files" and b"LEAK" in done.result
    return b"LEAK" in done.result


def command_lines():
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            yield path.read_bytes()


def main(backend, what="hostile"):
    """Run all programs and print the outcomes."""
    outcomes = honest(Sandbox(backend)) if what == "honest" else hostile(Sandbox(backend))
    print(json.dumps(outcomes))


def hostile(sandbox):
    with world() as found:

        def attempt(hostile):
            files = {"main.py": BEGIN + hostile.source, "world.json": json.dumps(found)}
            try:
                done = sandbox.run(
                    [sys.executable, "main.py"], files=files, limits=hostile.limits, policy=Policy(env={"A": "b"})
                )
            except ReflexionError as error:
                return {"fault": str(error)}
            last = [*done.errors.strip().splitlines(), ""][-1 if not done.errors.strip() else -2]
            return {
                "through": got_through(hostile, done, found),
                "status": done.status,
                "seconds": round(done.seconds, 2),
                "said": done.result.decode(errors="replace")[:100],
                "error": last[:150],
            }

        chosen = [each for each in HOSTILE if sandbox.backend != "unsafe-bare-host" or each.bare]
        with ThreadPoolExecutor(3) as pool:
            return {each.name: row for each, row in zip(chosen, pool.map(attempt, chosen), strict=True)}


def honest(sandbox):
    def run(name):
        # rustup's proxies, for example, need a toolchain.
        version = [name, "version" if name == "go" else "--version"]
        if name in MAY_BE_MISSING and (
            not shutil.which(name) or subprocess.run(version, capture_output=True).returncode
        ):
            return {"missing": True}
        program = {"command": ["python", "main.py"], "file": "main.py", **HONEST[name]}
        argv = [sys.executable if word == "python" else word for word in program["command"]]
        limits = Limits(wall=60, cpu=60, disk=256 << 20, processes=128)
        done = sandbox.run(argv, files={program["file"]: program["source"]}, limits=limits)
        return {"status": done.status, "right": "42" in done.text, "said": (done.text + done.errors)[-400:]}

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(HONEST, pool.map(run, HONEST), strict=True))


if __name__ == "__main__":
    main(*sys.argv[1:])
