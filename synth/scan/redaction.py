"""Findings in a trajectory, kept by place so that nothing secret stands in a decision, and the trajectory without them."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from schemas.task import Task
from schemas.trajectory import Trajectory
from synth.scan.finder import Finder, Span
from synth.scan.places import texts, with_texts

REDACTED = "redacted"
"""The reason of decisions whose detail holds findings that every reader of decided trajectories takes out."""
GOAL = "goal"
"""The place of findings in the goal of a trajectory's task."""
_SHARED = ("system", "tools")
_ESCAPED = re.compile(r"\\.", re.DOTALL)


class Finding(msgspec.Struct, frozen=True):
    """Where something stands: a place of `synth.scan.places`, characters; `number` tells values of a kind apart, from 1."""

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
    """Looks through trajectories; texts that many of them share (system prompts, tool schemas) are looked through once."""

    def __init__(self, finder: Finder) -> None:
        self._finder = finder
        self._shared = lru_cache(maxsize=256)(finder.found)

    def findings(self, trajectory: Trajectory, goal: str = "") -> tuple[Finding, ...]:
        """All findings in the order of the places, those in the task's goal last; values that differ in letter case only are the same."""
        numbers: dict[tuple[str, str], int] = {}
        last: Counter[str] = Counter()
        found = []
        for place, text in (*texts(trajectory), (GOAL, goal)):
            spans: Sequence[Span] = self._shared(text) if place in _SHARED else self._finder.found(text)
            for span in spans:
                value = (span.kind, span.value.casefold())
                if value not in numbers:
                    last[span.kind] += 1
                    numbers[value] = last[span.kind]
                found.append(Finding(place, span.start, span.end, span.kind, numbers[value]))
        return tuple(found)


def redacted(trajectory: Trajectory, findings: Iterable[Finding]) -> Trajectory:
    """The trajectory with a stand-in for each finding; what was JSON still is, a number among it becomes a string.

    Findings of several scans may overlap: what any of them covers is taken out. Raises `ValueError` where a finding lies outside of
    its text: then it was made of another trajectory.
    """
    by_place: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.place != GOAL:
            by_place.setdefault(finding.place, []).append(finding)
    if not by_place:
        return trajectory
    left = set(by_place)

    def change(place: str, text: str) -> str:
        left.discard(place)
        return _without(text, by_place[place]) if place in by_place else text

    changed = with_texts(trajectory, change)
    if left:
        raise ValueError(f"trajectory {trajectory.trajectory_id}: findings in {sorted(left)[0]}, which it does not have")
    return changed


def redacted_goal(task: Task, findings: Iterable[Finding]) -> Task:
    """The task with stand-ins in its goal, for what is shown of it; its id stays. Check, gold and script are the world's, and are kept."""
    found = [finding for finding in findings if finding.place == GOAL]
    return msgspec.structs.replace(task, goal=_without(task.goal, found)) if found else task


def findings_of(detail: Mapping[str, Any]) -> tuple[Finding, ...]:
    """The findings in the detail of a decision with the reason `redacted`."""
    return msgspec.convert(detail["findings"], tuple[Finding, ...])


def _without(text: str, findings: Sequence[Finding]) -> str:
    json = _is_json(text)
    pieces, end = [], 0
    for finding in sorted(findings, key=lambda one: (one.start, -one.end)):
        if not 0 <= finding.start < finding.end <= len(text):
            raise ValueError(f"{finding.place}: characters {finding.start} to {finding.end} of {len(text)}: made of another text")
        if finding.end <= end:
            continue
        if finding.start >= end:
            before = text[end : finding.start]
            pieces.append(before)
            bare = json and _ESCAPED.sub("", text[: finding.start]).count('"') % 2 == 0
            pieces.append(f'"{finding.stand_in}"' if bare else finding.stand_in)
        end = finding.end
    return "".join([*pieces, text[end:]])


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return False
    return True
