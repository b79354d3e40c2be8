"""Small problems in HumanEval's form, to grade solutions of."""

import gzip
import json


def problem(name, says, body, tests):
    return {
        "task_id": f"Mine/{name}",
        "prompt": f'def {name}(n: int) -> int:\n    """{says}"""\n',
        "entry_point": name,
        "canonical_solution": f"    return {body}\n",
        "test": "def check(candidate):\n" + "".join(f"    assert {test}\n" for test in tests),
    }


PROBLEMS = [
    problem("twice", "Double.", "2 * n", ["candidate(3) == 6", "candidate(0) == 0"]),
    problem("next", "One more.", "n + 1", ["candidate(3) == 4", "candidate(0) == 1"]),
]

UNGRADABLE = {"task_id": "leet", "prompt": "# Input: n = 1\n# Output: 1\n", "entry_point": "f", "test": ""}
"""As in LeetCode-hard, without hidden tests."""


def write(path, rows):
    """Write rows as JSON Lines, compressed if the name says so."""
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path
