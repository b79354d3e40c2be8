"""The table of an experiment's estimated costs."""

from collections.abc import Callable, Sequence

from langgraph_reflexion.experiments.estimate import Estimate, Range
from langgraph_reflexion.experiments.tables import Table

LEGEND = (
    "Least, likely and most. Least: every task solved at once. Most: every trial as long as allowed, at the size, "
    "speed and price of the largest calls that were measured. ?: nothing similar was recorded; name runs by --like."
)


def estimate_table(estimates: Sequence[Estimate], total: Estimate) -> Table:
    """Return the estimates of every run, and of all of them together."""
    bases = list(dict.fromkeys(each.basis for each in estimates if each.basis))
    numbers = {basis: str(number) for number, basis in enumerate(bases, 1)}
    rows = [_row(each, numbers) for each in [*estimates, *([total] if len(estimates) != 1 else [])]]
    caption = [LEGEND, *(f"{number}: measured by {basis}" for basis, number in numbers.items())]
    caption += [f"cannot run: {why}" for why in dict.fromkeys(each.state for each in estimates if each.refused)]
    head = ("run", "tasks", "calls", "tokens", "time", "money", "by")
    return Table("What is left to run", head, rows, " · ".join(caption))


def _row(each: Estimate, numbers: dict[str, str]) -> list[str]:
    if not each.tasks:
        return [each.name, "", "cannot run" if each.refused else each.state or "nothing", *[""] * 4]
    cells = [_cell(each.calls, _count), _cell(each.tokens, _count), _cell(each.seconds, _time)]
    money = _cell(each.money, lambda value: f"{value:,.2f}")
    return [each.name, str(each.tasks), *cells, money, numbers.get(each.basis, "")]


def _cell(amount: Range, text: Callable[[float], str]) -> str:
    if not amount.most and not amount.low and amount.most is not None:
        return "0"
    return " · ".join("?" if value is None else text(value) for value in vars(amount).values())


def _count(value: float) -> str:
    for size, sign in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= 10 * size or (value >= size and size > 1e3):
            return f"{value / size:,.1f}{sign}"
    return f"{value:,.0f}"


def _time(value: float) -> str:
    if value < 120:
        return f"{value:.0f} s"
    return f"{value / 60:,.0f} min" if value < 7200 else f"{value / 3600:,.1f} h"
