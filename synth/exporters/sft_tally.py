"""What an SFT export takes in and leaves out, counted by reason, and what a person must be told about it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from schemas.trajectory import Authorship, Trajectory
from schemas.verdict import Verdict
from synth.exporters.sft_rows import EVIDENCE, SftForm, SftRow, SftSettings, sft_row
from synth.exporters.spelling import Spelling, as_key
from synth.exporters.tool_links import broken_link

COLUMNS = ("env", "synthesizer", "policy", "model", "authorship", "outcome", "benchmark", "split")
_REMEDY = {
    "scripted": ("include_scripted", "{} takes them in"),
    "evidence": ("include_evidence", "they were played to test an act; {} takes them in"),
    "benchmark": ("allow_benchmark", "{} takes them in, with a warning in the card"),
    "held_out": ("allow_held_out", "{} takes them in, with a warning in the card"),
    "masked_turns": (
        "keep_masked",
        "the form cannot say that a turn carries no loss; {} takes them in, for trainers that read that column",
    ),
}
"""For reasons of the export's own: the setting that takes such trajectories in, and what to say of it."""


class SftTally:
    """Decides row by row, and counts; holds no rows."""

    def __init__(self, settings: SftSettings, form: SftForm, say: Spelling = as_key) -> None:
        self.settings = settings
        self.form = form
        self._say = say
        self.rows = 0
        self.rows_with_masks = 0
        self.rows_without_tools = 0
        self.rows_held_out = 0
        self.rows_gold_informed = 0
        self.copies = 0
        self._seen: set[int] = set()
        self.trained_turns = 0
        self.unparsed_calls = 0
        self.filtered: Counter[str] = Counter()
        self.left_out: Counter[str] = Counter()
        self.masked: Counter[str] = Counter()
        self.composition: dict[str, Counter[str]] = {column: Counter() for column in COLUMNS}

    def taken(self, trajectories: Iterable[tuple[Trajectory, Mapping[str, Verdict]]]) -> Iterator[SftRow]:
        """The rows that may be trained on, one at a time; the others are counted by their first reason, filters before all else."""
        for trajectory, verdicts in trajectories:
            dropped = next((f"{name}:{verdict.reason}" for name, verdict in verdicts.items() if verdict.keep is False), None)
            if dropped is not None:
                self.filtered[dropped] += 1
                continue
            reason = self._refusal(trajectory)
            if reason is None:
                row = sft_row(trajectory, self.form, arguments=self.settings.arguments, thoughts=self.settings.thoughts)
                if not row.trained:
                    reason = "no_trained_turn"
                elif row.masked and not self.settings.keep_masked:
                    reason = f"masked_turns:{'+'.join(sorted(set(row.masked.values())))}"
                else:
                    self._count(row)
                    yield row
                    continue
            self.left_out[reason] += 1

    def _refusal(self, trajectory: Trajectory) -> str | None:
        settings = self.settings
        if trajectory.synthesizer in EVIDENCE and not settings.include_evidence:
            return "evidence"
        if trajectory.outcome not in settings.outcomes:
            return f"outcome:{trajectory.outcome.value}"
        if trajectory.authorship is Authorship.SCRIPTED and not settings.include_scripted:
            return "scripted"
        if trajectory.benchmark is not None and not settings.allow_benchmark:
            return "benchmark"
        if trajectory.held_out and not settings.allow_held_out:
            return "held_out"
        if settings.require_tools and not trajectory.tools:
            return "no_tool_schemas"
        if not all(self.form.holds(tool) for tool in trajectory.tools):
            return "inexact_tool_schemas"
        return broken_link(trajectory)

    def _count(self, row: SftRow) -> None:
        self.rows += 1
        self.rows_with_masks += bool(row.masked)
        self.rows_without_tools += _lacks_tools(row.trajectory)
        self.rows_held_out += row.trajectory.held_out
        self.rows_gold_informed += row.trajectory.gold_informed
        self.trained_turns += len(row.trained)
        self.masked.update(row.masked.values())
        self._count_copy(row)
        self.unparsed_calls += sum(call.parse_error is not None for turn in row.trajectory.turns for call in turn.tool_calls)
        for column, counter in self.composition.items():
            counter[str(getattr(row.trajectory, column) or "none")] += 1

    def _count_copy(self, row: SftRow) -> None:
        """Remembers 64 bits of each row."""
        content = hash(repr((row.messages, row.trajectory.tools)))
        self.copies += content in self._seen
        self._seen.add(content)

    def summary(self) -> dict[str, Any]:
        """The counts, for the manifest."""
        return {
            "rows": self.rows,
            "trained_turns": self.trained_turns,
            "gold_informed": self.rows_gold_informed,
            "masked_turns": dict(sorted(self.masked.items())),
            "unparsed_calls": self.unparsed_calls,
            "left_out": dict(sorted(self.left_out.items())),
            "filtered": dict(sorted(self.filtered.items())),
        }

    def notes(self) -> list[str]:
        """What a person must know before training on it, the loudest first."""
        notes = []
        scripted = self.composition["authorship"]["scripted"]
        benchmark = self.rows - self.composition["benchmark"]["none"]
        unsolved = self.rows - self.composition["outcome"]["success"]
        if scripted:
            notes.append(
                f"WARNING: {scripted} of {self.rows} rows were written by scripts, not by a model ({self._say('include_scripted')})."
            )
        if self.rows_gold_informed:
            notes.append(
                f"WARNING: {self.rows_gold_informed} of {self.rows} rows were made by someone who had looked at gold (column "
                "gold_informed), such as retries whose guidance stands on what the check found wrong: no evidence of what the policy can "
                "do by itself."
            )
        if benchmark:
            notes.append(
                f"WARNING: {benchmark} of {self.rows} rows are attempts at public benchmarks ({self._say('allow_benchmark')}): "
                "what is trained on them cannot be measured there."
            )
        evidence = sum(self.composition["synthesizer"][method] for method in EVIDENCE)
        if evidence:
            notes.append(
                f"WARNING: {evidence} of {self.rows} rows were played to test an act ({self._say('include_evidence')}): "
                "many of them share all but their end."
            )
        if self.copies:
            notes.append(f"{self.copies} of {self.rows} rows are exact copies of earlier ones (the same messages and tools).")
        if self.rows_held_out:
            notes.append(
                f"WARNING: {self.rows_held_out} of {self.rows} rows are attempts at held-out tasks ({self._say('allow_held_out')}): "
                "what is trained on them cannot be measured on that split."
            )
        if unsolved:
            notes.append(f"WARNING: {unsolved} of {self.rows} rows are no successes.")
        if self.rows_without_tools:
            notes.append(
                f"WARNING: {self.rows_without_tools} of {self.rows} rows call tools whose schemas their source did not record: "
                f"the trainer's prompt lacks what the model was shown ({self._say('require_tools')} leaves them out)."
            )
        notes += [f"Left out: {count} as {self._named(reason)}." for reason in _REMEDY if (count := self.left_out[reason])]
        if self.rows_with_masks:
            notes.append(
                f"WARNING: {self.rows_with_masks} rows have assistant messages without loss (masked_turns); a trainer that trains on every "
                "assistant message must be told so, or be given other rows."
            )
        if self.unparsed_calls:
            notes.append(f"{self.unparsed_calls} calls have arguments that are no JSON object; they stand as received, in masked turns.")
        return notes

    def why_empty(self) -> str:
        """Why there are no rows, in one line: the most common reason of what passed the filters, and the setting that changes it."""
        reasons = self.left_out or self.filtered
        if not reasons:
            return "no valid trajectory was collected"
        reason, count = max(reasons.items(), key=lambda item: (item[1], item[0]))
        why = f"dropped by {reason}" if reason in self.filtered else f"left out as {self._named(reason)}"
        return f"{count} of {(self.filtered + self.left_out).total()} trajectories {why}"

    def _named(self, reason: str) -> str:
        """A reason of the export's own, with its remedy where it has one."""
        kind = reason.partition(":")[0]
        if kind not in _REMEDY:
            return reason
        setting, remedy = _REMEDY[kind]
        return f"{reason}; {remedy.format(self._say(setting))}"


def _lacks_tools(trajectory: Trajectory) -> bool:
    """Whether it calls tools, and the schemas that the model was shown are not known."""
    return not trajectory.tools and any(turn.tool_calls for turn in trajectory.turns)
