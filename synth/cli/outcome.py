"""What `synth run` says at its end: the funnel, where everything lies, and how to look at it."""

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from synth.cli.own_name import from_here, own_name
from synth.engine.between_words import between_words
from synth.engine.closing import LOOK, closing_lines
from synth.engine.context import Run
from synth.engine.cost import cost_in_words
from synth.engine.funnel import funnel_notes, funnel_table
from synth.ledger.ledger import Ledger
from synth.schemas.printable import printable


def say_result(run: Run, reports: Mapping[str, Mapping[str, Any]]) -> None:
    """The funnel and where everything lies, on stdout."""
    console = Console(highlight=False, soft_wrap=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=160)
    if reports:
        console.print(funnel_table(reports))
    for stage, said in funnel_notes(reports):
        console.print(
            printable(f"{stage}: {said}"),
            markup=False,
            style="dim",
            soft_wrap=not console.is_terminal,
        )
    storage = run.ledger.storage
    folders = [folder for report in reports.values() for folder in report.get("datasets", {})]
    wide = max(8, *map(len, folders)) if folders else 8

    def tell(label: str, said: str) -> None:
        console.print(printable(f"{label:<{wide}} {said}"), markup=False, soft_wrap=True)

    ends = " (in memory: it ends with this process)" if storage.url.startswith("memory:") else ""
    tell("ledger", f"{storage.url}{ends}")
    for report in reports.values():
        for folder, dataset in report.get("datasets", {}).items():
            where = storage.path(dataset["path"])
            if dataset["rows"] == 0:
                stale = (
                    "; what stands there is an earlier export's"
                    if storage.size(f"{dataset['path']}/README.md") is not None
                    else ""
                )
                where = f"no rows, so {where} was not written: {dataset['empty']}{stale}"
            tell(folder, where)
        if report["kind"] == "report":
            tell("report", storage.path(report["path"]))
    spent = cost_in_words(json.loads(storage.read("cost.json")))
    tell("cost", f"{storage.path('cost.json')}{f': {spent}' if spent else ''}")
    for line in closing_lines(run, reports, lambda identity: look(run.ledger, identity)):
        label, _, said = line.partition(" ")
        whole = label == LOOK or not console.is_terminal  # a command is copied as one line
        line = printable(f"{label:<{wide}} {said.lstrip()}")
        console.print(
            line if whole else between_words(line, console.width), markup=False, soft_wrap=True
        )


def look(ledger: Ledger, identity: str) -> str | None:
    """A command, to be run as it stands, that shows a trajectory of a run; None where the run ends
    with this process.
    """
    if ledger.storage.url.startswith("memory:"):
        return None
    every = {record.trajectory_id for shard in ledger.state.shards for record in shard.slots}
    short = next(
        identity[:n]
        for n in range(8, len(identity) + 1)
        if sum(one.startswith(identity[:n]) for one in every) == 1
    )
    where = from_here(Path(ledger.storage.root)) if ledger.storage.local else ledger.storage.url
    return f"{own_name()} show {shlex.quote(where)} {short}"
