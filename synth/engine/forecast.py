"""What a stage is going to take, told from its first episodes, and which ceiling it is going to
meet.

The episodes that end first are the short ones. With S spent by all that have begun, and n of them
finished, the mean of the finished is
too low, while S / n, which lays what runs to the account of what has ended, is exact where an
episode is as likely to end at any time
(the maximum likelihood of an exponential under censoring) and too high where all are alike. The
range runs from the one to the other,
two standard errors wider on either side. It cannot know that tasks still to come are harder than
those before.
"""

import math
from collections.abc import Callable, Sequence

import msgspec

from synth.engine.budget import Quantity, Room
from synth.engine.numbers import short_count, short_duration
from synth.engine.tally import RunCounts, Spread, tokens_of

LEAST_SHARE, LEAST_DONE = 0.01, 20
"""Episodes that must be done before a forecast is made: a share, and a number."""
LEAST_FINISHED = 0.5
"""Of the tokens spent, by episodes that are finished: before, those under way are most of what is
known.
"""
LEAST_TOOK_S, LEAST_LEFT_S = 5.0, 60.0
"""Seconds: a stage that is over in a minute needs no forecast, unless a ceiling ends it before."""

Range = tuple[float, float]


class Meeting(msgspec.Struct, frozen=True):
    """A ceiling, and after how many episodes it is reached; `sure` where even the low estimate
    reaches it.
    """

    ceiling: str
    episodes: Range
    sure: bool


class Forecast(msgspec.Struct, frozen=True):
    """Tokens, money (None where a price is not known) and seconds of the whole stage, each from a
    low to a high estimate.
    """

    done: int
    total: int
    tokens: Range
    usd: Range | None
    took_s: Range
    meeting: Meeting | None

    def expected(self) -> str:
        """For instance: 41.0M to 52.0M tokens, $16.40 to $20.80, 2 h 10 min to 2 h 40 min."""
        parts = [f"{_range(self.tokens, lambda tokens: short_count(round(tokens)))} tokens"]
        if self.usd is not None and self.usd[1] > 0:
            parts.append(_range(self.usd, _dollars))
        return ", ".join([*parts, _range(self.took_s, short_duration)])

    def warning(self) -> str | None:
        """For instance: at this rate max_cost_usd 5 is reached after about 490 to 620 of 2,000
        episodes.
        """
        if self.meeting is None:
            return None
        of = f"of {self.total:,} episodes"
        if not self.meeting.sure:
            return (
                f"at this rate {self.meeting.ceiling} may be reached, after about "
                f"{_roughly(self.meeting.episodes[0])} {of} at the earliest"
            )

        return (
            f"at this rate {self.meeting.ceiling} is reached after about "
            f"{_range(self.meeting.episodes, _roughly)} {of}"
        )

    def line(self) -> str:
        """Both, for a log."""
        warning = self.warning()
        said = f"forecast after {self.done:,} of {self.total:,} episodes: {self.expected()} for all"
        return said if warning is None else f"{said}; {warning}"


def forecast(tally: RunCounts, total: int, took_s: float, room: Sequence[Room]) -> Forecast | None:
    """None as long as too little is known, and where there is nothing to tell: no tokens, or a
    stage that is over soon.
    """
    done, spent = tally.tokens.count, tokens_of(tally.usage)
    if (
        not max(LEAST_DONE, LEAST_SHARE * total) <= done < total
        or took_s < LEAST_TOOK_S
        or not spent
    ):
        return None

    if tally.tokens.mean * done < LEAST_FINISHED * spent:
        return None
    paid = tally.usage.cost_usd if not tally.unpriced else None
    tokens = _whole(tally.tokens, spent, total)
    usd = None if paid is None else _whole(tally.usd, paid, total)
    fresh = spent - tally.replayed_tokens
    if fresh <= 0 or (tally.replayed_tokens and fresh < LEAST_SHARE * tokens[0]):
        return None
    low_s, high_s = (took_s * (amount - spent) / fresh for amount in tokens)
    took = (took_s + low_s, took_s + high_s)
    known: dict[Quantity, tuple[Range | None, float]] = {
        "tokens": (tokens, spent),
        "usd": (usd, tally.usage.cost_usd or 0.0),
        "seconds": (took, took_s),
    }
    meetings = [_meeting(one, *known[one.counts], total) for one in room]
    first = min(filter(None, meetings), key=lambda meeting: meeting.episodes, default=None)
    if first is None and took[1] - took_s < LEAST_LEFT_S:
        return None
    return Forecast(done, total, tokens, usd, took, first)


def _whole(finished: Spread, spent: float, total: int) -> Range:
    """What the whole stage takes of something, of which `spent` is gone by now."""
    aside = 2 * finished.standard_error
    low, high = max(finished.mean - aside, 0.0), max(spent / finished.count, finished.mean) + aside
    return max(low * total, spent), max(high * total, spent)


def _meeting(room: Room, expected: Range | None, spent: float, total: int) -> Meeting | None:
    """When a ceiling is met, if it is: `expected` is for all episodes of the stage."""
    if expected is None or expected[1] <= room.left + spent:
        return None
    low, high = ((room.left + spent) * total / amount for amount in reversed(expected))
    return Meeting(room.ceiling, (max(low, 0.0), min(max(high, 0.0), total)), sure=high < total)


def _range(values: Range, say: Callable[[float], str]) -> str:
    low, high = map(say, values)
    return low if low == high else f"{low} to {high}"


def _dollars(usd: float) -> str:
    return f"${usd:,.0f}" if usd >= 1000 else f"${usd:,.2f}"


def _roughly(count: float) -> str:
    """Two digits of it."""
    digits = 10 ** max(math.floor(math.log10(count)) - 1, 0) if count >= 1 else 1
    return f"{round(count / digits) * digits:,}"
