"""The command line in a separate process: signals, encodings, exit status and imports."""

import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import pytest

from langgraph_reflexion import __version__
from langgraph_reflexion.cli.basics import sigterm_as_ctrl_c
from tests.support.cli import GuessingServer, one_line, run_args, start


@pytest.mark.long
def test_sigterm_before_the_first_trial_leaves_no_files(home: Path) -> None:
    with GuessingServer() as server:
        server.seconds = 0.3
        process = start(home, *run_args(server, "--option", "highest=1", "--out", "run"))
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not server.requests:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)  # `test_own_agent` has Ctrl-C
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "nothing was recorded" in one_line(err)
    assert not (home / "run").exists()


@pytest.mark.parametrize("ctrl_c", [True, False])
def test_sigterm_stops_a_command_where_ctrl_c_does(ctrl_c: bool) -> None:
    handlers = {
        signal.SIGINT: signal.default_int_handler if ctrl_c else signal.SIG_IGN,
        signal.SIGTERM: lambda *_: None,
    }
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        with pytest.raises(KeyboardInterrupt) if ctrl_c else nullcontext(), sigterm_as_ctrl_c():
            signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is handlers[signal.SIGTERM]
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_help_and_version_are_quick(home: Path) -> None:
    code = (
        "import sys\n"
        "from langgraph_reflexion.cli import main\n"
        "sys.argv = ['langgraph-reflexion', *sys.argv[1:]]\n"
        "try:\n    main()\nfinally:\n"
        "    heavy = {'langgraph', 'langchain', 'langchain_core', 'langchain_openai', 'openai'}\n"
        "    print('heavy:', sorted(heavy & set(sys.modules)))\n"
    )
    for args in (["run", "--help"], ["--version"]):
        done = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, cwd=home)
        assert done.returncode == 0, done.stderr
        assert done.stdout.endswith("heavy: []\n")
    assert done.stdout.startswith(f"langgraph-reflexion {__version__}\n")
