"""Two trajectories set side by side, and the trials of a task as one graph."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from synth.api.opened import Ledger, stored
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

    Nodes and edges carry `n` and `n_success`, counts of trials. Raises `ConfigError` where there is
    none.
    """
    from synth.topology.graph_file import networkx_of
    from synth.topology.stored_graph import graph_rows

    rows = graph_rows(stored(ledger), task_id, population)
    return networkx_of(rows.nodes, rows.edges, rows.said)
