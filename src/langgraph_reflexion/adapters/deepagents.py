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
    """Commands and files of a deep agent, in a workspace that is all it sees of the host.

    Files are read and written inside as well: a link that an agent has laid leads nowhere.

    Args:
        workspace: A folder, which is made if need be. It keeps what the agent does.
        sandbox: Where commands run. Landlock needs `allow_degraded`.
        limits: What one command may use.
        policy: What it may see and do, beside its workspace.
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
        """Run a shell command in the workspace, for `timeout` seconds or the limits' wall time.

        Raises:
            EnvironmentFault: the sandbox did not start.
        """
        if wrong := _wrong(command):
            return ExecuteResponse(output=wrong, exit_code=126, truncated=False)
        limits = with_wall(self._limits, timeout or None)  # 0 is as much as none
        done = self._run(["/bin/sh", "-c", f"exec 2>&1\n{command}"], limits=limits)
        output = done.text if done.status in ("ok", "failed") else f"{done.text}\n[ended: {done.status}]"
        return ExecuteResponse(output=output, exit_code=done.exit_code, truncated=done.truncated)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Write files, by their paths inside."""
        answers = []
        for path, content in files:
            if _wrong(path):
                answers.append(FileUploadResponse(path=path, error="invalid_path"))
                continue
            done = self._run(["/bin/sh", "-c", _WRITE, "sandbox", path], stdin=content)
            answers.append(FileUploadResponse(path=path, error=None if done.status == "ok" else "permission_denied"))
        return answers

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Read files, by their paths inside."""
        answers = []
        for path in paths:
            if _wrong(path):
                answers.append(FileDownloadResponse(path=path, error="invalid_path"))
                continue
            limits = replace(self._limits, output=_LARGEST)
            done = self._run(["/bin/sh", "-c", _READ, "sandbox", path], limits=limits)
            if done.status == "ok" and not done.truncated:
                answers.append(FileDownloadResponse(path=path, content=done.stdout))
            else:
                why = _WHY.get(done.exit_code, "permission_denied")
                answers.append(FileDownloadResponse(path=path, error=why))
        return answers

    def _run(self, argv: list[str], *, limits: Limits | None = None, stdin: bytes = b"") -> Result:
        given = limits or self._limits
        return self._sandbox.run(argv, cwd=self._workspace, limits=given, policy=self._policy, stdin=stdin)


def _wrong(text: str) -> str:
    """What is wrong with a word that a model has made: that is an answer to it, and no end of the agent."""
    try:
        word(text, "the command")
    except ConfigurationError as error:
        return str(error)
    return ""
