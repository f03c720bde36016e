"""Success rates with their intervals, as a page shows them."""

from synth.engine.table import DrawnCell
from synth.report.templates import drawings

NO_RATE = ("-", "-", "")


def rate_cells(rate: float, low: float, high: float, digits: int = 0) -> tuple[str, str, str]:
    """A rate and its interval in percent, and both as a small picture from 0 to 1; the numbers
    stand beside it.
    """
    picture = drawings().interval(rate, low, high)
    return f"{rate:.{digits}%}", percents(low, high), DrawnCell(picture)


def percents(low: float, high: float) -> str:
    """An interval, for instance 59–69 %."""
    return f"{100 * low:.0f}–{100 * high:.0f} %"
