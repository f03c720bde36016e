"""Trajectories beside the verdicts that stand on them, a few hundred in memory at a time."""

from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from synth.ledger.ledger import Ledger
from synth.ledger.redactions import of_chunk
from synth.ledger.views import LedgerConnection, connect
from synth.loss_turns import MASKS
from synth.schemas.trajectory import Trajectory
from synth.schemas.verdict import Verdict
from synth.set_aside import SetAside

CHUNK = 500
Order = Callable[[str, str], tuple[int, int, str]]


def decided(ledger: Ledger, aside: SetAside) -> Iterator[tuple[Trajectory, Mapping[str, Verdict]]]:
    """The current flow's valid trajectories in ledger order, redacted where a filter found secrets,
    each with its verdicts by filter.

    Of the verdicts' details those are given that name turns without loss. What cannot be redacted
    is noted in `aside`, and not given.
    """
    identities = ledger.state.current_valid()
    wanted = set(identities)
    order = decision_order(ledger)
    with connect(ledger) as connection:
        chunk: list[Trajectory] = []
        for trajectory in ledger.trajectories(wanted):
            chunk.append(trajectory)
            if len(chunk) == CHUNK:
                yield from _with_verdicts(connection, chunk, order, aside)
                chunk = []
        yield from _with_verdicts(connection, chunk, order, aside)


def decision_order(ledger: Ledger) -> Order:
    """What to sort decisions by (stage and filter): as the flow has its stages and a stage its
    filters, then by name.

    A database gives rows without an order in another one each time, and the first filter that drops
    a trajectory is the one that counts.
    """
    stages = {stage: at for at, stage in enumerate(ledger.state.stages)}
    reports = {
        stage: ledger.state.done.get((stage, line.stage_key), {})
        for stage, line in ledger.state.stages.items()
    }
    filters = {
        (stage, one["name"]): at
        for stage, report in reports.items()
        for at, one in enumerate(report.get("filters", ()))
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


def _with_verdicts(
    connection: LedgerConnection, chunk: list[Trajectory], order: Order, aside: SetAside
) -> Iterator[tuple[Trajectory, Mapping[str, Verdict]]]:
    found: dict[str, list[tuple[str, str, Verdict]]] = {}
    masks = f"json_extract_string(detail, '$.{MASKS}')"
    sql = (
        f"SELECT trajectory_id, stage, filter, keep, reason, score, {masks} FROM decisions "
        "WHERE trajectory_id IN (SELECT unnest(?))"
    )
    for identity, stage, name, keep, reason, score, masked in connection.execute(
        sql, [[t.trajectory_id for t in chunk]]
    ).fetchall():
        detail = {} if masked is None else {MASKS: msgspec.json.decode(masked)}
        found.setdefault(identity, []).append((stage, name, Verdict(keep, reason, score, detail)))
    for trajectory in of_chunk(connection, chunk, aside):
        yield trajectory, by_filter(found.get(trajectory.trajectory_id, ()), order)
