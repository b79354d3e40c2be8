"""Runs harmless programs in one backend as the current user, and prints how they ended as JSON.

python honest.py BACKEND
"""

import json
import shutil
import subprocess
import sys
import tomllib
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from langgraph_reflexion.envs.sandbox import Limits, Sandbox

warnings.simplefilter("ignore")

PROGRAMS = tomllib.loads(Path(__file__).with_name("honest.toml").read_text(encoding="utf-8"))
MAY_BE_MISSING = {"node", "rustc", "java", "go"}
LIMITS = Limits(wall=60, cpu=60, disk=256 << 20, processes=128)


def works_here(program: str) -> bool:
    """Whether the host can run it; rustup's proxies, for example, need a toolchain."""
    version = [program, "version" if program == "go" else "--version"]
    return shutil.which(program) is not None and subprocess.run(version, capture_output=True).returncode == 0


def main(backend: str) -> None:
    sandbox = Sandbox(backend)

    def run(name: str) -> dict:
        if name in MAY_BE_MISSING and not works_here(name):
            return {"missing": True}
        program = {"command": ["python", "main.py"], "file": "main.py", **PROGRAMS[name]}
        argv = [sys.executable if word == "python" else word for word in program["command"]]
        done = sandbox.run(argv, files={program["file"]: program["source"]}, limits=LIMITS)
        return {"status": done.status, "right": "42" in done.text, "said": (done.text + done.errors)[-400:]}

    with ThreadPoolExecutor(2) as pool:
        print(json.dumps(dict(zip(PROGRAMS, pool.map(run, PROGRAMS), strict=True))))


if __name__ == "__main__":
    main(sys.argv[1])
