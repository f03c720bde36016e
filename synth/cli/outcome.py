"""What `synth run` says before and after: the loud settings first, then the funnel and the paths."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console

from schemas.flow import Flow
from synth.run.context import Run
from synth.run.funnel import funnel_table


def announce(flow: Flow) -> Iterator[str]:
    """Settings that change what a dataset may be used for."""
    for stage in flow.stages:
        settings = stage.settings if isinstance(stage.settings, dict) else {}
        if settings.get("include_scripted"):
            yield f"{flow.name}: include_scripted is set: rows written by scripts, not by a model, go into the datasets"
        if settings.get("allow_benchmark"):
            yield f"{flow.name}: allow_benchmark is set: attempts at public benchmarks go into the datasets"


def say_result(run: Run, reports: Mapping[str, Mapping[str, Any]]) -> None:
    """The funnel and where everything lies, on stdout."""
    console = Console(highlight=False, soft_wrap=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=160)
    if reports:
        console.print(funnel_table(reports))
    storage = run.ledger.storage
    console.print(f"ledger   {storage.url}", markup=False, soft_wrap=True)
    for report in reports.values():
        for kind, dataset in report.get("datasets", {}).items():
            console.print(f"{kind:<8} {dataset['path']}", markup=False, soft_wrap=True)
    console.print(f"cost     {storage.path('cost.json')}", markup=False, soft_wrap=True)
    found = run.ledger.state.current_valid()
    if found:
        console.print(f"look     synth show {storage.url} {found[0][:8]}", markup=False, soft_wrap=True)
    if run.stopped is not None:
        console.print(
            f"stopped  {run.stopped}: no further episode was started; raise it and run again to go on", markup=False, soft_wrap=True
        )
