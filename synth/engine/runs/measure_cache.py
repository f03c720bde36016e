"""What filters measure, computed once: rows under a key of their own, which a changed threshold
does not change.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec
from pydantic import BaseModel

from synth.engine.asking import SourceMeans
from synth.ledger import Score, StageRef, StoredLedger
from synth.ledger.log.manifest import Json, StageLine
from synth.ledger.typed import of_subjects
from synth.schemas import Case, Faulted, Filter, Measure, content_hash
from synth.side_by_side import run_workers

AT_ONCE = 64
KEPT_EVERY = 100
"""Trajectories: a process that dies loses no more measures than these."""
MEASURES = "measure."
"""What the names of their stages begin with."""
Measures = dict[str, Sequence[Measure]]
"""By trajectory."""


@dataclass(frozen=True, slots=True)
class BoundFilter:
    """A filter under the name that its decisions carry, with its settings and the `models` that it
    asks.
    """

    name: str
    filter: Filter
    config: BaseModel
    models: Json = field(default_factory=dict)

    @property
    def measured_by(self) -> Json:
        """What determines its measures: the settings that they depend on, and the version of the
        code.
        """
        settings = self.config.model_dump(mode="json")
        named = {name: settings[name] for name in self.filter.measured}
        return {"filter": self.name, "version": self.filter.version, **named}

    @property
    def measures_ref(self) -> StageRef:
        """Under which stage and key its measures stand."""
        key = content_hash([self.measured_by, self.models])
        return StageRef(f"{MEASURES}{self.name}", key)

    def begin(self, ledger: StoredLedger) -> None:
        """Makes its measures part of what the current flow shows."""
        ref, settings = self.measures_ref, {**self.measured_by, "models": self.models}
        ledger.begin_stage(StageLine(ref.stage, ref.stage_key, settings))

    def stored(self, ledger: StoredLedger, identities: Iterable[str]) -> Measures:
        """Its measures of these trajectories, as far as the ledger has them."""
        found: dict[str, list[Measure]] = {}
        key = self.measures_ref.stage_key
        for row in of_subjects(ledger, key, self.filter.about, frozenset(identities)):
            measure = Measure(row.metric, row.value, row.turn, row.about)
            found.setdefault(row.subject_id, []).append(measure)

        return dict(found)


def faulty(measures: Iterable[Measure]) -> bool:
    """Whether a fault kept one of them from being taken (`Faulted`)."""
    about = (msgspec.convert(one.about or {}, Faulted, from_attributes=True) for one in measures)
    return any(one.fault is not None for one in about)


async def measured(bound: BoundFilter, cases: Sequence[Case], means: SourceMeans) -> list[Case]:
    """The cases with what the filter measures of them; what was not measured before is, and is
    committed.

    A measure that a fault kept from being taken is handed on, and not kept: it is tried again next
    time. Without measures are those that a ceiling of the run kept from being measured;
    `run.stopped` then says so.
    """
    measure, ledger = bound.filter.measure, means.run.ledger
    if measure is None:
        return list(cases)

    found = bound.stored(ledger, (case.trajectory.trajectory_id for case in cases))
    waiting = iter([case for case in cases if case.trajectory.trajectory_id not in found])
    fresh: Measures = {}

    def keep() -> None:
        rows = [
            Score(identity, one.metric, one.value, one.turn, one.about)
            for identity, taken in sorted(fresh.items())
            if not faulty(taken)
            for one in taken
        ]
        if rows or means.replies:
            ledger.commit(bound.measures_ref, scores=rows, replies=tuple(means.replies))
            means.replies.clear()

        found.update(fresh)
        fresh.clear()

    async def worker() -> None:
        for case in waiting:
            await asyncio.sleep(0)
            if means.run.stopped is not None:
                return
            identity, taken = (
                case.trajectory.trajectory_id,
                await measure(case, bound.config, means),
            )
            if taken:
                fresh[identity] = taken
                # replies are in the journal as long as the shard is not through
                if len(fresh) >= KEPT_EVERY and not means.replies:
                    keep()
            elif means.run.may_start():
                raise AssertionError(f"filter {bound.name}: measured nothing of {identity}")

    try:
        await run_workers(AT_ONCE, worker)
    except BaseException:
        if not means.replies:
            keep()
        raise

    keep()

    return [with_measures(case, found) for case in cases]


def with_measures(case: Case, found: Measures) -> Case:
    """A case with its measures, without any where there are none of it."""
    measures = found.get(case.trajectory.trajectory_id, ())
    return msgspec.structs.replace(case, measures=tuple(measures))
