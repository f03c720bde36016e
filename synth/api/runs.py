"""A flow carried out from Python: collected, judged, written."""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from synth.api.opened import Ledger, open_ledger
from synth.api.waiting import waited
from synth.claims import Units
from synth.engine.context import Run
from synth.engine.cost import cost_in_words
from synth.engine.flow_warnings import dataset_warnings, no_op_stages
from synth.engine.funnel import funnel_notes, funnel_table
from synth.engine.numbers import counted_noun
from synth.engine.progress import progress_for
from synth.engine.runs.summary import refuse_failed, summary_lines
from synth.engine.table import Table
from synth.flows.curate import curated, left_alone
from synth.flows.environments import Files, said_by_files
from synth.flows.own.own_flow import Settings, given_flow, in_file
from synth.flows.own.run_folder import (
    refuse_foreign,
    refuse_their_datasets,
    refuse_their_datasets_at,
)
from synth.flows.ray import on_ray
from synth.flows.resolve import resolve
from synth.flows.synthesize import Done, Recipe, bindings_of_flow, synthesize
from synth.flows.work import work as working
from synth.ledger import StoredLedger
from synth.ledger.storage import Storage
from synth.schemas import Flow


@dataclass(frozen=True)
class RunResult:
    """A flow that has ended. `outcomes` counts its attempts, `datasets` are folders by name, those
    without rows left out.

    `reports` are the stages' own, by name; `stopped` says which ceiling ended the collection.
    `places` says where everything lies, `closing` what a person is told last, each as (label,
    text); under `look` stands a trajectory that is worth reading.
    """

    run_dir: str
    outcomes: Mapping[str, int]
    datasets: Mapping[str, str]
    report: str | None = None
    stopped: str | None = None
    reports: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    places: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    closing: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @property
    def ledger(self) -> Ledger:
        """The run, open for reading as it stands now."""
        return open_ledger(self.run_dir)

    @property
    def funnel(self) -> Table:
        """What went into each stage and what went on, with the reasons for the difference."""
        return funnel_table(self.reports)

    @property
    def notes(self) -> tuple[tuple[str, str], ...]:
        """What stages have to say beside the funnel, each as (stage, text)."""
        return tuple(funnel_notes(self.reports))


Ended = Callable[[RunResult], None]


@dataclass(frozen=True)
class FlowCheck:
    """A flow that is valid, and what it would do: its stages, and on how many trajectories."""

    flow: str
    run_dir: str
    stages: tuple[str, ...]
    warnings: tuple[str, ...]
    trajectories: int = 0
    calibration: str | None = None


def run(
    flow: Flow | Path | str,
    *,
    run_dir: Path | str | None = None,
    set: Settings = (),
    environments: Files = (),
    prefect: bool = False,
    ray: bool = False,
    quiet: bool = False,
    ended: Ended = lambda result: None,
) -> RunResult:
    """Runs a flow, or goes on with one that was interrupted: what is committed is not done again.

    `flow`: a `Flow`, a file, or the name of an installed one (`"quickstart"`). `run_dir`: a path or
    URL, `runs/<name>`
    without it. `set`: settings in place of the flow's, `{"env.tasks": 5}`. `environments`: a file
    of your own by name of
    an environment, as `--env`. With `prefect` (or PREFECT_API_URL) it runs under Prefect's engine,
    with `ray` too on a cluster. `ended` is called with the result before it is judged. Raises
    `ConfigError` for what its user must mend, and `SynthError` where nothing came of it; what was
    committed stays.
    """
    chosen, where = given_flow(flow, set)
    said = said_by_files(environments)
    url = _run_dir(chosen, run_dir)
    refuse_foreign(url)
    recipe = partial(on_ray if ray else synthesize, said=said)
    with in_file(where):
        done = carried_out(recipe, chosen, url, prefect=prefect, quiet=quiet)
    return result_of(*done, ended)


@dataclass(frozen=True)
class WorkReport:
    """What one worker did: `units` that it claimed; `stopped` says why it ended before the run
    was done.
    """

    run_dir: str
    units: int
    stopped: str | None = None

    def __str__(self) -> str:
        left = "nothing is left" if self.stopped is None else self.stopped
        return f"{counted_noun(self.units, 'unit')} done here; {left}"


def work(
    run_dir: Path | str,
    *,
    flow: Flow | Path | str | None = None,
    set: Settings = (),
    environments: Files = (),
    max_units: int | None = None,
    quiet: bool = False,
) -> WorkReport:
    """Works on a run, beside other workers, until nothing is left or `max_units` are done.

    `flow`: what the run was begun with; begins a run that is not there, and is needed where it was
    begun on another machine. Raises `ConfigError` where it is of another flow, `SynthError` where
    nothing came of the whole run.
    """
    chosen, where = (None, str(run_dir)) if flow is None else given_flow(flow, set)
    units = Units(max_units)
    with in_file(where):
        said = said_by_files(environments)
        done, reports = waited(
            working(chosen, str(run_dir), progress_for(quiet=quiet), units=units, said=said)
        )
    if done.stopped is None:
        refuse_failed(done, reports)
    return WorkReport(done.ledger.storage.url, units.claimed, done.stopped)


def check_flow(
    flow: Flow | Path | str,
    *,
    run_dir: Path | str | None = None,
    set: Settings = (),
    environments: Files = (),
    curates: bool = False,
) -> FlowCheck:
    """Whether `run`, or `curate` where `curates`, would take a flow; makes nothing.

    Raises `ConfigError` where it would not.
    """
    chosen, where = given_flow(flow, set)
    said = said_by_files(environments)
    url = _run_dir(chosen, run_dir)
    if curates:
        return _curation_check(chosen, where, url)
    refuse_foreign(url)
    with in_file(where):
        _, stages = resolve(chosen, bindings_of_flow(chosen, url, said))
    refuse_their_datasets_at(url, chosen.name, stages)
    wanted = None if chosen.env is None else chosen.env.difficulty
    return FlowCheck(
        where,
        url,
        tuple(stage.name for stage in stages),
        (*dataset_warnings(chosen), *no_op_stages(chosen)),
        calibration=None
        if wanted is None
        else f"plays at most {wanted.episodes} episodes of {wanted.against} before the tasks are "
        "made",
    )


def _curation_check(flow: Flow, where: str, url: str) -> FlowCheck:
    """Whether `curate` would take a flow."""
    with in_file(where):
        _, stages = resolve(flow, collect=False)
    ledger = StoredLedger(url)
    refuse_their_datasets(ledger, flow.name, stages)
    warned = (*dataset_warnings(curated(flow, ledger)), *left_alone(flow))
    names = tuple(stage.name for stage in stages)
    return FlowCheck(where, url, names, warned, len(ledger.state.current_valid()))


def _run_dir(flow: Flow, run_dir: Path | str | None) -> str:
    return f"runs/{flow.name}" if run_dir is None else str(run_dir)


def carried_out(recipe: Recipe, flow: Flow, url: str, *, prefect: bool, quiet: bool) -> Done:
    """Does a recipe here, or under Prefect's engine."""
    progress = progress_for(quiet=quiet)
    if not (prefect or os.environ.get("PREFECT_API_URL")):
        return waited(recipe(flow, url, progress))
    from synth.flows.deployment_run import run_under_prefect

    return waited(run_under_prefect(recipe, flow, url, progress))


def result_of(done: Run, reports: Mapping[str, Mapping[str, Any]], ended: Ended) -> RunResult:
    """What came of a flow, once `ended` was told. Raises `SynthError` where no attempt was valid,
    or a role answered nothing.
    """
    storage = done.ledger.storage
    datasets = {
        folder: storage.path(dataset["path"])
        for report in reports.values()
        for folder, dataset in report.get("datasets", {}).items()
        if dataset["rows"]
    }
    pages = [
        storage.path(report["path"]) for report in reports.values() if report["kind"] == "report"
    ]
    found = RunResult(
        run_dir=storage.url,
        outcomes=dict(Counter(row["outcome"] for row in done.ledger.records())),
        datasets=datasets,
        report=pages[-1] if pages else None,
        stopped=done.stopped,
        reports=reports,
        places=tuple(_places(storage, reports)),
        closing=tuple(summary_lines(done, reports)),
    )
    ended(found)
    refuse_failed(done, reports)
    return found


def _places(
    storage: Storage, reports: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, str]]:
    ends = " (in memory: it ends with this process)" if storage.url.startswith("memory:") else ""
    yield "ledger", f"{storage.url}{ends}"
    for report in reports.values():
        for folder, dataset in report.get("datasets", {}).items():
            where = storage.path(dataset["path"])
            if dataset["rows"] == 0:
                stands = storage.size(f"{dataset['path']}/README.md") is not None
                stale = "; what stands there is an earlier export's" if stands else ""
                where = f"no rows, so {where} was not written: {dataset['empty']}{stale}"
            yield folder, where
        if report["kind"] == "report":
            yield "report", storage.path(report["path"])
    spent = cost_in_words(json.loads(storage.read("cost.json")))
    yield "cost", f"{storage.path('cost.json')}{f': {spent}' if spent else ''}"
