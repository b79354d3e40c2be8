"""The commands; see the package."""

import argparse
import json
import sys
from pathlib import Path

from tests.support.reflections.marks import agreement, read_marks, shares, write_sheet
from tests.support.reflections.play import keep, play
from tests.support.reflections.read import counts, side_by_side
from tests.support.small_tasks import TUNING_FILE

CACHE = Path("runs/reflections/replies.db")


def main() -> int:
    """Run a command, and return its status."""
    given = read_arguments()
    if given.command == "play":
        return play(
            given.out,
            given.tasks,
            given.server,
            given.cache,
            given.strategy,
            given.label,
            given.trials,
            given.more,
            given.agent,
        )
    if given.command == "keep":
        return keep(given.server, given.cache, given.label, given.more)
    if given.command == "show":
        for line in side_by_side(given.runs):
            print(line)
    if given.command == "count":
        table = {folder.name: counts(folder) for folder in given.runs}
        for name in next(iter(table.values())):
            print(f"{name:16}", *(f"{column[name]:>16}" for column in table.values()))
    if given.command == "sheet":
        written = write_sheet(given.runs, given.out, given.key, given.seed, given.limit)
        print(f"{written} notes to mark with y and n in {given.out}")
    if given.command == "shares":
        print_shares(given.key, given.sheets)
    return 0


def print_shares(key: Path, sheets: list[Path]) -> None:
    """Print each reader's shares, and with two readers their agreement."""
    variants = json.loads(key.read_text())
    read = [read_marks(sheet) for sheet in sheets]
    for sheet, marks in zip(sheets, read, strict=True):
        for variant, found in shares(marks, variants).items():
            print(sheet.name, variant, *(f"{name} {share.yes}/{share.of}" for name, share in found.items()))
    if len(read) < 2:
        print("One reader marked, so there is no agreement to measure.")
        return
    for name, value in agreement(read[0], read[1]).items():
        shown = "undefined, as both always said the same" if value is None else f"{value:.2f}"
        print(f"kappa of {name}: {shown}")


def read_arguments() -> argparse.Namespace:
    """Read the command line; what follows `--` are options of `langgraph-reflexion run`, or the command to run."""
    arguments, more = sys.argv[1:], []
    if "--" in arguments:
        place = arguments.index("--")
        arguments, more = arguments[:place], arguments[place + 1 :]
    parser = argparse.ArgumentParser(prog="python -m tests.support.reflections")
    commands = parser.add_subparsers(dest="command", required=True)

    playing = commands.add_parser("play", help="play the tuning half")
    playing.add_argument("out", type=Path, help="the run's folder")
    playing.add_argument("--server", required=True, help="the address of the model's server, which ends in /v1")
    playing.add_argument("--strategy", default="reflexion")
    playing.add_argument("--tasks", type=Path, default=TUNING_FILE)
    playing.add_argument("--cache", type=Path, default=CACHE, help="the file of kept replies")
    playing.add_argument("--label", default="", help="tells samples apart, such as a seed")
    playing.add_argument("--trials", type=int, default=2)
    playing.add_argument("--agent", default="agent", help="agent, warming or escalating")

    keeping = commands.add_parser("keep", help="run any command with the replies kept; ADDRESS in it is the server's")
    keeping.add_argument("--server", required=True, help="the address of the model's server, which ends in /v1")
    keeping.add_argument("--cache", type=Path, default=CACHE, help="the file of kept replies")
    keeping.add_argument("--label", default="", help="tells samples apart, such as a seed")

    showing = commands.add_parser("show", help="print failures, notes and next attempts side by side")
    showing.add_argument("runs", type=Path, nargs="+")

    counting = commands.add_parser("count", help="count refusals, copies, repeated answers and repairs")
    counting.add_argument("runs", type=Path, nargs="+")

    sheet = commands.add_parser("sheet", help="write a blind sheet for readers")
    sheet.add_argument("runs", type=Path, nargs="+")
    sheet.add_argument("--out", type=Path, required=True)
    sheet.add_argument("--key", type=Path, required=True)
    sheet.add_argument("--seed", type=int, default=0)
    sheet.add_argument("--limit", type=int, help="number of tasks")

    sharing = commands.add_parser("shares", help="compute the shares of sheets that are filled in")
    sharing.add_argument("key", type=Path)
    sharing.add_argument("sheets", type=Path, nargs="+")

    given = parser.parse_args(arguments)
    given.more = more
    return given


if __name__ == "__main__":
    sys.exit(main())
