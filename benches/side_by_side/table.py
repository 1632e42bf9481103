"""The one table at the end: rows under headings, with ratio, spread, goal and verdict."""

import operator
import statistics
from dataclasses import dataclass

MEETS = {"≥": operator.ge, "≤": operator.le, ">": operator.gt}


@dataclass
class Heading:
    """A measurement's title, what its two figures are, and whether they make a ratio."""
    title: str
    base: str = ""
    value: str = ""
    ratio: bool = True


@dataclass
class Row:
    """A figure beside what it is compared with. `ratios` are the rounds', paired within each."""
    what: str
    base: str
    value: str
    ratios: list
    goal: str = ""
    met: bool | None = None

    def ratio(self):
        return statistics.median(self.ratios) if self.ratios else None

    def spread(self):
        """How far the rounds differ, as a share of their median: (max − min) / 2 median."""
        if len(self.ratios) < 2 or not self.ratio():
            return None
        return (max(self.ratios) - min(self.ratios)) / 2 / self.ratio()


def compared(what, base, value, show, goal=""):
    """A row from the rounds of two figures: medians, and the ratio value / base round by round.

    A goal is written as it is printed: `≥ 0.95 ×`, `≤ 1.5 ×` or `> 1.5 ×`.
    """
    ratios = [v / b for b, v in zip(base, value) if b]
    row = Row(what, show(statistics.median(base)), show(statistics.median(value)), ratios, goal)
    if goal and ratios:
        row.met = meets(row.ratio(), goal)
    return row


def meets(ratio, goal):
    sign, limit, _ = goal.split()
    return MEETS[sign](ratio, float(limit))


def spreads(rows):
    """The spread of each ratio that has a goal and was repeated."""
    return [row.spread() for row in rows if isinstance(row, Row) and row.goal and row.spread() is not None]


def time(ns):
    """Three digits with a unit."""
    for unit, size in ("s", 1e9), ("ms", 1e6), ("µs", 1e3):
        if abs(ns) >= size:
            return f"{three_digits(ns / size)} {unit}"
    return f"{ns:.0f} ns"


def three_digits(number):
    decimals = 0 if abs(number) >= 100 else 1 if abs(number) >= 10 else 2
    return f"{number:.{decimals}f}"


def per_second(rate):
    return f"{rate:,.0f} /s"


def show(rows):
    """Prints the table."""
    lines = [cells(row) for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(7)]
    for row, line in zip(rows, lines):
        if isinstance(row, Heading):
            print()
        print(aligned(line, widths).rstrip())


def cells(row):
    if isinstance(row, Heading):
        ratio = ("ratio", "±") if row.base and row.ratio else ("", "")
        return [row.title, row.base, row.value, *ratio, "goal" if row.base else "", ""]
    ratio, spread = row.ratio(), row.spread()
    return [f"  {row.what}", row.base, row.value,
            "" if ratio is None else f"{three_digits(ratio)} ×",
            "" if spread is None else f"{spread:.0%}",
            row.goal, {None: "", True: "met", False: "missed"}[row.met]]


def aligned(line, widths):
    first, *numbers, goal, verdict = line
    left = first.ljust(widths[0])
    middle = [cell.rjust(width) for cell, width in zip(numbers, widths[1:])]
    return "  ".join([left, *middle, goal.ljust(widths[5]), verdict])
