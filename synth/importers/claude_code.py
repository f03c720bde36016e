"""Claude Code session logs (JSON lines): one trajectory per stretch of context that the model saw.

A compaction begins a new stretch, whose opening is the summary; sub-agents (sidechains) and
conversations begun anew in the same file are
trajectories of their own; branches that the user went back on are rejections. The logs hold neither
the system prompt nor the tools.
"""

from collections.abc import Iterable, Iterator, Sequence

from synth.importers.attempt import attempt
from synth.importers.claude_code_lines import (
    Line,
    ended_in_error,
    line_of,
    messages_of,
    models_of,
    recognises,
)
from synth.importers.claude_code_threads import Thread, segments, threads
from synth.importers.records import (
    WHOLE,
    Entry,
    Format,
    Imported,
    ImportSettings,
    Record,
    Rejection,
)
from synth.importers.turn_notes import goal_of, noted_conversation, totals, unresolved_mark
from synth.schemas.canonical import content_hash
from synth.schemas.outcome import Fault, Termination
from synth.schemas.task import Origin, Task

_FORMAT = "claude_code"


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
    last = segment[-1].record
    record = Record(
        last.file, last.sha, place, None, content_hash([line.record.content for line in segment])
    )
    try:
        messages, notes = messages_of(segment)
        conversation = noted_conversation(messages, notes)
        if not conversation.turns:
            return record.rejected(
                "no_turns", "no message of the model in this stretch of the session"
            )
        error = ended_in_error(segment)
        env = "claude_code/subagent" if thread.is_sidechain else "claude_code"
        task = Task.identified(env=env, goal=goal_of(conversation), origin=Origin.IMPORT)
        found = attempt(
            record,
            _FORMAT,
            task,
            conversation,
            termination=Termination.UNREPORTED if error is None else Termination.FAULT,
            fault=None if error is None else Fault.MODEL,
            fault_detail=error,
            model=", ".join(models_of(segment)) or None,
            totals=totals(conversation.turns),
        )
    except (ValueError, RecursionError) as problem:
        return record.rejected("bad_record", str(problem))
    return Imported(task, found, marks=unresolved_mark(conversation))
