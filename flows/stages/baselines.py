"""What trivial filters would have dropped: beside each filter that drops, the longest trajectories
and those with the most calls, as many of them.
"""

from collections.abc import Iterator

import msgspec

from synth.ledger.views import LedgerConnection

BY_OUTCOME = ("solved", "reexecuted")
"""Filters that go by the outcome itself."""
_DROPS = """
WITH judged AS (
    SELECT trajectory_id, outcome = 'failure' AS bad,
        row_number() OVER (ORDER BY n_turns DESC, trajectory_id) AS by_turns,
        row_number() OVER (ORDER BY n_tool_calls DESC, trajectory_id) AS by_calls
    FROM trajectories WHERE outcome IN ('success', 'failure')
), dropped AS (
    SELECT filter, count(*) AS n, count(*) FILTER (bad) AS failures
    FROM decisions_all JOIN judged USING (trajectory_id)
    WHERE stage_key = ? AND keep = false GROUP BY 1
)
SELECT filter, n, failures,
    (SELECT count(*) FILTER (bad) FROM judged WHERE by_turns <= n),
    (SELECT count(*) FILTER (bad) FROM judged WHERE by_calls <= n),
    (SELECT count(*) FILTER (bad) FROM judged), (SELECT count(*) FROM judged)
FROM dropped ORDER BY filter
"""


class Baseline(msgspec.Struct, frozen=True):
    """A filter drops `dropped` of the `decided` trajectories, `failures` of them failures, of which
    there are `base`; as many of the longest would have held `by_turns`, of those with the most
    calls `by_calls`.
    """

    filter: str
    dropped: int
    failures: int
    by_turns: int
    by_calls: int
    base: int
    decided: int

    @property
    def line(self) -> str:
        """For people."""
        return (
            f"{self.filter}: {self.failures} of {self.dropped} dropped with a verdict are failures "
            f"(of all {self.base / self.decided:.2f}); as many of the longest {self.by_turns}, of "
            f"those with the most calls {self.by_calls}"
        )


def baselines(connection: LedgerConnection, stage_key: str) -> Iterator[Baseline]:
    """Of each filter that drops some trajectories with a verdict and not all, where there are
    failures and successes.
    """
    for row in connection.execute(_DROPS, [stage_key]).fetchall():
        one = Baseline(*row)
        if (
            one.filter not in BY_OUTCOME
            and one.dropped < one.decided
            and 0 < one.base < one.decided
        ):
            yield one
