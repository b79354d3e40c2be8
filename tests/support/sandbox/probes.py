"""The hostile programs of `hostile.toml`, and the backends that contain them: the table of the documentation.

A program that reaches its target writes `LEAK` to the result descriptor; some are checked from outside instead.
`world.json` in its folder contains the targets on the host.
"""

import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path

from langgraph_reflexion.envs.sandbox import Limits

MB = 1 << 20
COLUMNS = (("bubblewrap", "root"), ("bubblewrap", "user"), ("landlock", "root"), ("landlock", "user"))
LIMITS = Limits(wall=8, cpu=8, memory=256 * MB, processes=32, descriptors=64, disk=16 * MB, files=500, result=4096)

BEGIN = """
import ctypes, errno, glob, json, mmap, os, resource, signal, socket, stat, subprocess, sys, threading, time
world = json.load(open("world.json"))
libc = ctypes.CDLL(None, use_errno=True)
MB = 1 << 20

def leak(what=""):
    os.write(3, f"LEAK {what}".encode())

def reads(path):
    with open(path, "rb") as file:
        if file.read():
            leak(path)
"""


@dataclass(frozen=True)
class Hostile:
    """One hostile program."""

    name: str
    source: str
    limits: Limits = LIMITS
    lets_through: tuple[str, ...] = ()
    """The backends that do not contain it, as `landlock`, or `landlock, user` for ordinary users only."""
    evidence: str = ""
    """What has got through where, for the documentation; only of a program that some backend lets through."""
    outside: str = ""
    """The check from outside: `late`, `daemon`, `shm`, `sysv`, `written` or `files`; else the result descriptor."""
    bare: bool = False
    """Whether it gets through on the bare host, which shows that it works."""
    needs: list[str] = field(default_factory=list)


HOSTILE = [
    Hostile(**{**program, "limits": replace(LIMITS, **program.get("limits", {}))})
    for program in tomllib.loads(Path(__file__).with_name("hostile.toml").read_text(encoding="utf-8"))["program"]
]


HONEST = tomllib.loads(Path(__file__).with_name("honest.toml").read_text(encoding="utf-8"))
"""Harmless programs that must run as usual."""
MAY_BE_MISSING = {"node", "rustc", "java", "go"}


def contained(hostile, backend, user):
    """Whether the table says that it is contained."""
    return not {backend, f"{backend}, {user}"} & set(hostile.lets_through)


def table():
    """Return the table of the documentation."""
    lines = ["| what it tries | " + " | ".join(f"{b}, {u}" for b, u in COLUMNS) + " |", "|---" * 5 + "|"]
    for each in HOSTILE:
        cells = ["contained" if contained(each, *column) else "**gets through**" for column in COLUMNS]
        lines.append(f"| {each.name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def through_table():
    """Return the documentation's table of what gets through."""
    lines = ["| what gets through | where | what was seen, and what it means |", "|---|---|---|"]
    through = [each for each in HOSTILE if each.lets_through]
    rows = [f"| {each.name} | {'; '.join(each.lets_through)} | {each.evidence} |" for each in through]
    return "\n".join([*lines, *rows])
