"""Trajectories packed into the page, a shard at a time, within a size; the longest texts give way
first.
"""

import base64
import gzip
import json
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, TextIO

import msgspec

from synth.ledger.flow_scan import FlowScan
from synth.ledger.ledger import Ledger
from synth.ledger.redactions import scanned
from synth.ledger.views import LedgerConnection, connect
from synth.report.browser.listing import Listing
from synth.report.browser.record import About, record
from synth.report.browser.stand_ins import StandIns
from synth.report.browser.texts import Texts
from synth.schemas.trajectory import Trajectory
from synth.set_aside import UNHANDLED, SetAside

TOGETHER = 64
"""Trajectories in a chunk: what is unpacked to show one of them."""
CHUNK_CHARACTERS = 3_000_000
BATCH = 512
"""Trajectories that the tables are asked about at once."""
LONGEST, SHORTEST = 50_000, 80
"""Characters of a text that are kept where there is room, and where there is none."""
LISTED = 0.04
"""Of the room, for the list."""
_SCORES = (
    "SELECT subject_id, metric, turn, value, detail FROM scores WHERE subject_id IN (SELECT "
    "unnest(?)) ORDER BY ALL"
)
_DECISIONS = """
SELECT trajectory_id, filter, keep, reason, score, detail FROM decisions WHERE trajectory_id IN (SELECT unnest(?)) ORDER BY ALL
"""
_MEDIA = "application/octet-stream"


class Packed(msgspec.Struct):
    """What was written, and what it says: how many trajectories, how many texts are shortened, how
    many have no texts here.
    """

    trajectories: int = 0
    chunks: int = 0
    characters: int = 0
    shortened: int = 0
    unopened: int = 0
    longest: int = LONGEST
    stand_ins: StandIns = msgspec.field(default_factory=StandIns)
    aside: SetAside = msgspec.field(default_factory=SetAside)


def pack(ledger: Ledger, out: TextIO, room: int) -> Packed:
    """Writes the chunks, then the list, as script elements that hold data; at most about `room`
    characters.
    """
    packed, listing = Packed(stand_ins=StandIns(FlowScan(ledger))), Listing()
    total = sum(1 for _ in ledger.records())
    with connect(ledger) as connection:
        for chunk in _chunks(ledger, connection, packed):
            left = room * (1 - LISTED) - packed.characters
            share = left * len(chunk) / max(len(chunk), total - packed.trajectories)
            try:
                _write_chunk(chunk, out, share, packed, listing)
            except UNHANDLED:  # of one of them; nothing of the chunk was written
                kept = [
                    one
                    for one in chunk
                    if packed.aside.tried(
                        one[0].trajectory_id, partial(_chunk_blob, [one], SHORTEST)
                    )
                    is not None
                ]
                if kept:
                    _write_chunk(kept, out, share, packed, listing)
        looked = scanned(connection)
        goals = dict(
            connection.execute("SELECT task_id, goal FROM tasks WHERE goal IS NOT NULL").fetchall()
        )
    shown = {task: packed.stand_ins.in_text(task, goal) for task, goal in goals.items()}
    notes = {
        "shortened": packed.shortened,
        "unopened": packed.unopened,
        "looked": looked,
        "findings": packed.stand_ins.findings,
        "aside": list(packed.aside.lines()),
    }
    _write("list", compressed({**listing.packed(shown), "notes": notes}), out, packed)
    return packed


def _chunks(
    ledger: Ledger, connection: LedgerConnection, packed: Packed
) -> Iterator[list[tuple[Trajectory, About, StandIns]]]:
    """Trajectories beside what the tables say of them, in the order of the ledger."""
    chunk: list[tuple[Trajectory, About, StandIns]] = []
    size, stand_ins = 0, packed.stand_ins
    for batch in _batches(ledger.trajectories()):
        identities = [[t.trajectory_id for t in batch]]
        abouts: dict[str, tuple[list[Any], list[Any]]] = {}
        for at, sql in enumerate((_SCORES, _DECISIONS)):
            for identity, *said in connection.execute(sql, identities).fetchall():
                abouts.setdefault(identity, ([], []))[at].append(tuple(said))
        for trajectory in stand_ins.taken_out(connection, batch, packed.aside):
            chunk.append(
                (trajectory, About(*abouts.get(trajectory.trajectory_id, ((), ()))), stand_ins)
            )
            size += _size(trajectory)
            if len(chunk) == TOGETHER or size >= CHUNK_CHARACTERS:
                yield chunk
                chunk, size = [], 0
    if chunk:
        yield chunk


def _batches(trajectories: Iterator[Trajectory]) -> Iterator[list[Trajectory]]:
    batch: list[Trajectory] = []
    size = 0
    for trajectory in trajectories:
        batch.append(trajectory)
        size += _size(trajectory)
        if len(batch) == BATCH or size >= 8 * CHUNK_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _size(trajectory: Trajectory) -> int:
    """Characters of the texts that differ from trajectory to trajectory."""
    return sum(
        len(turn.content or "")
        + len(turn.thought or "")
        + sum(len(one.content) for one in turn.observations)
        + sum(len(call.arguments) for call in turn.tool_calls)
        for turn in trajectory.turns
    )


def _write_chunk(
    chunk: Sequence[tuple[Trajectory, About, StandIns]],
    out: TextIO,
    share: float,
    packed: Packed,
    listing: Listing,
) -> None:
    """Whole where there is room, else with its texts cut shorter and shorter; in the list in any
    case.
    """
    longest = min(LONGEST, 2 * packed.longest)
    blob, cut = _chunk_blob(chunk, longest)
    while len(blob) > share and longest > SHORTEST:
        longest = max(SHORTEST, int(longest * min(0.7, max(0.25, share / len(blob)))))
        blob, cut = _chunk_blob(chunk, longest)
    packed.longest = longest
    fits = len(blob) <= share
    for at, (trajectory, about, _) in enumerate(chunk):
        listing.add(trajectory, about, (packed.chunks, at) if fits else None)
    packed.trajectories += len(chunk)
    if fits:
        _write(f"chunk-{packed.chunks}", blob, out, packed)
        packed.chunks += 1
        packed.shortened += cut
    else:
        packed.unopened += len(chunk)


def _chunk_blob(
    chunk: Sequence[tuple[Trajectory, About, StandIns]], longest: int
) -> tuple[str, int]:
    texts = Texts(longest)
    records = [
        record(trajectory, about, texts, partial(stand_ins.in_text, trajectory.task_id))
        for trajectory, about, stand_ins in chunk
    ]
    return compressed({"texts": texts.packed, "records": records}), texts.cut


def compressed(value: Any) -> str:
    """ASCII: JSON (lone surrogates as escapes), gzip without a date, base64; the same for the same
    value.
    """
    return base64.b64encode(
        gzip.compress(
            json.dumps(value, separators=(",", ":"), allow_nan=False).encode(), 6, mtime=0
        )
    ).decode()


def _write(identity: str, blob: str, out: TextIO, packed: Packed) -> None:
    packed.characters += out.write(
        f'<script type="{_MEDIA}" id="packed-{identity}">{blob}</script>\n'
    )
