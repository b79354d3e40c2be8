"""An agent that runs programs until it is killed: `python left_behind.py BACKEND TOKEN`."""

import sys
import threading
import warnings

from langgraph_reflexion.envs.sandbox import Limits, Sandbox

warnings.simplefilter("ignore")
SOURCE = "import os, time\nopen('file', 'w').write('x')\n{}print('runs', flush=True)\ntime.sleep(100)"
FORK = "if os.fork() == 0:\n    os.setsid()\n    os.execvp('sleep', ['sleep', '91.5', {token!r}][:2])\n"


def main(backend: str, token: str) -> None:
    sandbox = Sandbox(backend)
    limits = Limits(wall=100)

    def work() -> None:
        files = {"main.py": SOURCE.format(FORK.format(token=token))}
        sandbox.run([sys.executable, "main.py", token], files=files, limits=limits)

    for _ in range(2):
        threading.Thread(target=work, daemon=True).start()
    print("started", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
