"""docs/quickstart.svg: what `make quickstart` ends with, drawn from a real run. `python -m
benchmarks.readme_picture`
"""

import asyncio
import io
import tempfile
from pathlib import Path

from rich.console import Console

from synth.engine.funnel import funnel_notes, funnel_table
from synth.engine.progress import progress_for
from synth.flows.own.flow_file import flow_of, read_content
from synth.flows.synthesize import synthesize

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Runs the quickstart in a temporary folder and draws its funnel."""
    flow = flow_of(read_content(ROOT / "configs" / "quickstart.yaml"), (), "quickstart")
    with tempfile.TemporaryDirectory() as folder:
        _, reports = asyncio.run(synthesize(flow, f"{folder}/run", progress_for(quiet=True)))
    console = Console(record=True, width=112, highlight=False, file=io.StringIO())
    console.print("$ synth run configs/quickstart.yaml", style="bold")
    console.print(funnel_table(reports).grid())
    for stage, said in funnel_notes(reports):
        console.print(f"{stage}: {said}", markup=False, style="dim")
    names = sorted(reports["export"]["datasets"])
    wide = max(8, *map(len, names))
    for name in names:
        console.print(f"{name:<{wide}} runs/quickstart/datasets/{name}")
    console.print(f"{'report':<{wide}} runs/quickstart/report.html")
    svg = console.export_svg(title="make quickstart")
    start, end = svg.index("@font-face"), svg.index(".terminal")
    (ROOT / "docs" / "quickstart.svg").write_text(
        svg[:start] + svg[svg.rindex("}", start, end) + 1 :], encoding="utf-8"
    )


if __name__ == "__main__":
    main()
