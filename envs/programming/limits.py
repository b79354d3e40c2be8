"""The resource limits of candidates and compilers, and the messages when one is exceeded."""

from langgraph_reflexion.envs.sandbox import Limits, Result
from langgraph_reflexion.envs.sandbox.types import MB

CANDIDATE = Limits(wall=60, cpu=10, memory=1024 * MB, result=MB)
"""The limits of a candidate for all its tests together. The original code's ten seconds are of CPU here, so that a
verdict does not depend on what else the machine does; a candidate that only waits is ended after a minute."""

ROOM = 16 * MB
"""Bytes of the answers of a canonical solution."""

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
