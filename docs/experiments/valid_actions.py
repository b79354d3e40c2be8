"""Print how many of the first ten actions of each run were in a known form, and how many of these were possible.

python docs/experiments/valid_actions.py runs/worlds
"""

import json
import sys
from pathlib import Path

FIRST = 10

IMPOSSIBLE = ("Nothing happens.", "Invalid action")
"""How ALFWorld and WebShop answer an action in a known form that is not possible now."""


def main() -> None:
    """Print a line for each run."""
    print(f"{'run':44} {'tasks':>5} {'solved':>6} {'actions':>7} {'known form':>10} {'possible':>8}")
    for rows in sorted(Path(sys.argv[1]).rglob("trials.jsonl")):
        read = [json.loads(line) for line in rows.read_text(encoding="utf-8").splitlines()]
        trials = [row for row in read if row["trial"] == 1]
        solved = sum(bool(row["success"]) for row in trials)
        # A reply without any action counts as an action in an unknown form.
        steps = [step for row in trials for step in row["steps"][:FIRST]]
        known = [step for step in steps if step["action"] and step["action"]["name"]]
        possible = [step for step in known if not step["observation"].startswith(IMPOSSIBLE)]
        shown = f"{rows.parent.name:44} {len(trials):5} {solved:6} {len(steps):7}"
        print(f"{shown} {len(known):10} {len(possible):8}")


if __name__ == "__main__":
    main()
