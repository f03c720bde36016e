"""Shards whose files are gone: which of them nobody has made again, and what to do about it."""

from synth.ledger.log.manifest import ShardLine
from synth.ledger.log.stage_keys import conclusion, evidence_key
from synth.ledger.log.state import IMPORT, LedgerState


def lost_lines(state: LedgerState) -> list[str]:
    """One line per shard whose file is gone and whose work nobody has done again."""
    return [
        _lost_line(path, line, settled=_settled_without(state, line))
        for path, line in state.lost_shards
        if not _made_again(state, line)
    ]


def _settled_without(state: LedgerState, line: ShardLine) -> bool:
    """Whether a stage that is done has kept a shard apart as evidence: no stage reads it any
    more.
    """
    return any(
        stage == line.stage and evidence_key(key) == line.stage_key for stage, key in state.done
    )


def _made_again(state: LedgerState, line: ShardLine) -> bool:
    if line.slots:
        return all(record.slot_id in state.slots for record in line.slots)
    for stage in state.stages.values():
        if conclusion(stage.stage_key) == line.stage_key:
            return state.concluded(stage.stage_key) is not None
    return (line.stage_key, line.name) in state.named


def _lost_line(path: str, line: ShardLine, *, settled: bool) -> str:
    """What went with a shard's file, what that means, and what to do."""
    files = line.files
    told = ("trajectories", "decisions", "labels", "tasks", *files)
    table = next((name for name in told if name in files), None)
    what = "its shard" if table is None else f"the {files[table].rows} {table} of its shard"
    head = f"{path}: missing; {what} (stage {line.stage})"
    if settled:
        return (
            f"{head} are gone, from the costs too: what was found by them stands, and no run makes "
            "them again; put the file back from a backup to have them"
        )

    again = "import the same sources again" if line.stage == IMPORT else "run the flow again"
    mend = "to fill their slots again" if line.slots else "to make them again"
    return f"{head} count as never made: {again} {mend}, or put the file back from a backup"
