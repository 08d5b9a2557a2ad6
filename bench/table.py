"""One row of the table, and how the table is printed. A row without an aim is there to be read beside its neighbours."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One measured figure.

    Attributes:
        aim: the figure must not be above it; None where nothing is aimed at.
        detail: what the figure was made of.
    """

    part: str
    name: str
    figure: float
    unit: str = ""
    aim: float | None = None
    detail: str = ""

    @property
    def word(self) -> str:
        """`PASS`, `MISS`, or nothing."""
        return "" if self.aim is None else "PASS" if self.figure <= self.aim else "MISS"


def show(rows: Iterable[Row], heading: bool = True) -> bool:
    """Print the rows as they come; returns whether all aims were met."""
    met = True
    if heading:
        print(f"{'part':<11}{'what':<70}{'figure':>12}{'aim':>10}  {'':<5} made of", flush=True)
    for row in rows:
        aim = "" if row.aim is None else _number(row.aim)
        start = f"{row.part:<11}{row.name:<70}{_number(row.figure):>9} {row.unit:<2}"
        print(f"{start}{aim:>10}  {row.word:<5} {row.detail}".rstrip(), flush=True)
        met = met and row.word != "MISS"
    return met


def _number(value: float) -> str:
    return f"{value:,.4g}" if value < 1000 else f"{value:,.0f}"
