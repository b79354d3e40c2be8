"""A run that is killed, and resumed here and elsewhere."""

import shutil
from pathlib import Path

from tests.support.cli import (
    GuessingServer,
    call,
    one_line,
    run_args,
    start,
    timeless,
    wait_for_rows,
)


def test_killed_run_is_resumed_by_either_command_and_on_another_machine(home: Path, server: GuessingServer) -> None:
    args = run_args(server, "--option", "highest=5", "--max-trials", "4", "--concurrency", "2", "--out")
    assert call(home, *args, "whole")[0] == 0
    asked = len(server.requests)
    server.seconds = 0.1
    process = start(home, *args, "run")
    wait_for_rows(home / "run", 4)
    server.faults = lambda game: "hang"  # from now on calls are in flight until the end
    for command in ([*args, "run"], ["resume", "run"]):
        status, out, err = call(home, *command)
        assert (status, out) == (2, "")
        assert "another process" in one_line(err)
    process.kill()
    process.communicate()
    shutil.copytree(home / "run", home / "elsewhere")
    server.seconds, server.faults = 0.0, lambda game: None
    for command in ([*args, "run"], ["resume", "elsewhere"]):
        before = len(server.requests)
        status, out, err = call(home, *command)
        assert (status, err) == (0, "")
        assert timeless(home / command[-1]) == timeless(home / "whole")
        assert 0 < len(server.requests) - before < asked - 4
