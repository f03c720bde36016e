"""A task's graph as rows: what `synth.topology` finds, and what reports and questions read."""

import msgspec


class Node(msgspec.Struct, frozen=True):
    """Turns that are the same, of the trials of one population: how many came by, how many of those
    succeeded, where to look at one.

    START, SUCCESS and FAILURE stand for no turn.
    """

    task_id: str
    node: str
    population: str
    level: str
    n: int
    n_success: int
    tools: tuple[str, ...] = ()
    trajectory_id: str | None = None
    turn: int | None = None


class Edge(msgspec.Struct, frozen=True):
    """What followed what, by trials."""

    task_id: str
    source_node: str
    target_node: str
    population: str
    level: str
    n: int
    n_success: int
