"""Write the problems whose first program was wrong into a file of their own.

python docs/experiments/failed_problems.py runs/humaneval_first/humaneval-code-... HumanEval.jsonl.gz failed.jsonl
"""

import gzip
import json
import sys
from pathlib import Path
from typing import Any

from langgraph_reflexion.lab.experiments import read_run


def main() -> None:
    """Write the rows of the problems that a run did not solve in its first trial."""
    run, problems, out = map(Path, sys.argv[1:])
    failed = {row["task_id"] for row in read_run(run).trials if row["trial"] == 1 and row["success"] is False}
    data = problems.read_bytes()
    text = gzip.decompress(data) if problems.suffix == ".gz" else data
    rows = [line for line in text.decode().splitlines() if line and name_of(json.loads(line)) in failed]
    out.write_text("".join(f"{row}\n" for row in rows))
    print(f"{len(rows)} problems in {out}")


def name_of(row: dict[str, Any]) -> Any:
    """Return the name of a problem: `task_id` in HumanEval, `name` in the files that the original reads."""
    if "task_id" in row:
        return row["task_id"]
    return row["name"]


if __name__ == "__main__":
    main()
