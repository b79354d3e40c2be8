"""The sandbox as a deepagents backend. Needs the extra `deepagents`.

```python
from deepagents import create_deep_agent
from langgraph_reflexion.adapters.deepagents import DeepagentsSandbox

agent = create_deep_agent(model, backend=DeepagentsSandbox(workspace="work"))
```
"""

import uuid
from dataclasses import replace
from pathlib import Path

from langgraph_reflexion.envs.sandbox import Bind, Limits, Policy, Result, Sandbox
from langgraph_reflexion.envs.sandbox.sandbox import with_wall
from langgraph_reflexion.envs.sandbox.types import word
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable, the_extra

try:
    from deepagents.backends.protocol import ExecuteResponse, FileDownloadResponse, FileUploadResponse
    from deepagents.backends.sandbox import BaseSandbox
except ImportError as error:
    raise EnvironmentUnavailable(f"deepagents is missing; it comes with {the_extra('deepagents')}") from error

_WRITE = 'mkdir -p -- "$(dirname -- "$1")" && cat > "$1"'
_READ = 'test -d "$1" && exit 3; test -e "$1" || exit 4; cat -- "$1"'
_WHY = {3: "is_directory", 4: "file_not_found"}
_LARGEST = 256 << 20


class DeepagentsSandbox(BaseSandbox):
    """Commands and files of a deep agent, confined to a workspace folder of the host.

    Files are read and written inside the sandbox, so that the agent's symbolic links cannot lead out of it.

    Args:
        workspace: The folder, created if missing. The agent's changes to it persist.
        sandbox: Where commands run. Landlock needs `allow_degraded`.
        limits: The limits of one command.
        policy: What a command may see and do in addition to its workspace.
    """

    def __init__(
        self,
        workspace: str | Path,
        sandbox: Sandbox | None = None,
        *,
        limits: Limits | None = None,
        policy: Policy | None = None,
    ) -> None:
        self._workspace = Path(workspace).absolute()
        self._workspace.mkdir(parents=True, exist_ok=True)
        self._sandbox = sandbox or Sandbox()
        self._limits = limits or Limits(wall=120, cpu=240, disk=1 << 30)
        policy = policy or Policy()
        self._policy = replace(policy, binds=(*policy.binds, Bind(self._workspace, writable=True)))
        self._id = f"langgraph-reflexion-{uuid.uuid4().hex[:12]}"

    @property
    def id(self) -> str:
        return self._id

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """Run a shell command in the workspace, for at most `timeout` seconds or the limits' wall time.

        Raises:
            EnvironmentFault: the sandbox failed to start.
        """
        if wrong := _wrong(command):
            return ExecuteResponse(output=wrong, exit_code=126, truncated=False)
        limits = with_wall(self._limits, timeout or None)  # 0 means none
        done = self._run(["/bin/sh", "-c", f"exec 2>&1\n{command}"], limits)
        output = done.text if done.status in ("ok", "failed") else f"{done.text}\n[ended: {done.status}]"
        return ExecuteResponse(output=output, exit_code=done.exit_code, truncated=done.truncated)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Write files, by their paths in the sandbox."""
        return [self._upload(path, content) for path, content in files]

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Read files, by their paths in the sandbox."""
        return [self._download(path) for path in paths]

    def _upload(self, path: str, content: bytes) -> FileUploadResponse:
        if _wrong(path):
            return FileUploadResponse(path=path, error="invalid_path")
        done = self._run(["/bin/sh", "-c", _WRITE, "sandbox", path], self._limits, stdin=content)
        return FileUploadResponse(path=path, error=None if done.status == "ok" else "permission_denied")

    def _download(self, path: str) -> FileDownloadResponse:
        if _wrong(path):
            return FileDownloadResponse(path=path, error="invalid_path")
        done = self._run(["/bin/sh", "-c", _READ, "sandbox", path], replace(self._limits, output=_LARGEST))
        if done.status == "ok" and not done.truncated:
            return FileDownloadResponse(path=path, content=done.stdout)
        return FileDownloadResponse(path=path, error=_WHY.get(done.exit_code, "permission_denied"))

    def _run(self, argv: list[str], limits: Limits, stdin: bytes = b"") -> Result:
        return self._sandbox.run(argv, cwd=self._workspace, limits=limits, policy=self._policy, stdin=stdin)


def _wrong(text: str) -> str:
    """Return what is wrong with a model's command or path, which the model should see; empty if it is valid."""
    try:
        word(text, "the command")
    except ConfigurationError as error:
        return str(error)
    return ""
