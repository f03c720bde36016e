"""Journal: what one durable line costs, next to the bare write of the same bytes and to a write
with fsync.

Run: `python -m benchmarks.journal_cost`
"""

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from benchmarks.alternation import medians
from benchmarks.figures import Figure, Report, shown
from benchmarks.machine import CpuOfOthers
from benchmarks.recorded_episodes import recorded_episodes
from synth.ledger.storage.journal import Event, Journal, JournaledReply, JournaledStep, recorded
from synth.schemas.canonical import content_hash
from synth.schemas.model import Completion


def events_of_episodes(count: int) -> list[Event]:
    """What `count` episodes of ten turns journal: for each turn the model's reply and the digest of
    the world's answer.
    """
    events: list[Event] = []
    for episode in recorded_episodes(count, seed=0):
        for turn in episode.turns:
            request = content_hash([episode.slot_id, turn.index])
            assert turn.usage is not None
            said = Completion(
                None,
                turn.thought,
                turn.tool_calls,
                "tool_calls",
                turn.usage,
                "a-model",
                latency_ms=turn.latency_ms,
                raw=_raw(turn.thought),
            )
            events.append(JournaledReply(episode.slot_id, 0, turn.index, request, said))
            events.append(
                JournaledStep(episode.slot_id, 0, turn.index, content_hash(turn.observations))
            )
    return events


def _raw(thought: str | None) -> str:
    """A provider's message as received."""
    return (
        f'{{"role": "assistant", "content": null, "reasoning_content": "{thought}", '
        '"tool_calls": []}'
    )


def appended_us(events: Sequence[Event], folder: Path) -> float:
    """Microseconds per `Journal.append`."""
    journal = Journal(folder / "appended.jsonl")
    started = perf_counter()
    for event in events:
        journal.append(event)
    took = perf_counter() - started
    journal.close(discard=True)
    return took / len(events) * 1e6


def written_us(lines: Sequence[bytes], folder: Path, *, fsync: bool) -> float:
    """Microseconds per `os.write` of a line that stands in memory already."""
    path = folder / "written.jsonl"
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    started = perf_counter()
    for line in lines:
        os.write(file, line)
        if fsync:
            os.fsync(file)
    took = perf_counter() - started
    os.close(file)
    path.unlink()
    return took / len(lines) * 1e6


def read_per_second(folder: Path, count: int) -> float:
    """`recorded`: checksums compared, lines decoded, sorted by attempt."""
    started = perf_counter()
    events, damage = recorded(folder)
    took = perf_counter() - started
    if damage or sum(len(found) for found in events.values()) != count:
        raise RuntimeError(f"the journal was not read back whole: {damage[:1]}")
    return count / took


def measure(episodes: int = 2000, synced: int = 1000, rounds: int = 5) -> Report:
    """Twenty lines per episode; only `synced` of them in the rounds with fsync."""
    events = events_of_episodes(episodes)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        full = folder / "journal"
        journal = Journal(full / "shard.jsonl")
        for event in events:
            journal.append(event)
        lines = (full / "shard.jsonl").read_bytes().splitlines(keepends=True)
        found = medians(
            {
                "append": lambda: appended_us(events, folder),
                "write": lambda: written_us(lines, folder, fsync=False),
                "fsync": lambda: written_us(lines[:synced], folder, fsync=True),
                "read": lambda: read_per_second(full, len(events)),
            },
            rounds,
        )
        journal.close()
    return Report(
        "Journal",
        (
            Figure("one line appended", found["append"], "us"),
            Figure("bare write of the same line", found["write"], "us"),
            Figure("write and fsync of the same line", found["fsync"], "us"),
            Figure("append / bare write", found["append"] / found["write"], "x"),
            Figure("append / write with fsync", found["append"] / found["fsync"], "x"),
            Figure("a line, mean", sum(map(len, lines)) / len(lines), "bytes"),
            Figure("lines read back", found["read"], "/s"),
        ),
        f"{len(lines):,} lines per round ({min(synced, len(lines)):,} with fsync), half of them "
        f"model replies; medians of {rounds} rounds "
        f"in turn, on the disk of {tempfile.gettempdir()}.",
    )


if __name__ == "__main__":
    others = CpuOfOthers()
    sys.exit(shown(measure(), others))
