"""A flow carried out from Python: collected, judged, written."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from synth.api.opened import Ledger, open_ledger
from synth.api.waiting import waited
from synth.engine.context import Run
from synth.engine.numbers import counted_noun
from synth.engine.progress import Progress, progress_for
from synth.flows.bindings import Said
from synth.flows.curate import curate as curating
from synth.flows.environments import said_by_files
from synth.flows.finished import refuse_failed
from synth.flows.flow_file import given_flow, in_file
from synth.flows.synthesize import synthesize
from synth.flows.work import work as working
from synth.leases import Units
from synth.schemas.flow import Flow


@dataclass(frozen=True)
class RunResult:
    """A flow that has ended. `outcomes` counts its attempts, `datasets` are folders by name, those
    without rows left out.

    `reports` are the stages' own, by name; `stopped` says which ceiling ended the collection.
    """

    run_dir: str
    outcomes: Mapping[str, int]
    datasets: Mapping[str, str]
    report: str | None = None
    stopped: str | None = None
    reports: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)

    @property
    def ledger(self) -> Ledger:
        """The run, open for reading as it stands now."""
        return open_ledger(self.run_dir)


def run(
    flow: Flow | Path | str,
    *,
    run_dir: Path | str | None = None,
    set: Mapping[str, Any] = {},
    environments: Mapping[str, Path | str] = {},
    quiet: bool = False,
) -> RunResult:
    """Runs a flow, or goes on with one that was interrupted: what is committed is not done again.

    `flow`: a `Flow`, a file, or the name of an installed one (`"quickstart"`). `run_dir`: a path or
    URL, `runs/<name>`
    without it. `set`: settings in place of the flow's, `{"env.tasks": 5}`. `environments`: a file
    of your own by name of
    an environment, as `--env`. Raises `ConfigError` for what its user must mend, and `SynthError`
    where nothing came of
    it; what was committed stays.
    """
    chosen, where = given_flow(flow, set)
    said = said_by_files(environments)
    url = f"runs/{chosen.name}" if run_dir is None else str(run_dir)
    with in_file(where):
        done, reports = waited(synthesize(chosen, url, progress_for(quiet=quiet), said=said))
    return _result(done, reports)


def curate(
    run_dir: Path | str,
    flow: Flow | Path | str,
    *,
    set: Mapping[str, Any] = {},
    environments: Mapping[str, Path | str] = {},
    quiet: bool = False,
) -> RunResult:
    """Runs the stages of a flow after collection on the trajectories that a run or an import holds;
    see `run`.
    """
    chosen, where = given_flow(flow, set)
    said = said_by_files(environments)
    with in_file(where):
        done, reports = waited(curating(chosen, str(run_dir), progress_for(quiet=quiet), said=said))
    return _result(done, reports)


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
    set: Mapping[str, Any] = {},
    environments: Mapping[str, Path | str] = {},
    max_units: int | None = None,
    quiet: bool = False,
) -> WorkReport:
    """Works on a run, beside other workers, until nothing is left or `max_units` are done.

    `flow`: what the run was begun with; begins a run that is not there, and is needed where it was
    begun on another machine. Raises
    `ConfigError` where it is of another flow.
    """
    chosen, where = (None, str(run_dir)) if flow is None else given_flow(flow, set)
    with in_file(where):
        return work_on(
            str(run_dir), chosen, max_units, said_by_files(environments), progress_for(quiet=quiet)
        )


def work_on(
    url: str,
    flow: Flow | None,
    max_units: int | None,
    said: Mapping[str, Said],
    progress: Progress,
) -> WorkReport:
    """What `work` and `synth work` do. Raises `SynthError` where nothing came of the whole run."""
    units = Units(max_units)
    done, reports = waited(working(flow, url, progress, units=units, said=said))
    if done.stopped is None:
        refuse_failed(done, reports)
    return WorkReport(done.ledger.storage.url, units.claimed, done.stopped)


def _result(done: Run, reports: Mapping[str, Mapping[str, Any]]) -> RunResult:
    """Raises `SynthError` where no attempt was valid, or a role answered nothing."""
    refuse_failed(done, reports)
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
    return RunResult(
        run_dir=storage.url,
        outcomes=dict(Counter(row["outcome"] for row in done.ledger.records())),
        datasets=datasets,
        report=pages[-1] if pages else None,
        stopped=done.stopped,
        reports=reports,
    )
