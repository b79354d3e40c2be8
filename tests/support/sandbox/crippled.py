"""An agent on a host where some backends cannot work: `python crippled.py landlock|nothing`, run by unshare(1).

`landlock` disables Landlock in this process and its children. Prints the outcome of choosing and running as JSON.
"""

import json
import os
import struct
import sys
import tempfile
import warnings
from pathlib import Path

from langgraph_reflexion.envs.sandbox import Bind, Policy, Sandbox, probe
from langgraph_reflexion.envs.sandbox.helper import kernel
from langgraph_reflexion.errors import EnvironmentUnavailable

LANDLOCK_CREATE_RULESET, ENOSYS = 444, 38


def without_landlock():
    steps = [
        (0x20, 0, 0, 0),
        (0x15, 0, 1, LANDLOCK_CREATE_RULESET),
        (6, 0, 0, 0x50000 | ENOSYS),
        (6, 0, 0, 0x7FFF0000),
    ]
    kernel.no_new_privileges()
    kernel.load_filter(b"".join(struct.pack("=HBBI", *step) for step in steps))


def main(what):
    if what == "landlock":
        without_landlock()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            sandbox = Sandbox()
            Sandbox()
        except EnvironmentUnavailable as error:
            print(json.dumps({"error": str(error)}))
            return
    report = {
        "backend": sandbox.backend,
        "warnings": [str(each.message) for each in caught],
        "bubblewrap": probe("bubblewrap").words,
        "text": sandbox.run([sys.executable, "-c", "print(6 * 7)"]).text,
    }
    with tempfile.TemporaryDirectory() as folder:
        policy = Policy(binds=(Bind(Path(folder), writable=True),))
        try:
            sandbox.run(["true"], policy=policy)
        except EnvironmentUnavailable as error:
            report["refused"] = str(error)
        allowed = Sandbox(allow_degraded=True).run(["sh", "-c", "echo x > file"], policy=policy, cwd=Path(folder))
        report["allowed"] = [allowed.status, sorted(os.listdir(folder))]
    print(json.dumps(report))


if __name__ == "__main__":
    main(sys.argv[1])
