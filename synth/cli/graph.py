"""`synth graph`: the trials of a task as one graph, for other programs or as a picture; and why two
turns are one node, or are not.
"""

from pathlib import Path
from typing import Literal

import click

from synth.cli.options import command, open_run, tell, warn, write_file
from synth.schemas import ConfigError


@command
def graph(
    run: str,
    task: str | None,
    form: Literal["graphml", "svg", "json"],
    out: Path | None,
    population: str | None,
    why: tuple[str, str] | None,
) -> None:
    """Write the graph of a task (its id or the beginning of one), as the stage `topology` found it.

    Nodes are turns, START, SUCCESS and FAILURE; n and n_success count trials.

    \b
    Example:  synth graph runs/quickstart 3f2a --out task.graphml
              synth graph runs/quickstart 3f2a --format svg --out task.svg
              synth graph runs/quickstart --why 91bc:2 a07d:3
    """
    from synth import drawn_graph, explain_nodes

    ledger = open_run(run)
    if why is not None:
        for line in explain_nodes(ledger, *why):
            tell(line)
        return
    if task is None:
        raise ConfigError(
            f"which task? list them with: synth sql {run} 'SELECT DISTINCT task_id FROM nodes'"
        )
    content = drawn_graph(ledger, task, form=form, population=population, told=warn)
    if out is None:
        click.echo(content, nl=False)
    else:
        write_file("--out", out, content)
        tell(str(out))
