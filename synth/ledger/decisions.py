"""Trajectories beside the verdicts that stand on them, a few hundred in memory at a time."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from synth.ledger.ledger import StoredLedger
from synth.ledger.redactions import of_chunk
from synth.ledger.views import LedgerConnection, connect
from synth.ledger.with_tasks import batches
from synth.loss_turns import MASKS
from synth.schemas import JUDGED, Trajectory, Verdict
from synth.set_aside import SetAside

CHUNK = 500
_MASKS = msgspec.json.Decoder(dict[int, str])
_ON = f"""
SELECT trajectory_id, stage, filter, keep, reason, score,
  json_extract_string(detail, '$.{MASKS}'), detail->>'$.{JUDGED}'
FROM decisions
WHERE trajectory_id IN (SELECT unnest(?))
"""
_FAULTED = """
SELECT count(DISTINCT trajectory_id)
FROM decisions_all
WHERE stage_key = ? AND filter IN (SELECT unnest(?))
  AND keep IS NULL AND detail->>'$.fault' IS NOT NULL
"""
_SEEN = """
SELECT
  count(*),
  count(*) FILTER (d.trajectory_id IS NULL),
  count(*) FILTER (d.reason = ?)
FROM (SELECT trajectory_id FROM trajectories WHERE fault IS NULL) AS t
LEFT JOIN (
  SELECT DISTINCT trajectory_id, reason FROM decisions WHERE filter = ?
) AS d USING (trajectory_id)
"""
Order = Callable[[str, str], tuple[int, int, str]]


def with_decisions(
    ledger: StoredLedger, aside: SetAside, among: Collection[str] | None = None
) -> Iterator[tuple[Trajectory, Mapping[str, Verdict]]]:
    """The current flow's valid trajectories in ledger order, redacted where a filter found secrets,
    each with its verdicts by filter; `among`: of these only.

    What cannot be redacted is noted in `aside`, and not given.
    """
    wanted = set(ledger.state.current_valid())
    if among is not None:
        wanted.intersection_update(among)
    order = decision_order(ledger)
    with connect(ledger) as connection:
        for chunk in batches(ledger.trajectories(wanted), CHUNK):
            yield from with_verdicts(connection, chunk, order, aside)


def decision_order(ledger: StoredLedger) -> Order:
    """What to sort decisions by (stage and filter): as the flow has its stages and a stage its
    filters, then by name.

    A database gives rows without an order in another one each time, and the first filter that drops
    a trajectory is the one that counts.
    """
    state = ledger.state
    stages = {stage: at for at, stage in enumerate(state.stages)}
    filters = {
        (stage, one["name"]): at
        for stage, line in state.stages.items()
        for at, one in enumerate(state.done.get((stage, line.stage_key), {}).get("filters", ()))
    }
    return lambda stage, name: (
        stages.get(stage, len(stages)),
        filters.get((stage, name), len(filters)),
        name,
    )


def by_filter(decisions: Iterable[tuple[str, str, Verdict]], order: Order) -> dict[str, Verdict]:
    """Verdicts on one trajectory or task from (stage, filter, verdict), in their order; of two by
    one filter the drop stands.
    """
    found: dict[str, Verdict] = {}
    for _, name, verdict in sorted(
        decisions, key=lambda one: (order(one[0], one[1]), one[2].keep is False, one[2].reason)
    ):
        if name not in found or found[name].keep is not False:
            found[name] = verdict
    return found


def verdicts_on(
    connection: LedgerConnection, identities: Sequence[str], order: Order
) -> dict[str, dict[str, Verdict]]:
    """The current flow's verdicts by trajectory or task, then by filter; none where there are
    none.
    """
    found: dict[str, list[tuple[str, str, Verdict]]] = {identity: [] for identity in identities}
    rows = connection.execute(_ON, [list(identities)]).fetchall()
    for identity, stage, name, keep, reason, score, masked, judged in rows:
        masks = _MASKS.decode(masked or "{}")
        verdict = Verdict(keep, reason, score, masks=masks, judged=judged)
        found[identity].append((stage, name, verdict))
    return {identity: by_filter(decisions, order) for identity, decisions in found.items()}


def with_verdicts(
    connection: LedgerConnection, chunk: Sequence[Trajectory], order: Order, aside: SetAside
) -> Iterator[tuple[Trajectory, dict[str, Verdict]]]:
    """Trajectories that are in memory, redacted, each with its verdicts by filter."""
    verdicts = verdicts_on(connection, [one.trajectory_id for one in chunk], order)
    for trajectory in of_chunk(connection, chunk, aside):
        yield trajectory, verdicts[trajectory.trajectory_id]


def has_decided(connection: LedgerConnection, name: str) -> bool:
    """Whether a filter has decided on anything in the current flow."""
    sql = "SELECT count(*) FROM decisions WHERE filter = ?"
    return connection.execute(sql, [name]).fetchone() != (0,)


def faulted(connection: LedgerConnection, stage_key: str, filters: Sequence[str]) -> int:
    """Trajectories of which a fault left one of these filters' decisions undefined."""
    ((count,),) = connection.execute(_FAULTED, [stage_key, list(filters)]).fetchall()
    return int(count)


def seen_by(ledger: StoredLedger, name: str, reason: str) -> tuple[int, int, int]:
    """The current flow's valid trajectories, those of them that a filter has not decided on, and
    its decisions for one reason.
    """
    with connect(ledger) as connection:
        ((total, unseen, found),) = connection.execute(_SEEN, [reason, name]).fetchall()
    return total, unseen, found
