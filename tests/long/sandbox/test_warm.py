"""Warm programs behave like cold ones, and are isolated from each other."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from langgraph_reflexion import EnvironmentUnavailable
from langgraph_reflexion.envs.sandbox import Limits, Sandbox, WarmPython


@pytest.fixture
def warm(sandbox: Sandbox) -> Iterator[WarmPython]:
    with WarmPython(sandbox) as warm:
        yield warm


SAME = [
    "import os, sys; print(__name__, os.path.basename(__file__), input(), sys.argv)",
    "import sys; sys.exit(3)",
    "import sys; sys.exit('words')",
    "def f():\n    return 1 / 0\n\nf()",
    "print('x'",
    "import atexit, threading, time\natexit.register(print, 'end')\n"
    "threading.Thread(target=lambda: (time.sleep(0.1), print('thread'))).start()\nprint('main')",
    "import os; print(sorted(os.listdir('.')), open('data').read()); os._exit(5)",
    "import helper; print(helper.VALUE)",
    "import sys; sys.stdout.write('no newline'); sys.stderr.write('error')",
    "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int = 1\nimport pickle\n"
    "print(pickle.loads(pickle.dumps(A())))",
    "import os; os.write(3, b'[1]')",
]


def test_warm_programs_end_like_cold_ones(warm: WarmPython, sandbox: Sandbox) -> None:
    for source in SAME:
        compare(warm, sandbox, source)


def compare(warm: WarmPython, sandbox: Sandbox, source: str) -> None:
    files = {"data": "x", "helper.py": "VALUE = 42"}
    one = warm.run(source, files=files, stdin="line\n", arguments=["a"])
    other = sandbox.run([sys.executable, "main.py", "a"], files={"main.py": source, **files}, stdin="line\n")
    assert (one.status, one.exit_code, one.stdout, one.result) == (
        *(other.status, other.exit_code, other.stdout, other.result),
    )
    # Tracebacks may spell paths differently.
    assert [line for line in one.errors.splitlines() if "File" not in line] == [
        line for line in other.errors.splitlines() if "File" not in line
    ]


def test_nothing_is_left_for_the_next_program(warm: WarmPython) -> None:
    first = "import builtins, json, os, sys\nbuiltins.secret = json.secret = 1\nos.environ['SECRET'] = '1'\n"
    first += (
        "for place in ('.', '/tmp', '/dev/shm'):\n    try: open(place + '/left', 'w')\n    except OSError: pass\n"
    )
    assert warm.run(first).status == "ok"
    second = (
        "import builtins, json, os, sys\nfound = [hasattr(builtins, 'secret'), hasattr(json, 'secret')]\n"
        "found.append('SECRET' in os.environ)\n"
        "found += [os.path.exists(place + '/left') for place in ('.', '/tmp', '/dev/shm')]\nprint(any(found))"
    )
    assert warm.run(second).text == "False\n"


def test_programs_are_isolated_from_each_other(warm: WarmPython) -> None:
    hostile = (
        "import os, signal\n"
        "for pid in [-1, *range(1, 300), os.getppid()]:\n"
        "    if pid not in (os.getpid(), 0):\n"
        "        try: os.kill(pid, 9); pid > 0 and os.write(3, b'KILLED %d ' % pid)\n        except OSError: pass\n"
        "for number in range(4, 200):\n"
        "    try: os.fstat(number); os.write(3, b'OPEN ')\n    except OSError: pass\n"
        "try: print(sorted(n for n in os.listdir('/proc') if n.isdigit()))\nexcept OSError: print(['1'])\n"
    )

    def run(number: int) -> tuple[str, str]:
        if number % 3:
            done = warm.run(f"import time; time.sleep(0.2); print({number})")
            return done.status, done.text
        done = warm.run(hostile)
        return done.status, done.text + done.result.decode()

    with ThreadPoolExecutor(12) as pool:
        results = list(pool.map(run, range(12)))
    assert results == [("ok", f"{n}\n") if n % 3 else ("ok", "['1']\n") for n in range(12)]


LIMITED = {
    "while True: pass": "timeout",
    "x = [bytearray(20 << 20) for _ in range(30)]": "memory",
    "while True: print('x' * 1000)": "output",
    "import os\nwhile True: os.write(3, b'x' * 1000)": "output",
    "import os; os.fork()": "failed",
    "import subprocess; subprocess.run(['true'])": "failed",
    "import socket; socket.socket()": "failed",
    "open('x', 'wb').truncate(1 << 40)": "failed",
}


def test_limits(warm: WarmPython) -> None:
    limits = Limits(wall=1, memory=200 << 20, output=1024, result=4096)
    assert {source: warm.run(source, limits=limits).status for source in LIMITED} == LIMITED
    assert warm.run("print(1)").text == "1\n"


def test_crash(warm: WarmPython) -> None:
    done = warm.run("import ctypes; ctypes.string_at(0)")
    assert (done.status, done.exit_code) == ("failed", 128 + 11)
    assert warm.run("print(1)").text == "1\n"


def test_closed_interpreter_is_restarted(sandbox: Sandbox) -> None:
    warm = WarmPython(sandbox, modules=["json"])
    assert warm.run("import sys; print('json' in sys.modules)").text == "True\n"
    warm.close()
    assert warm.run("print(1)").text == "1\n"
    warm.close()
    warm.close()


def test_other_backends_are_refused() -> None:
    with pytest.raises(EnvironmentUnavailable):
        WarmPython(Sandbox("unsafe-bare-host"))


def test_signal_to_the_process_group_reaches_no_other_program(warm: WarmPython) -> None:
    with ThreadPoolExecutor(2) as pool:
        other = pool.submit(warm.run, "import time; time.sleep(1); print('there')")
        for _ in range(3):
            source = "import os, signal\nfor number in (signal.SIGTERM, signal.SIGKILL): os.kill(0, number)"
            warm.run(source, limits=Limits(wall=2))
        assert other.result().text == "there\n"
