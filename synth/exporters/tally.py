"""What an export takes in and leaves out, counted by reason; holds no rows."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from synth.datasets.left_out import LeftOut
from synth.datasets.release import Lineage, ReleaseRefusal, held_out, may_leave
from synth.exporters.kind import (
    ControlTokenPolicy,
    ExportRow,
    Form,
    Kind,
    RowSettings,
    Spelling,
    as_key,
)
from synth.schemas.trajectory import Trajectory
from synth.schemas.verdict import Verdict
from synth.set_aside import PREFIX

COLUMNS = ("env", "synthesizer", "policy", "model", "authorship", "outcome", "benchmark", "split")
_MASKED = "masked:"


class ExportCounts(LeftOut):
    """Decides what all kinds decide alike, and counts. `per_turn`: rows are to hold one turn with
    loss each.
    """

    def __init__(
        self,
        kind: Kind,
        settings: RowSettings,
        form: Form,
        say: Spelling = as_key,
        *,
        per_turn: bool = False,
    ) -> None:
        super().__init__()
        self.kind = kind
        self.settings = settings
        self.form = form
        self.say = say
        self.per_turn = per_turn
        self.rows = 0
        self.counts: Counter[str] = Counter()
        self.behind: defaultdict[str, Counter[str]] = defaultdict(Counter)
        """By reason of what is left out: the reasons that such rows would be left out for next,
        once a setting takes them in.
        """
        self.unsaid: Counter[str] = Counter()
        self.masked: Counter[str] = Counter()
        self.control_tokens: Counter[str] = Counter()
        """Rows by control token and place, whatever became of them."""
        self.neutralised_rows: list[int] = []
        """Numbers of written rows, from 0."""
        self.composition: dict[str, Counter[str]] = {column: Counter() for column in COLUMNS}
        self.unfinished: str | None = None
        """What of the run is not through, where it is not."""
        self.remarks: list[str] = []
        """What the kind has to say beside its counts."""
        self.beside: dict[str, Callable[[], bytes]] = {}
        """Further files of the kind, made when all rows are written; one that is empty is none."""
        self._seen: set[int] = set()
        """64 bits of each row."""

    def with_setting(self, name: str, value: object) -> "ExportCounts":
        """An empty tally of the same rows under one other setting."""
        return ExportCounts(
            self.kind,
            self.settings.model_copy(update={name: value}),
            self.form,
            self.say,
            per_turn=self.per_turn,
        )

    @property
    def policy(self) -> ControlTokenPolicy:
        """What becomes of rows with control tokens."""
        return self.settings.control_tokens or "drop"

    def refusal(self, lineage: Lineage, verdicts: Mapping[str, Verdict]) -> ReleaseRefusal | None:
        """Why the release rule keeps here what descends from it; nothing is counted."""
        return may_leave(lineage, verdicts, self.kind.rule, self.settings)

    def settle(self) -> None:
        """Counts the rows that were set aside among those left out, once all were looked at."""
        self.left_out = Counter(
            {reason: n for reason, n in self.left_out.items() if not reason.startswith(PREFIX)}
        )
        self.left_out += self.aside.counts

    def count(self, row: ExportRow) -> None:
        """Adds a row that is written; one that cannot be counted changes nothing."""
        counts, content = self.kind.counts(row, self), self.kind.content(row)
        known = None if content is None else hash(msgspec.msgpack.encode(content))
        self.rows += 1
        for name, count in counts.items():
            if name.startswith(_MASKED):
                self.masked[name.removeprefix(_MASKED)] += count
            else:
                self.counts[name] += count
        self.counts["gold_informed"] += getattr(row.lineage, "gold_informed", False)
        self.counts["held_out"] += held_out(row.lineage)
        if known is not None:
            self.counts["copies"] += known in self._seen
            self._seen.add(known)
        for column, counter in self.composition.items():
            if hasattr(row.lineage, column):
                counter[str(getattr(row.lineage, column) or "none")] += 1

    def count_control_tokens(self, done: ControlTokenPolicy | None) -> None:
        """Adds a row that is written with control tokens in it, or with others in their place;
        `neutralised_rows` are its numbers.
        """
        if done == "keep":
            self.counts["control_tokens_kept"] += 1
        elif done == "neutralise":
            self.counts["neutralised"] += 1
            self.neutralised_rows.append(self.rows - 1)

    def loss(self) -> tuple[int, str]:
        """(size of what carries loss, its unit): tokens where a tokenizer was given, else
        characters; 0 where the kind counts none.
        """
        tokens = self.counts["loss_tokens"]
        return (tokens, "tokens") if tokens else (self.counts["loss_characters"], "characters")

    def summary(self) -> dict[str, Any]:
        """The counts, for the manifest."""
        return {
            "rows": self.rows,
            "unroll": "per_turn" if self.per_turn else "whole",
            **({} if self.unfinished is None else {"unfinished": self.unfinished}),
            "counts": dict(sorted((+self.counts).items())),
            "masked_turns": dict(sorted(self.masked.items())),
            "unsaid": dict(sorted(self.unsaid.items())),
            "left_out": dict(sorted(self.left_out.items())),
            "filtered": dict(sorted(self.filtered.items())),
            **(
                {"control_tokens": dict(sorted(self.control_tokens.items()))}
                if self.control_tokens
                else {}
            ),
        }


def masked_key(reason: str) -> str:
    """The name under which a kind counts turns without loss."""
    return _MASKED + reason


def identity_of(row: ExportRow) -> str:
    """By which a row is named to people: its trajectory's id, or its task's."""
    lineage = row.lineage
    return lineage.trajectory_id if isinstance(lineage, Trajectory) else lineage.task_id
