"""What filters measure, computed once: rows under a key of their own, which a changed threshold
does not change.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from pydantic import BaseModel

from synth.engine.asking import SourceMeans
from synth.ledger.ledger import Ledger, Score, StageRef
from synth.ledger.manifest import StageLine
from synth.ledger.typed import read
from synth.schemas.canonical import content_hash
from synth.schemas.filter import Case, Filter, Measure
from synth.schemas.measures import Faulted
from synth.side_by_side import run_workers

AT_ONCE = 64
KEPT_EVERY = 100
"""Trajectories: a process that dies loses no more measures than these."""
MEASURES = "measure."
"""What the names of their stages begin with."""


@dataclass(frozen=True, slots=True)
class BoundFilter:
    """A filter under the name that its decisions carry, with its settings."""

    name: str
    filter: Filter
    config: BaseModel

    @property
    def measured_by(self) -> Mapping[str, Any]:
        """What determines its measures: the settings that they depend on, and the version of the
        code.
        """
        settings = self.config.model_dump(mode="json")
        return {
            "filter": self.name,
            "version": self.filter.version,
            **{name: settings[name] for name in self.filter.measured},
        }

    def measures_ref(self, models: Mapping[str, Any]) -> StageRef:
        """Under which stage and key its measures stand."""
        return StageRef(f"{MEASURES}{self.name}", content_hash([self.measured_by, models]))


def begin_measures(ledger: Ledger, named: BoundFilter, models: Mapping[str, Any]) -> None:
    """Makes a filter's measures part of what the current flow shows."""
    ref = named.measures_ref(models)
    ledger.begin_stage(
        StageLine(ref.stage, ref.stage_key, {**named.measured_by, "models": models}, "", ())
    )


def stored(
    ledger: Ledger, named: BoundFilter, key: str, identities: Iterable[str]
) -> dict[str, list[Measure]]:
    """The measures of a filter that stand under a key, by trajectory."""
    found: dict[str, list[Measure]] = {}
    if any(shard.stage_key == key for shard in ledger.state.shards):
        for row in read(ledger, named.filter.about, stage_key=key, subjects=list(identities)):
            found.setdefault(row.subject_id, []).append(
                Measure(row.metric, row.value, row.turn, row.about)
            )
    return found


def faulty(measures: Iterable[Measure]) -> bool:
    """Whether a fault kept one of them from being taken (`Faulted`)."""
    return any(
        msgspec.convert(one.about or {}, Faulted, from_attributes=True).fault is not None
        for one in measures
    )


async def measured(
    named: BoundFilter, cases: Sequence[Case], means: SourceMeans, models: Mapping[str, Any]
) -> list[Case]:
    """The cases with what the filter measures of them; what was not measured before is, and is
    committed.

    A measure that a fault kept from being taken is handed on, and not kept: it is tried again next
    time.
    Without measures are those that a ceiling of the run kept from being measured; `run.stopped`
    then says so.
    """
    measure = named.filter.measure
    if measure is None:
        return list(cases)
    ref = named.measures_ref(models)
    ledger = means.run.ledger
    found: dict[str, Sequence[Measure]] = dict(
        stored(ledger, named, ref.stage_key, (case.trajectory.trajectory_id for case in cases))
    )
    waiting = iter([case for case in cases if case.trajectory.trajectory_id not in found])
    fresh: dict[str, Sequence[Measure]] = {}

    def keep() -> None:
        rows = [
            Score(identity, one.metric, one.value, one.turn, one.about)
            for identity, taken in sorted(fresh.items())
            if not faulty(taken)
            for one in taken
        ]
        if rows or means.replies:
            ledger.commit(ref, scores=rows, replies=tuple(means.replies))
            means.replies.clear()
        found.update(fresh)
        fresh.clear()

    async def worker() -> None:
        for case in waiting:
            await asyncio.sleep(0)
            if means.run.stopped is not None:
                return
            taken = await measure(case, named.config, means)
            if taken:
                fresh[case.trajectory.trajectory_id] = taken
                if (
                    len(fresh) >= KEPT_EVERY and not means.replies
                ):  # replies are in the journal as long as the shard is not through
                    keep()
            elif means.run.may_start():
                raise AssertionError(
                    f"filter {named.name}: measured nothing of {case.trajectory.trajectory_id}"
                )

    try:
        await run_workers(AT_ONCE, worker)
    except BaseException:
        if not means.replies:
            keep()
        raise
    keep()
    return [
        msgspec.structs.replace(case, measures=tuple(found.get(case.trajectory.trajectory_id, ())))
        for case in cases
    ]
