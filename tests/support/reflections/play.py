"""Plays the small tasks by the command line, with the replies kept."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.reflections.reply_cache import ReplyKeeper


def play(
    out: Path,
    tasks: Path,
    server: str,
    cache: Path,
    strategy: str,
    label: str,
    trials: int,
    more: list[str],
    agent: str = "agent",
) -> int:
    """Play tasks with the agent of `tests.support.small_tasks`, and return the status of the run.

    Args:
        out: The run's folder.
        tasks: A file of tasks.
        server: The address of the model's server.
        cache: The file of kept replies.
        strategy: What a next attempt sees.
        label: Tells samples apart.
        trials: Attempts for each task.
        more: Further options of `langgraph-reflexion run`.
        agent: The name of an agent in `tests.support.small_tasks.agent`.
    """
    command = [sys.executable, "-m", "langgraph_reflexion", "run", f"tests.support.small_tasks.agent:{agent}"]
    command += ["--tasks", str(tasks), "--evaluator", "tests.support.small_tasks.checks:check"]
    command += ["--strategy", strategy, "--max-trials", str(trials), "--concurrency", "1", "--out", str(out)]
    command += ["--timeout", "600", *more]
    with ReplyKeeper(server, cache, label) as keeper:
        status = subprocess.call(command, env={**os.environ, "SMALL_TASKS_URL": keeper.url})
        print(f"{keeper.asked} replies asked for, {keeper.found} found in {cache}")
    return status


def keep(server: str, cache: Path, label: str, command: list[str]) -> int:
    """Run a command, such as an experiment, with the replies kept, and return its status.

    Args:
        server: The address of the model's server.
        cache: The file of kept replies.
        label: Tells samples apart.
        command: The command; `ADDRESS` in its words stands for the server that keeps the replies.
    """
    with ReplyKeeper(server, cache, label) as keeper:
        status = subprocess.call([word.replace("ADDRESS", keeper.url) for word in command])
        print(f"{keeper.asked} replies asked for, {keeper.found} found in {cache}")
    return status
