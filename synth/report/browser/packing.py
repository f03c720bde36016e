"""Trajectories packed into the page, a shard at a time, within a size; the longest texts give way
first.
"""

import base64
import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TextIO, TypeVar

from synth.ledger.flow_scan import FlowScan
from synth.ledger.ledger import StoredLedger
from synth.ledger.redactions import scanned
from synth.ledger.views import LedgerConnection, connect
from synth.report.browser.listing import Listing
from synth.report.browser.record import About, record
from synth.report.browser.stand_ins import StandIns
from synth.report.browser.texts import Texts
from synth.schemas import Trajectory
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
SELECT trajectory_id, filter, keep, reason, score, detail FROM decisions
WHERE trajectory_id IN (SELECT unnest(?)) ORDER BY ALL
"""
_MEDIA = "application/octet-stream"
T = TypeVar("T")
Shown = tuple[Trajectory, About]
"""A trajectory beside what the tables say of it."""


@dataclass
class Packed:
    """What was written to `out`, and what it says: the trajectories in their list, how many texts
    are shortened, how many trajectories have no texts here.
    """

    out: TextIO
    stand_ins: StandIns
    listing: Listing = field(default_factory=Listing)
    aside: SetAside = field(default_factory=SetAside)
    chunks: int = 0
    characters: int = 0
    shortened: int = 0
    unopened: int = 0
    longest: int = LONGEST

    @property
    def trajectories(self) -> int:
        """How many are in the list."""
        return len(self.listing)

    def write(self, identity: str, blob: str) -> None:
        """As a script element that holds data."""
        element = f'<script type="{_MEDIA}" id="packed-{identity}">{blob}</script>\n'
        self.characters += self.out.write(element)

    def add(self, chunk: Sequence[Shown], room: float) -> None:
        """Whole where there is room, else with its texts cut shorter and shorter; in the list in
        any case.
        """
        longest = min(LONGEST, 2 * self.longest)
        blob, cut = self.blob(chunk, longest)

        # each try cuts by what was too much, at most to a quarter
        while len(blob) > room and longest > SHORTEST:
            longest = max(SHORTEST, int(longest * min(0.7, max(0.25, room / len(blob)))))
            blob, cut = self.blob(chunk, longest)

        self.longest = longest
        fits = len(blob) <= room

        for at, (trajectory, about) in enumerate(chunk):
            self.listing.add(trajectory, about, (self.chunks, at) if fits else None)

        if fits:
            self.write(f"chunk-{self.chunks}", blob)
            self.chunks += 1
            self.shortened += cut
        else:
            self.unopened += len(chunk)

    def add_handled(self, chunk: Sequence[Shown], room: float) -> None:
        """The same without the trajectories that cannot be written, which are set aside."""
        try:
            self.add(chunk, room)
        except UNHANDLED:  # of one of them; nothing of the chunk was written
            kept = [one for one in chunk if self._is_handled(one)]
            if kept:
                self.add(kept, room)

    def _is_handled(self, one: Shown) -> bool:
        make = partial(self.blob, [one], SHORTEST)
        return self.aside.tried(one[0].trajectory_id, make) is not None

    def blob(self, chunk: Sequence[Shown], longest: int) -> tuple[str, int]:
        """A chunk as it is written, and how many of its texts are cut."""
        texts = Texts(longest)
        records = [
            record(one, about, texts, partial(self.stand_ins.in_text, one.task_id))
            for one, about in chunk
        ]
        return compressed({"texts": texts.packed, "records": records}), texts.cut


def pack(ledger: StoredLedger, out: TextIO, room: int) -> Packed:
    """Writes the chunks, then the list, as script elements that hold data; at most about `room`
    characters.
    """
    packed = Packed(out, StandIns(FlowScan(ledger)))

    total = sum(1 for _ in ledger.records())

    with connect(ledger) as connection:
        shown = _shown(ledger, connection, packed)
        for chunk in _grouped(shown, TOGETHER, CHUNK_CHARACTERS, lambda one: _size(one[0])):
            # chunks share what room is left by their numbers of trajectories
            left = room * (1 - LISTED) - packed.characters
            share = left * len(chunk) / max(len(chunk), total - packed.trajectories)
            packed.add_handled(chunk, share)

        looked = scanned(connection)

        goals = connection.execute("SELECT task_id, goal FROM tasks WHERE goal IS NOT NULL")
        told = {task: packed.stand_ins.in_text(task, goal) for task, goal in goals.fetchall()}

    notes = {
        "shortened": packed.shortened,
        "unopened": packed.unopened,
        "looked": looked,
        "findings": packed.stand_ins.findings,
        "aside": list(packed.aside.lines()),
    }

    # it stands behind the chunks that it names
    packed.write("list", compressed({**packed.listing.packed(told), "notes": notes}))
    return packed


def _shown(ledger: StoredLedger, connection: LedgerConnection, packed: Packed) -> Iterator[Shown]:
    """Trajectories beside what the tables say of them, in the order of the ledger."""
    for batch in _grouped(ledger.trajectories(), BATCH, 8 * CHUNK_CHARACTERS, _size):
        identities = [[t.trajectory_id for t in batch]]

        abouts: dict[str, tuple[list[Any], list[Any]]] = {}

        for at, sql in enumerate((_SCORES, _DECISIONS)):
            for identity, *said in connection.execute(sql, identities).fetchall():
                abouts.setdefault(identity, ([], []))[at].append(tuple(said))

        for one in packed.stand_ins.taken_out(connection, batch, packed.aside):
            yield one, About(*abouts.get(one.trajectory_id, ()))


def _grouped(
    items: Iterable[T], most: int, most_size: int, size_of: Callable[[T], int]
) -> Iterator[list[T]]:
    """Items in their order, a group full at `most` of them or at a size."""
    group, size = list[T](), 0

    for item in items:
        group.append(item)
        size += size_of(item)
        if len(group) == most or size >= most_size:
            yield group
            group, size = [], 0

    # what is left over
    if group:
        yield group


def _size(trajectory: Trajectory) -> int:
    """Characters of the texts that differ from trajectory to trajectory."""
    return sum(
        len(turn.content or "")
        + len(turn.thought or "")
        + sum(len(one.content) for one in turn.observations)
        + sum(len(call.arguments) for call in turn.tool_calls)
        for turn in trajectory.turns
    )


def compressed(value: Any) -> str:
    """ASCII: JSON (lone surrogates as escapes), gzip without a date, base64; the same for the same
    value.
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()
