"""What `synth run` says at its end: the funnel, where everything lies, and how to look at it."""

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from schemas.printable import printable
from synth.cli.own_name import from_here, own_name
from synth.ledger.ledger import Ledger
from synth.run.closing import closing_lines
from synth.run.context import Run
from synth.run.cost import cost_in_words
from synth.run.funnel import funnel_notes, funnel_table


def say_result(run: Run, reports: Mapping[str, Mapping[str, Any]]) -> None:
    """The funnel and where everything lies, on stdout."""
    console = Console(highlight=False, soft_wrap=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=160)
    if reports:
        console.print(funnel_table(reports))
    for stage, said in funnel_notes(reports):
        console.print(printable(f"{stage}: {said}"), markup=False, style="dim")
    storage = run.ledger.storage
    ends = " (in memory: it ends with this process)" if storage.url.startswith("memory:") else ""
    console.print(f"ledger   {storage.url}{ends}", markup=False, soft_wrap=True)
    for report in reports.values():
        for folder, dataset in report.get("datasets", {}).items():
            where = storage.path(dataset["path"])
            if dataset["rows"] == 0:
                stale = "; what stands there is an earlier export's" if storage.size(f"{dataset['path']}/README.md") is not None else ""
                where = f"no rows, so {where} was not written: {dataset['empty']}{stale}"
            console.print(f"{folder:<8} {where}", markup=False, soft_wrap=True)
        if report["kind"] == "report":
            console.print(f"report   {storage.path(report['path'])}", markup=False, soft_wrap=True)
    spent = cost_in_words(json.loads(storage.read("cost.json")))
    console.print(f"cost     {storage.path('cost.json')}{f': {spent}' if spent else ''}", markup=False, soft_wrap=True)
    for line in closing_lines(run, reports, lambda identity: look(run.ledger, identity)):
        console.print(printable(line), markup=False, soft_wrap=True)


def look(ledger: Ledger, identity: str) -> str | None:
    """A command, to be run as it stands, that shows a trajectory of a run; None where the run ends with this process."""
    if ledger.storage.url.startswith("memory:"):
        return None
    every = {record.trajectory_id for shard in ledger.state.shards for record in shard.slots}
    short = next(identity[:n] for n in range(8, len(identity) + 1) if sum(one.startswith(identity[:n]) for one in every) == 1)
    where = from_here(Path(ledger.storage.root)) if ledger.storage.local else ledger.storage.url
    return f"{own_name()} show {shlex.quote(where)} {short}"
