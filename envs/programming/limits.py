"""The resource limits of candidates and compilers, and the messages when one is exceeded."""

from langgraph_reflexion.envs.sandbox import Limits, Result
from langgraph_reflexion.envs.sandbox.types import MB

CANDIDATE = Limits(wall=120, cpu=20, memory=1024 * MB, result=MB)
"""The limits of a candidate for all its tests together. They count CPU, so that a verdict does not depend on what
else the machine does, and are twice the original code's ten seconds, which a logged solution (HumanEval/129) nearly
needs. A candidate that only waits is ended after two minutes."""

COMPILER = Limits(wall=60, cpu=120, memory=4096 * MB, processes=256, descriptors=1024, disk=512 * MB)
"""The limits of compiling a candidate."""


def ended_by(done: Result, limits: Limits) -> str:
    """Return which limit ended a run; empty if none did."""
    match done.status:
        case "timeout":
            return f"took longer than {limits.wall:g} s"
        case "cpu":
            return f"took more than {limits.cpu:g} s of CPU"
        case "memory":
            return f"used more than {limits.memory // MB} MB of memory"
        case "output":
            return "wrote too much"
        case "files":
            return "made too many files"
    return ""
