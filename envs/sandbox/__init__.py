r"""The sandbox for untrusted code: one small API over several backends.

```python
from langgraph_reflexion.envs.sandbox import Limits, Sandbox

sandbox = Sandbox()
done = sandbox.run(["python", "main.py"], files={"main.py": "print(6 * 7)"}, limits=Limits(wall=5))
assert (done.status, done.text) == ("ok", "42\n")
```
"""

from langgraph_reflexion.envs.sandbox.backends import BACKENDS, Probe, probe
from langgraph_reflexion.envs.sandbox.limits import Limits
from langgraph_reflexion.envs.sandbox.sandbox import Sandbox
from langgraph_reflexion.envs.sandbox.types import Bind, Policy, Result, Status

__all__ = ["BACKENDS", "Bind", "Limits", "Policy", "Probe", "Result", "Sandbox", "Status", "probe"]
