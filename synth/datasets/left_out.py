"""What a reading of the ledger leaves out, counted by reason."""

from collections import Counter
from dataclasses import dataclass, field

from synth.datasets.release import ReleaseRefusal
from synth.set_aside import SetAside


@dataclass(slots=True)
class LeftOut:
    """`left_out` by reason, `filtered` by the filter that dropped it and why, `aside` what cannot
    be handled.
    """

    left_out: Counter[str] = field(default_factory=Counter)
    filtered: Counter[str] = field(default_factory=Counter)
    aside: SetAside = field(default_factory=SetAside)

    def leaves(self, why: ReleaseRefusal | str | None) -> bool:
        """Counts a reason, if there is one."""
        if why is None:
            return False
        dropped = isinstance(why, ReleaseRefusal) and why.by_filter
        (self.filtered if dropped else self.left_out)[counted(why)] += 1
        return True

    def take(self, other: "LeftOut") -> None:
        """Adds what another reading left out."""
        self.left_out.update(other.left_out)
        self.filtered.update(other.filtered)
        self.aside.take(other.aside)


def counted(why: ReleaseRefusal | str) -> str:
    """Under which name a reason is counted and told."""
    return why if isinstance(why, str) else why.counted
