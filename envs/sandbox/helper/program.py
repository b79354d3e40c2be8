"""A Python program in a fresh child of a warm interpreter, inside a running sandbox.

The interpreter has read nothing of any program when it forks: the child itself receives the source. In bubblewrap the
child gets its own namespaces, so that children see neither each other nor the interpreter; behind Landlock it
restricts itself like any other program. It can start threads but no processes.
"""

import atexit
import os
import sys
import threading
import traceback
from functools import lru_cache
from types import ModuleType
from typing import NoReturn

from langgraph_reflexion.envs.sandbox.helper import kernel, seccomp, staging
from langgraph_reflexion.envs.sandbox.helper.landlock import Landlock
from langgraph_reflexion.envs.sandbox.helper.launch import (
    ENVIRONMENT,
    HOME,
    RESULT,
    STARTED,
    WORK,
    ForkedPlan,
    limit,
    ordinary_signals,
    renumber,
)

PRELOADED = (
    *("array", "bisect", "collections", "contextlib", "copy", "dataclasses", "datetime", "decimal", "enum"),
    *("fractions", "functools", "heapq", "itertools", "json", "math", "operator", "random", "re", "statistics"),
    *("string", "typing"),
)
"""Modules that programs often import."""


def prepare() -> None:
    """Compute in advance what is the same for every program."""
    seccomp.assemble(**_WALLS)
    _mounted_below_tmp()


@lru_cache(maxsize=1)
def _mounted_below_tmp() -> list[str]:
    with open("/proc/self/mounts", encoding="utf-8") as file:
        # A space in a name is written as \040.
        places = [line.split()[1].encode().decode("unicode_escape") for line in file]
    below = [place for place in places if place.startswith("/tmp/")]
    return [place for place in below if not any(place.startswith(f"{other}/") for other in below)]


_WALLS = {"fork": False, "own_network": False}


class WarmProgram(ForkedPlan):
    """A program in a child of the interpreter, in bubblewrap."""

    def enter(self) -> NoReturn:
        """Isolate this child from the others, restrict it, and run the program."""
        limits = self.request["limits"]
        # Otherwise a signal to its process group would reach the interpreter, in another namespace.
        os.setsid()
        kernel.unshare(kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC)
        hidden = kernel.MS_NOSUID | kernel.MS_NODEV
        # Installations may be mounted below /tmp.
        below = {path: staging.detach(path) for path in _mounted_below_tmp()}
        kernel.mount("none", "/tmp", "tmpfs", hidden, f"size={limits['disk']},nr_inodes={limits['files']},mode=0755")
        kernel.mount("none", "/dev/shm", "tmpfs", hidden, f"size={64 << 20},nr_inodes=1024,mode=0755")
        kernel.mount("none", "/proc", "proc", hidden)
        for path, tree in below.items():
            staging.attach(path, tree)
        renumber({number: number for number in range(STARTED + 1)})
        for folder in (WORK, HOME):
            os.mkdir(folder)
        os.chdir(WORK)
        for name, blob in zip(self.request["files"], self.blobs, strict=True):
            os.makedirs(os.path.dirname(os.path.abspath(name)), exist_ok=True)
            with open(name, "wb") as file:
                file.write(blob)
        # Processes and threads are counted per user namespace: children must not share one.
        kernel.unshare(kernel.CLONE_NEWUSER)
        kernel.die_with_parent()
        ordinary_signals()
        limit(limits)
        kernel.drop_capabilities()
        kernel.no_new_privileges()
        kernel.load_filter(seccomp.assemble(**_WALLS))
        run(self.request["argv"], {**ENVIRONMENT, **self.request["env"]})


class WarmLandlock(Landlock):
    """A program in a child of the interpreter, behind Landlock."""

    def enter(self) -> NoReturn:
        """Restrict this process and run the program."""
        self.request["fork"] = False
        self.prepare()
        self.confine()
        self.write_files()
        run(self.request["argv"], self.environment())


def run(argv: list[str], environment: dict[str, str]) -> NoReturn:
    """Run a Python file as `python FILE ARGUMENTS` does, and exit with its status."""
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = argv
    sys.path.insert(0, os.getcwd())
    module = sys.modules["__main__"] = ModuleType("__main__")
    os.write(STARTED, b"+")
    os.close(STARTED)
    os.closerange(RESULT + 1, 64)
    status, name = 0, os.path.abspath(argv[0])
    try:
        with open(name, "rb") as file:
            code = compile(file.read(), name, "exec")
        module.__dict__.update(__file__=name, __builtins__=__builtins__)
        exec(code, module.__dict__)
        _finish()
    except SystemExit as error:
        status = _status(error.code)
        _finish()
    except BaseException:
        status = 1
        kind, error_, trace = sys.exc_info()
        # Without the frame of this file, as the interpreter prints it.
        traceback.print_exception(kind, error_, trace.tb_next if trace else None)
        _finish()
    os._exit(status)


def _status(code: object) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)
    return 1


def _finish() -> None:
    """Do what the interpreter does at exit, except for its teardown."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue  # the program has closed it, or nobody reads it
