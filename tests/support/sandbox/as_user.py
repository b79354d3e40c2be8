"""Runs a Python file as an ordinary user. Needs root; the interpreter may be where only root can reach it.

python as_user.py FILE ARGUMENT...
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import langgraph_reflexion
from langgraph_reflexion.envs.sandbox.client import BOOT
from langgraph_reflexion.envs.sandbox.exposed_paths import exposed_paths
from langgraph_reflexion.envs.sandbox.helper import kernel, staging

USER = 61234


def main(arguments):
    if arguments[0].endswith(".py"):
        arguments[0] = os.path.abspath(arguments[0])
    folder = tempfile.mkdtemp(prefix="sandbox-user-")
    home = Path(folder, "home")
    home.mkdir()
    for path in (folder, home):
        os.chown(path, USER, USER)
    child = os.fork()
    if child:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        shutil.rmtree(folder, ignore_errors=True)
        sys.exit(status)
    ours = {Path(langgraph_reflexion.__file__).parent, Path(__file__).parent, Path(BOOT).parents[3]}
    needed = [
        path for path in exposed_paths().paths if not path.startswith(("/usr", "/bin", "/sbin", "/lib", "/etc"))
    ]
    staging.stage([*needed, *map(str, ours)], [], USER)
    kernel.become(USER)
    os.chdir(home)
    environment = {**os.environ, "HOME": str(home), "TMPDIR": folder}
    os.execve(sys.executable, [sys.executable, *arguments], environment)


if __name__ == "__main__":
    main(sys.argv[1:])
