"""The door table: of all trajectories that a ledger holds, what keeps how many from becoming rows
for supervised training, and what opens each door.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from synth.datasets.release import Lineage, ReleaseRefusal, refusals
from synth.exporters.kind import RowSettings
from synth.exporters.kinds.control_tokens import (
    BROKEN_LINKS,
    FILTER,
    as_the_flow_says,
    guarded,
    marking,
)
from synth.exporters.kinds.readable import readable
from synth.exporters.kinds.sft import SFT, tools_of_calls, unwritable, without_loss
from synth.exporters.kinds.sft_rows import sft_row
from synth.exporters.kinds.whispered import marks_of
from synth.exporters.registry import form_of
from synth.exporters.tally import ExportCounts
from synth.ledger.decisions import with_decisions
from synth.ledger.ledger import StoredLedger
from synth.loss_turns import turns_without_loss
from synth.schemas import Outcome, Trajectory, Verdict
from synth.text.data_files import read as read_file

_MOST_NAMED = 3
"""Benchmarks or splits that are named at a door."""


class Door(msgspec.Struct, frozen=True):
    """`stopped`: trajectories of which it is the first closed door, so that these and the open ones
    add up to all. `closed`: of which it is closed at all. `alone`: of which no other is, so that
    opening it gains them. `opens`: what does that, in words; `setting`: as `--set` takes it.
    """

    name: str
    stopped: int
    closed: int
    alone: int
    opens: str
    setting: str | None = None


class DoorTable(msgspec.Struct, frozen=True):
    """`collected` trajectories, of which `open` lead to rows; the doors that are closed for any."""

    collected: int
    open: int
    doors: tuple[Door, ...]


def door_table(ledger: StoredLedger, settings: RowSettings | None = None) -> DoorTable:
    """What an export of chats with these settings would leave out now, under the decisions that
    filters have made so far. The ledger's trajectories are read once, a few hundred in memory.
    """
    tally = _tally(ledger, settings or RowSettings())
    said = tally.settings
    told: dict[str, Counter[str]] = defaultdict(Counter)
    ways: Counter[tuple[str, ...]] = Counter()
    faults = sum(record["outcome"] == Outcome.INVALID for record in ledger.records())
    ways["fault",] += faults

    inferred = tools_of_calls(ledger, said)
    for trajectory, verdicts in with_decisions(ledger, tally.aside):
        one = readable(trajectory, said, inferred)
        found = dict(closed_doors(one, verdicts, tally))
        for name, detail in found.items():
            told[name][detail] += 1
        ways[tuple(sorted(found, key=_place))] += 1

    ways["set_aside",] += tally.aside.counts.total()
    total = ways.total()
    names = sorted({name for way in +ways for name in way}, key=_place)

    return DoorTable(total, ways[()], tuple(_door(name, ways, told[name]) for name in names))


def _tally(ledger: StoredLedger, asked: RowSettings) -> ExportCounts:
    """Empty, in the form that rows with masked turns would be written in: with `unroll: auto` they
    are no door where the form can be written per turn.
    """
    settings = as_the_flow_says(asked, ledger)
    form = marking(form_of(SFT.name, settings.form), settings)
    per_turn, marks = form.cuts.get("per_turn"), marks_of(ledger)
    if per_turn is None or settings.unroll == "whole":
        return ExportCounts(SFT, settings, form, marks=marks)
    return ExportCounts(SFT, settings, per_turn, unroll="per_turn", marks=marks)


def closed_doors(
    trajectory: Trajectory, verdicts: Mapping[str, Verdict], tally: ExportCounts
) -> Iterator[tuple[str, str]]:
    """Each closed door by name, with what it is told apart by; texts are looked at only where no
    other door is closed.
    """
    found = [
        *map(_named, refusals(Lineage(trajectory), verdicts, tally.kind.rule, tally.settings)),
        *((name, "") for name in _of_its_own(trajectory, tally)),
    ]
    yield from found
    if not found:
        row = sft_row(trajectory, tally.form, tally.settings)
        apart = tally.anew()
        if not any(guarded([row], apart)):
            aside = apart.aside.counts.total()
            yield ("set_aside" if aside else FILTER), ""


def _named(why: ReleaseRefusal) -> tuple[str, str]:
    """A failure that `solved` drops and the export leaves out stands before one door."""
    if why.reason == "outcome":
        return f"verdict: {why.detail}", ""
    if not why.by_filter:
        return why.reason, why.detail

    name, _, reason = why.detail.partition(":")
    return (f"verdict: {reason}" if name == "solved" else f"filter {why.detail}"), ""


def _of_its_own(trajectory: Trajectory, tally: ExportCounts) -> Iterator[str]:
    """The doors that no release rule knows."""
    for reason in unwritable(trajectory, tally):
        yield "broken_link" if reason in BROKEN_LINKS else reason
    masked = without_loss(trajectory, turns_without_loss(trajectory), tally)
    if masked is not None:
        yield masked.partition(":")[0]


def _texts() -> Mapping[str, Any]:
    return read_file("exporters/data/doors.yaml", dict[str, Any])


def _known(name: str) -> str:
    """Under which name the texts have a door."""
    return name if name in _texts() else "filter"


def _place(name: str) -> tuple[int, str]:
    return list(_texts()).index(_known(name)), name


def _door(name: str, ways: Mapping[tuple[str, ...], int], told: Counter[str]) -> Door:
    entry = _texts()[_known(name)]
    setting = entry.get("setting")
    named = [detail for detail, _ in told.most_common(_MOST_NAMED) if detail]
    more = len(told) - len(named)
    which = ", ".join(named) + (f" and {more} more" if named and more else "")
    opens = entry["opens"].format(which, setting=f"`--set {setting}`")

    def count(of: Iterable[tuple[str, ...]]) -> int:
        return sum(ways[way] for way in of)

    return Door(
        name,
        stopped=count(way for way in ways if way[:1] == (name,)),
        closed=count(way for way in ways if name in way),
        alone=count(way for way in ways if way == (name,)),
        opens=opens,
        setting=setting,
    )
