"""Filters of the three scopes, and measures that are taken once whatever the thresholds."""

import asyncio
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from synth.engine.asking import SourceMeans
from synth.engine.progress import PlainProgress
from synth.flows.curate import curate
from synth.flows.synthesize import synthesize
from synth.ledger.views import connect
from synth.schemas.errors import FlowError
from synth.schemas.filtering import Case, Cases, Filter, Measure, Verdict
from synth.schemas.flow import Flow

pytestmark = pytest.mark.slow
TAKEN: list[str] = []


class Longest(BaseModel):
    """At most so many turns; `weight` is part of the measure."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    longest: float = 100
    weight: float = 1


async def measure(case: Case, config: Longest, means: SourceMeans) -> Sequence[Measure]:
    TAKEN.append(case.trajectory.trajectory_id)
    return [Measure("weighted_length", len(case.trajectory.turns) * config.weight)]


async def short(case: Case, config: Longest) -> Verdict:
    (found,) = case.measures
    assert found.value is not None
    return Verdict(found.value <= config.longest, "length", found.value)


async def first_of_task(cases: Sequence[Case], config: Longest) -> dict[str, Verdict]:
    assert len({case.trajectory.task_id for case in cases}) == 1
    first = min(case.trajectory.trajectory_id for case in cases)
    return {
        case.trajectory.trajectory_id: Verdict(case.trajectory.trajectory_id == first, "first")
        for case in cases
    }


async def first_of_all(cases: Cases, config: Longest) -> dict[str, Verdict]:
    ids = sorted(case.trajectory.trajectory_id for case in cases)
    assert ids == sorted(case.trajectory.trajectory_id for case in cases), (
        "a second pass gives the same"
    )
    return {ids[0]: Verdict(True, "first")}


SHORT = Filter(Longest, short, measure=measure, measured=("weight",))
FIRST_OF_TASK = Filter(Longest, first_of_task, scope="task")
FIRST_OF_ALL = Filter(Longest, first_of_all, scope="corpus")
JUDGED = Filter(Longest, short, measure=measure, roles=lambda config: ("judge",))


def flow(**settings: Any) -> Flow:
    here = "tests.synth.engine.test_filter_scopes"
    filters = [{f"{here}:SHORT": settings}, f"{here}:FIRST_OF_TASK", f"{here}:FIRST_OF_ALL"]
    return Flow.model_validate(
        {
            "name": "scopes",
            "seed": 3,
            "env": {"name": "storefront", "tasks": 4},
            "models": {"explorer": {"policy": "expert"}},
            "stages": [{"rollout": {"trials": 3}}, {"filter": filters}],
        }
    )


def decisions(run: Any) -> dict[str, list[tuple[bool | None, str]]]:
    found: dict[str, list[tuple[bool | None, str]]] = {}
    with connect(run.ledger) as connection:
        for name, keep, reason in connection.execute(
            "SELECT filter, keep, reason FROM decisions ORDER BY trajectory_id"
        ).fetchall():
            found.setdefault(name.rpartition(":")[2], []).append((keep, reason))
    return found


def test_each_scope_decides_on_every_trajectory_and_thresholds_measure_nothing_again(
    tmp_path: Path,
) -> None:
    TAKEN.clear()
    run, _ = asyncio.run(synthesize(flow(), str(tmp_path / "run"), PlainProgress(StringIO())))
    found = decisions(run)
    assert found["SHORT"] == [(True, "length")] * 12
    assert sorted(found["FIRST_OF_TASK"], key=str) == [(False, "first")] * 8 + [(True, "first")] * 4
    assert sorted(found["FIRST_OF_ALL"], key=str).count((None, "not_judged")) == 11
    assert len(TAKEN) == 12

    run, _ = asyncio.run(
        synthesize(flow(longest=0), str(tmp_path / "run"), PlainProgress(StringIO()))
    )
    assert decisions(run)["SHORT"] == [(False, "length")] * 12
    assert len(TAKEN) == 12, "another threshold needs no other measure"
    with connect(run.ledger) as connection:
        assert connection.execute(
            "SELECT count(*) FROM scores WHERE metric = 'weighted_length'"
        ).fetchall() == [(12,)]

    run, _ = asyncio.run(
        synthesize(flow(weight=2), str(tmp_path / "run"), PlainProgress(StringIO()))
    )
    assert len(TAKEN) == 24, "another weight does"

    run, _ = asyncio.run(
        synthesize(flow(weight=2), str(tmp_path / "run"), PlainProgress(StringIO()))
    )
    with connect(run.ledger) as connection:
        assert connection.execute(
            "SELECT count(*) FROM scores WHERE metric = 'weighted_length'"
        ).fetchall() == [(12,)]
    assert len(TAKEN) == 24


def test_a_later_curation_measures_nothing_again_and_collects_nothing(tmp_path: Path) -> None:
    TAKEN.clear()
    asyncio.run(synthesize(flow(), str(tmp_path / "run"), PlainProgress(StringIO())))
    run, reports = asyncio.run(
        curate(flow(longest=0), str(tmp_path / "run"), PlainProgress(StringIO()))
    )
    assert len(TAKEN) == 12
    assert decisions(run)["SHORT"] == [(False, "length")] * 12
    assert "measure" not in " ".join(reports)


def test_a_filter_without_the_model_that_it_needs_is_refused_before_anything_runs(
    tmp_path: Path,
) -> None:
    asked = flow().model_copy(update={"stages": flow().stages})
    raw = asked.model_dump(mode="json")
    raw["stages"] = [
        {"rollout": {"trials": 1}},
        {"filter": ["tests.synth.engine.test_filter_scopes:JUDGED"]},
    ]
    with pytest.raises(FlowError, match="needs a model as 'judge'"):
        asyncio.run(
            synthesize(Flow.model_validate(raw), str(tmp_path / "run"), PlainProgress(StringIO()))
        )
    assert not (tmp_path / "run").exists()
