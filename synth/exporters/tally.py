"""What an export takes in and leaves out, counted by reason; holds no rows."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import msgspec

from synth.datasets.release import LeftOut, Lineage, ReleaseRefusal, held_out, may_leave
from synth.exporters.evidence_class import evidence_of
from synth.exporters.form import Form
from synth.exporters.kind import (
    ControlTokenPolicy,
    Kind,
    RowSettings,
    Spelling,
    Unroll,
    as_key,
    lineage_of,
)
from synth.schemas import Verdict
from synth.set_aside import PREFIX

COLUMNS = ("env", "synthesizer", "policy", "model", "authorship", "outcome", "benchmark", "split")
MASKED = "masked:"
"""Before the reasons under which a kind counts turns without loss."""


@dataclass(slots=True)
class ExportCounts(LeftOut):
    """Decides what all kinds decide alike, and counts. `unroll`: how rows are
    cut; `unfinished`: what of the run is not through, where it is not.
    """

    kind: Kind
    settings: RowSettings
    form: Form
    say: Spelling = as_key
    unroll: Unroll = "whole"
    unfinished: str | None = None
    marks: frozenset[str] = frozenset()
    """The canaries of whispered notes, which no row may show."""
    rows: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    behind: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """By reason of what is left out: the reasons that such rows would be left out for next, once a
    setting takes them in.
    """
    unsaid: Counter[str] = field(default_factory=Counter)
    masked: Counter[str] = field(default_factory=Counter)
    control_tokens: Counter[str] = field(default_factory=Counter)
    """Rows by control token and place, whatever became of them."""
    neutralised_rows: list[int] = field(default_factory=list)
    """Numbers of written rows, from 0."""
    composition: dict[str, Counter[str]] = field(
        default_factory=lambda: {column: Counter() for column in COLUMNS}
    )
    evidence: Counter[str] = field(default_factory=Counter)
    """Rows by what their label or verdict rests on; kinds of tasks have neither."""
    judged: Counter[str] = field(default_factory=Counter)
    """Rows by how far the model agrees with what is known that their verdict rests on."""
    remarks: list[str] = field(default_factory=list)
    """What the kind has to say beside its counts."""
    beside: dict[str, Callable[[], bytes]] = field(default_factory=dict)
    """Further files of the kind, made when all rows are written; one that is empty is none."""
    seen: set[int] = field(default_factory=set)
    """64 bits of each row."""

    def anew(self, **changed: object) -> "ExportCounts":
        """An empty tally of the same rows, or of those under other settings."""
        settings = self.settings.model_copy(update=changed)
        tally = ExportCounts(self.kind, settings, self.form, self.say, self.unroll)
        tally.marks = self.marks
        return tally

    @property
    def leaves_out_masked(self) -> bool:
        """Whether a row was left out for turns that must carry no loss."""
        return any(reason.startswith("masked_turns:") for reason in self.left_out)

    @property
    def policy(self) -> ControlTokenPolicy:
        """What becomes of rows with control tokens."""
        return self.settings.control_tokens or "drop"

    def refusal(self, lineage: Lineage, verdicts: Mapping[str, Verdict]) -> ReleaseRefusal | None:
        """Why the release rule keeps here what descends from it; nothing is counted."""
        return may_leave(lineage, verdicts, self.kind.rule, self.settings)

    def settle(self) -> None:
        """Counts the rows that were set aside among those left out, once all were looked at."""
        # a row that was met more than once is set aside once
        for reason in [reason for reason in self.left_out if reason.startswith(PREFIX)]:
            del self.left_out[reason]
        self.left_out += self.aside.counts

    def count(self, row: Any, done: ControlTokenPolicy | None) -> None:
        """Adds a row that is written; `done`: what was done about control tokens in it. One that
        cannot be counted changes nothing.
        """
        counts, content = self.kind.counts(row, self), self.kind.content(row)
        lineage = lineage_of(row)
        known = hash(msgspec.msgpack.encode(content))
        if done == "neutralise":
            self.neutralised_rows.append(self.rows)

        self.rows += 1
        also = {
            "neutralised": done == "neutralise",
            "control_tokens_kept": done == "keep",
            "gold_informed": getattr(lineage, "gold_informed", False),
            "held_out": held_out(lineage),
            "copies": known in self.seen,
        }

        # turns without loss are told by reason, all else by name
        for name, count in {**counts, **also}.items():
            masked = name.startswith(MASKED)
            (self.masked if masked else self.counts)[name.removeprefix(MASKED)] += count

        self.seen.add(known)
        self._count_evidence(row)

        for column, counter in self.composition.items():
            if hasattr(lineage, column):
                counter[str(getattr(lineage, column) or "none")] += 1

    def _count_evidence(self, row: Any) -> None:
        """Adds what the row rests on, and the model whose judgement let it in."""
        self.judged.update(filter(None, [getattr(row, "judged", "")]))
        with suppress(TypeError):
            self.evidence[evidence_of(row)] += 1

    def loss(self) -> tuple[int, str]:
        """(size of what carries loss, its unit): tokens where a tokenizer was given, else
        characters; 0 where the kind counts none.
        """
        tokens = self.counts["loss_tokens"]
        return (tokens, "tokens") if tokens else (self.counts["loss_characters"], "characters")

    def summary(self) -> dict[str, Any]:
        """The counts, for the manifest."""
        counters = {
            "counts": +self.counts,
            "masked_turns": self.masked,
            "unsaid": self.unsaid,
            "left_out": self.left_out,
            "filtered": self.filtered,
            **({"evidence": self.evidence} if self.evidence else {}),
            **({"control_tokens": self.control_tokens} if self.control_tokens else {}),
        }
        return {
            "rows": self.rows,
            "unroll": self.unroll,
            **({} if self.unfinished is None else {"unfinished": self.unfinished}),
            **{name: dict(sorted(counter.items())) for name, counter in counters.items()},
        }
