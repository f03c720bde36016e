"""The tests of acts that a ledger holds: accepted or not, with counts, in the order in which their
trials lie there.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import msgspec
import pyarrow as pa

from synth.ledger.ledger import Ledger
from synth.ledger.views import LedgerConnection
from synth.schemas.pairs import Evidence
from synth.set_aside import SetAside

CRITICAL_STEP, REPAIR, INJECTION = "critical_step", "repair", "injection"
STEP_VALUE, REFLECTION = "step_value", "reflection"
OFF_POLICY = "off_policy_pivot"
"""Metrics of `scores`, as the stages write them (docs/synthesizers.md). Faults of the world
(`observation_fault`) are never read here:
they are no mistake of the step that received them.
"""
CHUNK = 100


class Experiment(msgspec.Struct, frozen=True, kw_only=True):
    """One row about an act at a recorded state; which fields it has depends on the metric."""

    metric: str = ""
    subject_id: str = ""
    turn: int = 0
    value: float | None = None
    status: str = ""
    q_pos: float | None = None
    n_pos: int = 0
    q_neg: float | None = None
    n_neg: int = 0
    method: str = ""
    stopped_at: int = 0
    weights_id: str | None = None
    on_policy_for: str = ""
    pos_ids: tuple[str, ...] = ()
    alternative_from: str = ""
    alternative_authorship: str = "model"
    alternative_digest: str = ""
    own: str = ""
    clean_twin_id: str = ""
    strategy: str = ""
    act: str = ""
    successes: int = 0
    n: int = 0
    retry: str | None = None

    @property
    def confirmed(self) -> bool:
        """Whether the act that succeeded more often makes success likelier, by an accepted test
        whose stage was controlled.
        """
        return self.status == "confirmed"

    def evidence(self) -> Evidence | None:
        """The counts; None where a side has none."""
        if self.q_pos is None or self.q_neg is None:
            return None
        return Evidence(
            q_pos=self.q_pos,
            n_pos=self.n_pos,
            q_neg=self.q_neg,
            n_neg=self.n_neg,
            method=self.method,
            stopped_at=self.stopped_at,
            weights_id=self.weights_id,
        )


class TestState(msgspec.Struct, frozen=True):
    """All rows about one turn of one trajectory."""

    trajectory_id: str
    turn: int
    rows: tuple[Experiment, ...]

    def of(self, metric: str) -> list[Experiment]:
        """Those of a metric."""
        return [row for row in self.rows if row.metric == metric]


_READ = msgspec.json.Decoder(Experiment)


def states(
    ledger: Ledger, connection: LedgerConnection, metrics: Sequence[str], aside: SetAside
) -> Iterator[TestState]:
    """The current flow's states with such rows, those of one shard of trajectories side by side;
    `aside`: rows that cannot be read.
    """
    places = {
        record.trajectory_id: at
        for at, shard in enumerate(ledger.state.shards)
        for record in shard.slots
    }
    table = pa.table(
        {
            "id": pa.array(list(places), pa.string()),
            "place": pa.array(list(places.values()), pa.int64()),
        }
    )
    sql = """
        SELECT s.metric, s.subject_id, s.turn, s.value, s.detail FROM scores s LEFT JOIN places p ON s.subject_id = p.id
        WHERE s.metric IN (SELECT unnest(?)) AND s.turn IS NOT NULL AND coalesce(json_extract_string(s.detail, '$.control'), '') <> 'true'
        ORDER BY p.place, s.subject_id, s.turn, s.metric, s.detail
    """
    cursor = connection.cursor()
    cursor.register("places", table)
    answer = cursor.execute(sql, [list(metrics)])
    held: list[Experiment] = []
    while found := answer.fetchmany(CHUNK):
        for metric, subject, turn, value, detail in found:
            read = aside.tried(subject, partial(_READ.decode, detail or ""))
            if read is None:
                continue
            row = msgspec.structs.replace(
                read, metric=metric, subject_id=subject, turn=turn, value=value
            )
            if held and (held[0].subject_id, held[0].turn) != (subject, turn):
                yield TestState(held[0].subject_id, held[0].turn, tuple(held))
                held = []
            held.append(row)
    if held:
        yield TestState(held[0].subject_id, held[0].turn, tuple(held))
