"""The release rule: may a row leave the ledger? Selection, every kind of dataset and the Hub ask
`may_leave`, and nothing else reads benchmarks, splits and decisions to that end.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, get_args

import msgspec

from synth.loss_turns import EVIDENCE
from synth.schemas.outcome import Fault, Outcome
from synth.schemas.release import ALL, Release
from synth.schemas.task import Task
from synth.schemas.trajectory import Authorship, Trajectory
from synth.schemas.verdict import Verdict

Reason = Literal[
    "fault",
    "drift",
    "benchmark",
    "held_out",
    "secrets",
    "leak",
    "contamination",
    "duplicate",
    "provenance",
    "filter",
    "outcome",
    "scripted",
    "evidence_only",
    "weak_label",
]
REASONS: tuple[Reason, ...] = get_args(Reason)
"""In the order in which they are given: of several that hold, the first counts."""
LIFTED_BY: Mapping[Reason, str] = {
    "benchmark": "allow_benchmark",
    "held_out": "allow_held_out",
    "outcome": "outcomes",
    "scripted": "include_scripted",
    "evidence_only": "include_evidence",
    "weak_label": "include_weak",
}
"""The setting that lets such rows leave; a filter's decision is lifted by `honour`, faults by
none.
"""
REASON_OF_FILTER: Mapping[str, Reason] = {
    "split": "held_out",
    "secrets": "secrets",
    "leaks": "leak",
    "leak": "leak",
    "likelihood_leak": "leak",
    "contamination": "contamination",
    "duplicates": "duplicate",
    "provenance": "provenance",
}
"""What a filter's drop means; that of any other filter is the reason `filter`."""
ON_TEXT = frozenset(REASON_OF_FILTER) - {"provenance"} | {"control_tokens"}
"""Filters that bind kinds which need no success: what may not leave, what stands there twice, what
was known from elsewhere. Kinds of single turns ask provenance of the very turn that is learnt.
"""


class KindRule(msgspec.Struct, frozen=True):
    """What the release rule must know of a kind of dataset.

    `honours`: the filters whose decisions bind it, None: every filter's. `outcomes` of the
    trajectories that its rows stand on; None: as `Release.outcomes` says. `on_evidence`: its rows
    rest on continuations that were played to test an act.
    """

    honours: frozenset[str] | None = None
    outcomes: tuple[Outcome, ...] | None = None
    on_evidence: bool = False


CHATS = KindRule()
COMPILED_TRACES = KindRule(outcomes=(Outcome.SUCCESS,))
LABELLED_TURNS = KindRule(honours=ON_TEXT, outcomes=tuple(Outcome), on_evidence=True)
CAUSES = KindRule(honours=ON_TEXT, outcomes=(Outcome.FAILURE,), on_evidence=True)
TASKS = KindRule()


class Lineage(msgspec.Struct, frozen=True):
    """What a row descends from.

    `authors`: who wrote what is learnt; left out, whoever wrote the trajectory. `continuation`: it
    repeats another trajectory up to the turn with loss, so being its copy says nothing of that
    turn. `weak`: its label was not confirmed by a test.
    """

    of: Trajectory | Task
    authors: tuple[Authorship, ...] | None = None
    continuation: bool = False
    weak: bool = False

    @property
    def by_script(self) -> bool:
        """Whether a script wrote any of what is learnt; nothing of a task is."""
        if self.authors is not None:
            return Authorship.SCRIPTED in self.authors
        return isinstance(self.of, Trajectory) and self.of.authorship is Authorship.SCRIPTED


class ReleaseRefusal(msgspec.Struct, frozen=True):
    """Why a row stays here. `detail`: the benchmark, the split, the outcome, or the filter and the
    reason that it gave; `setting`: what lets it leave, None where nothing does.
    """

    reason: Reason
    setting: str | None = None
    detail: str = ""
    by_filter: bool = False

    @property
    def counted(self) -> str:
        """Under which name it is counted and told."""
        if self.by_filter:
            return self.detail
        return f"outcome:{self.detail}" if self.reason == "outcome" else self.reason


def may_leave(
    lineage: Lineage, decisions: Mapping[str, Verdict], kind: KindRule, release: Release
) -> ReleaseRefusal | None:
    """Says why nothing that descends from this may be written: the first of `REASONS` that holds;
    None where it may leave.
    """
    return first(_refusals(lineage, decisions, kind, release))


def first(found: Iterable[ReleaseRefusal | None]) -> ReleaseRefusal | None:
    """The one that counts, by the order of `REASONS`: of a row that descends from several."""
    ranked = [one for one in found if one is not None]
    return min(ranked, key=lambda one: REASONS.index(one.reason)) if ranked else None


def held_out(of: Trajectory | Task) -> bool:
    """Whether its task is kept for measuring: it has a split, and that is not `train`."""
    return of.split not in (None, "train")


def binding(kind: KindRule, release: Release) -> frozenset[str] | None:
    """The filters whose decisions bind a kind under these settings; None: every filter's."""
    if release.honour is None:
        return kind.honours
    return None if ALL in release.honour else frozenset(release.honour)


def _refusals(
    lineage: Lineage, decisions: Mapping[str, Verdict], kind: KindRule, release: Release
) -> Iterator[ReleaseRefusal]:
    """Every reason that holds; filters in the order of their decisions."""
    of, filters = lineage.of, binding(kind, release)
    if isinstance(of, Trajectory) and of.outcome is Outcome.INVALID:
        yield ReleaseRefusal("drift" if of.fault is Fault.DRIFT else "fault")
    for name, verdict in decisions.items():
        binds = filters is None or name in filters
        if binds and verdict.keep is False and not (lineage.continuation and name == "duplicates"):
            reason = REASON_OF_FILTER.get(name, "filter")
            yield ReleaseRefusal(reason, "honour", f"{name}:{verdict.reason}", by_filter=True)
    outcomes = release.outcomes if kind.outcomes is None else kind.outcomes
    if isinstance(of, Trajectory) and of.outcome not in outcomes:
        lifted = LIFTED_BY["outcome"] if kind.outcomes is None else None
        yield ReleaseRefusal("outcome", lifted, of.outcome.value)
    evidence = isinstance(of, Trajectory) and of.synthesizer in EVIDENCE
    holds: Mapping[Reason, tuple[bool, str | None]] = {
        "benchmark": (of.benchmark is not None and not release.allow_benchmark, of.benchmark),
        "held_out": (held_out(of) and not release.allow_held_out, of.split),
        "scripted": (lineage.by_script and not release.include_scripted, None),
        "evidence_only": (
            evidence and not kind.on_evidence and not release.include_evidence,
            None,
        ),
        "weak_label": (lineage.weak and not release.include_weak, None),
    }
    for reason, (refused, detail) in holds.items():
        if refused:
            yield ReleaseRefusal(reason, LIFTED_BY[reason], detail or "")
