"""`synth report`: a run as one page."""

from typing import Any

from synth.cli.options import command, tell


@command
def report(run: str, **chosen: Any) -> None:
    """Write what a run holds as one HTML page that needs nothing else.

    Funnel, success, faults, cost, scores, graphs, and every trajectory, to be searched, read and
    set side by side. Long texts are
    shortened where the page would pass its size, and the page says so (docs/report.md). Nothing is
    executed: --env is taken so that one
    set of options fits all commands, and only looked at.

    \b
    Example:  synth report runs/quickstart
              synth report runs/quickstart --out report.html
              synth report runs/imported --env mcp=shop.yaml
    """
    from synth import write_report

    tell(write_report(run, **chosen))
