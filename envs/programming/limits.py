"""What candidates and compilers may use, and how it is said that one used more."""

from langgraph_reflexion.envs.sandbox import Limits, Result
from langgraph_reflexion.envs.sandbox.contract import MB

CANDIDATE = Limits(wall=10, cpu=10, memory=1024 * MB, result=16 * MB)
"""What a candidate may use for all its tests together; the original code's ten seconds among it."""

COMPILER = Limits(wall=60, cpu=120, memory=4096 * MB, processes=256, descriptors=1024, disk=512 * MB)
"""What compiling a candidate may use."""


def ended_by(done: Result, limits: Limits) -> str:
    """Which limit ended a run, in words; empty where none did."""
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
