"""Runs harmless programs in one backend as the current user, and prints how they ended as JSON.

python honest.py BACKEND
"""

import json
import shutil
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

from langgraph_reflexion.envs.sandbox import Limits, Sandbox

warnings.simplefilter("ignore")

HELLO_C = '#include <stdio.h>\nint main(void) { printf("%d\\n", 6 * 7); return 0; }\n'
HELLO_RUST = 'fn main() { println!("{}", 6 * 7); }\n'
HELLO_JAVA = "public class Main { public static void main(String[] a) { System.out.println(6 * 7); } }\n"
HELLO_GO = 'package main\n\nimport "fmt"\n\nfunc main() { fmt.Println(6 * 7) }\n'
TESTS = "import pytest\n\n@pytest.mark.parametrize('n', range(42))\ndef test_it(n, tmp_path): assert n < 42\n"
PYTHON = [sys.executable, "main.py"]

PROGRAMS: dict[str, tuple[list[str], dict[str, str]]] = {
    "threads": (
        PYTHON,
        {
            "main.py": "from concurrent.futures import ThreadPoolExecutor as P\n"
            "print(sum(P(20).map(lambda n: 2 * n, range(7))))"
        },
    ),
    "processes": (
        PYTHON,
        {
            "main.py": "import subprocess, sys\n"
            "ran = [subprocess.Popen([sys.executable, '-c', f'print({n})'], stdout=-1) for n in range(4)]\n"
            "print(36 + sum(int(each.communicate()[0]) for each in ran))"
        },
    ),
    "an event loop, and memory that is shared": (
        PYTHON,
        {
            "main.py": "import asyncio, mmap, os, socket\nasyncio.run(asyncio.sleep(.01))\n"
            "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)\na.send(b'6')\n"
            "held = mmap.mmap(-1, 4096)\n"
            "if os.fork() == 0: held[0] = 7; os._exit(0)\nos.wait(); print(int(b.recv(1)) * held[0])"
        },
    ),
    "its own priority, limits and modes": (
        PYTHON,
        {
            "main.py": "import os, resource, shutil\nos.nice(1); os.setpriority(os.PRIO_PROCESS, 0, os.nice(0) + 1)\n"
            "os.sched_setaffinity(0, os.sched_getaffinity(0)); resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
            "open('x', 'w').close(); os.chmod('x', 0o1755); shutil.copy2('x', 'y'); os.makedirs('d/e', mode=0o750)\n"
            "os.close(os.open('z', os.O_CREAT | os.O_RDWR, 0o700)); print(42)"
        },
    ),
    "200 MB of memory": (PYTHON, {"main.py": "x = bytearray(200 << 20); x[::4096] = b'x' * 51200; print(42)"}),
    "files in its folder": (
        PYTHON,
        {
            "main.py": "import os, tempfile\nos.makedirs('a/b')\nopen('a/b/c', 'w').write('42')\n"
            "os.rename('a/b/c', 'd')\ntempfile.mkdtemp()\nprint(open('d').read())"
        },
    ),
    "a C compiler": (["sh", "-c", "cc -O1 main.c -o main && ./main"], {"main.c": HELLO_C}),
    "pytest": (
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        {"test_main.py": TESTS},
    ),
    "node": (["node", "main.js"], {"main.js": "setTimeout(() => console.log(6 * 7), 1)"}),
    "rustc": (["sh", "-c", "rustc main.rs && ./main"], {"main.rs": HELLO_RUST}),
    "java": (["java", "Main.java"], {"Main.java": HELLO_JAVA}),
    "go": (["go", "run", "main.go"], {"main.go": HELLO_GO}),
}
MAY_BE_MISSING = {"node", "rustc", "java", "go"}
LIMITS = Limits(wall=60, cpu=60, disk=256 << 20, processes=128)


def works_here(program: str) -> bool:
    """Whether the host can run it; rustup's proxies, for example, need a toolchain."""
    version = [program, "version" if program == "go" else "--version"]
    return shutil.which(program) is not None and subprocess.run(version, capture_output=True).returncode == 0


def main(backend: str) -> None:
    sandbox = Sandbox(backend)

    def run(name: str) -> dict:
        argv, files = PROGRAMS[name]
        if name in MAY_BE_MISSING and not works_here(name):
            return {"missing": True}
        done = sandbox.run(argv, files=files, limits=LIMITS)
        return {"status": done.status, "right": "42" in done.text, "said": (done.text + done.errors)[-400:]}

    with ThreadPoolExecutor(2) as pool:
        print(json.dumps(dict(zip(PROGRAMS, pool.map(run, PROGRAMS), strict=True))))


if __name__ == "__main__":
    main(sys.argv[1])
