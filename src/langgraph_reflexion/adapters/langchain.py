"""LangChain's persistent shell in the sandbox.

```python
from langchain.agents.middleware import ShellToolMiddleware
from langgraph_reflexion.adapters.langchain import SandboxExecutionPolicy

middleware = ShellToolMiddleware(workspace_root="work", execution_policy=SandboxExecutionPolicy())
```
"""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from langchain.agents.middleware import HostExecutionPolicy

from langgraph_reflexion.envs.sandbox import Bind, Limits, Policy, Sandbox
from langgraph_reflexion.errors import ConfigurationError


@dataclass
class SandboxExecutionPolicy(HostExecutionPolicy):
    """Runs the shell in a sandbox that contains only its workspace, interpreters and compilers.

    LangChain reads the status of a command from the shell's output, where the command can forge it: good enough for a
    tool, but not for an evaluation, which should use `Sandbox.run`.
    """

    sandbox: Sandbox = field(default_factory=Sandbox)
    """Where the shell runs. Landlock needs `allow_degraded`, as the shell works in a folder of the host."""
    limits: Limits = field(default_factory=lambda: Limits(wall=None, cpu=3600, disk=1 << 30))
    """The limits of the shell over its whole life."""
    policy: Policy = field(default_factory=Policy)
    """What the shell may see and do in addition to its workspace."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cpu_time_seconds is not None or self.memory_bytes is not None:
            raise ConfigurationError("cpu_time_seconds and memory_bytes: set limits=Limits(cpu=..., memory=...)")

    def spawn(self, *, workspace: Path, env: Mapping[str, str], command: Sequence[str]) -> "subprocess.Popen[str]":
        bound = (*self.policy.binds, Bind(workspace, writable=True))
        return self.sandbox.attach(
            command,
            cwd=Path(workspace).absolute(),
            limits=self.limits,
            policy=replace(self.policy, binds=bound, env={**self.policy.env, **env}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            bufsize=1,
            start_new_session=True,
        )
