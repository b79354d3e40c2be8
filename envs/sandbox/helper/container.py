"""Docker or Podman: a container from an image with its own programs; the host's are not visible.

An engine passes only the standard descriptors, so results come back through named pipes in a mounted folder.
"""

import os
import shlex
import subprocess
import tempfile
import uuid
from pathlib import Path
from typing import NoReturn

from langgraph_reflexion.envs.sandbox.helper import staging
from langgraph_reflexion.envs.sandbox.helper.launch import (
    COLLECTED,
    ENVIRONMENT,
    HOME,
    RESULT,
    STARTED,
    WORK,
    ForkedPlan,
    kernel_limits,
    ordinary_signals,
    renumber,
)
from langgraph_reflexion.envs.sandbox.helper.protocol import Request

_PIPES = {"result": RESULT, "started": STARTED, "collected": COLLECTED}
_EXCHANGE = "/sandbox"


class Container(ForkedPlan):
    """A run in its own container."""

    changes_user = False

    def __init__(self, request: Request, blobs: list[bytes], user: int | None) -> None:
        super().__init__(request, blobs, user)
        self.name = f"langgraph-reflexion-{uuid.uuid4().hex}"
        self.folder = Path(staging.make(tempfile.gettempdir())[0])

    def settle(self) -> None:
        """Remove the container, even if it is running, and the folder."""
        subprocess.run([self.request["tool"], "rm", "--force", self.name], capture_output=True, check=False)
        staging.remove(str(self.folder))

    def enter(self) -> NoReturn:
        """Create files and pipes, and become a shell that runs the engine's client."""
        self.folder.chmod(0o755)
        files = self.folder / "files"
        files.mkdir()
        for name, blob in zip(self.request["files"], self.blobs, strict=True):
            path = files / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(blob)
            path.chmod(0o755)
        for name in _PIPES:
            os.mkfifo(self.folder / name)
            (self.folder / name).chmod(0o666)
        ordinary_signals()
        renumber({number: number for number in range(COLLECTED + 1)})
        os.execv("/bin/sh", ["/bin/sh", "-c", self.outer(), "sandbox", *self.command()])

    def outer(self) -> str:
        """Return the script on the host, which holds the pipes open, so that opening them blocks nobody."""
        held = {name: 7 + index for index, name in enumerate(_PIPES)}
        lines = [f"exec {number}<>{shlex.quote(str(self.folder / name))}" for name, number in held.items()]
        away = " ".join(f"{number}>&-" for number in held.values())
        for name, number in _PIPES.items():
            lines.append(f"cat {shlex.quote(str(self.folder / name))} >&{number} {away} &")
        inner = " ".join(f"{number}>&-" for number in (*held.values(), *_PIPES.values()))
        lines += [f'"$@" {inner}; status=$?', f"exec {away}", "wait", "exit $status"]
        return "\n".join(lines)

    def command(self) -> list[str]:
        """Return the engine's command line."""
        request, limits = self.request, self.request["limits"]
        values = kernel_limits(limits)
        words = [request["tool"], "run", "--rm", "--interactive", "--pull", "never", "--name", self.name]
        words += ["--hostname", "sandbox", "--read-only", "--cap-drop", "ALL"]
        words += ["--security-opt", "no-new-privileges", "--security-opt", "label=disable"]
        words += [] if request["network"] else ["--network", "none"]
        words += ["--memory", str(limits["memory"]), "--memory-swap", str(limits["memory"])]
        words += ["--pids-limit", str(limits["processes"] + 2)]
        for name in ("core", "cpu", "fsize", "nofile"):
            words += ["--ulimit", f"{name}={values[name]}:{values[name]}"]
        # Podman's default may exceed what is allowed; the actual limit is `--pids-limit`.
        words += ["--ulimit", "nproc=4096:4096"]
        words += ["--tmpfs", f"/tmp:rw,exec,nosuid,nodev,size={limits['disk']},mode=1777"]
        words += ["--volume", f"{self.folder}:{_EXCHANGE}", "--workdir", "/tmp"]
        owner = 1000
        for source, target, writable in request["binds"]:
            words += ["--volume", f"{source}:{target}" + ("" if writable else ":ro")]
            owner = os.stat(source).st_uid if writable else owner
        words += ["--user", f"{owner}:{owner}"]
        for name, value in {**ENVIRONMENT, **request["env"]}.items():
            # The image has its own programs and PATH.
            words += ["--env", f"{name}={value}"] if name != "PATH" else []
        return [*words, request["image"], "/bin/sh", "-c", self.inner(), "sandbox", *request["argv"]]

    def inner(self) -> str:
        """Return the script in the container."""
        folder = shlex.quote(self.request["cwd"] or WORK)
        lines = [
            "set -e",
            f"mkdir -p {WORK} {HOME}",
            f"cp -r {_EXCHANGE}/files/. {folder}/",
            f"cd {folder}",
        ]
        lines += [f"printf + >{_EXCHANGE}/started", f"exec {RESULT}>{_EXCHANGE}/result", "set +e"]
        if not self.request["collect"]:
            return "\n".join([*lines, 'exec "$@"'])
        names = " ".join(shlex.quote(f"./{name}") for name in self.request["collect"])
        pack = f"tar -cf - {names} 2>/dev/null >{_EXCHANGE}/collected {RESULT}>&-"
        return "\n".join([*lines, '"$@"', "status=$?", pack, "exit $status"])
