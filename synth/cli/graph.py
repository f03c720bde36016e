"""`synth graph`: the trials of a task as one graph, for other programs or as a picture; and why two
turns are one node, or are not.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from synth.schemas.printable import printable

if TYPE_CHECKING:
    from synth.ledger.ledger import Ledger


@click.command()
@click.argument("run", metavar="RUN")
@click.argument("task", metavar="[TASK]", required=False)
@click.option(
    "--format",
    "form",
    type=click.Choice(["graphml", "svg", "json"]),
    default="graphml",
    show_default=True,
    help="How to write it.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to write; standard output without it.",
)
@click.option(
    "--population",
    help="Whose trials, where several policies or samplings played the task; the most trials "
    "without it.",
)
@click.option(
    "--why",
    nargs=2,
    metavar="ID:TURN ID:TURN",
    help="Say why two turns are one node, or are not, instead.",
)
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
    from synth.ledger.ledger import Ledger
    from synth.schemas.errors import ConfigError

    ledger = Ledger(run)
    if why is not None:
        for line in _why(ledger, *why):
            click.echo(printable(line))
        return
    if task is None:
        raise ConfigError(
            f"which task? list them with: synth sql {run} 'SELECT DISTINCT task_id FROM nodes'"
        )
    content = _written(ledger, task, form, population)
    if out is None:
        click.echo(content, nl=False)
        return
    try:
        out.write_bytes(content)
    except OSError as error:
        raise ConfigError(f"--out {out}: cannot be written: {error.strerror}") from error
    click.echo(printable(str(out)))


def _written(
    ledger: "Ledger", task: str, form: Literal["graphml", "svg", "json"], population: str | None
) -> bytes:
    from synth.topology.graph_file import as_json, graphml
    from synth.topology.stored_graph import graph_rows

    rows = graph_rows(ledger, task, population)
    if rows.others:
        more = ", ".join(f"{name} ({trials} trials)" for name, trials in rows.others)
        click.echo(
            printable(
                f"population {rows.nodes[0].population}; this task has others, take one with "
                f"--population: {more}"
            ),
            err=True,
        )
    if form == "svg":
        from synth.report.graph_svg import STYLE, picture
        from synth.report.style import STYLE as PAGE

        head, body = picture(rows.nodes, rows.edges, rows.said).split(">", 1)
        opened = head.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
        return (
            f"{opened}><style>{PAGE}{STYLE}.graph {{ background: var(--page); }}</style>{body}\n"
        ).encode()
    if form == "json":
        return as_json(rows.nodes, rows.edges, rows.said)
    return graphml(rows.nodes, rows.edges, rows.said)


def _why(ledger: "Ledger", one: str, other: str) -> list[str]:
    """The keys of both turns side by side, as the last run of the stage masked them, and the
    semantic merge if there is one.
    """
    from synth.flows.stages.topology import masking_of
    from synth.topology.keys import explained, trajectory_keys

    found = []
    for place in (one, other):
        trajectory, turn = _place(ledger, place)
        keys = trajectory_keys(trajectory, masking_of(ledger, trajectory.task_id))
        own = [turn.index for turn in trajectory.turns if turn.sampled_by != "canned"]
        found.append((trajectory, turn, keys[own.index(turn)]))
    lines = list(explained(found[0][2], found[1][2]))
    return [
        *lines,
        *(
            line
            for trajectory, turn, _ in found
            for line in _merge(ledger, trajectory.trajectory_id, turn)
        ),
    ]


def _place(ledger: "Ledger", place: str) -> tuple[Any, int]:
    from synth.schemas.errors import ConfigError

    identity, _, turn = place.rpartition(":")
    if not identity or not turn.isdigit():
        raise ConfigError(
            f"--why {place!r}: give a trajectory and a turn of it, for instance 91bc:2"
        )
    trajectory = ledger.trajectory(identity)
    if int(turn) not in [turn.index for turn in trajectory.turns if turn.sampled_by != "canned"]:
        raise ConfigError(
            f"--why {place!r}: the agent took no turn {turn} there; `synth show` lists its turns"
        )
    return trajectory, int(turn)


def _merge(ledger: "Ledger", identity: str, turn: int) -> list[str]:
    import msgspec

    from synth.ledger.views import connect

    sql = "SELECT value, detail FROM scores WHERE metric = 'merged' AND subject_id = ? AND turn = ?"
    with connect(ledger) as connection:
        rows = connection.execute(sql, [identity, turn]).fetchall()
    lines = []
    for value, detail in rows:
        told = msgspec.json.decode(detail)
        with_ = f"{told['with']['trajectory_id']}:{told['with']['turn']}"
        lines.append(
            f"semantic: {identity}:{turn} is in node {told['node']} with {with_}, similarity "
            f"{value:.4f} (at least {told['threshold']}; "
            f"the least between any two of the node {told['least']:.4f})"
        )
    return lines
