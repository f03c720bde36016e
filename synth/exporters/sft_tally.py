"""What an SFT export takes in and leaves out, counted by reason, and what a person must be told about it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from schemas.trajectory import Authorship, Trajectory
from schemas.verdict import Verdict
from synth.exporters.sft_rows import SftForm, SftRow, SftSettings, sft_row

COLUMNS = ("env", "synthesizer", "policy", "model", "authorship", "outcome", "benchmark")
_REMEDY = {
    "scripted": "include_scripted: true takes them in",
    "benchmark": "allow_benchmark: true takes them in, with a warning in the card",
    "masked_turns": "the form cannot say that a turn carries no loss; keep_masked: true takes them in, for trainers that read that column",
}


class SftTally:
    """Decides row by row, and counts; holds no rows."""

    def __init__(self, settings: SftSettings, form: SftForm) -> None:
        self.settings = settings
        self.form = form
        self.rows = 0
        self.rows_with_masks = 0
        self.rows_without_tools = 0
        self.trained_turns = 0
        self.unparsed_calls = 0
        self.left_out: Counter[str] = Counter()
        self.masked: Counter[str] = Counter()
        self.composition: dict[str, Counter[str]] = {column: Counter() for column in COLUMNS}

    def taken(self, trajectories: Iterable[tuple[Trajectory, Mapping[str, Verdict]]]) -> Iterator[SftRow]:
        """The rows that may be trained on, one at a time; the others are counted by their first reason."""
        for trajectory, verdicts in trajectories:
            reason = self._refusal(trajectory, verdicts)
            if reason is None:
                row = sft_row(trajectory, self.form, arguments=self.settings.arguments, thoughts=self.settings.thoughts)
                if not row.trained:
                    reason = "no_trained_turn"
                elif row.masked and not self.settings.keep_masked:
                    reason = "masked_turns"
                else:
                    self._count(row)
                    yield row
                    continue
            self.left_out[reason] += 1

    def _refusal(self, trajectory: Trajectory, verdicts: Mapping[str, Verdict]) -> str | None:
        settings = self.settings
        if trajectory.outcome not in settings.outcomes:
            return f"outcome:{trajectory.outcome.value}"
        if trajectory.authorship is Authorship.SCRIPTED and not settings.include_scripted:
            return "scripted"
        if trajectory.benchmark is not None and not settings.allow_benchmark:
            return "benchmark"
        for name, verdict in verdicts.items():
            if verdict.keep is False:
                return f"{name}:{verdict.reason}"
        if settings.require_tools and _lacks_tools(trajectory):
            return "no_tool_schemas"
        if not all(self.form.holds(tool) for tool in trajectory.tools):
            return "inexact_tool_schemas"
        return None

    def _count(self, row: SftRow) -> None:
        self.rows += 1
        self.rows_with_masks += bool(row.masked)
        self.rows_without_tools += _lacks_tools(row.trajectory)
        self.trained_turns += len(row.trained)
        self.masked.update(row.masked.values())
        self.unparsed_calls += sum(call.parse_error is not None for turn in row.trajectory.turns for call in turn.tool_calls)
        for column, counter in self.composition.items():
            counter[str(getattr(row.trajectory, column) or "none")] += 1

    def summary(self) -> dict[str, Any]:
        """The counts, for the manifest."""
        return {
            "rows": self.rows,
            "trained_turns": self.trained_turns,
            "masked_turns": dict(sorted(self.masked.items())),
            "unparsed_calls": self.unparsed_calls,
            "left_out": dict(sorted(self.left_out.items())),
        }

    def notes(self) -> list[str]:
        """What a person must know before training on it, the loudest first."""
        notes = []
        scripted = self.composition["authorship"]["scripted"]
        benchmark = self.rows - self.composition["benchmark"]["none"]
        unsolved = self.rows - self.composition["outcome"]["success"]
        if scripted:
            notes.append(f"WARNING: {scripted} of {self.rows} rows were written by scripts, not by a model (include_scripted).")
        if benchmark:
            notes.append(
                f"WARNING: {benchmark} of {self.rows} rows are attempts at public benchmarks (allow_benchmark): "
                "what is trained on them cannot be measured there."
            )
        if unsolved:
            notes.append(f"WARNING: {unsolved} of {self.rows} rows are no successes.")
        if self.rows_without_tools:
            notes.append(
                f"WARNING: {self.rows_without_tools} of {self.rows} rows call tools whose schemas their source did not record: "
                "the trainer's prompt lacks what the model was shown (require_tools leaves them out)."
            )
        if not self.rows:
            notes.append("No row is left; left_out says why. `load_dataset` refuses a split without rows.")
        notes += [f"Left out: {n} as {reason}; {_REMEDY[reason]}." for reason in _REMEDY if (n := self.left_out[reason])]
        if self.rows_with_masks:
            notes.append(
                f"WARNING: {self.rows_with_masks} rows have assistant messages without loss (masked_turns); a trainer that trains on every "
                "assistant message must be told so, or be given other rows."
            )
        if self.unparsed_calls:
            notes.append(f"{self.unparsed_calls} calls have arguments that are no JSON object; they stand as received, in masked turns.")
        return notes


def _lacks_tools(trajectory: Trajectory) -> bool:
    """Whether it calls tools, and the schemas that the model was shown are not known."""
    return not trajectory.tools and any(turn.tool_calls for turn in trajectory.turns)
