"""A replay in the terminal: as a table, or as JSON."""

import json

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from langgraph_reflexion.replication.replay import Replay


def show_replay(replay: Replay, *, as_json: bool) -> None:
    """Show a replay on standard output."""
    if as_json:
        print(json.dumps(replay.as_json(), indent=2))
    else:
        print_replay(Console(), replay)


def print_replay(console: Console, replay: Replay) -> None:
    """Print a replay: what it is, the counts of each trial, and how irregular rows were counted."""
    log = replay.log
    agent = f"{'ReAct' if log.react else 'CoT'}{' with context' if log.with_context else ''}"
    console.print(Text(str(log.path), "bold"), soft_wrap=True)
    console.print(Text(f"  {agent} · {log.strategy} · {len(log.questions)} questions · recorded model output"))
    console.print(_table(replay))
    different = sum(trial.counts != counts for trial, counts in zip(log.trials, replay.replayed, strict=True))
    same = f"all {len(log.trials)} trials come out as logged"
    console.print(Text(f"{different} of {len(log.trials)} trials differ" if different else same))
    for note in replay.notes:
        console.print(Text(f"  {note}", "dim"), soft_wrap=True)


def _table(replay: Replay) -> Table:
    table = Table(
        title="Questions right, wrong and halted, by trial",
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("trial")
    for column in ("logged right", "wrong", "halted", "replayed right", "wrong", "halted"):
        table.add_column(column, justify="right")
    for trial, replayed in zip(replay.log.trials, replay.replayed, strict=True):
        pairs = list(zip(trial.counts, replayed, strict=True))
        marked = [Text(f"{got} ≠", "red") if got != logged else Text(f"{got}  ") for logged, got in pairs]
        table.add_row(str(trial.number), *(str(logged) for logged, _ in pairs), *marked)
    return table
