"""Print the tables of a run, and draw its curves.

    python -m benchmarks.rivals.table runs/rivals --figures runs/rivals

Where others win comes first. A rival that trains has two entries: in one, each task bears the whole training, as if
it were the only one; in the other, the tasks share it.
"""

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from benchmarks.rivals.own_lines import own_lines
from benchmarks.rivals.protocol import WHERE, WORLDS, adapter_file
from benchmarks.rivals.run import TRAINING, USED_UP, Row, read_rows
from langgraph_reflexion.lab.experiments.charts import Chart, Line, Panel, svg_of
from langgraph_reflexion.lab.experiments.statistics import SignTest, interval, p_clause, sign_test

OURS = "this-reflexion"
"""What all others are tested against."""

BASELINE = "retry-loop"
"""What all others are tested against over all worlds together: the loop that anybody writes first."""

PROJECT = "this-"
"""How the names of this project's strategies begin."""

WORTH_WHILE = 0.2
"""A world in which nobody solves this share of the tasks says nothing, and is to be replaced."""

ALL_TRAINING = ", all of its training on each task"
SHARED_TRAINING = ", its training shared"


@dataclass(frozen=True)
class Outcome:
    """What came of a task: whether it was solved, and what it has cost."""

    task: str
    solved: bool
    calls: float
    tokens: float
    own_calls: float
    """The calls without those of a training, of which the limit on calls for a task knows nothing."""


@dataclass(frozen=True)
class Entry:
    """A rival in a world, with its costs counted in one way."""

    name: str
    rival: str
    rows: Sequence[Row]
    outcomes: Sequence[Outcome]

    @property
    def solved(self) -> int:
        """The number of solved tasks."""
        return sum(outcome.solved for outcome in self.outcomes)

    @property
    def share(self) -> float:
        """The share of solved tasks."""
        return self.solved / len(self.outcomes)

    def solved_by_task(self, most: float, cost: "Cost") -> dict[str, list[bool]]:
        """Return for each task whether it was solved within a cost, once for each sample."""
        found: dict[str, list[bool]] = {}
        for outcome in self.outcomes:
            within = outcome.solved and cost(outcome) <= most
            found.setdefault(outcome.task, []).append(within)
        return found


Cost = Callable[[Outcome], float]


def calls_of(outcome: Outcome) -> float:
    """Return the calls of a task."""
    return outcome.calls


def tokens_of(outcome: Outcome) -> float:
    """Return the tokens of a task."""
    return outcome.tokens


def own_calls_of(outcome: Outcome) -> float:
    """Return the calls of a task without those of a training."""
    return outcome.own_calls


# Reading


def entries_of(rows: Iterable[Row], world: str) -> list[Entry]:
    """Return the entries of a world, in the order of the rivals."""
    found: list[Entry] = []
    of_world = [row for row in rows if row["world"] == world]
    for rival in WHERE:
        of_rival = [row for row in of_world if row["rival"] == rival]
        trainings = [row for row in of_rival if row["task"] == TRAINING]
        solving = [row for row in of_rival if row["task"] != TRAINING]
        if not solving:
            continue
        if not trainings:
            found.append(entry(rival, rival, solving, 0, 0))
            continue
        calls = sum(row["calls"] for row in trainings) / len(trainings)
        tokens = sum(map(tokens_in, trainings)) / len(trainings)
        tasks = len({row["task"] for row in solving})
        found.append(entry(rival + ALL_TRAINING, rival, solving, calls, tokens))
        found.append(entry(rival + SHARED_TRAINING, rival, solving, calls / tasks, tokens / tasks))
    return found


def entry(name: str, rival: str, rows: Sequence[Row], calls: float, tokens: float) -> Entry:
    """Return an entry whose every task costs some calls and tokens more than its row says."""
    outcomes = []
    for row in rows:
        total_calls = row["calls"] + calls
        total_tokens = tokens_in(row) + tokens
        outcomes.append(Outcome(row["task"], row["solved"], total_calls, total_tokens, row["calls"]))
    return Entry(name, rival, rows, outcomes)


def tokens_in(row: Row) -> int:
    """Return all tokens of a row."""
    return int(row["prompt_tokens"] + row["completion_tokens"])


# The tests


def paired(first: Entry, second: Entry, most: float, cost: Cost) -> SignTest:
    """Return the paired test of who solves more tasks within a cost, over the tasks that both have played."""
    some = first.solved_by_task(most, cost)
    others = second.solved_by_task(most, cost)
    differences = []
    for task, solved in some.items():
        if task in others:
            differences.append(sum(solved) - sum(others[task]))
    return sign_test(differences)


def equal_tokens(first: Entry, second: Entry) -> float:
    """Return the tokens for a task at which two are compared: what the thriftier one has spent at most."""
    return min(max(map(tokens_of, first.outcomes)), max(map(tokens_of, second.outcomes)))


# The text


def report(rows: Sequence[Row]) -> list[str]:
    """Return the lines of all tables."""
    lines: list[str] = []
    for world in WORLDS:
        entries = entries_of(rows, world)
        if not entries:
            continue
        allowed = max(row["calls_allowed"] for each in entries for row in each.rows)
        lines += [f"## {world}", "", *wins_of_others(entries, allowed)]
        if max(each.share for each in entries) < WORTH_WHILE:
            lines.append(f"Nobody solves {WORTH_WHILE:.0%} of these tasks: replace this world.")
        lines += ["", *table(entries, allowed), ""]
    return [*lines, "## All worlds together", "", *together(rows)]


def wins_of_others(entries: Sequence[Entry], allowed: int) -> list[str]:
    """Return a sentence on each of the others that solves more than `OURS`, those with the most first."""
    ours = next((each for each in entries if each.name == OURS), None)
    if ours is None:
        return []
    ahead = [each for each in entries if each.solved > ours.solved and within_allowed(each)]
    ahead.sort(key=lambda each: each.solved, reverse=True)
    if not ahead:
        return [f"Nobody solves more tasks than `{OURS}`."]
    lines = [f"Ahead of `{OURS}` here, which solves {ours.solved} of {len(ours.outcomes)}:", ""]
    for each in ahead:
        test = paired(each, ours, allowed, own_calls_of)
        lines.append(
            f"* `{each.rival}`{each.name.removeprefix(each.rival)}: {each.solved} of {len(each.outcomes)} "
            f"({test.wins} solved by it alone, {test.losses} by `{OURS}` alone; {p_clause(test.p)})."
        )
    return lines


def within_allowed(each: Entry) -> bool:
    """Return whether an entry is compared at equal calls: not the one whose every task bears a whole training."""
    return not each.name.endswith(ALL_TRAINING)


HEAD = (
    "rival",
    "version",
    "solved",
    "95% interval",
    "calls per task",
    "tokens per task",
    "seconds per task",
    "own lines",
    "calls used up",
    "errors",
    f"against {OURS}, at equal calls",
    f"against {OURS}, at equal tokens",
)


ON_THE_PAGE = (
    "rival",
    "solved",
    "95% interval",
    "calls per task",
    "tokens per task",
    "own lines",
    f"against {OURS}, at equal calls",
    f"against {OURS}, at equal tokens",
)
"""The columns that `docs/compared.md` has."""


def table(entries: Sequence[Entry], allowed: int, columns: Sequence[str] = HEAD) -> list[str]:
    """Return the lines of a world's table with some columns."""
    ours = next((each for each in entries if each.name == OURS), None)
    places = [HEAD.index(name) for name in columns]
    lines = [as_line(columns), "|" + "---|" * len(columns)]
    for each in entries:
        cells = cells_of(each, ours, allowed)
        lines.append(as_line([cells[place] for place in places]))
    lines += ["", totals(entries)]
    return lines


def page(rows: Sequence[Row], world: str) -> list[str]:
    """Return the lines of a world on the page, where others win first."""
    entries = entries_of(rows, world)
    allowed = max(row["calls_allowed"] for each in entries for row in each.rows)
    return [*wins_of_others(entries, allowed), "", *table(entries, allowed, ON_THE_PAGE)]


TOGETHER = ("rival", "solved", "95% interval", "calls per task", "tokens per task", f"against {BASELINE}")


def together(rows: Sequence[Row]) -> list[str]:
    """Return the lines of a table of all worlds together, those that solve the most first.

    A rival is tested against `BASELINE` in the tasks that both have played. Trainings are shared among the tasks.
    """
    entries: dict[str, Entry] = {}
    for world in dict.fromkeys(row["world"] for row in rows):
        for each in entries_of(rows, world):
            if within_allowed(each):
                known = entries.get(each.rival)
                entries[each.rival] = joined(known, each, world)
    baseline = entries.get(BASELINE)
    lines = [as_line(TOGETHER), "|" + "---|" * len(TOGETHER)]
    for each in sorted(entries.values(), key=lambda each: each.share, reverse=True):
        cells = [f"`{each.rival}`", *measured_of(each)]
        against = ""
        if baseline is not None and each is not baseline:
            # Everybody had the same number of calls for a task.
            against = test_words(paired(each, baseline, float("inf"), calls_of))
        lines.append(as_line([*cells, against]))
    return lines


def joined(known: Entry | None, added: Entry, world: str) -> Entry:
    """Return a rival's entry with the tasks of one more world, whose name goes before each of them."""
    outcomes = [replace(outcome, task=f"{world}: {outcome.task}") for outcome in added.outcomes]
    if known is None:
        return Entry(added.rival, added.rival, added.rows, outcomes)
    return Entry(added.rival, added.rival, [*known.rows, *added.rows], [*known.outcomes, *outcomes])


def cells_of(each: Entry, ours: Entry | None, allowed: int) -> list[str]:
    """Return the cells of an entry."""
    count = len(each.outcomes)
    used_up = sum(row["ended"] == USED_UP for row in each.rows)
    returned = sum(row["ended"] == "returned" for row in each.rows)
    cells = [
        f"`{each.rival}`{each.name.removeprefix(each.rival)}",
        each.rows[0]["version"] or "by hand",
        *measured_of(each),
        f"{sum(row['seconds'] for row in each.rows) / count:.0f}",
        str(own_lines(adapter_file(each.rival))),
        str(used_up),
        str(count - used_up - returned),
    ]
    if ours is None or each is ours:
        return [*cells, "", ""]
    at_calls = ""
    if within_allowed(each):
        at_calls = test_words(paired(each, ours, allowed, own_calls_of))
    at_tokens = test_words(paired(each, ours, equal_tokens(each, ours), tokens_of))
    return [*cells, at_calls, at_tokens]


def measured_of(each: Entry) -> list[str]:
    """Return the cells for the tasks solved, their interval, and the calls and tokens for a task."""
    count = len(each.outcomes)
    calls = sum(map(calls_of, each.outcomes)) / count
    tokens = sum(map(tokens_of, each.outcomes)) / count
    return [f"{each.solved} of {count}, {each.share:.0%}", interval_of(each), f"{calls:.1f}", f"{tokens:,.0f}"]


def test_words(test: SignTest) -> str:
    """Return a test in words: tasks won and lost, and p."""
    return f"{test.wins} won, {test.losses} lost, {p_clause(test.p)}"


def interval_of(each: Entry) -> str:
    """Return Wilson's interval in per cent, in which a task's samples are a cluster."""
    found = interval(each.solved_by_task(float("inf"), calls_of))
    assert found
    return f"{found.low:.0%} to {found.high:.0%}"


def totals(entries: Sequence[Entry]) -> str:
    """Return how many calls were counted, and whether a second count behind the proxy says the same."""
    calls = 0
    differing: list[str] = []
    for _, same in groupby(entries, key=lambda each: each.rival):
        first = next(same)
        calls += sum(row["calls"] for row in first.rows)
        if any(row.get("calls_behind_proxy", row["calls"]) != row["calls"] for row in first.rows):
            differing.append(first.rival)
    said = f"{calls:,} calls of the model for these tasks, without those of trainings"
    if differing:
        return f"{said}. Behind the proxy, another number was counted for {', '.join(differing)}."
    if all("calls_behind_proxy" in row for each in entries for row in each.rows):
        return f"{said}; an independent count behind the proxy agrees for every rival."
    return f"{said}."


def as_line(cells: Sequence[str]) -> str:
    """Return a line of a table."""
    return "| " + " | ".join(cells) + " |"


# The pictures


def chart(rows: Sequence[Row], title: str, unit: str, cost: Cost, per: float) -> Chart:
    """Return the curves of solved tasks by what they have cost, a panel for each world."""
    panels = []
    for world in WORLDS:
        entries = [each for each in entries_of(rows, world) if within_allowed(each)]
        if entries:
            # By its place among all, a rival's line looks the same in every panel.
            lines = [curve(each, list(WHERE).index(each.rival), cost, per) for each in entries]
            panels.append(Panel(lines, world))
    return Chart(title, panels, unit, of_trials=False)


def curve(each: Entry, number: int, cost: Cost, per: float) -> Line:
    """Return a line that rises where a task was solved."""
    costs = sorted(cost(outcome) for outcome in each.outcomes if outcome.solved)
    spent, shares = [0.0], [0.0]
    for place, value in enumerate(costs, 1):
        share = 100 * place / len(each.outcomes)
        if value / per == spent[-1]:
            shares[-1] = share
            continue
        spent.append(value / per)
        shares.append(share)
    end = max(map(cost, each.outcomes)) / per
    if end > spent[-1]:
        # What was spent without solving anything more.
        spent.append(end)
        shares.append(shares[-1])
    return Line(each.name, number, spent, shares, steps=True)


def draw(rows: Sequence[Row], folder: Path) -> list[Path]:
    """Draw both pictures into a folder, and return their files."""
    folder.mkdir(parents=True, exist_ok=True)
    charts = {
        "solved_by_calls": chart(rows, "Tasks solved by calls", "calls for a task", calls_of, 1),
        "solved_by_tokens": chart(rows, "Tasks solved by tokens", "thousand tokens for a task", tokens_of, 1000),
    }
    files = []
    for name, drawn in charts.items():
        file = folder / f"{name}.svg"
        file.write_text(svg_of(drawn), encoding="utf-8")
        files.append(file)
    return files


def main() -> None:
    """Print the tables of a run, and draw its curves if asked to."""
    parser = argparse.ArgumentParser(description="Print the tables of a run, and draw its curves.")
    parser.add_argument("folder", type=Path, help="the run's folder")
    parser.add_argument("--figures", type=Path, help="the folder of the pictures")
    given = parser.parse_args()
    rows = read_rows(given.folder / "rows.jsonl")
    if not rows:
        raise SystemExit(f"There are no rows in {given.folder}: run the rivals first.")
    print("\n".join(report(rows)))
    if given.figures:
        for file in draw(rows, given.figures):
            print(file)


if __name__ == "__main__":
    main()
