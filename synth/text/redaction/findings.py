"""Findings in a trajectory or a task by their places, and what is left without them.

What a finding says is kept nowhere, so that no decision holds a secret.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import count

import msgspec
from msgspec.structs import replace

from synth.schemas import RowError, Task, Trajectory
from synth.text.layers import layers
from synth.text.redaction.edits import Mark, standing, without
from synth.text.redaction.elsewhere import again, announced, same
from synth.text.redaction.places import texts, with_texts
from synth.text.secrets.finder import Finder, Span

REDACTED = "redacted"
"""The reason of decisions whose detail holds findings that every reader of decided trajectories
takes out.
"""
GOAL, TASK = "goal", "task"
"""The places of findings in a task: its goal, which is shown to agents, and all else that it says,
which none is shown.
"""
_SHARED = ("system", "tools", "sampling")
_SHORT = 2048
"""Characters of a text that is remembered."""
_TASK = msgspec.json.Decoder(Task)


class RedactionFinding(msgspec.Struct, frozen=True):
    """Where something stands: a place of `synth.text.redaction.places`, and characters.

    `number` tells values of a kind apart, from 1.
    """

    place: str
    start: int
    end: int
    kind: str
    number: int = 1

    @property
    def stand_in(self) -> str:
        """What stands there instead: the same for the same value, in the whole trajectory."""
        return f"[REDACTED:{self.kind}:{self.number}]"


class Scan:
    """Looks through trajectories and tasks; texts that many of them share are looked through once.

    These are system prompts, tool schemas and sampling, and the short texts of turns: what
    continues a trial repeats it (at most 32 MB of them are remembered).
    """

    def __init__(self, finder: Finder) -> None:
        self.finder = finder
        self._shared = lru_cache(maxsize=256)(self._found)
        self._short = lru_cache(maxsize=1 << 14)(self._found)

    def findings(self, trajectory: Trajectory, goal: str = "") -> tuple[RedactionFinding, ...]:
        """All findings in the order of the places, those in the task's goal last.

        Values that differ in letter case only, or numbers in how they are cut, are the same.
        """
        return self._numbered([*texts(trajectory), (GOAL, goal)])

    def of_task(self, task: Task) -> tuple[RedactionFinding, ...]:
        """The same for what a task says by itself: its goal, then all else of it as JSON."""
        return self._numbered([(GOAL, task.goal), (TASK, _rest_of(task))])

    def _numbered(self, places: Iterable[tuple[str, str]]) -> tuple[RedactionFinding, ...]:
        """The findings of texts by place; one value has one kind and number, those of the place
        where it was found first, and is found wherever it stands.
        """
        read = [(place, text, self._in(place, text)) for place, text in places]
        named: dict[str, tuple[str, int]] = {}
        last = defaultdict[str, Iterator[int]](lambda: count(1))
        for span in (span for *_, spans in read for span in spans):
            if same(span.value) not in named:
                named[same(span.value)] = span.kind, next(last[span.kind])

        forms = announced(((text, one) for _, text, spans in read for one in spans), self._short)
        return tuple(
            RedactionFinding(place, start, end, *named[same(value)])
            for place, text, spans in read
            for start, end, value in _all(text, spans, forms)
        )

    def _in(self, place: str, text: str) -> Sequence[Span]:
        if place in _SHARED:
            return self._shared(text)
        return self._short(text) if len(text) <= _SHORT else self._found(text)

    def _found(self, text: str) -> Sequence[Span]:
        return found_in(text, self.finder)


def _all(
    text: str, spans: Sequence[Span], forms: Mapping[str, str]
) -> Iterable[tuple[int, int, str]]:
    """(start, end, value) of what was found in a text and of what stands there again."""
    first = [(span.start, span.end, span.value) for span in spans]
    more = list(again(text, forms, spans)) if forms else []
    stands = standing(text, [(start, end) for start, end, _ in more]) if more else []
    more = [one for one, one_stands in zip(more, stands, strict=True) if one_stands]
    return sorted(first + more) if more else first


@lru_cache(maxsize=8)
def shared_scan(
    find: tuple[str, ...],
    ignore: tuple[str, ...],
    allow: tuple[str, ...],
    patterns: tuple[tuple[str, str], ...],
) -> Scan:
    """The scan with these settings of the filter `secrets`, of which there is one: whoever reads
    the same trajectories again finds their texts looked through. Raises `ConfigError` for an
    expression that cannot be searched.
    """
    return Scan(Finder(find, ignore, allow, dict(patterns)))


def found_in(text: str, finder: Finder) -> Sequence[Span]:
    """What a finder finds, without what is but a part of a number.

    The digits behind a decimal point are nobody's card.
    """
    spans = finder.found(text)
    stands = standing(text, [(span.start, span.end) for span in spans])

    return [span for span, one_stands in zip(spans, stands, strict=True) if one_stands]


def _by_place(findings: Iterable[RedactionFinding]) -> Mapping[str, list[RedactionFinding]]:
    """Findings by the place that they stand in."""
    found: dict[str, list[RedactionFinding]] = {}
    for finding in findings:
        found.setdefault(finding.place, []).append(finding)

    return found


def redacted(trajectory: Trajectory, findings: Iterable[RedactionFinding]) -> Trajectory:
    """The trajectory with a stand-in for each finding; a number in JSON becomes a string.

    Findings of several scans may overlap: what any of them covers is taken out. One that is but a
    part of a number changes nothing; those in the task are not asked for. Raises `RowError` where a
    finding lies outside of its text: then it was made of another trajectory; and where an id holds
    one.
    """
    of_places = _by_place(one for one in findings if one.place not in (GOAL, TASK))
    if not of_places:
        return trajectory

    left = set(of_places)

    def change(place: str, text: str) -> str:
        left.discard(place)
        return text_without(text, of_places.get(place, ()))

    changed = with_texts(trajectory, change)

    for place in sorted(left):
        said = f"trajectory {trajectory.trajectory_id}: findings in {place}, which it does not have"
        raise RowError("finding_without_text", said, place)

    return changed


def redacted_task(task: Task, findings: Iterable[RedactionFinding]) -> Task:
    """The task with stand-ins, for what is shown of it; its id and its world stay.

    Raises `RowError` where a finding lies outside of its text, and where what is left is no task
    with that id in that world.
    """
    of_places = _by_place(findings)
    goal = text_without(task.goal, of_places.get(GOAL, ()))
    if TASK not in of_places:
        return replace(task, goal=goal)

    try:
        changed = _TASK.decode(text_without(_rest_of(task), of_places[TASK]))
    except msgspec.MsgspecError as error:
        raise RowError(
            "unlawful_redaction", f"task {task.task_id}: what is left is no task: {error}", TASK
        ) from error

    if (changed.task_id, changed.env) != (task.task_id, task.env):
        raise RowError(
            "secret_in_identifier",
            "its id or its world holds what may not leave, and cannot be changed",
            TASK,
        )

    return replace(changed, goal=goal)


def _rest_of(task: Task) -> str:
    """All of a task but its goal, as JSON."""
    return msgspec.json.encode(replace(task, goal="")).decode()


def values_of(
    trajectory: Trajectory, goal: str, findings: Sequence[RedactionFinding]
) -> Iterator[tuple[str, RedactionFinding]]:
    """(what a finding covers, the finding), as it stands there and as it reads without escapes.

    Findings that change nothing are left out.
    """
    elsewhere = any(finding.place != GOAL for finding in findings)
    said = {**(dict(texts(trajectory)) if elsewhere else {}), GOAL: goal}

    for finding in findings:
        text = said.get(finding.place, "")
        _require_within(text, finding)

        if standing(text, [(finding.start, finding.end)])[0]:
            value = text[finding.start : finding.end]
            yield from dict.fromkeys((layer.text, finding) for layer in layers(value) if layer.text)


def text_without(text: str, findings: Iterable[RedactionFinding]) -> str:
    """A text with a stand-in for each finding. Raises `RowError` where one lies outside of it."""
    marks = []

    for finding in findings:
        _require_within(text, finding)
        marks.append(Mark(finding.start, finding.end, finding.stand_in))

    return without(text, marks)


def _require_within(text: str, finding: RedactionFinding) -> None:
    """Raises `RowError` where a finding lies outside of its text."""
    if not 0 <= finding.start < finding.end <= len(text):
        said = (
            f"{finding.place}: characters {finding.start} to {finding.end} of {len(text)}: "
            "made of another text"
        )
        raise RowError("finding_without_text", said, finding.place)
