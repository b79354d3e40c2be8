"""Print the first reflections of an experiment, each with its task.

python docs/experiments/print_reflections.py runs/programs 2
"""

import sys
from pathlib import Path

from langgraph_reflexion.lab.experiments import read_run


def main() -> None:
    """Print as many reflections as there are, at most the number given."""
    left = int(sys.argv[2])
    for settings in sorted(Path(sys.argv[1]).rglob("run.json")):
        for trial in read_run(settings.parent).trials:
            if trial["reflection"] and left:
                left -= 1
                print(f"\nReflection on trial {trial['trial']} of {trial['task_id']}:\n{trial['reflection']}")


if __name__ == "__main__":
    main()
