"""A solved episode done otherwise: nearly right, or right in another way."""

from collections.abc import Iterator, Sequence

from synth.envs.episode import call_of
from synth.envs.repo.repair.acts import LONGEST_COMMAND, written
from synth.envs.repo.repair.slips import slips
from synth.envs.transcript import Transcript, edited
from synth.schemas import AgentTurn, Task, ToolCall

Edited = Iterator[tuple[str, Sequence[AgentTurn]]]
Place = tuple[int, int]
"""A turn, and a call's place in it."""
_SCRIPT = """python3 - <<'EOF'
from pathlib import Path

file = Path({path!r})
file.write_text(file.read_text().replace({old!r}, {new!r}, 1))
EOF
"""


def with_slips(task: Task, solved: Transcript) -> Edited:
    """One edit done by half, or with a slip in one of its new lines."""
    for place, call in _replacements(solved):
        arguments = call.parsed()
        old, new = arguments["old"], arguments["new"]
        fresh = [at for at, line in enumerate(new.splitlines()) if line not in old.splitlines()]

        half = _half(old, new)
        if half not in (old, new):
            yield "half", _with(solved, place, call, new=half)

        for kind, text in slips(new, fresh):
            if text != old:
                yield kind, _with(solved, place, call, new=text)


def otherwise(task: Task, solved: Transcript) -> Edited:
    """The same end by another way: an edit by a command, and with a note beside the sources."""
    for place, call in list(_replacements(solved))[:1]:
        path, old, new = (call.parsed()[name] for name in ("path", "old", "new"))
        command = _SCRIPT.format(path=path, old=old, new=new)
        if old and len(command) < LONGEST_COMMAND:
            made = call_of(call.call_id, "bash", {"command": command})
            yield "by a command", edited(solved.actions, {place: made})

        tool, arguments = written("notes.txt", "What was wrong, and where.\n")
        note = call_of(f"{call.call_id}_note", tool, arguments)
        turn = AgentTurn(tool_calls=(note,))
        yield "with a note", [*solved.actions[: place[0]], turn, *solved.actions[place[0] :]]


def _replacements(solved: Transcript) -> Iterator[tuple[Place, ToolCall]]:
    """The edits of an episode that went through."""
    for at, turn in enumerate(solved.actions):
        failed = {one.call_id for one in solved.responses[at].observations if one.error}
        for place, call in enumerate(turn.tool_calls):
            if call.name == "replace" and call.call_id not in failed and call.parse_error is None:
                yield (at, place), call


def _half(old: str, new: str) -> str:
    """The first half of what is new, the rest as it was."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    fresh = [at for at, line in enumerate(after) if line not in before]
    if len(fresh) < 2:
        return new

    cut = fresh[len(fresh) // 2]
    rest = [line for line in before if line not in after[:cut]]

    return "".join([*after[:cut], *rest])


def _with(solved: Transcript, place: Place, call: ToolCall, **changed: str) -> Sequence[AgentTurn]:
    """The turns with other arguments in one call."""
    made = call_of(call.call_id, call.name, call.parsed() | changed)
    return edited(solved.actions, {place: made})
