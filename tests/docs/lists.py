"""What is special about some commands and pages; each entry says why, and one that no page shows fails a test."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

from tests.support.upstream_clone import write_env_results

ELSEWHERE = {
    "langgraph-reflexion run alfworld --limit 20 --database postgresql://user:password@localhost/reflexion"
    " --out runs/shared": "wants a server: tests/long/test_postgres_checkpoints.py and kill_test run one",
    "langgraph-reflexion resume runs/shared --database postgresql://user:password@localhost/reflexion": "the same",
    "docs/howto/postgres.md: from langgraph.checkpoint.postgres import PostgresSaver": "the same",
    "git clone https://github.com/noahshinn/reflexion": "wants the network; a made-up clone stands in its place",
    'for n in $(seq 20); do pytest -q -m "" tests/long/sandbox/test_cleanup.py || break; done': "is twenty runs",
    "cd tests/support/sandbox && python -c 'import probes; print(probes.table())'": "long/sandbox/test_table.py",
    "langgraph-reflexion run alfworld --ray-address first.example:6379 --workers 8 --database postgresql://me@db.example/runs"
    "": "needs a server and a cluster, which tests/long/experiments/test_kills.py starts",
    "export PGPASSWORD=... OPENAI_API_KEY=...": "the same",
    "ray start --head --port=6379": "the same",
    "ray start --address=first.example:6379": "the same",
    **{
        f"langgraph-reflexion {command}": "wants the official games: tests/envs/alfworld/test_releases.py plays them"
        for command in (
            "run alfworld --split valid_unseen --out runs/official-reflexion",
            "run alfworld --split valid_unseen --max-trials 12 --strategy retry --out runs/official-retry",
            "run alfworld --split valid_unseen --max-trials 12 --strategy reflexion --out runs/official-reflexion",
            "report runs/official-retry runs/official-reflexion",
        )
    },
    "python tree.py > tree.txt": "wants openinference-instrumentation-langchain; loop/test_tracing.py has the tree",
    "export LANGSMITH_TRACING=true LANGSMITH_API_KEY=...": "wants a key; loop/test_tracing.py has an endpoint",
    "python -m build": "tests/long/test_packaging.py builds",
    "git tag v0.1.0": "changes the repository",
}
"""Commands, and blocks of Python by page and first line, that are not run here, and why."""

FAILS = {"langgraph-reflexion run alfworld --limit 2 --budget task.actions=10 --out runs/limited": 1}
"""Commands that are to end with another exit status than 0."""

FEW = " --limit 2 --max-trials 2"
SMALLER = {
    "langgraph-reflexion run alfworld --concurrency 256 --workers 4 --model openai:gpt-4o-mini --out runs/wide": FEW
    + " --workers 2",
    **{
        f"langgraph-reflexion run hotpotqa --lessons lessons.db{more}": FEW
        for more in ("", " --no-recall", " --frozen")
    },
    "langgraph-reflexion run alfworld --split shared-rooms-train --max-trials 5 --lessons lessons.db --no-recall"
    " --out runs/train": FEW,
    "langgraph-reflexion run alfworld --split shared-rooms-test --max-trials 1 --lessons lessons.db --frozen"
    " --out runs/with": " --limit 2",
    "langgraph-reflexion run alfworld --split shared-rooms-test --max-trials 1 --out runs/without": " --limit 2",
    "langgraph-reflexion run alfworld --limit 20 --max-trials 5 --model openai:gpt-4o-mini --out runs/mine": FEW,
    "langgraph-reflexion run alfworld --limit 20 --max-trials 5 --model openai:qwen3 --base-url"
    " http://localhost:11434/v1": FEW,
    "langgraph-reflexion run alfworld --model openai:gpt-4o-mini --price gpt-4o-mini=0.15,0.60"
    " --budget run.cost=5": FEW,
    **{
        f"langgraph-reflexion run {command}": FEW
        for command in (
            "hotpotqa --split own --model demo --max-trials 8 --strategy retry --out runs/hotpotqa-retry",
            "hotpotqa --split own --model demo --max-trials 8 --strategy reflexion --out runs/hotpotqa-reflexion",
            "programming --split own --language python --model demo --out runs/python",
            "programming --split own --language python --model demo --strategy last_attempt --out runs/last",
            "webshop --split own --model demo --max-trials 4 --strategy retry --out runs/webshop-retry",
            "webshop --split own --model demo --max-trials 4 --strategy reflexion --out runs/webshop-reflexion",
            "webshop --split own --model demo --max-trials 4 --profile upstream --out runs/webshop-upstream",
        )
    },
}
"""What is added to commands whose runs are long, so that a part of them is run."""


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
    (home / "solutions.jsonl").write_text(f"{json.dumps(solution)}\n", encoding="utf-8")


def clone(home: Path) -> None:
    """A clone of the original repository, as far as a made-up log goes."""
    write_env_results(home / "reflexion" / "alfworld_runs" / "root" / "base_run_logs", [3, 4, 4], 5)


SANDBOXED = {
    "docs/environments/programming.md",
    "docs/environments/workspace.md",
    "docs/grading.md",
    "docs/howto/security.md",
    "docs/results.md",
    "docs/sandbox.md",
}
"""The pages of which something runs in the sandbox."""

APART = {"docs/inspect.md": "Inspect warns while it starts, and changes how the process logs"}
"""The pages whose Python runs in a process of its own, and why."""

PREPARED: dict[str, Callable[[Path], None]] = {
    "docs/environments/programming.md": humaneval,
    "docs/grading.md": humaneval,
    "docs/original.md": clone,
}
"""What a page's reader has beforehand, and the tests make up."""
