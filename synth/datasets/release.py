"""The release rule: may a row leave the ledger? Selection, every kind of dataset and the Hub ask
`may_leave`, and nothing else reads benchmarks, splits and decisions to that end. What stays is
counted by reason (`LeftOut`).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeVar, get_args

import msgspec

from synth.loss_turns import EVIDENCE
from synth.schemas import (
    ALL,
    UNVERIFIED,
    Authorship,
    Fault,
    Outcome,
    Release,
    Task,
    Trajectory,
    Verdict,
)
from synth.set_aside import SetAside

T = TypeVar("T")
Reason = Literal[
    "fault",
    "drift",
    "benchmark",
    "held_out",
    "secrets",
    "leak",
    "unverified",
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
    "unverified": "include_unverified",
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
OF_LEAKS = ("leaks", "leak")
"""Filters whose verdict may need a judge that there was not. A verdict of the first, which can ask
one, stands for both.
"""
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

    `authors`: who wrote what is learnt; left out, whoever wrote the trajectory. `continuation`: one
    turn of it is learnt, so being a copy of another trajectory says nothing of that turn. `weak`:
    its label was not confirmed by a test.
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
    return first(refusals(lineage, decisions, kind, release))


def first(found: Iterable[ReleaseRefusal | None]) -> ReleaseRefusal | None:
    """The one that counts, by the order of `REASONS`: of a row that descends from several."""
    held = (one for one in found if one is not None)
    return min(held, key=lambda one: REASONS.index(one.reason), default=None)


def held_out(of: Trajectory | Task) -> bool:
    """Whether its task is kept for measuring: it has a split, and that is not `train`."""
    return of.split not in (None, "train")


def binding(kind: KindRule, release: Release) -> frozenset[str] | None:
    """The filters whose decisions bind a kind under these settings; None: every filter's."""
    if release.honour is None:
        return kind.honours
    return None if ALL in release.honour else frozenset(release.honour)


def refusals(
    lineage: Lineage, decisions: Mapping[str, Verdict], kind: KindRule, release: Release
) -> Iterator[ReleaseRefusal]:
    """Every reason that holds, not only the one that counts; filters in the order of their
    decisions.
    """
    of, filters = lineage.of, binding(kind, release)
    # of these decisions alone is anything said
    bound = {
        name: verdict for name, verdict in decisions.items() if filters is None or name in filters
    }
    yield from _by_filters(lineage, bound)
    yield from _by_outcome(of, kind, release)

    asked = [bound[name] for name in OF_LEAKS if name in bound]
    holds: Mapping[Reason, bool] = {
        "unverified": bool(asked) and asked[0].keep is None and asked[0].reason == UNVERIFIED,
        "benchmark": of.benchmark is not None,
        "held_out": held_out(of),
        "scripted": lineage.by_script,
        "evidence_only": getattr(of, "synthesizer", "") in EVIDENCE and not kind.on_evidence,
        "weak_label": lineage.weak,
    }

    told = {"benchmark": of.benchmark, "held_out": of.split}

    for reason, held in holds.items():
        if held and not getattr(release, LIFTED_BY[reason]):
            yield ReleaseRefusal(reason, LIFTED_BY[reason], told.get(reason) or "")


def _by_filters(lineage: Lineage, bound: Mapping[str, Verdict]) -> Iterator[ReleaseRefusal]:
    for name, verdict in bound.items():
        if verdict.keep is False and not (lineage.continuation and name == "duplicates"):
            reason = REASON_OF_FILTER.get(name, "filter")
            yield ReleaseRefusal(reason, "honour", f"{name}:{verdict.reason}", by_filter=True)


def _by_outcome(
    of: Trajectory | Task, kind: KindRule, release: Release
) -> Iterator[ReleaseRefusal]:
    """Of a trajectory: a task has no outcome."""
    if not isinstance(of, Trajectory):
        return
    if of.outcome is Outcome.INVALID:
        yield ReleaseRefusal("drift" if of.fault is Fault.DRIFT else "fault")

    outcomes = release.outcomes if kind.outcomes is None else kind.outcomes

    if kind.outcomes is None and of.undecided and of.outcome not in outcomes:
        if not release.include_unverified:
            yield ReleaseRefusal("unverified", LIFTED_BY["unverified"])
    elif of.outcome not in outcomes:
        lifted = LIFTED_BY["outcome"] if kind.outcomes is None else None
        yield ReleaseRefusal("outcome", lifted, of.outcome.value)


Why = ReleaseRefusal | str
"""The release rule's reason, or one of the reading's own."""


@dataclass(slots=True)
class LeftOut:
    """`left_out` by reason, `filtered` by the filter that dropped it and why, `aside` what cannot
    be handled.
    """

    left_out: Counter[str] = field(default_factory=Counter, kw_only=True)
    filtered: Counter[str] = field(default_factory=Counter, kw_only=True)
    aside: SetAside = field(default_factory=SetAside, kw_only=True)

    def leaves(self, why: Why | None) -> bool:
        """Counts a reason, if there is one."""
        if why is None:
            return False

        dropped = isinstance(why, ReleaseRefusal) and why.by_filter
        (self.filtered if dropped else self.left_out)[counted(why)] += 1

        return True

    def made(self, identity: str, make: Callable[[], T | Why | None]) -> T | None:
        """What is made of a row; None where a reason is given in its place, which is counted, or
        where the row is set aside.
        """
        found = self.aside.tried(identity, make)
        if not isinstance(found, ReleaseRefusal | str):
            return found

        self.leaves(found)

        return None

    def take(self, other: "LeftOut") -> None:
        """Adds what another reading left out."""
        self.left_out.update(other.left_out)
        self.filtered.update(other.filtered)
        self.aside.take(other.aside)


def counted(why: Why) -> str:
    """Under which name a reason is counted and told."""
    return why if isinstance(why, str) else why.counted
