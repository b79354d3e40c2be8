"""Exceptions for some commands and pages, each with its reason; an entry that no page shows fails a test."""

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

from tests.support.upstream_clone import write_env_results

ELSEWHERE = {
    "langgraph-reflexion run alfworld --limit 20 --database postgresql://user:password@localhost/reflexion"
    " --out runs/shared": "needs a server: tests/long/experiments/test_kills.py runs one",
    "langgraph-reflexion resume runs/shared --database postgresql://user:password@localhost/reflexion": "the same",
    "docs/howto/production.md: import asyncio": "the same",
    "docs/howto/production.md: from langgraph.checkpoint.postgres import PostgresSaver": "the same",
    "docs/studio.md: from langgraph_sdk import get_sync_client": "needs a server: tests/long/test_studio_server.py",
    "docs/howto/learning.md: from langgraph_sdk import get_sync_client": "needs a server:"
    " tests/long/test_served_learning.py",
    "langgraph-reflexion learn --langsmith support --since 2026-11-01 --lessons lessons.db --model openai:gpt-4o-mini"
    "": "needs a key: tests/faces/test_learn_command.py has a server that stands in for LangSmith",
    "docs/howto/own-environment.md: from openenv import GenericEnvClient": "needs a server of OpenEnv",
    "docs/howto/customize.md: import verifiers.v1 as vf": "needs verifiers and a taskset",
    "git clone https://github.com/noahshinn/reflexion": "needs the network; a made-up clone replaces it",
    'for n in $(seq 20); do pytest -q -m "" tests/long/sandbox/test_cleanup.py || break; done': "is twenty runs",
    "cd tests/support/sandbox && python -c 'import probes; print(probes.table(), probes.through_table())'"
    "": "tests/unit/sandbox/test_documentation.py",
    "langgraph-reflexion run alfworld --ray-address first.example:6379 --workers 8 --database postgresql://me@db.example/runs"
    "": "needs a server and a cluster, which tests/long/experiments/test_kills.py starts",
    "export PGPASSWORD=... OPENAI_API_KEY=...": "the same",
    "ray start --head --port=6379": "the same",
    "ray start --address=first.example:6379": "the same",
    "docs/howto/own-environment.md: from langgraph_reflexion import ToolEnvironment": "needs npx and the"
    " network; tests/long/test_mcp.py has another server",
    "docs/howto/own-environment.md: from contextlib import asynccontextmanager": "the same",
    "python tree.py > tree.txt": "needs openinference-instrumentation-langchain; loop/test_tracing.py has the tree,"
    " and faces/test_pages.py the tokens",
    "export LANGSMITH_TRACING=true LANGSMITH_API_KEY=...": "needs a key; loop/test_tracing.py has an endpoint",
    "python -m venv fetch && fetch/bin/pip install alfworld && fetch/bin/alfworld-download": "downloads the games",
    "langgraph-reflexion run solver.py:agent --tasks openai/gsm8k --subset main --split test --limit 20"
    " --evaluator checks.py:number": "needs the network; tests/faces/test_datasets.py has a server",
    "langgraph-reflexion run my_agent.py:agent --tasks data/capitals --split test --answer-field answers.text"
    " --evaluator llm": "needs an extra; tests/faces/test_datasets.py has such a folder",
    "langgraph-reflexion run langgraph_reflexion.adapters.tau2:Tau2Environment --domain airline"
    " --user-model gpt-4.1 --actor tools --max-actions 100 --model openai:gpt-4.1 --out runs/airline"
    "": "needs an extra: tests/long/test_tau2.py has it",
    "docs/howto/own-environment.md: from langgraph_reflexion.adapters.tau2 import Tau2Environment": "the same",
    "export OPENAI_API_KEY=... LOGURU_LEVEL=ERROR": "the same",
    "git tag v0.3.0": "changes the repository",
    "git push origin v0.3.0": "the same",
}
"""Commands, and blocks of Python by page and first line, that are not run here, and why."""

FAILS = {"langgraph-reflexion run alfworld --limit 2 --budget task.actions=10 --out runs/limited": 1}
"""Commands whose exit status is not 0."""

LONG = re.compile(r"langgraph-reflexion run (?!.*(--limit \d\b|--tasks? ))")
FEW = " --limit 2 --max-trials 2 --workers 1"
"""Options that shorten the long runs."""


def shortened(command: str) -> str:
    """Return a command of a page as it is run here."""
    if LONG.match(command):
        return command + FEW
    if command == "langgraph-reflexion demo":
        return f"{command} --games 1"
    return command


def humaneval(home: Path) -> None:
    """Problems in HumanEval's form, and a solution."""
    problem = {
        "task_id": "HumanEval/0",
        "prompt": 'def double(n: int) -> int:\n    """Twice the number.\n\n    >>> double(2)\n    4\n    """\n',
        "entry_point": "double",
        "canonical_solution": "    return 2 * n\n",
        "test": "def check(candidate):\n    assert candidate(2) == 4\n    assert candidate(-3) == -6\n",
    }
    (home / "HumanEval.jsonl.gz").write_bytes(gzip.compress(f"{json.dumps(problem)}\n".encode()))
    solution = {"task_id": "HumanEval/0", "completion": "    return n + n\n"}
    (home / "samples.jsonl").write_text(f"{json.dumps(solution)}\n", encoding="utf-8")


def clone(home: Path) -> None:
    """A clone of the original repository, with one made-up log."""
    write_env_results(home / "reflexion" / "alfworld_runs" / "root" / "base_run_logs", [3, 4, 4], 5)


SANDBOXED = {
    "docs/environments/programming.md",
    "docs/environments/workspace.md",
    "docs/howto/models.md",
    "docs/howto/security.md",
    "docs/sandbox.md",
}
"""The pages whose code runs in the sandbox."""

APART = {
    "docs/inspect.md": "Inspect warns while it starts, and changes how the process logs",
    "docs/tutorial.md": "LangChain keeps one client for the address, on the event loop of the first run",
}
"""The pages whose Python and commands run in processes of their own, and why."""

PACKAGES = {"docs/howto/own-environment.md": "gymnasium"}
"""The packages of extras that pages need; their tests are skipped where one is missing."""

PREPARED: dict[str, Callable[[Path], None]] = {
    "docs/environments/programming.md": humaneval,
    "docs/sandbox.md": humaneval,
    "docs/original.md": clone,
}
"""Files that a page's reader already has."""
