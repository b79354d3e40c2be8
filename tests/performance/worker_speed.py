"""What do workers gain where one core is full? The same run by one process and by several, in turn.

    python -m tests.performance.worker_speed [--tasks 134] [--workers 2] [--repeats 3] [--json]

ALFWorld tasks with the demo model, which answers at once: all of it is work for the processor, so that as many
workers as there are cores could be as many times as fast. Workers take seconds to start, and so the time is taken
from the first action on, and as a whole, too.
"""

import argparse
import json
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from langgraph_reflexion.experiments.runner import run
from langgraph_reflexion.experiments.scheduler import NullObserver
from langgraph_reflexion.settings import RunSettings


@dataclass(frozen=True)
class Speed:
    """What was measured; ratios are medians over the repeats, above 1 where workers are faster.

    Attributes:
        tasks: How many tasks.
        workers: How many workers.
        speedup: How many times as fast they are at work.
        whole_speedup: The same with their start.
        start_seconds: How long it takes until their first action.
        same: Whether they recorded the same steps.
    """

    tasks: int
    workers: int
    speedup: float
    whole_speedup: float
    start_seconds: float
    same: bool


class _Clock(NullObserver):
    first = 0.0

    def on_action(self) -> None:
        self.first = self.first or time.perf_counter()


def _timed(settings: RunSettings, out: Path) -> tuple[float, float]:
    """Seconds until the first action, and from there to the end."""
    clock, began = _Clock(), time.perf_counter()
    run(settings, out, clock)
    return clock.first - began, time.perf_counter() - clock.first


def measure(folder: Path, *, tasks: int, workers: int, repeats: int) -> Speed:
    """Do the runs in turn.

    Args:
        folder: Where they are recorded.
        tasks: How many tasks.
        workers: How many workers.
        repeats: How often each is run.
    """
    ratios, whole, starts, same = [], [], [], True
    for repeat in range(repeats):
        times, steps = {}, []
        for number in (1, workers):
            out = folder / f"{repeat}-{number}"
            settings = RunSettings(environment="alfworld", limit=tasks, max_trials=3, workers=number)
            times[number] = _timed(settings, out)
            steps.append((out / "trajectories.jsonl").read_bytes())
        ratios.append(times[1][1] / times[workers][1])
        whole.append(sum(times[1]) / sum(times[workers]))
        starts.append(times[workers][0])
        same = same and steps[0] == steps[1]
    return Speed(tasks, workers, round(median(ratios), 2), round(median(whole), 2), round(median(starts), 1), same)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n\n")[0])
    parser.add_argument("--tasks", type=int, default=134, help="of a run (134)")
    parser.add_argument("--workers", type=int, default=2, help="so many workers (2)")
    parser.add_argument("--repeats", type=int, default=3, help="how often each is run (3)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        speed = measure(Path(folder), tasks=args.tasks, workers=args.workers, repeats=args.repeats)
    if args.json:
        print(json.dumps(asdict(speed), indent=2))
    else:
        for name, value in asdict(speed).items():
            print(f"{name}: {value}")


if __name__ == "__main__":
    main()
