"""An audit's report on stdout: a table on a terminal, aligned lines elsewhere."""

from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from synth.envs.audit.report import Report
from synth.schemas.printable import printable

WORDS = {True: "passed", False: "FAILED", None: "not asked"}
_STYLES = {True: "green", False: "bold red", None: "dim"}
LONGEST_RESULT = 400


def word(passed: bool | None) -> str:
    """Passed, FAILED, or not asked."""
    return WORDS[passed]


def say_report(report: Report, html: Path | None) -> None:
    """The questions with their results, what failed in full, and the verdict last."""
    console = Console(highlight=False)
    terminal = console.is_terminal
    heading = printable(
        f"{report.world} {report.version}, {report.tasks} tasks from seed {report.seed}"
    )
    if terminal:
        table = Table(title=Text(f"Audit of {heading}"), title_justify="left", show_lines=False)
        table.add_column("question", no_wrap=True)
        table.add_column("answer", no_wrap=True)
        table.add_column("result", overflow="fold")
        for answer in report.answers:
            table.add_row(
                answer.name,
                Text(word(answer.passed), _STYLES[answer.passed]),
                Text(_short(answer.result)),
            )
        console.print(table)
    else:
        click.echo(f"audit of {heading}")
        for answer in report.answers:
            click.echo(f"{answer.name:<13} {word(answer.passed):<10} {_short(answer.result)}")
    for answer in report.answers:
        for finding in answer.findings:
            if (
                finding.passed is None and answer.passed is not None
            ):  # else the question's own line has said it
                console.print(
                    f"{answer.name}.{finding.name} not asked: {_short(finding.detail)}",
                    markup=False,
                    soft_wrap=True,
                )
    console.print(
        printable(report.verdict),
        markup=False,
        soft_wrap=True,
        style="green" if not report.failed else "bold red",
    )
    if html is not None:
        console.print(printable(f"page     {html}"), markup=False, soft_wrap=True)


def _short(text: str) -> str:
    """A result on one line, cut where it is long."""
    text = printable(" ".join(text.split()))
    return text if len(text) <= LONGEST_RESULT else f"{text[:LONGEST_RESULT]} …"
