"""What a run shows: two trajectories side by side, the trials of a task as one graph, sources
ranked by what a student would learn from them, and all of it as one page.
"""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from synth.api.opened import Ledger, stored
from synth.engine.progress import progress_for
from synth.filters.rank_surprisal.sources import Ranking, ranking
from synth.flows.environments import Files, bindings_for
from synth.ledger import StoredLedger
from synth.report.written import MEGABYTES, PAGE, write_local, write_page
from synth.schemas import ConfigError
from synth.text.transcript.divergence import Divergence, first_divergence

if TYPE_CHECKING:
    import networkx


def diff(ledger: Ledger | Path | str, a: str, b: str) -> Divergence | None:
    """The first difference of two trajectories, by the beginnings of their ids; None where they did
    and saw the same.
    """
    run = stored(ledger)
    return first_divergence(run.trajectory(a), run.trajectory(b))


def graph(
    ledger: Ledger | Path | str, task_id: str, *, population: str | None = None
) -> "networkx.DiGraph[Any]":
    """A task's trials as one graph, as the stage `topology` found it: of the population with the
    most trials, or of one.

    Nodes and edges carry `n` and `n_success`, counts of trials; nodes also say where they lie in
    the graph (`between`, `loop`, `to_success`, `gate`: docs/topology.md). Raises `ConfigError`
    where there is none.
    """
    from synth.topology.stored_graph import graph_rows, networkx_of

    return networkx_of(graph_rows(stored(ledger), task_id, population))


def drawn_graph(
    ledger: Ledger | Path | str,
    task_id: str,
    *,
    form: Literal["graphml", "svg", "json"] = "svg",
    population: str | None = None,
    told: Callable[[str], None] = lambda line: None,
) -> bytes:
    """The same graph as a file; `told` is given the other populations of the task, if there are
    any.
    """
    from synth.topology.stored_graph import as_json, graph_rows, graphml

    rows = graph_rows(stored(ledger), task_id, population)
    if rows.others:
        more = ", ".join(f"{name} ({trials} trials)" for name, trials in rows.others)
        told(
            f"population {rows.nodes[0].population}; this task has others, take one with "
            f"--population: {more}"
        )
    if form == "svg":
        from synth.report.graph.svg import picture
        from synth.report.templates import rendered

        head, body = picture(rows.nodes, rows.edges, rows.said).split(">", 1)
        opened = head.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
        look = rendered("page.css") + rendered("graph.css")
        style = f"<style>{look}.graph {{ background: var(--page); }}</style>"
        return f"{opened}>{style}{body}\n".encode()
    return (as_json if form == "json" else graphml)(rows)


def explain_nodes(ledger: Ledger | Path | str, one: str, other: str) -> list[str]:
    """Why two turns, each as `ID:TURN`, are one node or are not: their keys side by side, as the
    last run of `topology` masked them, and the semantic merge if there is one.
    """
    from synth.flows.stages.topology import masking_of
    from synth.topology.keys import explained, trajectory_keys

    run, keys, merges = stored(ledger), [], list[str]()
    for place in (one, other):
        identity, _, turn = place.rpartition(":")
        if not identity or not turn.isdigit():
            raise ConfigError(
                f"--why {place!r}: give a trajectory and a turn of it, for instance 91bc:2"
            )
        trajectory = run.trajectory(identity)
        own = [one.index for one in trajectory.turns if one.sampled_by != "canned"]
        if int(turn) not in own:
            raise ConfigError(
                f"--why {place!r}: the agent took no turn {turn} there; `synth show` lists its "
                "turns"
            )
        found = trajectory_keys(trajectory, masking_of(run, trajectory.task_id))
        keys.append(found[own.index(int(turn))])
        merges += _merges(run, trajectory.trajectory_id, int(turn))
    return [*explained(*keys), *merges]


def _merges(ledger: StoredLedger, identity: str, turn: int) -> list[str]:
    from synth.ledger.typed import read
    from synth.schemas.evidence.measures import Merged

    return [
        f"semantic: {identity}:{turn} is in node {row.about.node} with "
        f"{row.about.first.trajectory_id}:{row.about.first.turn}, similarity "
        f"{row.value:.4f} (at least {row.about.threshold}; "
        f"the least between any two of the node {row.about.least:.4f})"
        for row in read(ledger, Merged, ("merged",), subjects=[identity])
        if row.turn == turn
    ]


def rank(
    ledger: Ledger | Path | str, *, by: str = "model", student: str | None = None, seed: int = 0
) -> tuple[Ranking, tuple[str, str | None, str, int]]:
    """The ranking of models, synthesizers, policies, roles or sources by the ratio that the filter
    `rank_surprisal` has measured; and the student: model, weights, template, largest rank.
    """
    from synth.filters.rank_surprisal.read_scores import scored_rows

    who, rows = scored_rows(stored(ledger), by, student)
    return ranking(rows, seed), who


def write_report(
    run_dir: Path | str,
    *,
    to: Path | str | None = None,
    megabytes: float = MEGABYTES,
    environments: Files = (),
    quiet: bool = False,
) -> str:
    """Writes the page to the file `to`, to `report.html` in the run without it; gives its place.

    Long texts are shortened where the page would pass `megabytes`. `environments` are looked at,
    none is started.
    Raises `ConfigError` where the file cannot be written.
    """
    from synth.report.build import pieces
    from synth.report.section import SECTIONS

    out = None if to is None else Path(to)
    if out is not None and not out.parent.is_dir():
        raise ConfigError(f"{out}: there is no folder {out.parent}")
    ledger = stored(run_dir)
    bindings_for(ledger, environments)
    progress = progress_for(quiet=quiet)
    progress.start("report", len(SECTIONS), "sections")
    try:
        command = _command(str(run_dir), out, megabytes)
        page = pieces(ledger, command, lambda name: progress.step(1), megabytes=megabytes)
        if out is None:
            write_page(ledger, page)
            return ledger.storage.path(PAGE)
        try:
            write_local(out, page)
        except OSError as error:
            raise ConfigError(f"{out}: cannot be written: {error.strerror}") from error
        return str(out)
    finally:
        progress.stop()


def _command(run: str, out: Path | None, megabytes: float) -> str:
    """The command that writes the same page."""
    words = ["synth", "report", run]
    words += ["--out", str(out)] if out is not None else []
    words += ["--megabytes", f"{megabytes:g}"] if megabytes != MEGABYTES else []
    return shlex.join(words)
