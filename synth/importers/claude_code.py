"""Claude Code session logs (JSON lines): one trajectory per stretch of context that the model saw.

A compaction begins a new stretch, whose opening is the summary; sub-agents (sidechains) and
conversations begun anew in the same file are trajectories of their own; branches that the user went
back on are rejections. The logs hold neither the system prompt nor the tools.
"""

from collections.abc import Iterable, Iterator, Sequence

from synth.importers.attempt import entry, import_task, unresolved
from synth.importers.claude_code_lines import (
    Line,
    conversation_of,
    ended_in_error,
    line_of,
    models_of,
    recognises,
)
from synth.importers.claude_code_threads import Thread, segments, threads
from synth.importers.conversation import goal_of
from synth.importers.records import (
    WHOLE,
    Entry,
    Format,
    ImportSettings,
    Record,
    Rejection,
    joined_record,
)
from synth.schemas.outcome import Fault, Termination


def trajectories(
    records: Iterable[Record | Rejection], settings: ImportSettings
) -> Iterator[Entry]:
    """The stretches of one session file, which is read whole before the first is given."""
    lines: list[Line] = []
    file: str | None = None
    for record in records:
        if isinstance(record, Rejection):
            yield record
            continue
        file = record.file
        try:
            line = line_of(record)
        except (ValueError, RecursionError) as error:
            yield record.rejected("bad_record", str(error))
            continue
        if isinstance(line, Rejection):
            yield line
        elif line is not None:
            lines.append(line)
    count = 0
    for thread in threads(lines):
        yield from thread.rejections
        for index, segment in enumerate(segments(thread.lines)):
            count += 1
            yield _read(thread, segment, f"{thread.name}/{index}")
    if file is not None and not count:
        yield Rejection(file, WHOLE, "no_turns", "no message of the model")


FORMAT = Format(recognises, trajectories)


def _read(thread: Thread, segment: Sequence[Line], place: str) -> Entry:
    record = joined_record([line.record for line in segment], place)
    try:
        conversation = conversation_of(segment)
        error = ended_in_error(segment)
        env = "claude_code/subagent" if thread.is_sidechain else "claude_code"
        return entry(
            record,
            "claude_code",
            conversation,
            import_task(env, goal_of(conversation)),
            marks=unresolved(conversation),
            no_turns="no message of the model in this stretch of the session",
            termination=Termination.UNREPORTED if error is None else Termination.FAULT,
            fault=None if error is None else Fault.MODEL,
            fault_detail=error,
            model=", ".join(models_of(segment)) or None,
        )
    except (ValueError, RecursionError) as problem:
        return record.rejected("bad_record", str(problem))
