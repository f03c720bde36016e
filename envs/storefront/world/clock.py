"""Virtual time: a world's day starts at nine, and every step of an episode takes one minute."""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

OPENING_HOUR = 9


@dataclass(slots=True)
class Clock:
    """The first day of the episode and the steps since."""

    start: date
    ticks: int = 0

    def tick(self) -> None:
        """One step has passed."""
        self.ticks += 1

    def now(self) -> datetime:
        """The virtual time, to the minute."""
        return datetime.combine(self.start, time(OPENING_HOUR)) + timedelta(minutes=self.ticks)

    def today(self) -> date:
        """The virtual day."""
        return self.now().date()
